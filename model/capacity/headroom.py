"""Until when it fits: the recorded peak grown as the history trends, and the dates at which each limit is crossed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Estimate
from model.capacity.base_load import MOST_WEEKS
from model.capacity.bottleneck import resources, ziips_without_target
from model.capacity.evaluation import System
from model.capacity.evidence import as_answer, failed_gate
from model.capacity.growth import WEEKS_A_YEAR, Span, end_of, grown, is_planned, is_short, others_grown, short_history
from model.capacity.question import parse_question, prepare_system
from model.capacity.question_keys import system_entry
from model.capacity.state import State
from model.capacity.targets import MaxResponse, Targets, parse_targets
from model.capacity.values import QuestionError

Array = NDArray[np.float64]


def headroom(
    bundle: Mapping[str, Any],
    system: str,
    at: Mapping[str, Any] | None = None,
    *,
    max_busy_pct: float = 90.0,
    max_response_ms: MaxResponse = None,
) -> dict[str, Any]:
    """The dates at which busy of the LPAR and its machine, each limit and, where asked, response cross their targets.

    From the end of the records, the peak grows week by week as each class trends or is planned to, for three years, and
    what the machine's other LPARs use as that trends; ``growth_pct`` keys of ``at`` come on top. Each crossing has the
    date at the centre and the dates before which 5 % and 95 % of the draws have crossed; None for later than the three
    years.

    Raises:
        QuestionError: as ``predict``; or a system without a history, which says nothing of growth.
    """
    parameters = system_entry(bundle, system)
    if parameters.recorded is None:
        raise QuestionError(
            "system", system, f"system: {system} has measured points but no history, so its growth is not known"
        )
    ready = prepare_system(parameters, at)
    within = parse_targets(system, ready, max_busy_pct, max_response_ms)
    load = parse_question(ready, at).as_asked()
    weeks = np.arange(MOST_WEEKS + 1, dtype=float)
    base = np.broadcast_to(load.scenario.rates, (ready.draws, 1, len(ready.streams)))
    assert load.span is not None
    start, growth, others_growth = _growth(ready, load.span, load.asked, weeks)
    others = load.scenario.others * others_growth
    # Each is crossed by all that comes, whatever others let through; responses beside these are asked for alone.
    evaluated = ready.evaluate if within.response_ms else ready.at_rates
    state = evaluated(replace(load.scenario, rates=base * growth, others=others))
    first = start.astype("datetime64[D]")
    crossings = _crossings(ready, state, within, first)
    busy = 100.0 * state.busy / state.scenario.engines
    note = "growth continues as in the recorded weeks"
    if is_planned(load.asked):
        note = "planned growth applies where given; other growth continues as in the recorded weeks"
    if not any(one.growth is not None and one.growth.rate[0] for one in parameters.classes):
        note = "the history is too short to show growth: no growth is assumed, with a wide range"
    short = [short_history(ready)] if is_short(ready) else []
    failed = failed_gate(parameters.gate, "this system")
    notes = [*short, *failed, *load.notes, note, *ziips_without_target(ready, state)]
    # The year after the end of the records.
    year = Span(end_of(ready), 0.0, np.array([WEEKS_A_YEAR]))
    if np.any(load.scenario.others):
        a_year = Estimate.of(100.0 * (others_grown(ready, year)[:, 0] - 1.0))
        said = f"{a_year.value:+.0f} % ({a_year.lo:+.0f} to {a_year.hi:+.0f}) a year"
        notes.append(f"the other LPARs of the machine grow by {said}")
    return as_answer(
        bundle,
        system,
        ready,
        load,
        targets={"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms},
        first=crossings[0] if crossings and (crossings[0]["value"] or crossings[0]["lo"]) else None,
        crossings=crossings,
        growth=[
            {
                "class": one.name,
                "growth_pct_per_year": Estimate.of(100.0 * (factor - 1.0)).to_dict(),
                "backtest": one.growth and one.growth.backtest,
            }
            for one, factor in zip(
                parameters.classes, grown(ready, year, load.asked)[:, 0].T, strict=True
            )
        ],
        forecast=[
            {
                "week": week,
                "date": str(first + np.timedelta64(7 * week, "D")),
                **Estimate.of(busy[:, week]).to_dict(),
            }
            for week in range(0, MOST_WEEKS + 1, 4)
        ],
        notes=notes,
    )


def _growth(ready: System, span: Span, question: Mapping[str, Any], weeks: Array) -> tuple[np.datetime64, Array, Array]:
    """The date from which weeks count, and growth of classes and of the other LPARs' use until then, as factors: from
    the end of the records, or from a time to come that is asked for, to which the load has grown already."""
    then = replace(span, ahead=span.ahead + weeks)
    start = end_of(ready) + np.timedelta64(round(float(span.ahead[0]) * 7 * 86400), "s")
    if span.ahead[0] == 0.0:
        return start, grown(ready, then, question), others_grown(ready, then)
    before = grown(ready, span, question), others_grown(ready, span)
    return start, grown(ready, then, question) / before[0], others_grown(ready, then) / before[1]


def _crossings(ready: System, state: State, within: Targets, first: np.datetime64) -> list[dict[str, Any]]:
    """When each resource, and each response where asked, is above its target, the soonest first."""
    used = resources(ready, state).items()
    crossings = [_crossing(name, 100.0 * part / within.busy_pct, first) for name, part in used]
    for key, target_ms in sorted(within.response_ms.items()):
        name = f"response of {key[1]} above {target_ms:g} ms"
        crossings.append(_crossing(name, state.response_ms[key] / target_ms, first))
    return sorted(crossings, key=lambda row: (row["value"] is None, row["value"] or "", row["lo"] or "9999"))


def _crossing(name: str, used: Array, first: np.datetime64) -> dict[str, Any]:
    """Date of the first week at which each draw is above its target."""
    over = used > 1.0
    week = np.where(over.any(axis=1), over.argmax(axis=1), np.inf)
    low, high = np.quantile(week[1:], [0.05, 0.95], method="nearest")

    def date(at: float) -> str | None:
        return str(first + np.timedelta64(7 * int(at), "D")) if np.isfinite(at) else None

    return {"resource": name, "value": date(week[0]), "lo": date(low), "hi": date(high), "already": bool(over[0, 0])}
