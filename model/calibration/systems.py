"""Every system there is data for, calibrated: by its history or its measured points."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from model.calibration.groups import with_components
from model.calibration.history import History, enough
from model.calibration.lpar import NotCalibratable, calibrate_lpar
from model.calibration.measured_points import as_frame
from model.calibration.points import CapacityModel, NoPointsError
from model.calibration.related_systems import SystemDescription
from model.capacity.adjustments import QUANTITIES, Z_90, Adjustment, Factor
from model.capacity.bundle import systems_with_conditions
from model.capacity.figures import ratings as engine_ratings
from model.capacity.parameters import SystemParameters
from model.capacity.samples import to_plain
from model.documents import not_finite
from model.isolation import Faults, each, together
from model.published import catalogue
from model.published.catalogue import CatalogueError, Figure
from model.published.model import fit as fit_conditions
from model.published.observations import Study
from model.published.reading import read_catalogue, read_points

FILE = Path(__file__).with_name("adjustments.toml")
MOVED = "moved"
"""What an effect changes that moves engine time from CPs to zIIPs."""
ALONE_SHARE = 0.5
"""A change published as one figure without a range holds within half of itself."""


@dataclass(frozen=True)
class Calibrated:
    """``systems`` by id; ``refused`` has the reason for each that has data but no use.

    ``faults`` names those among the refused of which a stage ended in an error, which is a fault to be reported.
    """

    systems: Mapping[str, SystemParameters]
    refused: Mapping[str, str]
    points: pd.DataFrame
    conditions: Mapping[str, Any]
    faults: Mapping[str, str] = field(default_factory=dict)

    def without(self, faults: Mapping[str, str]) -> Calibrated:
        """What is left when a later stage failed for some of the systems."""
        return replace(
            self,
            systems={name: one for name, one in self.systems.items() if name not in faults},
            refused={**self.refused, **faults},
            faults={**self.faults, **faults},
        )


class NothingCalibratedError(ValueError):
    """No system can be calibrated; ``faults`` has those of which calibration ended in an error."""

    def __init__(self, message: str, faults: Mapping[str, str]) -> None:
        super().__init__(message)
        self.faults = faults


def calibrate(
    points: Any,
    histories: Mapping[str, History],
    descriptions: Mapping[str, SystemDescription] | None = None,
    figures: Sequence[Mapping[str, Any]] = (),
    ratings: Mapping[str, tuple[float | None, float | None]] | None = None,
) -> Calibrated:
    """Calibrate all systems; one that cannot be, or fails, never keeps the others from it.

    Parameters
    ----------
    points
        The mart of measured points.
    histories
        LPARs with intervals; those with too few are left to their points.
    descriptions
        Reference systems by id.
    figures
        Rows of ``fct_point_metric``, from which studies are fitted.
    ratings
        Service units and software service units a second of an engine, by system id (``system/SID``).

    Raises
    ------
    NothingCalibratedError
        No system can be calibrated.
    """
    long = usable(histories)
    systems, refused, faults = _of_histories(long)
    frame = as_frame(points)
    frame = frame[~frame["system_id"].isin({name.partition("/")[0] for name in long})]
    model, left_out, errors = _of_points(frame, descriptions)
    refused |= left_out
    faults |= errors
    if model is not None:
        systems |= model.systems_
        frame = model.points_
    else:
        frame = frame[:0]
    for name, history in histories.items():
        if name not in systems and name not in refused:
            refused[name] = (
                f"{len(history.seconds)} intervals and no measured point: too little to calibrate on; load at least "
                "three days of intervals, or a runs file that names measured points"
            )
    adjustments = read_adjustments()
    whole, errors = each(
        "calibration",
        systems,
        lambda name: _finite(_rated(systems[name], (ratings or {}).get(name, (None, None)), adjustments)),
    )
    conditions, unfitted = _conditions(figures)
    faults |= errors | unfitted
    whole = {name: made for name, made in whole.items() if name not in faults}
    if not whole and not conditions:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in {**refused, **faults}.items())
        why = reasons or "there is neither a history nor a measured point"
        raise NothingCalibratedError(f"nothing can be calibrated: {why}", faults)
    if conditions:
        conditions["adjustments"] = {name: to_plain(one) for name, one in adjustments.items()}
        refused = {name: reason for name, reason in refused.items() if name not in systems_with_conditions(conditions)}
    return Calibrated(whole, {**refused, **faults}, frame, conditions, faults)


def _of_histories(histories: Mapping[str, History]) -> tuple[dict[str, SystemParameters], dict[str, str], Faults]:
    """Parameters of histories, the reason for each that cannot be calibrated, and the faults."""
    refused: dict[str, str] = {}

    def of_history(name: str) -> SystemParameters | None:
        try:
            return with_components(calibrate_lpar(histories[name]), histories[name])
        except NotCalibratable as reason:
            refused[name] = str(reason)
            return None

    made, faults = each("calibration", sorted(histories), of_history)
    return {name: one for name, one in made.items() if one is not None}, refused, faults


def _of_points(
    frame: pd.DataFrame, descriptions: Mapping[str, SystemDescription] | None
) -> tuple[CapacityModel | None, dict[str, str], Faults]:
    """The model of all systems with points, None without any; and as of :func:`_of_histories`."""

    def fitted(names: Sequence[str]) -> tuple[CapacityModel | None, dict[str, str]]:
        try:
            model = CapacityModel(descriptions).fit(frame[frame["system_id"].isin(names)])
        except NoPointsError as reason:
            return None, {name: str(reason) for name in names}
        return model, model.left_out_

    fitted_systems, faults = together("calibration", [str(name) for name in frame["system_id"].unique()], fitted)
    model, left_out = fitted_systems or (None, {})
    return model, left_out, faults


def _finite(parameters: SystemParameters) -> SystemParameters:
    """The parameters, all of which are finite: null stands for no parameter; errors as :func:`_written`."""
    _written(to_plain(parameters))
    return parameters


def _written(document: dict[str, Any]) -> dict[str, Any]:
    """A document, all of whose numbers are finite.

    Raises
    ------
    ValueError
        One is not; it is named.
    """
    for place, number in not_finite(document):
        raise ValueError(f"the parameter {place} is {number}")
    return document


def _rated(
    parameters: SystemParameters, rates: tuple[float | None, float | None], adjustments: Mapping[str, Adjustment]
) -> SystemParameters:
    """The parameters with the ratings of the engines, and published adjustments."""
    return replace(replace(parameters, adjustments=adjustments), **engine_ratings(*rates))


def _conditions(figures: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], Faults]:
    """Condition laws of the systems of these figures, and the faults."""

    def fitted(names: Sequence[str]) -> dict[str, Any]:
        return _written(_condition_laws([row for row in figures if row["system_id"] in names]))

    names = list(dict.fromkeys(str(row["system_id"]) for row in figures))
    laws, faults = together("calibration of the studies", names, fitted)
    return laws or {}, faults


def _condition_laws(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Condition laws of the reference systems among the measured and of all other systems whose runs name conditions.

    Empty where there are none.
    """
    reference = set(catalogue.systems())
    measured = [row for row in figures if row["system_id"] in reference]
    others = read_points(row for row in figures if row["system_id"] not in reference)
    if not others and not measured:
        return {}
    study = read_catalogue(marts=measured) if measured else Study((), (), {})
    return fit_conditions((*study.rows, *others), study.facts, study.identities)


def usable(histories: Mapping[str, History]) -> dict[str, History]:
    """Those with intervals enough to be a history."""
    return {name: history for name, history in histories.items() if enough(history)}


def read_adjustments() -> dict[str, Adjustment]:
    """All adjustments by name; CatalogueError for an entry that names no figure."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: _adjustment(name, entry) for name, entry in entries.items()}


def _adjustment(name: str, entry: Mapping[str, Any]) -> Adjustment:
    changes: dict[str, list[float]] = {}
    sources: dict[str, None] = {}
    for effect in entry["effects"]:
        values = changes.setdefault(effect["quantity"], [])
        if effect["quantity"] not in (*QUANTITIES, MOVED):
            raise CatalogueError(f"adjustment {name}: no such quantity: {dict(effect)}")
        if effect.get("bound") == "up to":
            values.append(0.0)
        if "source" in effect:
            values += [share / 100.0 for share in effect["of_pct"]]
            sources[effect["source"]] = None
            continue
        figures = _figures(name, effect["system"], effect)
        sources.update(dict.fromkeys(f"{effect['system']}: {figure.source}" for figure in figures))
        values += _changes(name, effect, figures)
    moved = changes.pop(MOVED, None)
    factors = {quantity: _factor(values) for quantity, values in changes.items()}
    shares = (min(moved), max(moved)) if moved else None
    return Adjustment(name, entry["title"], factors, tuple(sources), entry.get("scope", ""), shares)


def _changes(name: str, effect: Mapping[str, Any], figures: Sequence[Figure]) -> list[float]:
    """The changes that the figures of an effect say, as parts of one, in order."""
    sign = -1.0 if effect["change"] == "decrease_pct" else 1.0
    values = [sign * float(figure.value) / 100.0 for figure in figures]
    if "beside" not in effect:
        return values
    # Both were measured against the same: what one is beside the other, of each pair of figures.
    other = _changes(name, {"change": effect["change"]}, _figures(name, effect["system"], effect, "beside"))
    return [1.0 - (1.0 + one) / (1.0 + base) for one, base in zip(values, other, strict=True)]


def _figures(name: str, system: str, effect: Mapping[str, Any], condition: str = "condition") -> list[Figure]:
    figures = [
        figure
        for figure in catalogue.system(system).select(effect["table"], effect.get(condition, ""), effect.get("metric"))
        if figure.number is not None
    ]
    if not figures:
        raise CatalogueError(f"adjustment {name}: no figure: {dict(effect)}")
    return figures


def _factor(changes: list[float]) -> Factor:
    """The middle of the changes, and a spread so that they make the 90 % interval."""
    low, high = math.log1p(min(changes)), math.log1p(max(changes))
    if low == high:
        return Factor(low, ALONE_SHARE * abs(low) / Z_90)
    return Factor.between(low, high)
