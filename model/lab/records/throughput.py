"""SMF 70.1 and 72.3 of a point known by its rate, its busy time or its ITR alone, on one LPAR.

The figures of the point are taken together (`model.lab.identities`). A point whose busy time neither is printed nor
follows has no 70.1; settings of the point (`cpu_busy_pct`, `etr_tps`) stand in for what is not published of this LPAR.
Metrics may begin with `lpar_`, where a system of several LPARs shows each. Options: `service_class`, `report_class`,
`workload` and `response`, the metric of the class's response time in ms.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from model.lab.construct import Cpu, IntervalData
from model.lab.errors import LabError
from model.lab.identities import identities, resolve
from model.lab.records.common import Record, Setting
from model.lab.records.interface import GroupRow, Output, Target, Window
from model.lab.records.smf70_1 import study_cpu_activity
from model.lab.records.smf72_3 import study_workload_activity
from model.lab.samples import around_one, below, split
from model.published.plan import ServiceClass, TransactionClass

RATE_SPREAD = 0.004
BUSY_CEILING = 0.998
NOTHING = Cpu(0, 0, 0)


def render(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """The records of one LPAR, and the row that makes its report class the workload's transactions."""
    options = targets[0].options
    printed = {target.metric.removeprefix("lpar_"): target.figure.value for target in targets}
    assumed = {name: str(value) for name, value in window.point.settings.items() if name not in printed}
    response = str(options.get("response", ""))
    values = dict(
        resolve(
            {name: text for name, text in {**assumed, **printed}.items() if name != response},
            identities(setting.plan.engines),
        ).values
    )
    if response in {**assumed, **printed}:
        values[response] = float({**assumed, **printed}[response])
    if "etr_tps" not in values:
        raise LabError(f"{window.system_id} point {window.point.id}: no rate is published, follows or is assumed")
    point_setting = replace(setting, plan=_plan(setting, options))
    records: list[Record] = []
    for interval in _intervals(point_setting, window, values, response, random):
        if interval.wait_us:
            records.append(study_cpu_activity(point_setting, interval))
        records.extend(study_workload_activity(point_setting, interval))
    transactions = point_setting.plan.transactions[0]
    workload = point_setting.plan.service_classes[0].workload
    return Output(records=records, groups=[GroupRow("transaction_class", transactions.report_class, workload)])


def _plan(setting: Setting, options: Any) -> Any:
    workload = str(options.get("workload", "IMS"))
    service = ServiceClass(
        name=str(options.get("service_class", workload + "ONL")),
        workload=workload,
        description="Online transactions",
        importance=1,
        goal={"response_ms": 500},
    )
    transactions = TransactionClass(
        report_class=str(options.get("report_class", "R" + workload)),
        service_class=service.name,
        share=1.0,
        source="all transactions",
        confidence="low",
    )
    return replace(setting.plan, service_classes=(service,), transactions=(transactions,), groups=())


def _intervals(
    setting: Setting, window: Window, values: dict[str, float], response: str, random: np.random.Generator
) -> list[IntervalData]:
    plan, spans = setting.plan, window.spans
    rate = around_one(random, len(spans), RATE_SPREAD)
    lengths = np.array([span.length_ms for span in spans])
    ended = split(round(values["etr_tps"] * window.seconds), rate * lengths)
    waits: list[tuple[int, ...]] = [() for _ in spans]
    if "cpu_busy_pct" in values:
        busy = values["cpu_busy_pct"] / 100
        online = plan.engines * lengths * 1000
        used = split(round(busy * int(online.sum())), below(rate, busy, BUSY_CEILING) * online)
        waits = [
            tuple(split(int(available) - part, np.ones(plan.engines)))
            for available, part in zip(online, used, strict=True)
        ]
    name = plan.transactions[0].report_class
    elapsed: list[dict[str, int]] = [{} for _ in spans]
    if response in values:
        total = round(values[response] * 1000 * sum(ended))
        elapsed = [{name: part} for part in split(total, np.array(ended, dtype=float))]
    return [
        IntervalData(
            start=span.start,
            length_ms=span.length_ms,
            wait_us=waits[i],
            ended={name: ended[i]},
            elapsed_us=elapsed[i],
            regions={},
            other={plan.service_classes[0].name: NOTHING},
        )
        for i, span in enumerate(spans)
    ]
