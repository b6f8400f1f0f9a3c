"""Twins: described networks simulated through days of load, whose truth is known, and the records z/OS would write."""

from model.lab.twin.activity import live
from model.lab.twin.description import Twin
from model.lab.twin.rendering import render, write
from model.lab.twin.truth import truth

__all__ = ["Twin", "live", "render", "truth", "write"]
