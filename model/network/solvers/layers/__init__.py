"""Everything product form cannot say, as a fixed point around approximate mean value analysis.

Passive resources, engines held by synchronous facility requests, forks, overflow, weighted sharing of a machine and
lossy stations are each solved alone, given the figures of the rest, and enter the rest as delays, longer demands or
less capacity. Sources: Jacobson and Lazowska, *Comm. ACM* 25, 1982 (surrogate delays); Rolia and Sevcik, *IEEE TSE*
21, 1995 (method of layers).
"""

from model.network.solvers.layers.fixed_point import layered

__all__ = ["layered"]
