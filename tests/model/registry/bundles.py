"""A fitted bundle for tests."""

from model.calibration.systems import calibrate
from model.validation import validate
from tests.model.points import made_points

RATES = [1500.0, 2500.0, 3500.0, 5000.0]


def fitted(seed=1):
    points = made_points("shop", RATES, fixed=0.2, demand_us=1000.0, noise=0.003, seed=seed)
    return calibrate(points, {}), validate(points)
