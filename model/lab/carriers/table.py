"""The carriers by name, as `carrier` of a value rule gives it."""

from collections.abc import Mapping

from model.lab.carriers import (
    analyzers,
    displays,
    ims_log,
    load_driver,
    smf30_steps,
    smf70_1,
    smf72_3,
    smf74_4,
    smf119_70,
    storage,
    throughput,
)
from model.lab.carriers.interface import Carrier
from model.lab.errors import LabError

CARRIERS: Mapping[str, Carrier] = {
    "buffers": displays.buffers,
    "cics_pa": analyzers.cics_pa,
    "data_sets": displays.data_sets,
    "ims_log": ims_log.render,
    "ims_pa": analyzers.ims_pa,
    "load_graphs": load_driver.graphs,
    "load_results": load_driver.results,
    "phases": displays.phases,
    "smf119_70": smf119_70.render,
    "smf30_steps": smf30_steps.render,
    "smf70_1": smf70_1.render,
    "smf72_3": smf72_3.render,
    "smf74_4": smf74_4.render,
    "storage": storage.render,
    "throughput": throughput.render,
}


def carrier(name: str) -> Carrier:
    """The carrier of this name; LabError when there is none."""
    if name not in CARRIERS:
        raise LabError(f"no carrier {name!r}; known: {', '.join(sorted(CARRIERS))}")
    return CARRIERS[name]
