"""The event loop: one compiled function that runs any network.

A transaction is a row of the customer tables stepping through its class's program. An event is an arrival, the end of
a service, or the next completion of a sharing lane; after each, the customers it made ready run their programs until
they wait for service, a unit or another branch. Everything is in the tables, so a run stops and goes on anywhere, and
memory depends on how many transactions are inside at once, never on how many went through. What slow responses are
made of is kept only when the tables have room for it.
"""

from __future__ import annotations

import numpy as np

from model.network.simulator import layout as L
from model.network.simulator.calendar import cancel, close_hole, insert
from model.network.simulator.compiled import released
from model.network.simulator.queues import (
    append,
    batch_size,
    bucket_of,
    fastest_free,
    next_arrival,
    preemptible,
    take_first,
)
from model.network.simulator.randoms import draw, uniform
from model.network.simulator.sharing import advance, integrate, lane_pop, lane_push, plan, rebalance, rebalance_single
from model.network.simulator.tables import Tables


@released
def run(t: Tables, until: float) -> int:
    """Process events up to time ``until`` or the target number of completions; returns why it stopped.

    ``t`` is a :class:`Tables`. The clock is left at the last event, or at ``until`` when that was reached.
    """
    op_i, op_f, branch_to, branch_p = t.op_i, t.op_f, t.branch_to, t.branch_p
    dist_i, dist_f, dist_table, rng = t.dist_i, t.dist_f, t.dist_table, t.rng
    st_i, st_f, server, speeds, costs = t.st_i, t.st_f, t.server, t.speeds, t.costs
    head, tail = t.queue_head, t.queue_tail
    lane_of, lane_i, lane_f, keys, members = t.lane_of, t.lane_i, t.lane_f, t.lane_keys, t.lane_members
    gr_i, res_i, inst_i, cls_i, src_i, src_f = t.gr_i, t.res_i, t.inst_i, t.cls_i, t.src_i, t.src_f
    control, heap, histogram = t.control, t.heap, t.histogram
    acc_v, acc_t, acc_q, acc_x = t.acc_v, t.acc_t, t.acc_q, t.acc_x
    cust_i, cust_f, free, ready = t.cust_i, t.cust_f, t.free, t.ready
    times, owners, place = t.times, t.owners, t.place
    gr_f, gr_stations, rates, cust_instance = t.gr_f, t.gr_stations, t.rates, t.cust_instance
    trace_time, trace_class, trace_work, trace_left = t.trace_time, t.trace_class, t.trace_work, t.trace_left
    visit_histogram, parts, cust_parts = t.visit_histogram, t.parts, t.cust_parts
    n_parts = cust_parts.shape[1]
    detailed = n_parts > 0
    float_view, bits_view, clock = t.float_view, t.bits_view, t.clock
    n_sources, n_lanes, n_stations = src_i.shape[0], lane_i.shape[0], st_i.shape[0]
    first_customer = n_sources + n_lanes
    none = np.uint32(L.NONE)
    target = control[L.TARGET]
    now = clock[0]

    while True:
        close_hole(times, owners, place, heap)
        if heap[0] == 0:
            clock[0] = now
            return L.RAN_DRY
        if times[0] > until:
            now = until
            clock[0] = now
            for index in range(n_stations):
                station = np.uint32(index)
                if st_i[station, L.S_KIND] == L.SHARING:
                    integrate(station, now, st_f, acc_x)
            return L.AT_TIME
        if control[L.DONE] >= target:
            clock[0] = now
            return L.AT_TARGET
        if control[L.N_FREE] == 0 or control[L.GROW] == 1:
            clock[0] = now
            return L.NEEDS_ROOM
        now = times[0]
        owner = owners[0]
        place[owner] = -1
        heap[1] = 1
        leaving, leaver, leaving_server, changed = none, none, none, none
        giving, giving_instance, giving_units, giver = none, none, none, none

        if owner >= first_customer:
            customer = np.uint32(owner - first_customer)
            pc = cust_i[customer, L.C_PC]
            phase = cust_i[customer, L.C_PHASE]
            finished = phase == L.IN_SERVICE
            if phase == L.THINKS:
                cust_f[customer, L.CF_START] = now
                acc_t[cust_i[customer, L.C_CLASS], L.T_STARTED] += 1.0
                if detailed:
                    cust_parts[customer, :] = 0.0
        elif owner < n_sources:
            source = np.uint32(owner)
            control[L.N_FREE] -= 1
            customer = free[control[L.N_FREE]]
            row = np.int64(L.NONE)
            if src_i[source, L.A_TRACE] == 1:
                row = control[L.TRACE_AT]
                control[L.TRACE_AT] = row + 1
                cls = np.uint32(trace_class[row])
                if row + 1 < trace_time.shape[0]:
                    insert(owner, trace_time[row + 1], times, owners, place, heap)
            else:
                cls = np.uint32(src_i[source, L.A_CLASS])
                left = np.int64(0)
                if src_i[source, L.A_BATCH] != L.NONE:
                    left = np.int64(src_i[source, L.A_LEFT])
                    if left == 0:
                        left = batch_size(src_i[source, L.A_BATCH], dist_i, dist_f, dist_table, rng)
                    left -= 1
                    src_i[source, L.A_LEFT] = max(left, 0)
                if left > 0:
                    insert(owner, now, times, owners, place, heap)
                else:
                    insert(owner, next_arrival(source, now, src_i, src_f, dist_i, dist_f, dist_table, rng),
                             times, owners, place, heap)  # fmt: skip
                if left < 0:
                    control[L.N_FREE] += 1
                    continue
            pc = cls_i[cls, L.K_START]
            cust_i[customer, L.C_CLASS] = cls
            cust_i[customer, L.C_ORIGIN] = cls
            cust_i[customer, L.C_COUNT] = 0
            cust_i[customer, L.C_HELD] = L.NONE
            cust_i[customer, L.C_PARENT] = L.NONE
            cust_i[customer, L.C_PLACED] = 0
            cust_i[customer, L.C_ROW] = row
            cust_f[customer, L.CF_START] = now
            acc_t[cls, L.T_STARTED] += 1.0
            if detailed:
                cust_parts[customer, :] = 0.0
            finished = False
        else:
            lane = np.uint32(owner - n_sources)
            lane_f[lane, L.LF_VIRTUAL] = keys[lane, 0]
            lane_f[lane, L.LF_AT] = now
            n = lane_i[lane, L.L_WAITING_HEAP]
            customer = lane_pop(lane, n, keys, members)
            lane_i[lane, L.L_WAITING_HEAP] = n - 1
            pc = cust_i[customer, L.C_PC]
            finished = True

        if finished:
            station = cust_i[customer, L.C_STATION]
            cls = cust_i[customer, L.C_CLASS]
            residence = now - cust_f[customer, L.CF_ENTER]
            acc_v[cls, station, L.V_COUNT] += 1.0
            acc_v[cls, station, L.V_RESIDENCE] += residence
            acc_v[cls, station, L.V_USING] += cust_f[customer, L.CF_WORK]
            if detailed:
                visit_histogram[station, bucket_of(residence, float_view, bits_view)] += 1
                cust_parts[customer, 2 * station] += cust_f[customer, L.CF_WORK]
                cust_parts[customer, 2 * station + 1] += residence - cust_f[customer, L.CF_WORK]
            flags = op_i[pc, L.P_FLAGS]
            if flags == 0:
                leaving, leaver, leaving_server = station, customer, cust_i[customer, L.C_SERVER]
                pc = np.uint32(pc + 1)
            else:
                again = False
                if flags & L.REPEAT:
                    cust_i[customer, L.C_COUNT] -= 1
                    again = cust_i[customer, L.C_COUNT] > 0
                if flags & L.OBSERVE:
                    st_f[station, L.SF_SMOOTHED] += 0.05 * (residence - st_f[station, L.SF_SMOOTHED])
                if flags & (L.KEEP | L.KEEP_UNTIL_ENTRY) and st_i[station, L.S_KIND] != L.DELAY:
                    cust_i[customer, L.C_HELD] = station
                    cust_i[customer, L.C_HELD_SERVER] = cust_i[customer, L.C_SERVER]
                    cust_f[customer, L.CF_HELD_AT] = now
                    cust_f[customer, L.CF_ENDED] = now
                    if st_i[station, L.S_KIND] == L.SHARING:
                        lane = cust_i[customer, L.C_SERVER]
                        advance(lane, now, lane_f)
                        cust_f[customer, L.CF_HELD_AT] = lane_f[lane, L.LF_VIRTUAL]
                        plan(lane, now, np.uint32(n_sources + lane), lane_i, lane_f, keys, times, owners, place, heap)
                else:
                    leaving, leaver, leaving_server = station, customer, cust_i[customer, L.C_SERVER]
                if not again:
                    pc = np.uint32(pc + 1)

        # Run programs until every customer made ready has to wait.
        while True:
            if leaving != none:
                station, leaving = leaving, none
                kind = st_i[station, L.S_KIND]
                if kind == L.QUEUE or kind == L.UNEQUAL or kind == L.PREEMPTIVE:
                    if st_i[station, L.S_WAITING] > 0:
                        st_i[station, L.S_WAITING] -= 1
                        other = take_first(st_i[station, L.S_QUEUE], st_i[station, L.S_LEVELS], cust_i, head, tail)
                        cust_i[other, L.C_SERVER] = leaving_server
                        duration = cust_f[other, L.CF_LEFT]
                        if kind == L.UNEQUAL:
                            server[leaving_server] = other
                            duration /= speeds[leaving_server]
                            if st_i[station, L.S_N_COST] > 0:
                                busy = st_i[station, L.S_BUSY]
                                n = st_i[station, L.S_N_COST]
                                duration *= costs[st_i[station, L.S_COST] + (busy if busy < n else n) - 1]
                            cust_f[other, L.CF_WORK] = duration
                        elif kind == L.PREEMPTIVE:
                            server[leaving_server] = other
                        insert(first_customer + other, now + duration, times, owners, place, heap)
                    else:
                        st_i[station, L.S_BUSY] -= 1
                        if kind != L.QUEUE:
                            server[leaving_server] = none
                elif kind == L.SHARING:
                    lane = leaving_server
                    advance(lane, now, lane_f)
                    lane_i[lane, L.L_ACTIVE] -= 1
                    st_i[station, L.S_BUSY] -= 1
                    if st_i[station, L.S_WAITING] > 0:
                        st_i[station, L.S_WAITING] -= 1
                        st_i[station, L.S_BUSY] += 1
                        other = take_first(st_i[station, L.S_QUEUE], st_i[station, L.S_LEVELS], cust_i, head, tail)
                        lane = lane_of[station, cust_i[other, L.C_CLASS]]
                        advance(lane, now, lane_f)
                        cust_i[other, L.C_SERVER] = lane
                        n = lane_i[lane, L.L_WAITING_HEAP]
                        lane_push(lane, n, lane_f[lane, L.LF_VIRTUAL] + cust_f[other, L.CF_LEFT], other, keys, members)
                        lane_i[lane, L.L_WAITING_HEAP] = n + 1
                        lane_i[lane, L.L_ACTIVE] += 1
                    changed = station
                if st_i[station, L.S_PLACES] != L.NONE:
                    giving, giving_units, giver = st_i[station, L.S_PLACES], np.uint32(1), leaver
                    giving_instance = res_i[giving, L.R_FIRST]
            if changed != none:
                group, changed = st_i[changed, L.S_GROUP], none
                lane = gr_i[group, L.G_LANE0]
                if gr_i[group, L.G_SINGLE] == 1:
                    rebalance_single(lane, now, np.uint32(n_sources + lane), st_i, st_f, lane_i, lane_f, rates, keys,
                                     times, owners, place, heap, acc_x)  # fmt: skip
                else:
                    rebalance(group, now, n_sources, gr_i, gr_f, gr_stations, st_i, st_f, lane_i, lane_f, costs, keys,
                              times, owners, place, heap, acc_x)  # fmt: skip
            if giving != none:
                resource, giving = giving, none
                instance = giving_instance
                inst_i[instance, L.I_IN_USE] -= giving_units
                cls = cust_i[giver, L.C_CLASS]
                acc_q[cls, resource, L.Q_AREA] += giving_units * now
                acc_q[cls, resource, L.Q_HELD] -= giving_units
                while inst_i[instance, L.I_WAITING] > 0:
                    queue = inst_i[instance, L.I_QUEUE]
                    levels = res_i[resource, L.R_LEVELS]
                    level = queue
                    while head[level] == L.NONE:
                        level = np.uint32(level + 1)
                    other = head[level]
                    units = cust_i[other, L.C_JOIN]
                    if inst_i[instance, L.I_IN_USE] + units > res_i[resource, L.R_CAPACITY]:
                        break
                    take_first(queue, levels, cust_i, head, tail)
                    inst_i[instance, L.I_WAITING] -= 1
                    inst_i[instance, L.I_IN_USE] += units
                    cls = cust_i[other, L.C_CLASS]
                    acc_q[cls, resource, L.Q_ACQUIRED] += 1.0
                    acc_q[cls, resource, L.Q_WAITED] += 1.0
                    acc_q[cls, resource, L.Q_WAIT] += now - cust_f[other, L.CF_WAIT]
                    if detailed:
                        cust_parts[other, 2 * n_stations + resource] += now - cust_f[other, L.CF_WAIT]
                    acc_q[cls, resource, L.Q_AREA] -= units * now
                    acc_q[cls, resource, L.Q_HELD] += units
                    ready[control[L.N_READY]] = other
                    control[L.N_READY] += 1

            if customer == none:
                if control[L.N_READY] == 0:
                    break
                control[L.N_READY] -= 1
                customer = ready[control[L.N_READY]]
                pc = cust_i[customer, L.C_PC]
            op = op_i[pc, L.P_OP]

            if op == L.VISIT:
                cls = cust_i[customer, L.C_CLASS]
                flags = op_i[pc, L.P_FLAGS]
                station = op_i[pc, L.P_PLACE]
                inside = st_i[station, L.S_BUSY] + st_i[station, L.S_WAITING]
                if inside >= st_i[station, L.S_OVER_AT]:
                    station = st_i[station, L.S_OVER]
                if flags & L.REPEAT and cust_i[customer, L.C_COUNT] == 0:
                    count = np.int64(op_f[pc, L.PF_WHOLE])
                    if op_f[pc, L.PF_FRACTION] > 0.0 and uniform(rng) < op_f[pc, L.PF_FRACTION]:
                        count += 1
                    if count == 0:
                        pc = np.uint32(pc + 1)
                        continue
                    cust_i[customer, L.C_COUNT] = count
                if st_i[station, L.S_PLACES] != L.NONE and cust_i[customer, L.C_PLACED] == 0:
                    resource = st_i[station, L.S_PLACES]
                    instance = res_i[resource, L.R_FIRST]
                    cust_i[customer, L.C_PLACED] = 1
                    if inst_i[instance, L.I_IN_USE] >= res_i[resource, L.R_CAPACITY]:
                        cust_i[customer, L.C_PC] = pc
                        cust_i[customer, L.C_JOIN] = 1
                        cust_f[customer, L.CF_WAIT] = now
                        inst_i[instance, L.I_WAITING] += 1
                        append(inst_i[instance, L.I_QUEUE], customer, cust_i, head, tail)
                        customer = none
                        continue
                    inst_i[instance, L.I_IN_USE] += 1
                    acc_q[cls, resource, L.Q_ACQUIRED] += 1.0
                    acc_q[cls, resource, L.Q_AREA] -= now
                    acc_q[cls, resource, L.Q_HELD] += 1.0
                if cust_i[customer, L.C_HELD] != L.NONE and not flags & L.RETAIN:
                    leaving, leaver = cust_i[customer, L.C_HELD], customer
                    leaving_server = cust_i[customer, L.C_HELD_SERVER]
                    cust_i[customer, L.C_HELD] = L.NONE
                    acc_v[cls, leaving, L.V_BLOCKED] += now - cust_f[customer, L.CF_ENDED]
                    continue
                places = st_i[station, L.S_CAPACITY]
                if places > 0 and st_i[station, L.S_BUSY] + st_i[station, L.S_WAITING] >= places:
                    cust_i[customer, L.C_COUNT] = 0
                    acc_x[station, L.X_REJECTED] += 1.0
                    pc = op_i[pc, L.P_LOST]
                    continue
                if station != op_i[pc, L.P_PLACE]:
                    acc_x[op_i[pc, L.P_PLACE], L.X_OVERFLOWED] += 1.0
                cust_i[customer, L.C_PLACED] = 0
                d = op_i[pc, L.P_DIST]
                if op_i[pc, L.P_TRACE] != L.NONE and cust_i[customer, L.C_ROW] != L.NONE:
                    work = trace_work[cust_i[customer, L.C_ROW], op_i[pc, L.P_TRACE]] * op_f[pc, L.PF_SCALE]
                else:
                    work = draw(d, dist_i, dist_f, dist_table, rng)
                    if op_i[pc, L.P_EXTRA] != L.NONE:
                        work += draw(op_i[pc, L.P_EXTRA], dist_i, dist_f, dist_table, rng)
                work *= st_f[station, L.SF_PACE]
                cust_i[customer, L.C_PC] = pc
                cust_i[customer, L.C_PHASE] = L.IN_SERVICE
                cust_i[customer, L.C_STATION] = station
                cust_f[customer, L.CF_ENTER] = now
                cust_f[customer, L.CF_WORK] = work
                kind = st_i[station, L.S_KIND]
                if kind == L.QUEUE:
                    busy = st_i[station, L.S_BUSY]
                    if busy < st_i[station, L.S_SERVERS]:
                        st_i[station, L.S_BUSY] = busy + 1
                        insert(first_customer + customer, now + work, times, owners, place, heap)
                        customer = none
                        continue
                elif kind == L.DELAY:
                    insert(first_customer + customer, now + work, times, owners, place, heap)
                    customer = none
                    continue
                elif kind == L.SHARING:
                    cust_f[customer, L.CF_WORK] = work * st_f[station, L.SF_ALONE]
                    if st_i[station, L.S_BUSY] < st_i[station, L.S_LIMIT]:
                        st_i[station, L.S_BUSY] += 1
                        lane = lane_of[station, cls]
                        advance(lane, now, lane_f)
                        cust_i[customer, L.C_SERVER] = lane
                        n = lane_i[lane, L.L_WAITING_HEAP]
                        lane_push(lane, n, lane_f[lane, L.LF_VIRTUAL] + work, customer, keys, members)
                        lane_i[lane, L.L_WAITING_HEAP] = n + 1
                        lane_i[lane, L.L_ACTIVE] += 1
                        changed = station
                        customer = none
                        continue
                elif st_i[station, L.S_BUSY] < st_i[station, L.S_SERVERS]:
                    st_i[station, L.S_BUSY] += 1
                    slot = fastest_free(st_i[station, L.S_SERVER0], st_i[station, L.S_SERVERS], server)
                    server[slot] = customer
                    cust_i[customer, L.C_SERVER] = slot
                    if kind == L.UNEQUAL:
                        work /= speeds[slot]
                        if st_i[station, L.S_N_COST] > 0:
                            n = st_i[station, L.S_N_COST]
                            busy = st_i[station, L.S_BUSY]
                            work *= costs[st_i[station, L.S_COST] + (busy if busy < n else n) - 1]
                        cust_f[customer, L.CF_WORK] = work
                    insert(first_customer + customer, now + work, times, owners, place, heap)
                    customer = none
                    continue
                elif kind == L.PREEMPTIVE:
                    slot = preemptible(
                        st_i[station, L.S_SERVER0],
                        st_i[station, L.S_SERVERS],
                        cls_i[cls, L.K_LEVEL],
                        server,
                        cust_i,
                        cls_i,
                    )
                    if slot != none:
                        other = server[slot]
                        cust_f[other, L.CF_LEFT] = times[place[first_customer + other]] - now
                        cancel(first_customer + other, times, owners, place, heap)
                        queue = np.uint32(st_i[station, L.S_QUEUE] + cls_i[cust_i[other, L.C_CLASS], L.K_LEVEL])
                        cust_i[other, L.C_NEXT] = head[queue]
                        head[queue] = other
                        if tail[queue] == L.NONE:
                            tail[queue] = other
                        st_i[station, L.S_WAITING] += 1
                        server[slot] = customer
                        cust_i[customer, L.C_SERVER] = slot
                        insert(first_customer + customer, now + work, times, owners, place, heap)
                        customer = none
                        continue
                cust_f[customer, L.CF_LEFT] = work
                st_i[station, L.S_WAITING] += 1
                acc_v[cls, station, L.V_WAITED] += 1.0
                level = cls_i[cls, L.K_LEVEL] if st_i[station, L.S_LEVELS] > 1 else 0
                append(st_i[station, L.S_QUEUE] + level, customer, cust_i, head, tail)
                customer = none

            elif op == L.ACQUIRE:
                resource = op_i[pc, L.P_PLACE]
                units = op_i[pc, L.P_UNITS]
                instance = res_i[resource, L.R_FIRST]
                if res_i[resource, L.R_INSTANCES] > 1:
                    instance = np.uint32(instance + np.int64(uniform(rng) * res_i[resource, L.R_INSTANCES]))
                    cust_instance[customer, res_i[resource, L.R_SLOT]] = instance
                cls = cust_i[customer, L.C_CLASS]
                wanted = inst_i[instance, L.I_IN_USE] + units
                if inst_i[instance, L.I_WAITING] == 0 and wanted <= res_i[resource, L.R_CAPACITY]:
                    inst_i[instance, L.I_IN_USE] = wanted
                    acc_q[cls, resource, L.Q_ACQUIRED] += 1.0
                    acc_q[cls, resource, L.Q_AREA] -= units * now
                    acc_q[cls, resource, L.Q_HELD] += units
                    pc = np.uint32(pc + 1)
                    continue
                if inst_i[instance, L.I_WAITING] >= res_i[resource, L.R_LIMIT]:
                    acc_q[cls, resource, L.Q_REFUSED] += 1.0
                    pc = op_i[pc, L.P_LOST]
                    continue
                cust_i[customer, L.C_PC] = pc + 1
                cust_i[customer, L.C_JOIN] = units
                cust_f[customer, L.CF_WAIT] = now
                inst_i[instance, L.I_WAITING] += 1
                level = cls_i[cust_i[customer, L.C_CLASS], L.K_LEVEL] if res_i[resource, L.R_LEVELS] > 1 else 0
                append(inst_i[instance, L.I_QUEUE] + level, customer, cust_i, head, tail)
                customer = none

            elif op == L.RELEASE:
                giving = op_i[pc, L.P_PLACE]
                giving_units, giver = op_i[pc, L.P_UNITS], customer
                giving_instance = res_i[giving, L.R_FIRST]
                if res_i[giving, L.R_INSTANCES] > 1:
                    giving_instance = cust_instance[customer, res_i[giving, L.R_SLOT]]
                pc = np.uint32(pc + 1)

            elif op == L.END or op == L.LOST:
                # A user who comes straight back is still blocked in the engine until there is a place.
                its_class = cust_i[customer, L.C_ORIGIN]
                straight_back = (
                    op == L.END and cls_i[its_class, L.K_CLOSED] == 1 and cls_i[its_class, L.K_THINK] == L.NONE
                )
                if cust_i[customer, L.C_HELD] != L.NONE and not straight_back:
                    leaving, leaver = cust_i[customer, L.C_HELD], customer
                    leaving_server = cust_i[customer, L.C_HELD_SERVER]
                    cust_i[customer, L.C_HELD] = L.NONE
                    continue
                origin = cust_i[customer, L.C_ORIGIN]
                if op == L.LOST:
                    acc_t[origin, L.T_LOST] += 1.0
                    if cust_i[customer, L.C_PARENT] != L.NONE:
                        pc = op_i[pc, L.P_LOST]
                        continue
                else:
                    response = now - cust_f[customer, L.CF_START]
                    acc_t[origin, L.T_DONE] += 1.0
                    acc_t[origin, L.T_SUM] += response
                    acc_t[origin, L.T_SQUARES] += response * response
                    bucket = bucket_of(response, float_view, bits_view)
                    histogram[origin, bucket] += 1
                    if detailed:
                        for index in range(n_parts):
                            parts[origin, bucket >> L.BAND_BITS, index] += cust_parts[customer, index]
                row = cust_i[customer, L.C_ROW]
                if row != L.NONE and trace_left.shape[0] > 0:
                    trace_left[row] = now if op == L.END else np.nan
                control[L.DONE] += 1
                if cls_i[origin, L.K_CLOSED] == 1:
                    cust_i[customer, L.C_CLASS] = origin
                    cust_i[customer, L.C_PC] = cls_i[origin, L.K_START]
                    cust_i[customer, L.C_PHASE] = L.THINKS
                    thought = 0.0
                    if cls_i[origin, L.K_THINK] != L.NONE:
                        thought = draw(cls_i[origin, L.K_THINK], dist_i, dist_f, dist_table, rng)
                    insert(first_customer + customer, now + thought, times, owners, place, heap)
                else:
                    free[control[L.N_FREE]] = customer
                    control[L.N_FREE] += 1
                customer = none

            elif op == L.GO:
                first = op_i[pc, L.P_TARGETS]
                last = first + op_i[pc, L.P_N_TARGETS]
                u = 0.0 if branch_p[first] >= 1.0 else uniform(rng)
                pc = np.uint32(pc + 1)
                for index in range(first, last):
                    if u < branch_p[index]:
                        pc = branch_to[index]
                        break

            elif op == L.FREE:
                if cust_i[customer, L.C_HELD] != L.NONE:
                    leaving, leaver = cust_i[customer, L.C_HELD], customer
                    leaving_server = cust_i[customer, L.C_HELD_SERVER]
                    cust_i[customer, L.C_HELD] = L.NONE
                    cls = cust_i[customer, L.C_CLASS]
                    if st_i[leaving, L.S_KIND] == L.SHARING:
                        advance(leaving_server, now, lane_f)
                        spun = lane_f[leaving_server, L.LF_VIRTUAL] - cust_f[customer, L.CF_HELD_AT]
                        acc_v[cls, leaving, L.V_SPIN] += spun * st_f[leaving, L.SF_ALONE]
                    else:
                        acc_v[cls, leaving, L.V_SPIN] += now - cust_f[customer, L.CF_HELD_AT]
                pc = np.uint32(pc + 1)

            elif op == L.CF_DECIDE:
                station = op_i[pc, L.P_PLACE]
                if st_f[station, L.SF_SMOOTHED] > op_f[pc, L.PF_THRESHOLD]:
                    acc_x[station, L.X_ASYNC] += 1.0
                    pc = branch_to[op_i[pc, L.P_TARGETS]]
                else:
                    acc_x[station, L.X_SYNC] += 1.0
                    pc = np.uint32(pc + 1)

            elif op == L.FORK:
                n = op_i[pc, L.P_N_TARGETS]
                if control[L.N_FREE] < n:
                    control[L.GROW] = 1
                    cust_i[customer, L.C_PC] = pc
                    cust_i[customer, L.C_PHASE] = L.RESUMES
                    insert(first_customer + customer, now, times, owners, place, heap)
                    customer = none
                    continue
                cust_i[customer, L.C_PC] = pc + 1
                cust_i[customer, L.C_JOIN] = n
                first = op_i[pc, L.P_TARGETS]
                for index in range(first + n - 1, first - 1, -1):
                    control[L.N_FREE] -= 1
                    child = free[control[L.N_FREE]]
                    for column in range(L.C_WIDTH):
                        cust_i[child, column] = cust_i[customer, column]
                    cust_i[child, L.C_PC] = branch_to[index]
                    cust_i[child, L.C_PARENT] = customer
                    cust_i[child, L.C_COUNT] = 0
                    cust_f[child, L.CF_START] = cust_f[customer, L.CF_START]
                    if detailed:
                        cust_parts[child, :] = 0.0
                    ready[control[L.N_READY]] = child
                    control[L.N_READY] += 1
                customer = none

            elif op == L.JOIN:
                if cust_i[customer, L.C_HELD] != L.NONE:
                    leaving, leaver = cust_i[customer, L.C_HELD], customer
                    leaving_server = cust_i[customer, L.C_HELD_SERVER]
                    cust_i[customer, L.C_HELD] = L.NONE
                    continue
                parent = cust_i[customer, L.C_PARENT]
                for index in range(n_parts):
                    cust_parts[parent, index] += cust_parts[customer, index]
                free[control[L.N_FREE]] = customer
                control[L.N_FREE] += 1
                cust_i[parent, L.C_JOIN] -= 1
                if cust_i[parent, L.C_JOIN] == 0:
                    customer = parent
                    pc = cust_i[customer, L.C_PC]
                else:
                    customer = none

            else:
                cls = op_i[pc, L.P_PLACE]
                cust_i[customer, L.C_CLASS] = cls
                pc = cls_i[cls, L.K_START]
