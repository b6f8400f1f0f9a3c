"""Small networks as continuous-time Markov chains: every state that can be reached, and how likely each is.

Exact for any order of service, priorities, weights and limits, as long as times are made of exponential phases.
"""

from model.network.exact.chain.solution import markov_chain

__all__ = ["markov_chain"]
