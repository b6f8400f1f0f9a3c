"""Dumps of a system whose network has stations besides the engines."""

from __future__ import annotations

import tomllib

from model.lab.twin import Twin
from model.network import Network
from tests.model.lab.twin import made

FACILITY = """
[[stations]]
name = "cf"
component = "cf"
servers = 2

[[resources]]"""
REQUESTS = """
  { cf = "cf", engine = "PRDA cp", service = { mean_us = 50 }, issue = { mean_us = 5 }, count = 4 },
  { release = "MXT" },"""


def twin() -> Twin:
    """A small twin with a limit, volumes and a coupling facility."""
    described = made.NETWORK.replace("\n[[resources]]", FACILITY, 1).replace('\n  { release = "MXT" },', REQUESTS, 1)
    return Twin.of(tomllib.loads(made.TWIN), Network.from_toml(described))
