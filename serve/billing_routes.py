"""Addresses under ``/v1/billing``: billing months, their highest hours, and what these are made of."""

import datetime as dt
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from serve import billing
from serve.billing import BillingClasses, BillingHours, BillingMonth
from serve.problems import Problem
from serve.reading import OfShift, during
from serve.service import Service

Scope = Literal["cpc", "capacity_group", "lpar", "product"]
InMonth = Annotated[dt.date | None, Query(description="first day of the billing month; default: the latest month")]
OfCpc = Annotated[str | None, Query(description="the CPC, as listed in the month, or by its identifier")]


def router(service: Service) -> APIRouter:
    """The addresses over one state folder."""
    routes = APIRouter(tags=["billing"])
    snapshot = service.snapshot

    @routes.get("/v1/billing")
    def months(month: InMonth = None, shift: OfShift = "") -> BillingMonth:
        """List the peak R4HA of a billing month by CPC, capacity group, LPAR and product, averaged by hours as SCRT
        does. SCRT itself decides the bill."""
        of_hours, of_intervals = during(service, shift, "hour_local"), during(service, shift)
        return billing.month(snapshot, service.prices(), month, shift, (of_hours, of_intervals))

    @routes.get("/v1/billing/hours")
    def hours(scope: Scope, name: str, month: dt.date, cpc: OfCpc = None, shift: OfShift = "") -> BillingHours:
        """Follow the R4HA of a billing month hour by hour, with its highest hours."""
        answer = billing.hours(snapshot, scope, name, cpc, month, during(service, shift, "hour_local"))
        if not answer.hours:
            detail = f"no hours of {scope} {name!r} in that month; see /v1/billing"
            raise Problem(404, "unknown-name", detail, field="name")
        return answer

    @routes.get("/v1/billing/classes")
    def classes(scope: Scope, name: str, hour: dt.datetime, cpc: OfCpc = None) -> BillingClasses:
        """Divide the four-hour average of an hour among the service classes of its LPARs."""
        if hour.tzinfo is not None:
            raise Problem(422, "invalid-request", "hour: must be local time without an offset", field="hour")
        answer = billing.classes(snapshot, scope, name, cpc, hour.replace(minute=0, second=0, microsecond=0))
        if not answer.classes:
            raise Problem(404, "unknown-hour", f"no records of {scope} {name!r} in that hour", field="hour")
        return answer

    return routes
