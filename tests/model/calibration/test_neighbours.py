"""What an LPAR knows of the others of its machine."""

from dataclasses import replace

import numpy as np

from model.calibration.devices import arrival_variance, with_neighbours, work_variance
from model.calibration.history import SharedMachine
from model.calibration.lpar import calibrate_lpar
from tests.cases.histories import history


def test_variance_of_an_intervals_work_is_that_of_its_transactions_whatever_a_release_or_growth_changed():
    plain = history()
    random = np.random.default_rng(3)
    intervals = len(plain.seconds)
    ended = random.integers(100, 900, plain.ended.shape).astype(float)
    ended[::50, 0] = 0.0
    mean_s = np.linspace(0.01, 0.03, ended.shape[1])
    released = np.where(np.arange(intervals) < intervals // 2, 1.0, 0.7)
    moving = (np.linspace(1.0, 1.2, intervals) * released)[:, None]
    # The sum of n exponential times varies by n times the square of their mean.
    cp_s = moving * mean_s * random.standard_gamma(np.maximum(ended, 1e-9))
    found = work_variance(replace(plain, ended=ended, cp_s=cp_s))
    expected = ended @ mean_s**2 * float(np.mean(moving**2))
    np.testing.assert_allclose(np.median(found / expected), 1.0, rtol=0.1)


def test_arrivals_vary_more_than_poisson_and_long_jobs_do_not():
    plain = history()
    counted = arrival_variance(replace(plain, jobs={"LOW": plain.ended[:, 1]}))
    of_high = 4.0 * plain.cp_s[:, 0] ** 2 / plain.ended[:, 0]
    np.testing.assert_allclose(counted, of_high)
    assert (arrival_variance(plain) > counted).all()


def test_other_lpars_vary_as_their_records_say_and_as_the_own_where_there_are_none():
    own, other = history(), history(seed=2)

    def noise(others_s, beside_it):
        machine = SharedMachine("M", 12, 1.0, 3.0, False, others_s, np.zeros(len(others_s)))
        shared = replace(own, machine=machine)
        made = calibrate_lpar(with_neighbours(shared, {"own": shared, **beside_it}))
        return float(np.std(made.others_noise[1:]))

    known = {"other": replace(other, machine=SharedMachine("M", 12, 1.0, 3.0, False, own.busy_s, 0.0 * own.busy_s))}
    alone, of_one = noise(other.busy_s, {}), noise(other.busy_s, known)
    assert of_one > 0.0
    # A fourth of the other LPARs' work is recorded: the rest still varies as the own.
    assert noise(4.0 * other.busy_s, known) > 0.74 * alone
