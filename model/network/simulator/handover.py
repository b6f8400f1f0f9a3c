"""What an operation sets free, to be passed on before the next one: an engine, or units of a resource."""

from __future__ import annotations

from model.network.simulator import layout as L
from model.network.simulator.compiled import inlined


@inlined
def leave(station, server, customer, freed):
    """Set a customer's engine at a station free."""
    freed[L.F_STATION] = station
    freed[L.F_SERVER] = server
    freed[L.F_CUSTOMER] = customer


@inlined
def let_go(customer, cust_i, freed):
    """Set the engine that a customer has kept free."""
    leave(cust_i[customer, L.C_HELD], cust_i[customer, L.C_HELD_SERVER], customer, freed)
    cust_i[customer, L.C_HELD] = L.NONE


@inlined
def give_back(customer, resource, instance, units, freed):
    """Set units of a resource free."""
    freed[L.F_RESOURCE] = resource
    freed[L.F_INSTANCE] = instance
    freed[L.F_UNITS] = units
    freed[L.F_HOLDER] = customer
