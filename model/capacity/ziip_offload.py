"""A system whose work goes to zIIPs, as part of a bundle: what is moved there, and zIIPs it did not have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.adjustments import PREFIX, Z_90, Adjustment, asked
from model.capacity.cache import cached
from model.capacity.parameters import DemandModel, SystemParameters
from model.capacity.question_keys import ZIIPS
from model.capacity.state import ZIIP_WORK, normal_scores
from model.capacity.values import QuestionError, must_be_whole
from model.capacity.ziip_pool import prior_pool

Array = NDArray[np.float64]
ON_ZIIPS = ":ziip"
# Seeds of what is moved, one for each adjustment.
MOVED_SEED = 9000
NEW_ZIIPS = (
    "ziip_engines: no zIIPs were recorded: the time until work overflows to CPs is not known; the interval includes "
    "this"
)
AS_QUEUED = DemandModel(
    regressor=ZIIP_WORK,
    engine="ziip_busy",
    reference_rate=1.0,
    scale=1.0,
    support=(0.0, math.inf),
    coef=np.array([[0.0, 1.0, 0.0]]),
    noise=np.zeros(1),
    drift=np.zeros(1),
    points=0,
    additive=False,
)
"""Busy zIIP cores as the queue of the pool has them."""
NO_ZIIPS = "there are no zIIPs, so the work stays on CPs: add ziip_engines=1 or more"


@dataclass(frozen=True)
class Offload:
    """What of a question moves work to zIIPs: adjustments, and the zIIPs there are then; both may be none."""

    moving: tuple[Adjustment, ...]
    engines: float

    @classmethod
    def of(cls, parameters: SystemParameters, at: Mapping[str, Any]) -> Offload:
        """That of a question, which is refused elsewhere if it says anything wrong."""
        wanted = {key: value for key, value in at.items() if str(key).startswith(PREFIX)}
        try:
            chosen = asked(wanted, parameters.adjustments, parameters.parts)[1] if wanted else ()
            recorded = parameters.ziip.engines if parameters.ziip else 0.0
            engines = float(must_be_whole(ZIIPS, at[ZIIPS], least=0)) if ZIIPS in at else recorded
        except QuestionError:
            return cls((), 0.0)
        return cls(tuple(one for one in chosen if one.moved), engines)


def with_ziips(parameters: SystemParameters, at: Mapping[str, Any]) -> SystemParameters:
    """The system as a question has it, with zIIPs where it asks for any, and with the engine time that adjustments
    move to them; the very same where it asks for neither, or where there are no zIIPs to move it to."""
    offload = Offload.of(parameters, at)
    has = parameters.ziip is not None and parameters.ziip.engines > 0
    eligible = any(law.engine == "ziip" for law in parameters.demands.values())
    if offload.engines <= 0 or not (offload.moving or (eligible and not has)):
        return parameters
    key = (ZIIPS, tuple((one.name, one.moved) for one in offload.moving), offload.engines)
    return cached(parameters, key, lambda: _offloaded(parameters, offload, has))


def _offloaded(parameters: SystemParameters, offload: Offload, has: bool) -> SystemParameters:
    changed, draws = replace(parameters, offloaded=True), parameters.samples
    if offload.moving:
        changed = _with_moved(changed, _share(offload.moving, draws))
    if not has:
        changed = replace(
            changed,
            ziip=prior_pool(offload.engines, draws),
            demands={**changed.demands, ZIIP_WORK: AS_QUEUED},
            notes=(NEW_ZIIPS, *parameters.notes),
        )
    return changed


def _share(moving: Sequence[Adjustment], draws: int) -> Array:
    """(1 + draws,) of the engine time what is moved, the centre first."""
    left = np.ones(1 + draws)
    for i, one in enumerate(moving):
        assert one.moved is not None
        low, high = one.moved
        spread = 0.5 * (high - low) / Z_90 * normal_scores(1 + draws, MOVED_SEED + i)
        left *= 1.0 - np.clip(0.5 * (low + high) + spread, 0.0, 1.0)
    return 1.0 - left


def _with_moved(parameters: SystemParameters, share: Array) -> SystemParameters:
    """The system with a share of the transactions' time on CPs taken to zIIPs."""
    demands = dict(parameters.demands)
    driving = {*parameters.class_names, *parameters.mixes}
    own = [n for n, law in demands.items() if law.regressor in driving and law.engine == "cp"]
    total = [n for n in own if n in parameters.busy_components] or [n for n in own if demands[n].additive]
    for name in own:
        law, there = demands[name], f"{name}{ON_ZIIPS}"
        # What was not measured on zIIPs is part of no total but theirs.
        moved = replace(_scaled(law, share), engine="ziip", additive=name in total, points=0, metrics=())
        demands[there] = _sum(demands[there], moved) if there in demands else moved
        demands[name] = _scaled(law, 1.0 - share)
    responses = {
        key: replace(law, ziip_series=tuple(f"{name}{ON_ZIIPS}" for name in law.series))
        for key, law in parameters.responses.items()
    }
    return replace(parameters, demands=demands, responses=responses)


def _scaled(law: DemandModel, by: Array) -> DemandModel:
    return replace(law, coef=law.coef * by[:, None])


def _sum(law: DemandModel, more: DemandModel) -> DemandModel:
    """The sum of two laws of one regressor, uncertain as the first."""
    times, scale = law.reference_rate / more.reference_rate, more.scale / law.scale
    fixed, each, curve = more.coef.T
    as_first = [fixed, each * times + curve * (times**2 - times), curve * times**2]
    return replace(law, coef=law.coef + scale * np.stack(as_first, axis=1))
