"""What more engines cost: the n-way effect, as the vendor's service rates by number of engines state it.

Service units per second and engine fall as an LPAR gets more engines, because the same work takes longer on each.
Cost per transaction is taken to follow a power of the number of engines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from model.hardware.machines import Machine, machine, machines

# Spread of the exponent around a machine's own table, around the tables of others, and where no table names it.
# The last is one-sided for the most part: more engines do not make work cheaper.
OWN_SD, OTHER_SD = 0.06, 0.09
UNKNOWN_MEAN, UNKNOWN_SD = 0.04, 0.04
# The same where records show that engines busy beside each other do not make work dearer by more than UNDISTURBED: most
# of the effect is that they do. What is left is what their number costs, however few are busy.
UNDISTURBED, UNDISTURBED_MEAN, UNDISTURBED_SD = 0.02, 0.01, 0.01


@dataclass(frozen=True)
class NWay:
    """Cost per transaction grows with engines to the power ``exponent``; intervals are normal: ``mean`` and ``sd``."""

    exponent: float
    mean: float
    sd: float
    source: str


UNKNOWN = NWay(
    0.0, UNKNOWN_MEAN, UNKNOWN_SD, "no service rates of this machine are known, so its n-way effect is not in"
)

NEARLY_NONE = NWay(
    0.0,
    UNDISTURBED_MEAN,
    UNDISTURBED_SD,
    "no service rates of this machine are known; in the records work costs no more when more engines are busy",
)


def n_way(name: str, busy_growth: float = math.inf) -> NWay:
    """The n-way effect of a machine, found by its id or machine type (``z13``, ``2964``).

    Of a machine without service rates it is what the records leave open: ``busy_growth`` is the growth of cost, from no
    engine busy to all, that they do not rule out.
    """
    own = [machine(known) for known in machines()]
    own = [table for table in own if name and name in (table.id, table.machine_type)]
    if own:
        return n_way_of(own[0])
    return NEARLY_NONE if busy_growth <= UNDISTURBED else UNKNOWN


def n_way_of(table: Machine) -> NWay:
    """The n-way effect of a machine: by its own service rates, or by those of the other machines."""
    slope = _exponent(table)
    if slope is not None:
        return NWay(slope, slope, OWN_SD, f"from the service rates of the {table.title} by number of engines")
    others = {name: slope for name in machines() if (slope := _exponent(machine(name))) is not None}
    if not others:
        return UNKNOWN
    mean = float(np.mean(list(others.values())))
    return NWay(mean, mean, OTHER_SD, f"from the service rates of {', '.join(others)} by number of engines")


def _exponent(table: Machine) -> float | None:
    """Least-squares slope of the logarithm of engine time per service unit against that of the number of engines."""
    engines = np.array([rate.engines for rate in table.service_rates], float)
    if len(set(engines)) < 2:
        return None
    each = np.log([float(rate.adjustment) for rate in table.service_rates])
    return float(np.polyfit(np.log(engines), each, 1)[0])
