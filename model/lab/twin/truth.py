"""The truth of a twin's questions: the true network with the changes asked for, simulated to a known precision."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from model.capacity.outputs import CPS, ZIIPS
from model.lab.records.smf72_3 import DELAY_NAME_LENGTH
from model.lab.records.smf74 import GROUP_NAME_LENGTH
from model.lab.twin.activity import Lived
from model.lab.twin.description import Question
from model.lab.twin.measured import Measured, measured
from model.lab.twin.network import uncaptured_class
from model.lab.twin.questions import network_of, system_of
from model.network import Network, Station, demands
from model.network.arrays import as_arrays
from model.network.limits import Limit, most_work
from model.network.simulator import simulate
from model.network.simulator.result import SimulationResult
from model.network.simulator.statistics import Estimate

PRECISION = 0.01
KEEPING_UP = 0.98
"""Part of what arrives of a class that must get through for it to have a steady response."""
PLAINLY = 2.0
"""Half-widths of the 95 % interval that are no chance, however many classes there are."""
SHARE = "share of the machine by weight or cap"
HORIZON, MOST = 400_000, 4_000_000
Output = dict[str, Any]


def truth(lived: Lived, names: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each question with its answer, in the form of a prediction, as soon as it is simulated; `lo` and `hi` are the
    simulation's 95 % interval.

    Where more arrives than can be served, rates are those offered, what has no steady state is null, and resources say
    how much is asked of them. `when` says at which recorded interval (local start) the question begins. Raises LabError
    for what cannot be asked, before anything is simulated.
    """
    seen = [measured(lived, lpar) for lpar in lived.lpars]
    chosen = [q for q in lived.twin.questions if not names or q.name in names]
    for question in chosen:
        network_of(lived, seen, question)
    for question in chosen:
        yield question.name, _answer(lived, seen, question)


def _answer(lived: Lived, seen: list[Measured], question: Question) -> dict[str, Any]:
    m = system_of(lived, seen, question)
    network, when = network_of(lived, seen, question)
    run = simulate(network, seed=lived.twin.seed + 1, precision=PRECISION, horizon=HORIZON, most=MOST)
    result = with_expected_use(network, run)
    pools = {name for lpar in lived.lpars for name in (lpar.cp, lpar.ziip)}
    outputs = _outputs(lived, m, network, result)
    return {
        "system": lived.twin.system_id if len(seen) == 1 else m.lpar.smf_sid,
        "at": {**question.at, "when": when},
        "outputs": outputs,
        "bottleneck": _bottleneck(m, pools, network, result),
        "interval_pct": 95,
        "notes": list(result.remarks),
    }


def with_expected_use(network: Network, result: SimulationResult) -> SimulationResult:
    """The result with the utilization of stations and machines as the description gives it, rate times demand.

    Where something is overloaded, or a class does not keep up, all of it stays as simulated.
    """
    if result.overloaded or any(_behind(result, c.name, _rate_of(network, result, c.name)) for c in network.classes):
        return result
    work = _expected_work(network, result)
    stations = {
        s.name: replace(result.stations[s.name], utilization=_used(s, result, work)) if s.discipline.queues
        else result.stations[s.name]
        for s in network.stations
    }  # fmt: skip
    machines = {}
    for cec in network.cecs:
        pools = [s for s in network.stations if s.lpar is not None and s.lpar.cec == cec.name]
        total = Estimate.total([stations[s.name].utilization.scaled(s.servers / cec.engines) for s in pools])
        machines[cec.name] = Estimate(min(total.value, 1.0), total.half_width)
    before, now = (
        {name: one.utilization.value for name, one in of_stations.items()}
        | {name: one.value for name, one in of_machines.items()}
        for of_stations, of_machines in ((result.stations, result.machines), (stations, machines))
    )
    limits = tuple(
        limit._replace(utilisation=limit.utilisation * now[limit.name] / before[limit.name])
        if before.get(limit.name)
        else limit
        for limit in result.limits
    )
    return replace(result, stations=stations, machines=machines, limits=limits)


def _rate_of(network: Network, result: SimulationResult, name: str) -> Estimate:
    """Transactions/s of a class: as many as arrive and are not turned away; of users, as many as they sent."""
    arrivals, through = next(c.arrivals for c in network.classes if c.name == name), result.classes[name]
    if arrivals is None:
        return through.throughput_per_s
    lost = through.lost_per_s
    return Estimate(arrivals.rate_per_s - lost.value, float(np.nan_to_num(lost.half_width)))


def _behind(result: SimulationResult, name: str, rate: Estimate) -> bool:
    """Whether fewer transactions of a class get through than come."""
    done = result.classes[name].throughput_per_s
    unsure = PLAINLY * float(np.nan_to_num(done.half_width))
    return rate.value - done.value > max((1.0 - KEEPING_UP) * rate.value, unsure)


def _held_back(network: Network) -> dict[str, float]:
    """Part of its engines that each pool can get at most, for its cap and beside the other LPARs of its machine."""
    net = as_arrays(network)
    most = most_work(net, net.rates.clip(0) @ net.work)
    return {s.name: float(most[k] / net.curves[k][0][-1]) for k, s in enumerate(network.stations)}


def _expected_work(network: Network, result: SimulationResult) -> dict[tuple[str, str], float]:
    """Engines that a class uses of a pool, by class and station, where rate times demand is all of it."""
    seconds, work = demands(network), {}
    for k, c in enumerate(network.classes):
        operations = network.operations(c.name)
        # Engines that are kept until a coupling facility answers.
        spinning = {op.name for op in operations if op.keep}
        if (
            c.arrivals is None
            or any(op.kind == "switch" for op in operations)
            or result.classes[c.name].lost_per_s.value > 0
        ):
            continue
        visited = [s for j, s in enumerate(network.stations) if seconds.visits[k, j] > 0]
        receiving = {s.overflow.to for s in visited if s.overflow is not None}
        for j, s in enumerate(network.stations):
            if _plain(s) and s.overflow is None and s.name not in receiving | spinning:
                work[c.name, s.name] = c.arrivals.rate_per_s * float(seconds.demand_s[k, j]) / s.speeds[0]
    return work


def _plain(station: Station) -> bool:
    """Whether work takes as long at a station however many others are there."""
    alike = len(set(station.speeds)) == 1 and not station.cost_by_busy and station.smt is None
    return alike and station.capacity is None and (station.lpar is None or station.lpar.low_cost == 1)


def _used(station: Station, result: SimulationResult, work: dict[tuple[str, str], float]) -> Estimate:
    """Utilization of a station: expected where it is known, else simulated."""
    simulated = result.stations[station.name]
    by_class = simulated.utilization_by_class
    exact = {c: used / station.servers for (c, where), used in work.items() if where == station.name}
    unsure = any(used > 0 for c, used in by_class.items() if c not in exact)
    total = sum(exact.values()) + sum(used for c, used in by_class.items() if c not in exact)
    used = Estimate(min(total, 1.0), simulated.utilization.half_width if unsure else 0.0)
    return used if exact else simulated.utilization


def _outputs(lived: Lived, m: Measured, network: Network, result: SimulationResult) -> list[Output]:
    cp = network.station(m.lpar.cp)
    busy = result.stations[cp.name].utilization
    home = [name for name in m.lpar.home_classes if name in result.classes and name != uncaptured_class(m.lpar)]
    rates = [_rate_of(network, result, name) for name in home]
    rate = Estimate.total(rates)
    out = [_output("cpu_busy_pct", "", busy.scaled(100), "%"), _output("etr_tps", "", rate, "1/s")]
    if not any(_behind(result, name, offered) for name, offered in zip(home, rates, strict=True)):
        # Otherwise what is used is that of what gets through.
        out += [
            _output("itr_tps", "", rate.over(busy), "1/s"),
            _output("cpu_us_per_tran", "", busy.over(rate).scaled(1e6 * cp.servers), "us"),
        ]
    if cp.lpar is not None:
        out.append(_output("machine_busy_pct", "", result.machines[cp.lpar.cec].scaled(100), "%"))
    if m.lpar.ziip in network.station_names:
        ziip = result.stations[m.lpar.ziip]
        density = ziip.thread_density.value if ziip.thread_density is not None else 1.0
        engines = network.station(m.lpar.ziip).servers
        out.append(_output("ziip_busy_pct", "", ziip.utilization.scaled(100), "%"))
        out.append(_output("ziip_us_per_tran", "", ziip.utilization.over(rate).scaled(1e6 * engines * density), "us"))
    for service_class in m.service_classes:
        names = [name for name in home if lived.twin.classes[name].service_class == service_class]
        if names:
            out += _of_class(f"class={service_class}", names, network, result)
            users = sum(c.users or 0 for c in network.classes if c.name in names)
            if users:
                # What is asked need not be a whole number.
                out.append(_output("users", f"class={service_class}", Estimate(float(users), 0.5), "users"))
    of_others = {name for lpar in lived.lpars if lpar != m.lpar for name in (lpar.cp, lpar.ziip)}
    for limit in result.limits:
        if limit.name in of_others:
            continue
        name = _resource(m, network, result, limit).removeprefix("limit ")
        out.append(_output("utilization_pct", f"station={name}", _share(result, limit), "%"))
    return out


def _of_class(condition: str, names: list[str], network: Network, result: SimulationResult) -> list[Output]:
    """Rate and response of a service class; no response of one that falls behind."""
    results = [result.classes[name] for name in names]
    rates = [_rate_of(network, result, name) for name in names]
    rate = Estimate.total(rates)
    if any(_behind(result, name, offered) for name, offered in zip(names, rates, strict=True)):
        return [
            _output("etr_tps", condition, rate, "1/s"),
            _output("response_ms", condition, None, "ms"),
            _output("response_p90_ms", condition, None, "ms"),
        ]
    weights = [c.throughput_per_s.value / rate.value if rate.value > 0 else 1.0 for c in results]
    response = Estimate.total([c.response_s.scaled(w) for c, w in zip(results, weights, strict=True)])
    each = [c.percentiles_s for c in results]
    p90 = each[0][90.0] if len(each) == 1 else mixed_percentile(each, weights, 90.0)
    return [
        _output("etr_tps", condition, rate, "1/s"),
        _output("response_ms", condition, response.scaled(1000), "ms"),
        _output("response_p90_ms", condition, p90.scaled(1000), "ms"),
    ]


def mixed_percentile(percentiles: list[dict[float, Estimate]], weights: list[float], percent: float) -> Estimate:
    """A percentile of several classes together; between their percentiles, times are taken to be exponential."""

    def beyond(by_percentile: dict[float, Estimate], time_s: float) -> float:
        """Part of a class that takes longer."""
        times = np.array([0.0, *(by_percentile[p].value for p in sorted(by_percentile))])
        logs = np.log([1.0, *(1.0 - p / 100.0 for p in sorted(by_percentile))])
        slope = (logs[-1] - logs[-2]) / max(times[-1] - times[-2], 1e-12)
        return float(np.exp(np.interp(time_s, times, logs) + slope * max(time_s - times[-1], 0.0)))

    low, high = 0.0, 10.0 * max(by_percentile[percent].value for by_percentile in percentiles)
    for _ in range(50):
        middle = (low + high) / 2.0
        longer = sum(w * beyond(by_percentile, middle) for w, by_percentile in zip(weights, percentiles, strict=True))
        low, high = (middle, high) if longer > 1.0 - percent / 100.0 else (low, middle)
    spread = sum(w * by_percentile[percent].half_width for w, by_percentile in zip(weights, percentiles, strict=True))
    return Estimate(high, spread)


def _bottleneck(m: Measured, pools: set[str], network: Network, result: SimulationResult) -> dict[str, Any]:
    """What binds the LPAR first, and everything that can, in the order in which it does."""
    stations: list[dict[str, Any]] = [
        {"resource": _resource(m, network, result, limit), **_bounds(_share(result, limit), "utilization_pct")}
        for limit in result.limits
        if limit.name not in pools - {m.lpar.cp, m.lpar.ziip}
    ]
    if result.overloaded:
        stations.sort(key=lambda station: -station["utilization_pct"])
    return {**stations[0], "stations": stations} if stations else {}


def _resource(m: Measured, network: Network, result: SimulationResult, limit: Limit) -> str:
    """What a prediction calls a limit of the network, as records name it; CPs under a cap, or of a full machine, are
    fuller than busy."""
    if limit.name == m.lpar.cp and network.station(limit.name).lpar is not None:
        full = limit.name in result.overloaded
        less = _held_back(network)[limit.name] < 0.999
        if less if full else limit.utilisation > 1.001 * result.stations[limit.name].utilization.value:
            return SHARE
    engines = {m.lpar.cp: CPS, m.lpar.ziip: ZIIPS}
    if limit.name in engines:
        return engines[limit.name]
    if limit.kind == "machine":
        return f"machine {limit.name}"
    if limit.name in m.resources:
        return f"limit {limit.name[:DELAY_NAME_LENGTH]}"
    return limit.name[:GROUP_NAME_LENGTH] if limit.name in (*m.devices, *m.facilities) else limit.name


def _share(result: SimulationResult, limit: Limit) -> Estimate:
    """Percent of a limit in use, as wide as the simulation's share of it; of one overloaded, percent asked of it."""
    if limit.name in result.overloaded:
        return Estimate(100 * result.overloaded[limit.name], 0.0)
    by_name = dict(result.machines)
    by_name |= {name: resource.utilization for name, resource in result.resources.items()}
    by_name |= {name: station.utilization for name, station in result.stations.items()}
    measured_share = by_name[limit.name]
    scale = limit.utilisation / measured_share.value if measured_share.value else 0.0
    return Estimate(100 * limit.utilisation, 100 * scale * measured_share.half_width)


def _output(metric: str, condition: str, estimate: Estimate | None, unit: str) -> Output:
    if estimate is None or math.isnan(estimate.value):
        figures: dict[str, Any] = dict.fromkeys(("value", "lo", "hi"))
    else:
        figures = _bounds(estimate, "value")
    return {"metric": metric, "condition": condition, **figures, "unit": unit}


def _bounds(estimate: Estimate, name: str) -> dict[str, float]:
    width = 0.0 if math.isnan(estimate.half_width) else estimate.half_width
    return {name: float(estimate.value), "lo": float(estimate.value - width), "hi": float(estimate.value + width)}
