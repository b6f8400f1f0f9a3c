"""Networks whose steady state theory gives exactly; all others are simulated.

``solve`` tries the methods of :data:`METHODS` in order. Each one declares which fields of a description it supports
(:mod:`model.network.exact.methods`) and refuses everything else.
"""

from model.network.exact.methods import METHODS, Method
from model.network.exact.solution import Solution
from model.network.exact.solve import solve, sweep_load

__all__ = ["METHODS", "Method", "Solution", "solve", "sweep_load"]
