"""The writers by name, as `writer` of a value rule gives it."""

from collections.abc import Mapping

from model.lab.errors import LabError
from model.lab.writers import (
    analyzers,
    capacity,
    cics_listing,
    devices,
    displays,
    gauges,
    ims_log,
    load_driver,
    paging,
    smf30_steps,
    smf70_1,
    smf72_3,
    smf74_4,
    smf88,
    smf110_1,
    smf119_70,
    storage,
    throughput,
)
from model.lab.writers.interface import Writer

WRITERS: Mapping[str, Writer] = {
    "buffers": displays.buffers,
    "capacity": capacity.render,
    "cics_listing": cics_listing.render,
    "data_sets": displays.data_sets,
    "gauges": gauges.render,
    "ims_log": ims_log.render,
    "ims_pa": analyzers.ims_pa,
    "load_graphs": load_driver.graphs,
    "load_results": load_driver.results,
    "paging": paging.render,
    "phases": displays.phases,
    "smf110_1": smf110_1.render,
    "smf119_70": smf119_70.render,
    "smf30_steps": smf30_steps.render,
    "smf70_1": smf70_1.render,
    "smf72_3": smf72_3.render,
    "smf73": devices.smf73,
    "smf74_1": devices.smf74_1,
    "smf74_4": smf74_4.render,
    "smf88": smf88.render,
    "storage": storage.render,
    "throughput": throughput.render,
}


def writer(name: str) -> Writer:
    """The writer of this name; LabError when there is none."""
    if name not in WRITERS:
        raise LabError(f"no writer {name!r}; known: {', '.join(sorted(WRITERS))}")
    return WRITERS[name]
