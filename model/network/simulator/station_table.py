"""Stations, sharing lanes, passive resources and their queues as rows of the engine's tables.

An attribute of stations that the engine reads is a column here and the line of :func:`station_tables` that fills it.
"""

from __future__ import annotations

import math

import numpy as np

from model.network import Network, Station
from model.network.simulator import layout as L

# Station integers.
(
    S_KIND, S_SERVERS, S_BUSY, S_WAITING, S_LEVELS, S_QUEUE, S_CAPACITY, S_PLACES, S_OVER, S_OVER_AT, S_SERVER0,
    S_GROUP, S_LIMIT, S_RATES, S_N_RATES, S_COST, S_N_COST, S_PACKING, S_THREADS, S_WIDTH,
) = range(20)  # fmt: skip
# Station floats.
(
    SF_PACE, SF_SMOOTHED, SF_AREA_AT, SF_ALLOCATED, SF_ACTIVE, SF_WEIGHT, SF_CAP, SF_LOW_COST, SF_SPEED, SF_ENTITLED,
    SF_ALONE, SF_WIDTH,
) = range(12)  # fmt: skip


def station_tables(arrays: dict[str, np.ndarray], network: Network, n_levels: int, resources: tuple[str, ...]) -> None:
    ints = np.zeros((len(network.stations), S_WIDTH), np.int64)
    floats = np.zeros((len(network.stations), SF_WIDTH))
    floats[:, SF_ENTITLED] = np.inf
    queues = 0
    speeds: list[float] = []
    costs: list[float] = []
    rates: list[float] = []
    for i, station in enumerate(network.stations):
        kind = _kind(station)
        ints[i, S_KIND], ints[i, S_SERVERS] = kind, station.servers
        ints[i, S_LEVELS] = n_levels if station.discipline.queue_by_level else 1
        ints[i, S_QUEUE] = queues
        queues += ints[i, S_LEVELS]
        rejecting = station.capacity is not None and station.when_full == "reject"
        ints[i, S_CAPACITY] = station.capacity or 0 if rejecting else 0
        blocking = station.capacity is not None and station.when_full == "block"
        ints[i, S_PLACES] = resources.index(f"{station.name} places") if blocking else -1
        over = station.overflow
        threads = 2 * station.servers if station.smt else station.servers
        ints[i, S_THREADS] = threads
        ints[i, S_OVER] = network.station_names.index(over.to) if over else -1
        ints[i, S_OVER_AT] = threads + over.waiting if over else L.MANY
        ints[i, S_SERVER0] = len(speeds)
        each = sorted(station.speeds, reverse=True) if len(station.speeds) > 1 else station.speeds * station.servers
        speeds.extend(each)
        speed = station.speeds[0] if len(set(station.speeds)) == 1 else 1.0
        floats[i, SF_SPEED] = speed
        floats[i, SF_PACE] = 1.0 if kind in (L.SHARING, L.UNEQUAL) else 1.0 / speed
        # Seconds that one unit of work takes whoever is alone.
        cost_alone = station.cost_by_busy[0] if station.cost_by_busy else 1.0
        floats[i, SF_ALONE] = cost_alone / speed if kind == L.SHARING else 1.0
        ints[i, S_COST], ints[i, S_N_COST] = (
            len(costs),
            0 if kind == L.SHARING and station.lpar is None and not _has_lanes(station) else len(station.cost_by_busy),
        )
        costs.extend(station.cost_by_busy)
        # Engines in order whose pace changes with the number busy are shared by as many transactions as there are.
        ints[i, S_LIMIT] = L.MANY if station.discipline.shares and station.smt is None else threads
        ints[i, S_RATES] = len(rates)
        if kind == L.SHARING:
            rates.extend(speed * r for r in sharing_rates(station))
        ints[i, S_N_RATES] = len(rates) - ints[i, S_RATES]
        ints[i, S_PACKING] = int(station.smt is not None and station.smt.packing == "dense")
    arrays |= {
        "st_i": ints,
        "st_f": floats,
        "speeds": np.array(speeds),
        "costs": np.array(costs or [1.0]),
        "rates": np.array(rates or [1.0]),
        "server": np.full(len(speeds), -1, np.int64),
        "n_queues": np.array([queues]),
    }


def _has_lanes(station: Station) -> bool:
    return station.discipline.lane_by_level or station.discipline.lane_by_weight


def _kind(station: Station) -> int:
    discipline, kind = station.discipline, station.discipline.kind
    if len(set(station.speeds)) > 1:
        kind = discipline.unequal
    elif station.cost_by_busy:
        kind = discipline.by_busy
    return L.KINDS.index(kind)


def sharing_rates(station: Station) -> list[float]:
    """Total rate of a sharing station with 1, 2, … customers in service, in engines; the last one holds beyond."""
    c = station.servers
    if station.smt is None:
        plain = [float(n) for n in range(1, max(c, len(station.cost_by_busy)) + 1)]
        busy = [min(n, float(c)) for n in plain]
    elif station.smt.packing == "spread":
        busy = [n if n <= c else (2 * c - n) + (n - c) * station.smt.gain for n in map(float, range(1, 2 * c + 1))]
    else:
        busy = [n // 2 * station.smt.gain + n % 2 for n in range(1, 2 * c + 1)]
    cost = station.cost_by_busy or (1.0,)
    return [rate / cost[min(n, len(cost) - 1)] for n, rate in enumerate(busy)]


def lane_tables(arrays: dict[str, np.ndarray], network: Network, levels: list[int]) -> None:
    """Lanes by station, with priority and weight; groups by machine or station."""
    lane_of = np.full((len(network.stations), len(network.classes)), -1, np.int64)
    groups: dict[str, list[int]] = {}
    for i, station in enumerate(network.stations):
        if _kind(station) == L.SHARING:
            groups.setdefault(f"cec {station.lpar.cec}" if station.lpar else f"station {i}", []).append(i)
    engines = {f"cec {c.name}": float(c.engines) for c in network.cecs}
    lanes: list[list[int]] = []
    gr_i: list[list[int]] = []
    gr_f: list[list[float]] = []
    gr_stations: list[int] = []
    lane_floats: list[list[float]] = []
    for g, (name, members) in enumerate(groups.items()):
        first, first_station = len(lanes), len(gr_stations)
        for i in members:
            station = network.stations[i]
            kinds = {}
            for k, cls in enumerate(network.classes):
                rank = levels.index(cls.priority) if station.discipline.lane_by_level else 0
                weight = cls.weight if station.discipline.lane_by_weight else 1.0
                if (rank, weight) not in kinds:
                    kinds[rank, weight] = len(lanes)
                    lanes.append([i, 0, 0, g, rank, 0])
                    lane_floats.append([0.0, 0.0, 0.0, weight])
                lane_of[i, k] = kinds[rank, weight]
            _dense_ranks(lanes, i)
            arrays["st_i"][i, S_GROUP] = g
            gr_stations.append(i)
        single = len(lanes) - first == 1 and name.startswith("station")
        gr_i.append([first, len(lanes) - first, first_station, len(members), int(single), 0])
        total = engines.get(name, float(network.stations[members[0]].servers))
        gr_f.append([total])
        shares = [network.stations[i].lpar for i in members]
        weights = sum(s.weight for s in shares if s) or 1.0
        for i, share in zip(members, shares, strict=True):
            part = share.weight / weights if share else 1.0
            cap = math.inf if share is None or share.cap == "none" else share.cap
            arrays["st_f"][i, SF_WEIGHT] = part
            arrays["st_f"][i, SF_ENTITLED] = part * total if share else math.inf
            arrays["st_f"][i, SF_CAP] = part * total if cap == "share" else float(cap)
            vertical = share is not None and share.polarity == "vertical"
            arrays["st_f"][i, SF_LOW_COST] = share.low_cost if vertical and share else 1.0
    arrays |= {
        "lane_of": lane_of,
        "lane_i": np.array(lanes, np.int64).reshape(-1, L.L_WIDTH),
        "lane_f": np.array(lane_floats).reshape(-1, L.LF_WIDTH),
        "gr_i": np.array(gr_i, np.int64).reshape(-1, L.G_WIDTH),
        "gr_f": np.array(gr_f).reshape(-1, 1),
        "gr_stations": np.array(gr_stations or [0], np.int64),
    }


def _dense_ranks(lanes: list[list[int]], station: int) -> None:
    station_lanes = [lane for lane in lanes if lane[L.L_STATION] == station]
    order = sorted({lane[L.L_RANK] for lane in station_lanes})
    for lane in station_lanes:
        lane[L.L_RANK] = order.index(lane[L.L_RANK])


def resource_tables(arrays: dict[str, np.ndarray], network: Network, blocking: list[Station], n_levels: int) -> None:
    rows: list[list[int]] = []
    instances: list[list[int]] = []
    slots = 0
    queues = int(arrays.pop("n_queues")[0])
    for resource in network.resources:
        levels = n_levels if resource.scheduling == "hol" else 1
        limit = resource.queue_limit if resource.queue_limit is not None else L.MANY
        slot = slots if resource.instances > 1 else -1
        slots += resource.instances > 1
        rows.append([resource.capacity, len(instances), resource.instances, levels, limit, slot])
        for _ in range(resource.instances):
            instances.append([0, 0, queues, 0])
            queues += levels
    for station in blocking:
        rows.append([station.capacity or 0, len(instances), 1, 1, L.MANY, -1])
        instances.append([0, 0, queues, 0])
        queues += 1
    arrays |= {
        "res_i": np.array(rows, np.int64).reshape(-1, L.R_WIDTH),
        "inst_i": np.array(instances, np.int64).reshape(-1, L.I_WIDTH),
        "queue_head": np.full(queues, -1, np.int64),
        "queue_tail": np.full(queues, -1, np.int64),
        "cust_instance": np.zeros((0, max(1, slots)), np.int64),
    }
