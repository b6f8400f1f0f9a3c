"""The handlers that layouts of SMF records name, and their inverses."""

from collections.abc import Callable

from ingest.codec.handlers import Finisher, Handler
from ingest.layout import Layout
from ingest.registry import Registry


def finisher(name: str) -> Finisher:
    """The inverse of the handler of this name. Raises KeyError for a name no code stands behind."""
    from ingest.formats.cics import writing
    from ingest.formats.smf.data_sets import finish_data_sets

    finishers: dict[str, Finisher] = {
        "cics_monitoring": writing.finish_monitoring,
        "cics_statistics": writing.finish_statistics,
        "data_set_io": finish_data_sets,
    }
    return finishers[name]


def of(registry: Registry) -> dict[str, Handler]:
    """Handlers by name that read by the registry's own layouts, which may replace built-in ones."""
    from ingest.formats.cics.statistics import StatisticsDecoder
    from ingest.formats.smf.data_sets import DataSetDecoder

    makers: dict[str, Callable[[Layout], Handler]] = {
        "cics_statistics": StatisticsDecoder,
        "data_set_io": DataSetDecoder,
    }
    return {layout.handler: makers[layout.handler](layout) for layout in registry.layouts if layout.handler in makers}


def make(name: str) -> Handler:
    """A new handler of this name. Raises KeyError for a name no code stands behind."""
    if name == "cics_monitoring":
        from ingest.formats.cics.performance import MonitoringDecoder

        return MonitoringDecoder()
    if name == "cics_statistics":
        from ingest.formats.cics.statistics import StatisticsDecoder

        return StatisticsDecoder()
    if name == "data_set_io":
        from ingest.formats.smf.data_sets import DataSetDecoder

        return DataSetDecoder()
    raise KeyError(f"no handler is called {name!r}")
