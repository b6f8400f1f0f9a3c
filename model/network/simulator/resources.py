"""Passive resources: taking units, waiting for them, giving them back.

What an operation sets free, an engine or units of a resource, is passed on before the next one.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.calendar import append, first_queue, take_first
from model.network.simulator.randoms import uniform
from model.network.simulator.tables import inlined


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


_NONE = np.uint32(L.NONE)


@inlined
def acquire(t, now, customer, pc):
    """Take units of a resource, wait for them, or be refused; gives the customer (none when it waits) and where it
    goes on."""
    res_i, inst_i = t.res_i, t.inst_i
    resource = t.op_i[pc, L.P_PLACE]
    units = t.op_i[pc, L.P_UNITS]
    instance = res_i[resource, L.R_FIRST]
    if res_i[resource, L.R_INSTANCES] > 1:
        instance = np.uint32(instance + np.int64(uniform(t.rng) * res_i[resource, L.R_INSTANCES]))
        t.cust_instance[customer, res_i[resource, L.R_SLOT]] = instance
    cls = t.cust_i[customer, L.C_CLASS]
    if inst_i[instance, L.I_WAITING] == 0 and (inst_i[instance, L.I_IN_USE] + units <= res_i[resource, L.R_CAPACITY]):
        take(now, cls, resource, instance, units, inst_i, t.acc_q)
        return customer, np.uint32(pc + 1)
    if inst_i[instance, L.I_WAITING] >= res_i[resource, L.R_LIMIT]:
        t.acc_q[cls, resource, L.Q_REFUSED] += 1.0
        return customer, t.op_i[pc, L.P_LOST]
    level = t.cls_i[cls, L.K_LEVEL] if res_i[resource, L.R_LEVELS] > 1 else 0
    t.cust_i[customer, L.C_PC] = pc + 1
    t.cust_i[customer, L.C_JOIN] = units
    t.cust_f[customer, L.CF_WAIT] = now
    inst_i[instance, L.I_WAITING] += 1
    append(inst_i[instance, L.I_QUEUE] + level, customer, t.cust_i, t.queue_head, t.queue_tail)
    return _NONE, pc


@inlined
def take(now, cls, resource, instance, units, inst_i, acc_q):
    """Count units of an instance as in use."""
    inst_i[instance, L.I_IN_USE] += units
    acc_q[cls, resource, L.Q_ACQUIRED] += 1.0
    acc_q[cls, resource, L.Q_AREA] -= units * now
    acc_q[cls, resource, L.Q_HELD] += units


@inlined
def release(t, customer, pc):
    """Give units of a resource back; gives where the customer goes on."""
    resource = t.op_i[pc, L.P_PLACE]
    instance = t.res_i[resource, L.R_FIRST]
    if t.res_i[resource, L.R_INSTANCES] > 1:
        instance = t.cust_instance[customer, t.res_i[resource, L.R_SLOT]]
    give_back(customer, resource, instance, t.op_i[pc, L.P_UNITS], t.freed)
    return np.uint32(pc + 1)


@inlined
def pass_on_units(t, now):
    """Give the units set free to those who wait for them, as far as they go; these are then ready, in their order."""
    freed, inst_i, cust_i, acc_q, control = t.freed, t.inst_i, t.cust_i, t.acc_q, t.control
    resource, instance, units = freed[L.F_RESOURCE], freed[L.F_INSTANCE], freed[L.F_UNITS]
    freed[L.F_RESOURCE] = L.NONE
    cls = cust_i[freed[L.F_HOLDER], L.C_CLASS]
    inst_i[instance, L.I_IN_USE] -= units
    acc_q[cls, resource, L.Q_AREA] += units * now
    acc_q[cls, resource, L.Q_HELD] -= units
    queue, levels = inst_i[instance, L.I_QUEUE], t.res_i[resource, L.R_LEVELS]
    first = control[L.N_READY]
    while inst_i[instance, L.I_WAITING] > 0:
        wanted = cust_i[t.queue_head[first_queue(queue, levels, t.queue_head)], L.C_JOIN]
        if inst_i[instance, L.I_IN_USE] + wanted > t.res_i[resource, L.R_CAPACITY]:
            break
        other = take_first(queue, levels, cust_i, t.queue_head, t.queue_tail)
        inst_i[instance, L.I_WAITING] -= 1
        cls = cust_i[other, L.C_CLASS]
        waited = now - t.cust_f[other, L.CF_WAIT]
        take(now, cls, resource, instance, wanted, inst_i, acc_q)
        acc_q[cls, resource, L.Q_WAITED] += 1.0
        acc_q[cls, resource, L.Q_WAIT] += waited
        if t.cust_parts.shape[1] > 0:
            t.cust_parts[other, 2 * t.st_i.shape[0] + resource] += waited
        t.ready[control[L.N_READY]] = other
        control[L.N_READY] += 1
    # Who is last there goes on first.
    last = control[L.N_READY] - 1
    for index in range((last + 1 - first) // 2):
        t.ready[first + index], t.ready[last - index] = t.ready[last - index], t.ready[first + index]
