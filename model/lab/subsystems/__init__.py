"""Records of subsystems of one made-up night: quotes over the web, messages, Db2, a batch job, and what they use."""

from model.lab.subsystems.rendering import render

__all__ = ["render"]
