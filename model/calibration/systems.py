"""Every system there is data for, calibrated: histories and measured points become the entries of a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from model.calibration.adjustments import read_adjustments
from model.calibration.capacity import CapacityModel
from model.calibration.components import with_components
from model.calibration.descriptions import SystemDescription
from model.calibration.history import History, enough
from model.calibration.observations import as_frame
from model.calibration.production import Unusable, entry
from model.capacity import msu
from model.capacity.adjustments import to_plain
from model.capacity.conditions.fitting import fit as fit_conditions
from model.capacity.conditions.reading import read_catalogue, read_points
from model.capacity.conditions.rows import Study
from model.capacity.questions import lawful_systems
from model.systems import catalogue


@dataclass(frozen=True)
class Calibrated:
    """``systems`` by id as a bundle holds them; ``refused`` has the reason for each that has data but no use."""

    systems: Mapping[str, Any]
    refused: Mapping[str, str]
    points: pd.DataFrame
    conditions: Mapping[str, Any]


def calibrate(
    points: Any,
    histories: Mapping[str, History],
    descriptions: Mapping[str, SystemDescription] | None = None,
    figures: Sequence[Mapping[str, Any]] = (),
    ratings: Mapping[str, tuple[float | None, float | None]] | None = None,
    machines: Sequence[Mapping[str, Any]] = (),
) -> Calibrated:
    """Calibrate all systems; one that cannot be never keeps the others from it.

    Args:
        points: the mart of measured points.
        histories: LPARs with intervals; those with too few are left to their points.
        descriptions: reference systems by id.
        figures: rows of ``fct_point_metric``, from which condition laws are fitted.
        ratings: service units and software service units a second of an engine, by system id (``system/SID``).
        machines: ratings of other machines that the installation imported, see ``model.hardware.imported``.

    Raises:
        ValueError: nothing can be calibrated.
    """
    systems: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name, history in sorted(usable(histories).items()):
        try:
            systems[name] = with_components(entry(history), history)
        except Unusable as reason:
            refused[name] = str(reason)
    frame = as_frame(points)
    frame = frame[~frame["system_id"].isin({name.partition("/")[0] for name in usable(histories)})]
    if len(frame):
        try:
            model = CapacityModel(descriptions).fit(frame)
            systems |= model.systems_
            refused |= model.left_out_
            frame = model.points_
        except ValueError as reason:
            if not systems and not figures:
                raise
            refused |= {str(name): str(reason) for name in frame["system_id"].unique()}
    for name, history in histories.items():
        if name not in systems and name not in refused:
            refused[name] = (
                f"{len(history.seconds)} intervals and no measured point: too little to calibrate on; load at least "
                "three days of intervals, or a runs file that names measured points"
            )
    if not systems and not figures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise ValueError(f"nothing can be calibrated: {reasons or 'there is neither a history nor a measured point'}")
    known = to_plain(read_adjustments())
    conditions = _conditions(figures)
    if conditions:
        conditions["adjustments"] = known
        refused = {name: reason for name, reason in refused.items() if name not in lawful_systems(conditions)}
    added = {"adjustments": known, **({"machine_ratings": list(machines)} if machines else {})}
    whole = {name: _rated({**made, **added}, (ratings or {}).get(name, (None, None))) for name, made in systems.items()}
    return Calibrated(whole, refused, frame, conditions)


def _rated(entry: dict[str, Any], rates: tuple[float | None, float | None]) -> dict[str, Any]:
    """The entry with the ratings of its engines and the MSU figures that follow from them."""
    found = {**entry, **msu.ratings(*rates)}
    return {**found, "outputs": [*entry["outputs"], *msu.outputs(found)]}


def _conditions(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Condition laws of the reference systems among the measured and of all other systems whose runs name conditions.

    Empty where there are none.
    """
    reference = set(catalogue.systems())
    measured = [row for row in figures if row["system_id"] in reference]
    own = read_points(row for row in figures if row["system_id"] not in reference)
    if not own and not measured:
        return {}
    study = read_catalogue(marts=measured) if measured else Study((), (), {})
    return fit_conditions((*study.rows, *own), study.facts, study.identities)


def usable(histories: Mapping[str, History]) -> dict[str, History]:
    """Those with intervals enough to be a history."""
    return {name: history for name, history in histories.items() if enough(history)}
