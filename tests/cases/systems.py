"""A calibrated LPAR: two classes of different importance, and a machine it may share."""

from dataclasses import replace

import numpy as np

from model.capacity.parameters import (
    DemandModel,
    Growth,
    Machine,
    NWay,
    RecordedIntervals,
    ResponseModel,
    SystemParameters,
    TransactionClass,
    Weights,
)
from model.capacity.samples import ONE
from model.capacity.state import Scenario

DRAWS = 40
ENGINES = 4.0


def drawn(centre: float, sd: float, seed: int) -> np.ndarray:
    """Samples of a quantity, the best estimate first."""
    return np.append(centre, centre + sd * np.random.default_rng(seed).standard_normal(DRAWS))


def demand(regressor: str, demand_s: float, priority: int, seed: int) -> DemandModel:
    """Engines in use by a class at up to 1,000 transactions/s, one percent uncertain."""
    spread = 0.01 * np.random.default_rng(seed).standard_normal((DRAWS, 1)) * [[0.0, 1.0, 0.0]]
    return DemandModel(
        regressor=regressor,
        priority=priority,
        reference_rate=1000.0,
        scale=1000.0 * demand_s,
        support=(100.0, 1000.0),
        coef=np.array([0.0, 1.0, 0.0]) + np.vstack([np.zeros(3), spread]),
        noise=np.zeros(1 + DRAWS),
        drift=drawn(0.0, 0.02, seed),
    )


def response(name: str) -> ResponseModel:
    """Mean response of a class: its CPU, stretched, and five milliseconds elsewhere."""
    return ResponseModel("response_ms", name, (name,), rest_ms=drawn(5.0, 0.1, 5), long=ONE)


SYSTEM = SystemParameters(
    engines=ENGINES,
    classes=(TransactionClass("online"), TransactionClass("batch")),
    busy_components=("online", "batch"),
    demands={"online": demand("online", 2e-3, 0, 1), "batch": demand("batch", 1e-3, 1, 2)},
    responses={"online": response("online"), "batch": response("batch")},
)
MACHINE = Machine(name="M1", engines=8.0, share=0.25, capped=False, management=0.1)



def scenario(online: float, batch: float, **more) -> Scenario:
    return Scenario(rates=np.array([[[online, batch]]]), engines=ENGINES, **more)


STARTS = [f"2026-11-0{day}T{hour:02d}:{minute:02d}" for day in (2, 3) for hour in (9, 10) for minute in (0, 30)]
RATES = [[100.0 + 10 * i for i in range(8)], [50.0 + i for i in range(8)]]
HISTORY = replace(
    SYSTEM,
    classes=(
        TransactionClass("online", report_class="RWEB", workload="shop"),
        TransactionClass("batch", report_class="RBATCH", workload="shop"),
    ),
    recorded=RecordedIntervals(
        start_local=tuple(STARTS), seconds=1800.0, rates=np.array(RATES), others=1.0 + np.arange(8)
    ),
    peak=7,
    machine=MACHINE,
    weights=Weights(100.0, 400.0),
    n_way=NWay(0.02),
)


def grown(parameters: SystemParameters, rate: float | np.ndarray) -> SystemParameters:
    """The parameters with classes that grow at this rate, a logarithm a week."""
    return replace(parameters, classes=tuple(replace(one, growth=Growth(rate)) for one in parameters.classes))


RECORDED = replace(
    HISTORY, operating_point="2026-11-03T10:30", support_tps=(150.0, 227.0), intervals=8, seconds=14400.0
)
"""The history with what answers say of it."""
