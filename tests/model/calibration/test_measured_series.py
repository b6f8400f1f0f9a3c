"""Division of CPU among classes on a measured series, against naive ways."""

import numpy as np

from model.calibration.serving import divided
from tests.shared import shared

SECONDS, FITTED = 30.0, 0.7


def test_utilization_of_later_intervals_follows_from_the_rates_of_three_classes():
    rows = np.genfromtxt(shared("cases/data/librede_intervals.csv"), delimiter=",", names=True)
    ended = SECONDS * np.column_stack([rows[f"rate_wc{i}"] for i in range(3)])
    busy, later = rows["cpu_util"], np.arange(len(rows)) >= FITTED * len(rows)
    response_s = np.column_stack([rows[f"meanR_wc{i}"] for i in range(3)])[~later]
    inside_s = (response_s * ended[~later]).sum(axis=0) / ended[~later].sum(axis=0)
    seconds, day = np.full((~later).sum(), SECONDS), np.arange((~later).sum()) // 10
    found = divided(SECONDS * busy[~later], ended[~later], inside_s, seconds, day)
    assert found is not None and (found.mean >= 0).all()
    predicted = found.mean[0] + ended[later] @ found.mean[1:] / SECONDS
    before = busy[np.flatnonzero(later) - 1]

    def missed(values: np.ndarray) -> float:
        return float(np.mean(np.abs(values / busy[later] - 1)))

    assert missed(predicted) <= 0.059
    assert missed(predicted) < min(missed(before), missed(np.full(later.sum(), busy[~later].mean())))
