"""The handlers that layouts of SMF records name, and their inverses."""

from ingest.codec.handlers import Finisher, Handler
from ingest.layout import Layout

OF_HEADER = frozenset({"following", "volume_io"})
"""Handlers of sections that the record's header places: where there are none, it says so."""


def finisher(name: str) -> Finisher:
    """The inverse of the handler of this name. Raises KeyError for a name no code stands behind."""
    from ingest.formats.cics import writing
    from ingest.formats.smf.data_sets import finish_data_sets
    from ingest.formats.smf.following import finish_following

    finishers: dict[str, Finisher] = {
        "cics_monitoring": writing.finish_monitoring,
        "cics_statistics": writing.finish_statistics,
        "data_set_io": finish_data_sets,
        "volume_io": finish_data_sets,
        "following": finish_following,
    }
    return finishers[name]


def make(layout: Layout) -> Handler:
    """A new handler of the kind that a layout names. Raises KeyError for a name no code stands behind."""
    if layout.handler == "cics_monitoring":
        from ingest.formats.cics.performance import MonitoringDecoder

        return MonitoringDecoder()
    if layout.handler == "cics_statistics":
        from ingest.formats.cics.statistics import StatisticsDecoder

        return StatisticsDecoder(layout)
    if layout.handler in ("data_set_io", "volume_io"):
        from ingest.formats.smf.data_sets import DataSetDecoder

        return DataSetDecoder(layout)
    if layout.handler == "following":
        from ingest.formats.smf.following import FollowingDecoder

        return FollowingDecoder(layout)
    raise KeyError(f"no handler is called {layout.handler!r}")
