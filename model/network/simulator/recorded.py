"""Recorded transactions as columns of a table, made ready to be replayed: which column means what is in its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.network import Network, NetworkError

UNITS = {"_us": 1e-6, "_ms": 1e-3, "_s": 1.0}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Transactions in order of arrival: ``arrival_s`` from the first one's, ``classes`` as indices into the network's,
    ``work_s`` by station or label, ``response_s`` as recorded (None where no column gives it)."""

    arrival_s: np.ndarray
    classes: np.ndarray
    work_s: dict[str, np.ndarray]
    response_s: np.ndarray | None


def recorded(network: Network, columns: Mapping[str, np.ndarray]) -> Recorded:
    """Transactions of a table for :func:`model.network.simulator.replay`.

    ``arrival`` holds times (datetime64) or seconds; ``class`` names of classes, not needed where the network has one;
    ``response_us`` (``_ms``, ``_s``) the response recorded, to compare with. Every other column is work at a station,
    or at the visit of that label, and is named after it with the unit: ``cp_us``, ``"PROD cp_ms"`` or ``prod_cp_ms``.

    Raises :class:`NetworkError` naming the column, the number of rows and what to do.
    """
    if "arrival" not in columns or len(columns["arrival"]) == 0:
        raise NetworkError("recorded transactions need a column 'arrival' (times or seconds) and at least one row")
    arrival = _seconds(np.asarray(columns["arrival"]))
    order = np.argsort(arrival, kind="stable")
    response = None
    work: dict[str, np.ndarray] = {}
    for name, values in columns.items():
        if name in ("arrival", "class"):
            continue
        stem, unit = _unit(name)
        figures = _figures(name, values)[order] * unit
        if stem == "response":
            response = figures
        else:
            work[_place(network, name, stem)] = figures
    return Recorded(arrival[order], _classes(network, columns.get("class"), len(arrival))[order], work, response)


def _seconds(values: np.ndarray) -> np.ndarray:
    if np.issubdtype(values.dtype, np.datetime64):
        if np.isnat(values).any():
            raise NetworkError(f"column 'arrival' is empty in {int(np.isnat(values).sum())} rows; leave them out")
        out = (values - values.min()) / np.timedelta64(1, "us") * 1e-6
    else:
        figures = _figures("arrival", values)
        out = figures - figures.min()
    return np.asarray(out, dtype=np.float64)


def _figures(name: str, values: np.ndarray) -> np.ndarray:
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NetworkError(f"column {name!r} holds something other than numbers: {error}") from error
    bad = int(np.count_nonzero(~np.isfinite(out)))
    if bad:
        raise NetworkError(f"column {name!r} is empty in {bad} rows; leave them out or say what it is there (coalesce)")
    if name != "arrival" and np.any(out < 0):
        raise NetworkError(f"column {name!r} is negative in {int(np.count_nonzero(out < 0))} rows")
    return out


def _unit(name: str) -> tuple[str, float]:
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            return name.removesuffix(ending), unit
    raise NetworkError(f"column {name!r} does not say its unit; end its name in {', '.join(UNITS)}")


def _place(network: Network, column: str, stem: str) -> str:
    labels = [label for c in network.classes for s in c.route if (label := getattr(s, "label", ""))]
    places = [*network.station_names, *dict.fromkeys(labels)]
    for name in places:
        if stem == name or stem.lower() == name.lower().replace(" ", "_"):
            return name
    raise NetworkError(f"column {column!r} is neither a station nor a label of a visit; known: {', '.join(places)}")


def _classes(network: Network, names: np.ndarray | None, count: int) -> np.ndarray:
    index = {name: i for i, name in enumerate(network.class_names)}
    if names is None:
        if len(index) > 1:
            raise NetworkError(f"a network of several classes needs a column 'class' with: {', '.join(index)}")
        return np.zeros(count, np.uint16)
    distinct, rows = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    unknown = [str(name) for name in distinct if name not in index]
    if unknown:
        raise NetworkError(
            f"column 'class' has {', '.join(map(repr, unknown[:5]))}, which the network has not; leave them out or "
            f"name them as one of: {', '.join(index)}"
        )
    return np.array([index[str(name)] for name in distinct], np.uint16)[rows]
