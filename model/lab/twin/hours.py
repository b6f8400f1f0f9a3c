"""How load follows the hours of a week: 168 factors of mean 1, from Monday midnight on, local time."""

from collections.abc import Sequence

import numpy as np

from model.lab.errors import LabError

HOURS = 168
_OFFICE_DAY = (
    0.5, 0.45, 0.4, 0.4, 0.45, 0.55, 0.75, 1.05, 1.4, 1.7, 1.8, 1.75, 1.55, 1.6, 1.75, 1.7, 1.55, 1.3, 1.1, 0.95, 0.8,
    0.7, 0.6, 0.55,
)  # fmt: skip
_OFFICE_WEEKEND = 0.5
_NIGHT_HOURS = (20, 21, 22, 23, 0, 1, 2, 3, 4)
_NIGHT, _DAY = 2.2, 0.3


def hour_factors(shape: str | Sequence[float]) -> np.ndarray:
    """The factors of `office`, `flat` or `night`, or those given, brought to a mean of 1.

    Raises LabError for another name, another number of factors, or factors below zero.
    """
    if isinstance(shape, str):
        if shape not in _SHAPES:
            raise LabError(f"hour_of_week {shape!r} is none of {', '.join(_SHAPES)}, and no list of {HOURS} factors")
        factors = _SHAPES[shape]()
    else:
        factors = np.array(shape, float)
    if factors.shape != (HOURS,) or not np.all(np.isfinite(factors)) or factors.min() < 0 or factors.sum() <= 0:
        raise LabError(f"hour_of_week needs {HOURS} factors of zero or more, not all zero; it has {factors.size}")
    return factors / factors.mean()


def _office() -> np.ndarray:
    day = np.array(_OFFICE_DAY)
    return np.concatenate([np.tile(day, 5), np.tile(_OFFICE_WEEKEND * day, 2)])


def _night() -> np.ndarray:
    return np.tile([_NIGHT if hour in _NIGHT_HOURS else _DAY for hour in range(24)], 7)


_SHAPES = {"office": _office, "flat": lambda: np.ones(HOURS), "night": _night}
