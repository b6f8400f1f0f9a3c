"""Baselines that predict busy or a response more closely than the model, by the backtest of a system's own records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAST_WEEK, PROPORTIONAL = "same hour last week", "busy in proportion to the work of transactions"
USUAL, MMC = "usual response", "M/M/c with the measured service time"
LATER, HIGHER = "later days", "higher load"
"""What a backtest holds out."""
PLAINLY = 0.9
"""Median error of a baseline over that of the model below which the baseline is used."""


def used(gate: Mapping[str, Any] | None) -> dict[str, str]:
    """The baseline by class that predicts changes of its response, where higher loads were closer to it; of the class
    with the empty name, changes of busy.

    Parameters
    ----------
    gate
        Validation of a system, if any.

    Returns
    -------
    dict
        :data:`USUAL` (the response stays as recorded) or :data:`MMC` (it changes as M/M/c has it) by class;
        :data:`PROPORTIONAL` of busy.
    """
    compared = (gate or {}).get("baselines", ())
    return {one["class"]: one["baseline"] for one in compared if is_used(one)}


def is_used(one: Mapping[str, Any]) -> bool:
    """Whether a backtest shows a baseline that predicts changes of busy or of a class's response more closely."""
    closer = one["baseline_pct"] < PLAINLY * one["model_pct"]
    usable = (USUAL, MMC) if one["class"] else (PROPORTIONAL,)
    return bool(one.get("held_out") == HIGHER and one["baseline"] in usable and closer)
