"""What a system was not measured for, taken from its nearest relative and widened accordingly.

A relative runs the same workload. Its law is scaled by the ratio of the two systems' totals, which both have
measured; how far the ratio of one address-space group deviates from the ratio of the total is learnt from the systems
that measured both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from model.calibration.descriptions import SystemDescription
from model.calibration.usage_law import usage, usage_mean

# Before any pair is seen, worth four observed groups: ratios of groups deviate 8 % from the ratio of the total where
# the software is another; 4 % where the same programs run on another machine, whose capacity ratio differs between
# kinds of work (IBM, Large Systems Performance Reference: low, average and high relative nest intensity).
OTHER_SOFTWARE_SD, SAME_SOFTWARE_SD = 0.08, 0.04
DEVIATION_WEIGHT = 4.0
# The part of response spent outside the engines: how much it may differ on a relative whose response was not measured.
OTHER_TIME_SD = 0.15

Laws = Mapping[str, Mapping[str, Any]]


def nearest(system: SystemDescription, candidates: Iterable[SystemDescription]) -> SystemDescription | None:
    """The candidate that differs least: first in software, then in machine, then in engines; ties by name."""

    def distance(other: SystemDescription) -> tuple[bool, bool, int, str]:
        engines = abs((other.engines or 0) - (system.engines or 0))
        return other.software != system.software, other.machine != system.machine, engines, other.system_id

    return min(candidates, key=distance, default=None)


def shared_total(one: Laws, other: Laws) -> str | None:
    """The total both have measured: a workload's own before the LPAR's, and none that rests on an assumption."""
    shared = [name for name in one if name in other and one[name]["total"]]
    measured = [name for name in shared if not (one[name]["assumed"] or other[name]["assumed"])]
    return min(measured, key=lambda name: (name == "lpar", name), default=None)


def total_ratio(own: Laws, relative: Laws, total: str) -> tuple[float, float]:
    """Usage of the system over the relative's at the system's highest measured rate, and its relative deviation."""
    rate = own[total]["support"][1]
    mine, theirs = usage(own[total], rate), usage(relative[total], rate)
    return mine.value / theirs.value, math.hypot(own[total]["noise_rel"], relative[total]["noise_rel"])


def part_shares(laws: Laws, total: str, rate: float) -> dict[str, float]:
    """Share of the total by address-space group at a rate; what no group accounts for stands under the empty name."""
    whole = usage_mean(laws[total], rate)
    shares = {name: usage_mean(law, rate) / whole for name, law in laws.items() if law["part"]}
    shares[""] = max(0.0, 1.0 - sum(shares.values()))
    return shares


def same_software(one: SystemDescription, other: SystemDescription) -> bool:
    """Whether two systems are known to run the same software."""
    return one.software == other.software != ""


def deviation_sd(pairs: Iterable[tuple[Laws, Laws]], prior_sd: float) -> float:
    """Standard deviation of ln(ratio of a group / ratio of the total) over pairs of relatives that measured both."""
    squares, count = DEVIATION_WEIGHT * prior_sd**2, DEVIATION_WEIGHT
    for one, other in pairs:
        total = shared_total(one, other)
        parts = [name for name in one if one[name]["part"] and name in other]
        if total is None or len(parts) < 2:
            continue
        rate = min(one[total]["support"][1], other[total]["support"][1])
        whole = usage_mean(one[total], rate) / usage_mean(other[total], rate)
        deviations = [math.log(usage_mean(one[name], rate) / usage_mean(other[name], rate) / whole) for name in parts]
        squares += sum(deviation**2 for deviation in deviations)
        count += len(deviations) - 1
    return math.sqrt(squares / count)


def usage_of_relative(
    name: str, own: Laws, relative: Laws, relative_id: str, deviation: float
) -> dict[str, Any] | None:
    """The relative's law of group ``name`` scaled to the system; None where they share no total.

    The shares of all groups sum to the total, whose ratio is known, so a group that is most of the total can deviate
    little: its variance is ``deviation^2 (1 - w^2 / sum of w^2)`` with the shares w.
    """
    total = shared_total(own, relative)
    if total is None:
        return None
    ratio, ratio_sd = total_ratio(own, relative, total)
    shares = part_shares(relative, total, own[total]["support"][1])
    bound = 1.0 - shares.get(name, 0.0) ** 2 / sum(share**2 for share in shares.values())
    law = dict(relative[name])
    law["scale"] = law["scale"] * ratio
    law["extra_rel"] = math.sqrt(law["extra_rel"] ** 2 + ratio_sd**2 + deviation**2 * max(bound, 0.0))
    law["support"] = list(own[total]["support"])
    law["points"] = 0
    law["origin"] = f"not measured; from {relative_id}, scaled by {ratio:.4f}, the ratio of both systems' {total} usage"
    return law


def response_of_relative(law: Mapping[str, Any], relative_id: str) -> dict[str, Any]:
    """The relative's response law: the CPU part follows the system's own service time, the rest is kept and widened."""
    widened = dict(law)
    widened["other_sd_ms"] = math.hypot(law["other_sd_ms"], OTHER_TIME_SD * law["other_ms"])
    widened["points"] = 0
    widened["origin"] = f"not measured; the part outside the engines from {relative_id}, the CPU part its own"
    return widened
