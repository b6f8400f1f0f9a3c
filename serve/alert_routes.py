"""Addresses under ``/v1/alerts``: what nights found, and what people say of it."""

import datetime as dt
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

import state.alerts
from serve.log import Log
from serve.problems import Problem
from serve.service import Service
from state.files import StateDamaged

log = Log()
State = Literal["open", "acknowledged", "closed"]


class Alert(BaseModel):
    """Something that nights found, under one cause."""

    id: str
    name: str = Field(description="its cause, the same on every night")
    rule: str
    severity: str
    text: str
    details: list[str] = Field(description="details with the same cause")
    state: State
    opened: str = Field(description="UTC")
    seen: str = Field(description="when a night last detected it, UTC")
    changed: str = Field(description="when its state last changed, UTC")
    note: str
    by: str = Field(description="user of the last change of its state; empty for a night")


class Alerts(BaseModel):
    """The alerts of one state, or of all."""

    alerts: list[Alert]


class AlertChange(BaseModel):
    """Another state for an alert."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"state": "acknowledged", "note": "RMF is off"}]}
    )

    state: State
    note: str = Field(default="", max_length=1000, description="note on the alert")


def router(service: Service) -> APIRouter:
    """The addresses over one state folder."""
    routes = APIRouter(tags=["alerts"])
    home = service.settings.home

    @routes.get("/v1/alerts")
    def alerts(of: Annotated[State | None, Query(alias="state", description="all without it")] = None) -> Alerts:
        """List the alerts that nights opened, the latest first."""
        try:
            alerts = state.alerts.peek(home)
        except (OSError, StateDamaged) as problem:
            log.error("alerts_unreadable", problem=str(problem))
            raise Problem(
                503, "alerts-unreadable", "the alerts cannot be read; run `etalon doctor` for the reason"
            ) from None
        return Alerts(alerts=[_shown(alert) for alert in alerts if of is None or alert.state == of])

    @routes.post("/v1/alerts/{alert}")
    def change(
        alert: Annotated[str, Path(pattern="^[0-9a-f]{8}$", description="the id of an alert")],
        body: AlertChange,
        request: Request,
    ) -> Alert:
        """Acknowledge an alert with a note, open it again, or close it."""
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        grant = request.state.grant
        try:
            [changed] = state.alerts.change(home, alert, body.state, now, body.note, grant.name if grant else "")
        except state.alerts.AlertError:
            raise Problem(404, "unknown-alert", f"no alert {alert}; GET /v1/alerts lists them", field="alert") from None
        except OSError as problem:
            log.error("alerts_unwritable", problem=str(problem))
            raise Problem(
                503, "alerts-unwritable", "the service cannot write the alerts; the reason is in its log"
            ) from None
        return _shown(changed)

    return routes


def _shown(alert: state.alerts.Alert) -> Alert:
    return Alert(**{key: value for key, value in alert.to_dict().items() if key != "page"})
