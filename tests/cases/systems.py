"""A calibrated LPAR as plain values: two classes of different importance, and a machine it may share."""

import numpy as np

from model.capacity.parts import Scenario

DRAWS = 40
ENGINES = 4.0


def drawn(centre: float, sd: float, seed: int) -> dict:
    """A quantity as a bundle holds it."""
    return {"centre": centre, "draws": (centre + sd * np.random.default_rng(seed).standard_normal(DRAWS)).tolist()}


def usage(driver: str, demand_s: float, level: int, seed: int) -> dict:
    """Engines in use by a class at up to 1,000 transactions/s, one percent uncertain."""
    spread = 0.01 * np.random.default_rng(seed).standard_normal((DRAWS, 1)) * [[0.0, 1.0, 0.0]]
    return {
        "driver": driver,
        "level": level,
        "part": True,
        "reference_rate": 1000.0,
        "scale": 1000.0 * demand_s,
        "support": [100.0, 1000.0],
        "coef": [0.0, 1.0, 0.0],
        "draws": {
            "coef": (np.array([0.0, 1.0, 0.0]) + spread).tolist(),
            "noise": [0.0] * DRAWS,
            "drift": drawn(0.0, 0.02, seed)["draws"],
        },
    }


def response(stream: str) -> dict:
    """Mean response of a class: its CPU, stretched, and five milliseconds elsewhere."""
    nothing = {"centre": 0.0, "draws": []}
    return {
        "metric": "response_ms",
        "stream": stream,
        "series": [stream],
        "rest_ms": drawn(5.0, 0.1, 5),
        "short": {"centre": 1.0, "draws": []},
        "long": {"centre": 1.0, "draws": []},
        "load": nothing,
        "noise": nothing,
    }


ENTRY = {
    "engines": ENGINES,
    "streams": [{"name": "online"}, {"name": "batch"}],
    "capacity": ["online", "batch"],
    "usage": {"online": usage("online", 2e-3, 0, 1), "batch": usage("batch", 1e-3, 1, 2)},
    "response": {"online": response("online"), "batch": response("batch")},
}
MACHINE = {"name": "M1", "engines": 8.0, "share": 0.25, "capped": False, "management": 0.1}


def scenario(online: float, batch: float, **more) -> Scenario:
    return Scenario(rates=np.array([[[online, batch]]]), engines=ENGINES, **more)
