"""The exact methods, in the order in which they are tried, and what each supports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from model.network.arrays import Arrays
from model.network.description import Network
from model.network.elements import Cec, LparShare, Overflow, Smt, Station, Switch
from model.network.exact.chain import markov_chain
from model.network.exact.product_form import product_form
from model.network.exact.single_queue import one_poisson_queue, one_renewal_queue
from model.network.exact.solution import Figures
from model.network.exact.support import COMMON, Support, check, every


@dataclass(frozen=True)
class Method:
    """An exact method: its ``name`` in messages, what of a description it ``supports``, and ``solve``, which raises
    ``UnsupportedError`` with the reason where it does not apply after all."""

    name: str
    supports: Support
    solve: Callable[[Arrays], Figures]

    def figures(self, net: Arrays) -> Figures:
        """Figures of the network; ``UnsupportedError`` with the reason where the method does not apply."""
        check(net.network, self.supports)
        return self.solve(net)


_STATION = every("name", "servers", "component", "source")
_IN_ORDER = {"fcfs", "hol", "preemptive", "delay"}
_ALL = {*_IN_ORDER, "ps", "dps", "priority_ps"}

METHODS = (
    Method(
        "product form",
        {
            **COMMON,
            Station: _STATION
            | every("speeds", "cost_by_busy", "overhead_s", "cost_s_per_byte", "smt", "capacity", "when_full")
            | {"scheduling": _ALL},
            Smt: every("gain", "packing"),
            Switch: every("to", "label"),
        },
        product_form,
    ),
    Method(
        "M/G/1 or M/M/c/K",
        {
            **COMMON,
            Station: _STATION
            | every("speeds", "overhead_s", "cost_s_per_byte", "capacity")
            | {"scheduling": _IN_ORDER, "when_full": {"reject"}},
        },
        one_poisson_queue,
    ),
    Method(
        "GI/M/c",
        {
            **COMMON,
            Station: _STATION | every("speeds", "overhead_s", "cost_s_per_byte") | {"scheduling": _ALL},
        },
        one_renewal_queue,
    ),
    Method(
        "Markov chain",
        {
            **COMMON,
            Station: _STATION
            | every("speeds", "cost_by_busy", "smt", "lpar", "overflow", "capacity")
            | {"scheduling": _ALL, "when_full": {"reject"}},
            Network: COMMON[Network] | every("cecs"),
            Smt: every("gain", "packing"),
            # Polarity only places the work; without low_cost that changes no time.
            LparShare: every("cec", "weight", "cap", "polarity") | {"low_cost": {1.0}},
            Overflow: every("to", "waiting"),
            Cec: every("name", "engines"),
        },
        markov_chain,
    ),
)
"""All exact methods. A new attribute of a description belongs into ``supports`` of those that take it into account."""
