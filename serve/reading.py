"""Addresses under ``/v1`` that read histories, files and residuals: what the page shows beside its questions."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Query, Response

from model.calendar import CalendarError
from serve import cpcs, data_state, history, nights, periods, service_classes
from serve.encoding import as_json
from serve.history import Every
from serve.problems import Problem
from serve.records import (
    Classes,
    ClassHistory,
    Cpc,
    CpcHistory,
    Cpcs,
    CpcSummary,
    Files,
    Fitted,
    History,
    NamedShift,
    Overview,
    Periods,
    Quality,
    Records,
    Shifts,
)
from serve.responses import json_response
from serve.service import Service
from serve.snapshot import Snapshot

From = Annotated[dt.datetime | None, Query(alias="from", description="first local start, without an offset")]
To = Annotated[dt.datetime | None, Query(description="local time before which intervals start")]
OfShift = Annotated[str, Query(alias="shift", description="a shift from GET /v1/calendar; default: all intervals")]

OfChange = Annotated[dt.date | None, Query(description="the date of a change, in place of the days of both periods")]


def router(service: Service) -> APIRouter:
    """The reading addresses over one state folder."""
    routes = APIRouter(tags=["history"])
    _add_histories(routes, service)
    _add_cpcs(routes, service)
    _add_evidence(routes, service)
    return routes


def during(service: Service, shift: str, column: str = "interval_start_local") -> str:
    """SQL of the intervals of a shift, of all for an empty name. Problem 422 for a shift that there is not."""
    try:
        return service.calendar().condition(shift, column)
    except CalendarError as error:
        raise Problem(422, "unknown-shift", str(error), field=error.field, allowed=list(error.allowed)) from None


def _add_histories(routes: APIRouter, service: Service) -> None:
    """What was recorded of systems and their classes over time."""
    snapshot = service.snapshot

    @routes.get("/v1/calendar")
    def calendar() -> Shifts:
        """List the shifts and holidays of the installation, as `etalon.toml` describes them."""
        shifts = service.calendar()
        return Shifts(
            shifts=[NamedShift(name=shift.name, words=shift.words) for shift in shifts.shifts.values()],
            holidays=sorted(day.isoformat() for day in shifts.holidays),
        )

    @routes.get("/v1/overview")
    def overview(shift: OfShift = "") -> Overview:
        """List machines and systems with a history: last day, peak, rolling four hours, the same day a week before."""
        summary = history.overview(snapshot, during(service, shift))
        return summary.model_copy(update={"night": nights.last(service.settings.nights)})

    @routes.get("/v1/systems/{system:path}/history")
    def series(
        system: str, first: From = None, to: To = None, every: Every | None = None, shift: OfShift = ""
    ) -> History:
        """Follow engines in use by class group, capacity and MSU of a system over local time."""
        begin, end = _span(snapshot, system, first, to)
        return history.history(snapshot, system, begin, end, _step(every, begin, end), during(service, shift))

    @routes.get("/v1/systems/{system:path}/classes")
    def classes(system: str, shift: OfShift = "") -> Classes:
        """List the service classes of the last seven days, with the change from the seven before."""
        _span(snapshot, system, None, None)
        counted = during(service, shift)
        prices = service.prices()
        price = prices.of("cpu_hour", system, *cpcs.names_of(snapshot, system))
        rows = history.classes(snapshot, system, counted)
        return Classes(
            system=system,
            currency=prices.currency if price else "",
            workloads=history.workloads(rows, price.price if price else None),
            capture_ratio=service_classes.capture_ratios(snapshot, system, counted).get(system),
            classes=rows,
        )

    @routes.get("/v1/systems/{system:path}/classes/{class_name}")
    def class_series(
        system: str,
        class_name: str,
        first: From = None,
        to: To = None,
        every: Every | None = None,
        shift: OfShift = "",
    ) -> ClassHistory:
        """Follow rate, cost and response of a service class over local time."""
        begin, end = _span(snapshot, system, first, to)
        step = every or history.finest(begin, end)
        series = history.class_history(snapshot, system, class_name, begin, end, step, during(service, shift))
        if not series.start_local:
            raise Problem(
                404, "unknown-class", f"no service class {class_name!r} in {system} at that time", field="class_name"
            )
        return series

    @routes.get("/v1/systems/{system:path}/periods")
    def two_periods(
        system: str,
        a_from: dt.date | None = None,
        a_to: dt.date | None = None,
        b_from: dt.date | None = None,
        b_to: dt.date | None = None,
        change: OfChange = None,
        other: str | None = None,
        shift: OfShift = "",
    ) -> Periods:
        """Compare two periods as measured, of one system or with `other`; first and last day of each are in it.

        Without days, the last week and the one before; with a change, the days before it and from it on.
        """
        if other:
            _span(snapshot, other, None, None)
        recorded = _span(snapshot, system, None, None)
        if a_from is None or a_to is None or b_from is None or b_to is None:
            if any((a_from, a_to, b_from, b_to)):
                message = "a_from: give all of a_from, a_to, b_from and b_to, or none of them"
                raise Problem(422, "invalid-request", message, field="a_from")
            try:
                (a_from, a_to), (b_from, b_to) = periods.usual(recorded[0].date(), recorded[1].date(), change)
            except ValueError as refused:
                raise Problem(422, "invalid-request", str(refused), field="change") from None
        for field, first, last in (("a_to", a_from, a_to), ("b_to", b_from, b_to)):
            if last < first:
                message = f"{field} must not be before the first day of the period, {first} (got {last})"
                raise Problem(422, "invalid-request", message, field=field)
        changes = periods.compared(snapshot, system, (a_from, a_to), (b_from, b_to), other, during(service, shift))
        if not changes:
            message = "the periods have no recorded weekday in common; choose longer periods"
            raise Problem(422, "nothing-to-compare", message, field="a_from")
        days = {"a_from": a_from, "a_to": a_to, "b_from": b_from, "b_to": b_to}
        return Periods(system=system, changes=changes, **{key: day.isoformat() for key, day in days.items()})


def _add_cpcs(routes: APIRouter, service: Service) -> None:
    """What was recorded of CPCs and every LPAR on them."""
    snapshot = service.snapshot

    @routes.get("/v1/cpcs")
    def all_cpcs() -> Cpcs:
        """List the CPCs with their names and systems."""
        return Cpcs(cpcs=cpcs.listed(snapshot))

    @routes.get("/v1/cpcs/{cpc}")
    def cpc_about(cpc: str) -> Cpc:
        """Describe a CPC: recorded peaks, and share, caps and use of every LPAR.

        It is called by its identifier, its name or the end of its serial number.
        """
        return cpcs.about(snapshot, _cpc(snapshot, cpc))

    @routes.get("/v1/cpcs/{cpc}/history")
    def cpc_series(
        cpc: str, first: From = None, to: To = None, every: Every | None = None, shift: OfShift = ""
    ) -> CpcHistory:
        """Follow engines, MSU and R4HA of a CPC by LPAR over local time, with physical engines and limits."""
        summary = _cpc(snapshot, cpc)
        first_start, last_start = summary.first_start_local, summary.last_start_local
        recorded = dt.datetime.fromisoformat(first_start), dt.datetime.fromisoformat(last_start)
        begin, end = _within(recorded, first, to)
        return cpcs.history(snapshot, summary.cpc, begin, end, _step(every, begin, end), during(service, shift))


def _cpc(snapshot: Snapshot, cpc: str) -> CpcSummary:
    summary = cpcs.find(snapshot, cpc)
    if summary is None:
        message = f"the snapshot has no intervals of CPC {cpc!r}; GET /v1/cpcs lists them"
        raise Problem(404, "unknown-cpc", message, field="cpc")
    return summary


def _add_evidence(routes: APIRouter, service: Service) -> None:
    """What histories and model rest on: records, residuals, the last check, files."""
    snapshot = service.snapshot

    @routes.get("/v1/systems/{system:path}/records")
    def records(system: str, at: dt.datetime) -> Records:
        """Name the records behind an interval: file, record type, ordinal."""
        _span(snapshot, system, None, None)
        start = _local("at", at)
        return Records(
            system=system,
            interval_start_local=start.isoformat(),
            records=data_state.records(snapshot, system, start),
        )

    @routes.get("/v1/systems/{system:path}/fitted", response_model=Fitted)
    async def residuals(system: str) -> Response:
        """Set the model beside every recorded interval: measured and predicted busy."""
        reply = await service.evaluate("fitted", as_json({"system": system}))
        return json_response(reply.body, reply.status)

    @routes.get("/v1/quality")
    def quality() -> Quality:
        """Give the verdict of the last check of the data."""
        return data_state.quality(service.settings.quality)

    @routes.get("/v1/files")
    def files() -> Files:
        """List the files that were loaded, hours recorded by day, and gaps."""
        return data_state.files(snapshot)


def _local(field: str, given: dt.datetime) -> dt.datetime:
    if given.tzinfo is not None:
        raise Problem(
            422, "invalid-request", f"{field} must be the local time of the records, without an offset", field=field
        )
    return given


def _span(
    snapshot: Snapshot, system: str, first: dt.datetime | None, to: dt.datetime | None
) -> tuple[dt.datetime, dt.datetime]:
    """The span of a request within what was recorded of a system; Problem 404 for an unknown system."""
    recorded = history.span(snapshot, system)
    if recorded is None:
        message = f"the snapshot has no intervals of {system!r}; see /v1/overview"
        raise Problem(404, "unknown-system", message, field="system")
    return _within(recorded, first, to)


def _within(
    recorded: tuple[dt.datetime, dt.datetime], first: dt.datetime | None, to: dt.datetime | None
) -> tuple[dt.datetime, dt.datetime]:
    """The part of a recorded span that a request asks for; Problem 422 for one that ends before it begins."""
    if first is not None and to is not None and to <= first:
        raise Problem(422, "invalid-request", f"to must be after from, {first} (got {to})", field="to")
    end = recorded[1] + dt.timedelta(seconds=1)
    begin = recorded[0] if first is None else max(_local("from", first), recorded[0])
    return begin, end if to is None else min(_local("to", to), end)


def _step(every: Every | None, begin: dt.datetime, end: dt.datetime) -> Every:
    """The step asked for, or the finest that suits the span; Problem 422 where that of all groups is too much."""
    finest = history.finest(begin, end)
    if every == "interval" and finest == "day":
        message = f"every must be hour or day for a period of more than {history.MAX_ROWS:,} hours"
        raise Problem(422, "invalid-request", message, field="every")
    return every or finest
