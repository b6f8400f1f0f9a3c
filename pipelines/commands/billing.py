"""Commands about billing months: r4ha."""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from model import documents
from pipelines import steps, text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

SCOPES = {"cpc": "CPC", "capacity_group": "capacity group", "lpar": "LPAR", "product": "product"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(r4ha)


def r4ha(
    name: Annotated[
        str | None,
        typer.Argument(help="A CPC, capacity group, LPAR or product: show its highest hours and service classes."),
    ] = None,
    month: Annotated[
        str | None, typer.Option(metavar="YYYY-MM", help="Billing month, from the 2nd to the 1st. Default: the latest.")
    ] = None,
    shift: Annotated[str, typer.Option(help="Count the hours of this shift only.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> None:
    """Show the R4HA of a billing month by hours, as SCRT does.

    By CPC, capacity group, LPAR and product, within defined and group capacity. Costs need prices in prices.csv. SCRT
    decides the bill.
    """
    from serve import billing, cpcs
    from serve.snapshot import Snapshot

    home = Home.from_environment()
    steps.require_snapshot(home)
    snapshot, calendar = Snapshot(home.snapshot), steps.calendar(home)
    of_hours, of_intervals = (calendar.condition(shift, column) for column in ("hour_local", "interval_start_local"))
    bill = billing.month(snapshot, steps.prices(home), _month(month), shift, (of_hours, of_intervals))
    if bill.month is None:
        months = ", ".join(one.month[:7] for one in bill.months) or "none"
        raise EtalonError(f"--month {month}: no records of this month; loaded billing months: {months}", Exit.QUESTION)
    if name is None:
        rows = [_peak(one, bill.currency) for one in bill.peaks]
        head = f"billing month {bill.month[:7]} (2nd to 1st)" + (f", shift {shift}" if shift else "")
        typer.echo(bill.model_dump_json(indent=2) if as_json else f"{head}\n{text.table(rows)}\n  note: {bill.note}")
        return
    cpc = cpcs.find(snapshot, name)
    wanted = name if cpc is None else cpc.name
    named = [one for one in bill.peaks if one.name.casefold() == wanted.casefold()]
    if not named:
        names = ", ".join(dict.fromkeys(one.name for one in bill.peaks))
        raise EtalonError(f"{name}: unknown name in billing month {bill.month[:7]}: {names}", Exit.QUESTION)
    answers = []
    for one in named:
        hours = billing.hours(snapshot, one.scope, one.name, one.cpc, dt.date.fromisoformat(bill.month), of_hours)
        peak_at = dt.datetime.fromisoformat(one.peak_at)
        answers.append((one, hours, billing.classes(snapshot, one.scope, one.name, one.cpc, peak_at)))
    if as_json:
        shown = [
            {
                "peak": one.model_dump(),
                "highest": hours.model_dump()["highest"],
                "classes": parts.model_dump()["classes"],
            }
            for one, hours, parts in answers
        ]
        typer.echo(documents.dumps({"month": bill.month, "found": shown, "note": bill.note}, indent=2))
        return
    for one, hours, parts in answers:
        typer.echo(f"{SCOPES[one.scope]} {one.name}, billing month {bill.month[:7]}: the highest hours")
        typer.echo(text.table([_hour(hour) for hour in hours.highest]))
        typer.echo(f"\nMSU of the four hours that end with the hour of {_minute(one.peak_at)}, by service class")
        typer.echo(text.table(_parts(parts.classes)))
    typer.echo(f"  note: {bill.note}")


def _month(month: str | None) -> dt.date | None:
    if month is None:
        return None
    if not re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", month):
        raise EtalonError(f"--month {month}: write it as 2026-11", Exit.USAGE)
    try:
        return dt.date.fromisoformat(f"{month[:7]}-02")
    except ValueError:
        raise EtalonError(f"--month {month}: no such month; write it as 2026-11", Exit.USAGE) from None


def _minute(local: str) -> str:
    return local[:16].replace("T", " ")


def _peak(one: Any, currency: str) -> dict[str, Any]:
    cost = {f"MSU, {currency}": one.msu_cost, f"CPU, {currency}": one.cpu_cost} if currency else {}
    return {
        "of": SCOPES[one.scope],
        "name": one.name,
        "peak, MSU": one.peak_msu,
        "at": _minute(one.peak_at),
        "R4HA (MSU)": one.r4ha_msu,
        "limit, MSU": one.limit_msu,
        "hours above limit": str(one.hours_above_limit),
        "hours capped": str(one.hours_capped),
        "mean MSU": one.mean_msu,
        "CPU hours": one.cpu_hours,
        **cost,
    }


def _hour(one: Any) -> dict[str, Any]:
    return {
        "hour": _minute(one.hour_local),
        "billable, MSU": one.billable_msu,
        "R4HA (MSU)": one.r4ha_msu,
        "MSU": one.msu,
        "limit, MSU": one.limit_msu,
        "capped, %": one.capped_pct,
    }


def _parts(parts: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {"LPAR": part.lpar, "class": part.class_name or "(not captured)", "workload": part.workload, "MSU": part.msu}
        for part in parts
    ]
