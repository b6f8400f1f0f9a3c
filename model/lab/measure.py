"""What constructed intervals amount to: the metrics of a point as its records will show them, as ratios of sums."""

from collections.abc import Sequence
from dataclasses import dataclass

from model.lab.construct import IntervalData
from model.lab.errors import LabError
from model.lab.identities import Sum, identities, narrow
from model.lab.records.common import Setting
from model.lab.targets import PointTargets, cpu_in_unit
from model.published.catalogue import Figure
from model.published.plan import Group
from model.published.printed import Interval, Reading, prints_as


@dataclass(frozen=True, slots=True)
class Check:
    """A published figure beside what the constructed records give.

    `by_record` holds the value from every record type that shows it; `status` is `equal` or `excepted`, and `note` the
    arithmetic of an exception.
    """

    figure: Figure
    by_record: dict[str, float]
    reading: Reading | None
    status: str
    note: str

    @property
    def constructed(self) -> float:
        """The value, from the record that shows it first."""
        return next(iter(self.by_record.values()))


def measured(setting: Setting, targets: PointTargets, intervals: Sequence[IntervalData]) -> dict[str, dict[str, float]]:
    """Metrics of a point by metric and record type, computed from the integers the records will hold."""
    plan = setting.plan
    seconds = sum(interval.length_ms for interval in intervals) / 1000
    ended = sum(sum(interval.ended.values()) for interval in intervals)
    online = plan.engines * sum(interval.length_ms * 1000 for interval in intervals)
    wait = sum(sum(interval.wait_us) for interval in intervals)
    etr = ended / seconds
    by_metric: dict[str, dict[str, float]] = {
        "etr_tps": {"smf72_3": etr},
        "cpu_busy_pct": {"smf70_1": 100 * (1 - wait / online)},
    }
    units = {figure.metric: figure.unit for figure in targets.figures}
    for group in plan.groups:
        if group.figure in units:
            by_metric[group.figure] = {
                record: cpu_in_unit(cpu / seconds, units[group.figure], etr)
                for record, cpu in _group_seconds(setting, group, intervals).items()
            }
    for entry in plan.transactions:
        if entry.figure is not None:
            counted = sum(interval.ended[entry.report_class] for interval in intervals)
            by_metric[entry.figure] = {"smf72_3": counted / seconds}
        if entry.response is not None and entry.report_class in targets.response_ms:
            elapsed = sum(interval.elapsed_us[entry.report_class] for interval in intervals)
            count = sum(interval.ended[entry.report_class] for interval in intervals)
            by_metric[entry.response] = {"smf72_3": elapsed / count / 1000}
    return _derived(plan.engines, by_metric)


def checks(setting: Setting, targets: PointTargets, intervals: Sequence[IntervalData]) -> tuple[Check, ...]:
    """Every published figure of a point against what was constructed.

    Raises LabError when a figure that is not excepted would print differently from any record that shows it.
    """
    values = measured(setting, targets, intervals)
    notes = {misprint.metric: misprint.arithmetic for misprint in targets.misprints}
    all_checks = []
    for figure in targets.figures:
        by_record = values[figure.metric]
        readings = {record: prints_as(value, figure.value) for record, value in by_record.items()}
        if figure.metric in notes:
            all_checks.append(Check(figure, by_record, None, "excepted", notes[figure.metric]))
            continue
        for record, reading in readings.items():
            if reading is None:
                raise LabError(
                    f"point {targets.point.id}: {figure.metric} is published as {figure.value}, "
                    f"{record} was constructed to give {by_record[record]!r}"
                )
        all_checks.append(Check(figure, by_record, next(iter(readings.values())), "equal", ""))
    return tuple(all_checks)


def _group_seconds(setting: Setting, group: Group, intervals: Sequence[IntervalData]) -> dict[str, float]:
    units, interrupt, hundredths = 0, 0, 0
    for interval in intervals:
        cpu = interval.group_cpu(group)
        if cpu is None:
            return {}
        units += setting.service_units(cpu.tcb) + setting.service_units(cpu.srb)
        interrupt += cpu.interrupt
        hundredths += cpu.total
    return {"smf72_3": units / setting.rate.su_per_s + interrupt / 100, "smf30": hundredths / 100}


def _derived(engines: int, by_metric: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Metrics that follow from measured ones by the identities; sums from each record type that shows all parts."""
    among = identities(engines)
    first = {metric: next(iter(values.values())) for metric, values in by_metric.items() if values}
    exact = {metric: Interval(value, value) for metric, value in first.items()}
    complete = dict(by_metric)
    for metric, interval in narrow(exact, among).items():
        if metric not in complete and interval.lo == interval.hi:
            complete[metric] = {"derived": interval.lo}
    for identity in among:
        if isinstance(identity, Sum) and all(part in by_metric for part in identity.parts):
            complete[identity.total] = {
                record: sum(by_metric[part][record] for part in identity.parts)
                for record in by_metric[identity.parts[0]]
            }
    return complete
