"""Analytic solvers: exact where theory is exact, labelled approximations elsewhere."""

from model.network.solvers.network_solver import solve
from model.network.solvers.solution import Limit, Solution

__all__ = ["Limit", "Solution", "solve"]
