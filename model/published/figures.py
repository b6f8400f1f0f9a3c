"""Condition laws as part of a capacity answer: figures with what-if adjustments, notes and evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.capacity import answer
from model.capacity.adjustments import PREFIX, Adjustment, adjusted, asked, factor, quantity_of
from model.published.model import NEARER_FIGURES, NEARER_LEVELS, predict
from model.published.prediction import UNPACED_TIMES

PERCENT, FULL_PCT = "pct", 100.0
TOO_FEW = "the engines may be too few for this rate with what is adjusted"
OF_METRICS = (TOO_FEW, NEARER_LEVELS, NEARER_FIGURES, UNPACED_TIMES)


@dataclass(frozen=True)
class Figures:
    """Figures of a system at a condition; `evidence` has for each what it rests on."""

    outputs: tuple[answer.Output, ...]
    notes: tuple[str, ...]
    evidence: tuple[Mapping[str, Any], ...]
    extrapolated: bool


def figures(
    model: Mapping[str, Any], adjustments: Mapping[str, Adjustment], system: str, at: Mapping[str, Any] | None = None
) -> Figures:
    """What studies say of a system, adjusted as `adjust.NAME=on` asks.

    Raises QuestionError for an unknown system, key, level or adjustment.
    """
    rest, chosen = asked(at or {}, adjustments, levels_named(model, system))
    outputs, evidence = [], []
    quantities = set()
    notes: dict[str, list[str]] = {adjustment.note: [] for adjustment in chosen}
    for output in predict(model, system, rest):
        ends = output.value, output.lo, output.hi
        quantity = quantity_of(output.metric, output.unit)
        quantities.add(quantity)
        if any(quantity in one.quantities for one in chosen):
            ends = adjusted(*ends, factor(chosen, str(quantity)))
            if output.unit == PERCENT and ends[2] > FULL_PCT:
                ends = min(ends[0], FULL_PCT), min(ends[1], FULL_PCT), FULL_PCT
                notes.setdefault(TOO_FEW, []).append(output.metric)
        condition = "; ".join(f"{key}={level}" for key, level in output.condition.items())
        outputs.append(answer.Output(output.metric, condition, *ends, output.unit))
        evidence.append({"metric": output.metric, "condition": condition, **output.evidence})
        for note in output.notes:
            notes.setdefault(note, []).append(output.metric)
    for one in chosen:
        if not one.quantities & quantities:
            notes[f"{PREFIX}{one.name}: says nothing of the figures that are known here, so nothing changes"] = []
    outside = any(entry.get("extrapolated") for entry in evidence)
    return Figures(tuple(outputs), tuple(_said(note, of) for note, of in notes.items()), tuple(evidence), outside)


def levels_named(model: Mapping[str, Any], system: str) -> set[str]:
    """The levels of all conditions of a system's figures, such as its workloads and components by name."""
    return {level for row in model["rows"] if row["system"] == system for level in row["condition"].values()}


def _said(note: str, metrics: list[str]) -> str:
    """A note, with the metrics it is about where it does not hold for all."""
    return f"{', '.join(dict.fromkeys(metrics))}: {note}" if note in OF_METRICS else note
