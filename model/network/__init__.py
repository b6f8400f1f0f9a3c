"""The queueing network as data: stations, passive resources, transaction classes and their routes."""

from model.network.description import Demands, Network, demands
from model.network.distributions import Distribution
from model.network.elements import (
    Acquire,
    Arrivals,
    Call,
    Cec,
    CfRequest,
    Fork,
    Go,
    LparShare,
    Overflow,
    Release,
    Resource,
    Route,
    Smt,
    Station,
    Step,
    Switch,
    TransactionClass,
    Visit,
)
from model.network.errors import NetworkError

__all__ = [
    "Acquire",
    "Arrivals",
    "Call",
    "Cec",
    "CfRequest",
    "Demands",
    "Distribution",
    "Fork",
    "Go",
    "LparShare",
    "Network",
    "NetworkError",
    "Overflow",
    "Release",
    "Resource",
    "Route",
    "Smt",
    "Station",
    "Step",
    "Switch",
    "TransactionClass",
    "Visit",
    "demands",
]
