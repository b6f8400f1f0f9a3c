"""A calibrated system to ask, and short names for its answers."""

import pytest

from model.calibration.points import CapacityModel
from model.calibration.related_systems import SystemDescription
from model.capacity import ask
from model.capacity import bundle as bundles
from tests.model.points import made_points

ABOUT = SystemDescription("shop", workload="shop", machine="m1", engines=8)


@pytest.fixture(scope="session")
def bundle():
    """Of a system calibrated on three points with response times."""
    points = made_points("shop", [2000.0, 4000.0, 6000.0], fixed=0.2, demand_us=1000.0, noise=0.002)
    points["total_shop_response_ms"] = [8.0, 8.3, 9.1]
    systems = CapacityModel({"shop": ABOUT}).fit(points).systems_
    return bundles.loads(bundles.dumps(bundles.build(systems, data={"ledger": "x"}, validation={})))


def predict(*question):
    """The answer as a caller gets it."""
    return ask.predict(*question).to_dict()


def value(answer, metric):
    """The output of that metric."""
    return next(output for output in answer["outputs"] if output["metric"] == metric)
