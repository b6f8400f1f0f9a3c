"""The carriers by name, as `carrier` of a value rule gives it."""

from collections.abc import Mapping

from model.lab.carriers import smf74_4, throughput
from model.lab.carriers.interface import Carrier
from model.lab.errors import LabError

CARRIERS: Mapping[str, Carrier] = {
    "smf74_4": smf74_4.render,
    "throughput": throughput.render,
}


def carrier(name: str) -> Carrier:
    """The carrier of this name; LabError when there is none."""
    if name not in CARRIERS:
        raise LabError(f"no carrier {name!r}; known: {', '.join(sorted(CARRIERS))}")
    return CARRIERS[name]
