"""Reports by what they are of: one LPAR, one machine, or everything that has records."""

from dataclasses import replace

from pipelines.exits import EtalonError, Exit
from pipelines.reports import lpar, machine, sources
from pipelines.reports.content import Part, Report
from pipelines.reports.sources import Sources
from pipelines.text import counted
from serve import cpcs

ALL = "all"


def report(of: Sources, name: str) -> Report:
    """The report on an LPAR or a machine of that name, or on ``all``.

    Raises QuestionError or EtalonError where there is none, with those there are.
    """
    if name == ALL:
        return _all(of)
    cpc = None if name in of.machines else cpcs.find(of.snapshot, name)
    if cpc is not None and cpc.name in of.machines.values():
        return machine.report(of, cpc)
    return lpar.report(of, name)


def _all(of: Sources) -> Report:
    """Every machine and LPAR: the week and the alerts on the first page, then each of them."""
    if not of.machines:
        raise EtalonError("no LPAR has a history to report on; load its records and run `etalon build`", Exit.NOT_READY)
    machines = list(dict.fromkeys(name for name in of.machines.values() if name))
    rows = [
        {"machine": of.machines[system] or "–", **sources.week_row(system, of.weeks.get(system, {}))}
        for system in of.machines
    ]
    summary = [Part(f"Last week against the week before{of.of_shift}", rows=rows)]
    alerts = of.alerts()
    if alerts:
        listed = [f"{alert.severity}, {alert.state}: {alert.text}" for alert in alerts]
        summary.insert(0, Part("Alerts", lines=listed))
    billing = machine.billing_rows(of)
    if billing:
        summary.append(Part("R4HA of the billing month, averaged by hours as SCRT does", rows=billing))
    parts: list[Part] = []
    leads = []
    for name in machines:
        first, rest, lead = machine.described(of, name)
        leads.append(lead)
        parts += _of(f"Machine {name}", [part for part in first if part.chart], rest)
    for system in of.machines:
        first, rest, lead = lpar.described(of, system)
        parts += _of(f"LPAR {system}", [Part("In short", lines=[lead])] if lead else [], first[1:], rest)
    recorded = f"Records: {counted(len(machines), 'machine')}, {counted(len(of.machines), 'LPAR')}."
    unseen = f"Open alerts: {sum(alert.state == 'open' for alert in alerts)}."
    lead = " ".join([recorded, unseen, *leads])
    return Report(f"Capacity of all LPARs, {of.today.isoformat()}", lead, summary, parts)


def _of(name: str, *parts: list[Part]) -> list[Part]:
    return [replace(part, heading=f"{name}: {part.heading}") for some in parts for part in some]
