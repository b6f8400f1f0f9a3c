"""How far approximate answers were off on random networks: ``python -m benchmarks.known_errors`` (docs/solvers.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence

WEAK = 0.3

# By what makes a network hard, for open classes alone and where there are users: the median of the relative error of
# the mean response beyond the simulation's own interval, and the error that 98 of 100 classes stay below, at most twice
# that of 95. Infinite where there is nothing sound to say.
KNOWN_ERRORS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "large lattice": ((0.001, 0.01), (0.001, 0.01)),
    "class-dependent fcfs": ((0.001, 0.028), (0.001, 0.081)),
    "variable fcfs": ((0.001, 0.119), (0.001, 0.266)),
    "priorities": ((0.001, 0.054), (0.001, 0.142)),
    "weighted sharing": ((0.001, 0.027), (0.001, 0.205)),
    "passive resources": ((0.001, 0.01), (0.002, 0.163)),
    "several resources": ((0.001, 0.015), (0.035, 0.354)),
    "layered resources": ((0.235, math.inf), (0.235, math.inf)),
    "limits around unlike work": ((0.01, 1.5), (0.01, 1.5)),
    "synchronous requests": ((0.001, 0.026), (0.005, 0.075)),
    "fork-join": ((0.001, 0.041), (0.002, 0.056)),
    "shared machine": ((0.002, 0.13), (0.002, 0.13)),
    "LPARs near their share": ((0.07, 0.51), (0.07, 0.51)),
    "overflow": ((0.001, 0.164), (0.001, 0.088)),
    "full stations": ((0.001, 0.01), (0.001, 0.062)),
    "unequal engines": ((0.001, 0.13), (0.001, 0.115)),
    "arrivals not Poisson": ((0.001, 0.045), (0.001, 0.055)),
    "visits at once": ((0.017, 0.434), (0.003, 0.254)),
    "visits at once beside longer work": ((0.024, 1.118), (0.014, 1.691)),
    "visits at once beside long work": ((0.16, math.inf), (0.16, math.inf)),
}


def known_error(approximated: Sequence[str], users: bool) -> tuple[tuple[float, float], str]:
    """Median of the relative error of networks, with ``users`` or without, in which these are approximated, and what
    more than 95 of 100 stay below, as if their errors had nothing to do with each other; and what to say of it. Nothing
    approximated is exact."""
    if not approximated:
        return (0.0, 0.0), "exact"
    median, far = (math.hypot(*errors) for errors in zip(*(KNOWN_ERRORS[a][users] for a in approximated), strict=True))
    return (median, far), said(approximated, users, median, far)


def said(approximated: Sequence[str], users: bool, median: float, far: float) -> str:
    """What to say of an error with this median, and what more than 95 of 100 stay below."""
    bound = f"{far:.0%}" if math.isfinite(far) else "no bound"
    note = (
        f"approximate: {', '.join(approximated)}; response within {median:.1%} in the median and {bound} in over 95 of "
        "100 random networks of this kind"
    )
    weak = [a for a in approximated if KNOWN_ERRORS[a][users][1] > WEAK]
    if weak or far > WEAK:
        note += f"; weak at {', '.join(weak or ['these'])}: simulate before relying on it"
    return note
