"""SMF 72 subtype 3: WLM classes as a workload activity report prints them, one record per class and interval.

A target's subject is `service_class NAME`, `report_class NAME`, `workload NAME` or `policy NAME`; the latter two are
written as a service class of theirs (option `service_class`, the same name where it is missing), as reports add them up
from service classes. It carries the metrics of `int_measure_wlm_class` that are named here. Where several figures say
the same (service units and seconds of CPU, service and absorption rate), the value lies in the intervals of all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Record, Setting, Span
from model.lab.records.interface import Output, Target, Window, by_subject
from model.lab.records.smf72_3 import class_record
from model.lab.samples import split
from model.published.printed import Interval, printed_interval

UNIT_US = 1024
IO_UNIT_US = 128
US = 1e6

TIMES = {
    "wlm_region_control_s": "r723crct",
    "wlm_io_interrupt_s": "r723ciit",
    "wlm_hiperspace_s": "r723chst",
}
"""Seconds kept in microseconds."""

RESPONSES = {
    "wlm_response_ms": ("r723ctetx", 1),
    "wlm_execution_ms": ("r723cxetx", 1),
    "wlm_queued_ms": ("r723cqdt", UNIT_US),
    "wlm_resource_affinity_ms": ("r723cadt", UNIT_US),
    "wlm_ineligible_ms": ("r723ciqt", UNIT_US),
    "wlm_conversion_ms": ("r723ccvt", UNIT_US),
}
"""Times per ended transaction: field and its unit in us."""

IO_TIMES = {
    "wlm_io_connect_ms": "r723cict",
    "wlm_io_disconnect_ms": "r723cidt",
    "wlm_io_pending_ms": "r723ciwt",
    "wlm_io_queue_ms": "r723ciot",
}
"""Times per I/O, kept in units of 128 us."""

AVERAGES = {
    "wlm_independent_enclaves": "r723ciea",
    "wlm_remote_enclaves": "r723cfea",
    "wlm_exported_enclaves": "r723cxea",
    "wlm_central_frames": "r723cprs",
    "wlm_expanded_frames": "r723cers",
    "wlm_shared_frames": "r723csrs",
}
"""Means over the interval, kept as time in units of 1,024 us."""

PAGING = {
    "wlm_page_in_single_per_s": "r723cpir",
    "wlm_page_in_block_per_s": "r723cbpi",
    "wlm_page_in_shared_per_s": "r723cspa",
    "wlm_page_in_hiperspace_per_s": "r723chpi",
    "wlm_hiperspace_miss_per_s": "r723ccrm",
    "wlm_page_in_expanded_single_per_s": "r723cpie",
    "wlm_page_in_expanded_block_per_s": "r723cbpe",
    "wlm_page_in_expanded_shared_per_s": "r723cspe",
}
"""Rates per second of residency."""

SERVICE = {
    "wlm_cpu_service_units": "r723ccpu",
    "wlm_io_service_units": "r723cioc",
    "wlm_storage_service_units": "r723cmso",
    "wlm_srb_service_units": "r723csrb",
}
APPLICATION = {
    "wlm_transaction_cp_appl_pct": "r723tsucp",
    "wlm_mobile_cp_appl_pct": "r723msucp",
    "wlm_ziip_on_cp_appl_pct": "r723csuc",
    "wlm_zaap_on_cp_appl_pct": "r723cifc",
}
"""CPU in percent of one CP, kept as service units."""

FOLLOWING = {
    "wlm_ended_per_s",
    "wlm_executed_per_s",
    "wlm_ssch_per_s",
    "wlm_service_per_s",
    "wlm_absorption",
    "wlm_service_per_active_s",
    "wlm_cpu_srb_service_per_s",
    "wlm_cpu_srb_service_per_tran",
    "wlm_cp_appl_pct",
    "wlm_ziip_appl_pct",
    "wlm_zaap_appl_pct",
    "wlm_ziip_s",
    "wlm_io_response_ms",
    "wlm_frames",
    "wlm_frames_per_space",
    "wlm_response_deviation_ms",
}
COUNTS = ("r723crcp", "r723cncp", "r723cswc")


@dataclass(frozen=True, slots=True)
class _Figures:
    """What is printed of a class, read as rounded, or as rounded or truncated."""

    targets: Mapping[str, Target]
    truncated: bool

    def value(self, metric: str) -> float:
        """The printed value; 0 where there is none."""
        return self.targets[metric].value if metric in self.targets else 0.0

    def interval(self, metric: str) -> Interval | None:
        """The values the printed one may stand for; None where there is none. What is printed as 0 is 0."""
        if metric not in self.targets:
            return None
        target = self.targets[metric]
        if target.value == 0:
            return Interval(0.0, 0.0)
        if not self.truncated:
            return target.interval
        lo, hi = printed_interval(target.figure.value, target.step)
        return Interval(lo / target.factor, hi / target.factor)


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """One record per class and interval."""
    records: list[Record] = []
    for subject, wanted in by_subject(targets).items():
        kind, _, name = subject.partition(" ")
        try:
            totals = _totals(setting, window, _Figures(wanted, truncated=False))
        except LabError:
            totals = _totals(setting, window, _Figures(wanted, truncated=True))
        options = next(iter(wanted.values())).options
        for span, period in zip(window.spans, _by_span(window, totals), strict=True):
            records.append(_record(setting, span, kind, name, str(options.get("service_class", name)), period))
    return Output(records=records)


def _record(
    setting: Setting, span: Span, kind: str, name: str, service_class: str, period: Mapping[str, Any]
) -> Record:
    if kind == "report_class":
        return class_record(setting, span, name, "", "", period, contributor=service_class)
    if kind == "service_class":
        return class_record(setting, span, name, name, "", period)
    if kind == "workload":
        return class_record(setting, span, service_class, name, "", period)
    if kind == "policy":
        return class_record(setting, span, service_class, service_class, "", period, policy=name)
    raise LabError(f"subject {kind!r}: expected report_class, service_class, workload or policy, and a name behind it")


def _totals(setting: Setting, window: Window, wanted: _Figures) -> dict[str, float]:
    """Fields of the period section, summed over the point."""
    known = {
        *TIMES, *RESPONSES, *IO_TIMES, *AVERAGES, *PAGING, *SERVICE, *APPLICATION, *FOLLOWING,
        "wlm_ended", "wlm_executed", "wlm_swaps", "wlm_cpu_s", "wlm_srb_s", "wlm_service_units", "wlm_average_active",
        "wlm_mpl", "wlm_cpu_service_per_s", "wlm_srb_service_per_s",
    }  # fmt: skip
    if not set(wanted.targets) <= known:
        raise LabError(f"no field of a class carries {', '.join(sorted(set(wanted.targets) - known))}")
    seconds = window.seconds
    fields = {field: wanted.value(metric) * US for metric, field in TIMES.items()}
    ended = _ended(wanted, seconds)
    fields |= {"r723crcp": ended, "r723cncp": wanted.value("wlm_executed"), "r723cswc": wanted.value("wlm_swaps")}
    for metric, (field, unit) in RESPONSES.items():
        fields[field] = round(wanted.value(metric) * 1000 * ended / unit)
    elapsed = fields["r723ctetx"]
    fields["r723ctet"] = round(elapsed / UNIT_US)
    fields["r723cxet"] = round(fields["r723cxetx"] / UNIT_US)
    deviation = wanted.value("wlm_response_deviation_ms") * 1000
    squares = deviation * deviation * max(ended - 1, 0) + elapsed * elapsed / max(ended, 1)
    fields |= {"r723cetsx": float(squares), "r723cets": float(round(squares / UNIT_US**2))}
    fields |= {field: wanted.value(metric) * seconds * US / UNIT_US for metric, field in AVERAGES.items()}
    fields["r723circ"] = round(wanted.value("wlm_ssch_per_s") * seconds)
    fields |= {
        field: wanted.value(metric) * 1000 * fields["r723circ"] / IO_UNIT_US for metric, field in IO_TIMES.items()
    }
    fields |= _service(setting, wanted, seconds)
    total = fields["r723csrv"]
    resident = _residence(wanted, "wlm_mpl", "wlm_absorption", total, seconds)
    active = _residence(wanted, "wlm_average_active", "wlm_service_per_active_s", total, seconds)
    fields |= {"r723ctrr": resident * seconds * US / UNIT_US, "r723ctat": active * seconds * US / UNIT_US}
    central = _central_frames(wanted, resident)
    if central is not None:
        fields["r723cprs"] = central * seconds * US / UNIT_US
    fields |= {field: wanted.value(metric) * resident * seconds for metric, field in PAGING.items()}
    fields |= {field: mean * seconds * US / UNIT_US for field, mean in _frames(wanted, resident).items()}
    return fields


def _frames(wanted: _Figures, resident: float) -> dict[str, float]:
    """Frames in central and expanded storage that agree with their printed sum and with the printed mean per space."""
    parts = {
        field: wanted.interval(metric) or Interval(0.0, 0.0)
        for metric, field in (("wlm_central_frames", "r723cprs"), ("wlm_expanded_frames", "r723cers"))
    }
    frames = {field: (interval.lo + interval.hi) / 2 for field, interval in parts.items()}
    together = _meet(wanted.interval("wlm_frames"), _scaled(wanted.interval("wlm_frames_per_space"), resident))
    _fit(frames, parts, tuple(parts), together)
    return frames


def _ended(wanted: _Figures, seconds: float) -> int:
    if "wlm_ended" in wanted.targets:
        return round(wanted.targets["wlm_ended"].value)
    counted = _scaled(wanted.interval("wlm_ended_per_s"), seconds)
    each = wanted.interval("wlm_cpu_srb_service_per_tran")
    if each is not None and each.lo > 0:
        service = (wanted.value("wlm_cpu_service_per_s") + wanted.value("wlm_srb_service_per_s")) * seconds
        counted = _meet(counted, Interval(service / each.hi, service / each.lo))
    return round((counted.lo + counted.hi) / 2) if counted else 0


def _service(setting: Setting, wanted: _Figures, seconds: float) -> dict[str, float]:
    """Service units by kind and altogether. The largest kind takes up what the printed total leaves."""
    rate = setting.rate.su_per_s
    parts = {field: _both(wanted, metric, rate, seconds) for metric, field in SERVICE.items()}
    total = _meet(
        wanted.interval("wlm_service_units"),
        _scaled(wanted.interval("wlm_service_per_s"), seconds),
        _absorbed(wanted, seconds),
    )
    units = {field: (interval.lo + interval.hi) / 2 for field, interval in parts.items()}
    both = _scaled(wanted.interval("wlm_cpu_srb_service_per_s"), seconds)
    _fit(units, parts, ("r723ccpu", "r723csrb"), both)
    _fit(units, parts, tuple(units), total)
    units["r723csrv"] = sum(units.values())
    for metric, field in APPLICATION.items():
        units[field] = wanted.value(metric) / 100 * seconds * rate
    return units


def _both(wanted: _Figures, metric: str, rate: float, seconds: float) -> Interval:
    """Service units of a kind, from units, seconds of CPU and units a second as far as they are printed."""
    time = {"wlm_cpu_service_units": "wlm_cpu_s", "wlm_srb_service_units": "wlm_srb_s"}.get(metric)
    pace = {"wlm_cpu_service_units": "wlm_cpu_service_per_s", "wlm_srb_service_units": "wlm_srb_service_per_s"}
    admitted = _meet(
        wanted.interval(metric),
        _scaled(wanted.interval(time or ""), rate),
        _scaled(wanted.interval(pace.get(metric, "")), seconds),
    )
    return admitted or Interval(0.0, 0.0)


def _fit(units: dict[str, float], parts: Mapping[str, Interval], names: Sequence[str], total: Interval | None) -> None:
    """Move parts within their intervals, the widest first, until they add up to a value in `total`."""
    if total is None:
        return
    missing = (total.lo + total.hi) / 2 - sum(units[name] for name in names)
    for name in sorted(names, key=lambda name: parts[name].lo - parts[name].hi):
        moved = parts[name].nearest(units[name] + missing)
        missing -= moved - units[name]
        units[name] = moved
    if abs(missing) > (total.hi - total.lo) / 2:
        raise LabError(f"the parts as printed leave {missing:.0f} of their total")


def _absorbed(wanted: _Figures, seconds: float) -> Interval | None:
    """Service units that the absorption rate gives for the address spaces that frames and frames per space imply."""
    rate, spaces = wanted.interval("wlm_absorption"), _spaces(wanted)
    return Interval(rate.lo * spaces.lo * seconds, rate.hi * spaces.hi * seconds) if rate and spaces else None


def _spaces(wanted: _Figures) -> Interval | None:
    """Mean number of address spaces, from frames and frames per space; None where not both are printed."""
    frames, each = wanted.interval("wlm_frames"), wanted.interval("wlm_frames_per_space")
    return Interval(frames.lo / each.hi, frames.hi / each.lo) if frames and each and each.lo > 0 else None


def _residence(wanted: _Figures, average: str, pace: str, total: float, seconds: float) -> float:
    """Mean number of address spaces or transactions, from what is printed of it and of service per second of it."""
    rate = wanted.interval(pace)
    from_rate = Interval(total / rate.hi / seconds, total / rate.lo / seconds) if rate and rate.lo > 0 else None
    from_frames = _spaces(wanted) if average == "wlm_mpl" else None
    admitted = _meet(wanted.interval(average), from_rate, from_frames)
    return max(0.0, (admitted.lo + admitted.hi) / 2) if admitted else 0.0


def _central_frames(wanted: _Figures, resident: float) -> float | None:
    """Central frames that agree with all frames and frames per space as printed; None where not all of it is."""
    central, every = wanted.interval("wlm_central_frames"), wanted.interval("wlm_frames")
    each = wanted.interval("wlm_frames_per_space")
    if central is None or every is None or each is None:
        return None
    expanded = wanted.value("wlm_expanded_frames")
    admitted = _meet(
        central,
        Interval(every.lo - expanded, every.hi - expanded),
        Interval(each.lo * resident - expanded, each.hi * resident - expanded),
    )
    return (admitted.lo + admitted.hi) / 2 if admitted else None


def _by_span(window: Window, totals: Mapping[str, float]) -> list[dict[str, Any]]:
    """The fields of each interval: shares by length, counts in whole numbers, so that sums stay exact."""
    lengths = [span.length_ms for span in window.spans]
    periods: list[dict[str, Any]] = [{} for _ in lengths]
    for field, total in totals.items():
        counts = split(round(total), lengths) if field in COUNTS else None
        for i, length in enumerate(lengths):
            periods[i][field] = counts[i] if counts else float(total * length / sum(lengths))
    return periods


def _scaled(interval: Interval | None, factor: float) -> Interval | None:
    return None if interval is None else Interval(interval.lo * factor, interval.hi * factor)


def _meet(*intervals: Interval | None) -> Interval | None:
    """What all intervals admit. LabError when that is nothing."""
    admitted: Interval | None = None
    for interval in intervals:
        if interval is None:
            continue
        both = interval if admitted is None else admitted.meet(interval)
        if both is None:
            raise LabError(f"figures contradict each other: {admitted} and {interval}")
        admitted = both
    return admitted
