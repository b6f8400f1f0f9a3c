"""Cases of one station: M/M/c, with a limit, with priorities, with unequal servers."""

from __future__ import annotations

from typing import Any

import numpy as np

from model.network import Distribution, Network, Station, Visit
from model.queueing.stations import mg1_fcfs, mg1_head_of_line, mg1_preemptive_resume
from tests.cases.answer import Answer, Check, extras_only
from tests.cases.build import Exp, Run, opened
from tests.cases.inputs import CaseError, first, need, vector
from tests.cases.metrics import Metrics
from tests.oracles.erlang import StationResult, mmck
from tests.oracles.heterogeneous import heterogeneous_as_identical, heterogeneous_mm
from tests.oracles.product_form import mmc

Model = dict[str, Any]


def _service(model: Model) -> float:
    rate = first(model, "service_rate", "mu")
    return 1.0 / float(rate) if rate is not None else float(need(model, "service", "service_time", "mean_service"))


def _station_values(s: StationResult, capacity: int | None = None, offered: float = 0.0) -> dict[str, Any]:
    values = {
        "rho": s.utilisation, "U": s.utilisation, "utilization": s.utilisation, "X": s.throughput, "L": s.queue_length,
        "Q": s.queue_length, "N": s.queue_length, "Lq": s.waiting, "Nq": s.waiting, "W": s.response, "R": s.response,
        "T": s.response, "Wq": s.wait, "Pw": s.wait_probability, "C": s.wait_probability, "p0": s.empty_probability,
        "P0": s.empty_probability, "lambda_eff": s.throughput,
    }  # fmt: skip
    if capacity is not None:
        # Where some are turned away, rho is the load offered and U what of the servers is used.
        values |= {"rho": offered, "pK": s.loss_probability, "PK": s.loss_probability, "p_loss": s.loss_probability}
    return values


def solve_mmc(model: Model) -> Answer:
    """M/M/c."""
    rate, service = float(need(model, "arrival_rate", "lambda")), _service(model)
    servers = int(first(model, "servers", "m", default=1))
    result = mmc(rate, service, servers)
    where = Station(name="q", scheduling="delay") if servers < 0 else Station(name="q", servers=servers)
    network = Network(
        name="mmc", stations=(where,), classes=(opened("jobs", (Visit(station="q", service=Exp(service)),), rate),)
    )

    def read(run: Run) -> Metrics:
        length, x = float(run.queue[0, 0]), float(run.flow[0, 0])
        response = length / x
        waiting = length - x * service
        return extras_only(
            {"L": length, "Q": length, "N": length, "R": response, "W": response, "T": response, "X": x, "Lq": waiting,
             "Nq": waiting, "Wq": waiting / x, "Pw": float(run.waited[0]), "C": float(run.waited[0]),
             "rho": float(run.utilisation[0]), "U": float(run.utilisation[0])}
        )  # fmt: skip

    return Answer(extras_only(_station_values(result)), method="Erlang C", check=Check(network, read, 2_000_000))


def solve_mmck(model: Model) -> Answer:
    """M/M/c/K."""
    rate, service = float(need(model, "arrival_rate", "lambda")), _service(model)
    servers = int(first(model, "servers", "m", default=1))
    capacity = int(need(model, "capacity", "K"))
    result = mmck(rate, service, servers, capacity)
    c = capacity if servers < 0 else min(servers, capacity)
    offered = rate * service / (capacity if servers < 0 else servers)
    network = Network(
        name="mmck",
        stations=(Station(name="q", servers=c, capacity=capacity, when_full="reject"),),
        classes=(opened("jobs", (Visit(station="q", service=Exp(service)),), rate),),
    )

    def read(run: Run) -> Metrics:
        length, x = float(run.queue[0, 0]), float(run.rate[0])
        lost = float(run.lost[0]) / (float(run.lost[0]) + x)
        waiting = length - x * service
        return extras_only(
            {"L": length, "Q": length, "R": length / x, "W": length / x, "X": x, "Lq": waiting, "Wq": waiting / x,
             "pK": lost, "PK": lost, "p_loss": lost, "lambda_eff": x, "U": x * service / c}
        )  # fmt: skip

    return Answer(
        extras_only(_station_values(result, capacity, offered)), method="birth-death", check=Check(network, read)
    )


def _levels(model: Model, classes: int) -> np.ndarray:
    """Priority per class, larger first: a list, or the class numbers (from 1) of high, medium and low."""
    given = first(model, "priority", "priorities")
    if given is not None:
        return vector(given, classes)
    levels = np.zeros(classes)
    for level, name in ((1.0, "priority_medium"), (2.0, "priority_high")):
        for number in model.get(name, []):
            levels[int(number) - 1] = level
    return levels


def _variation(model: Model, mean: np.ndarray) -> np.ndarray:
    """Squared coefficient of variation per class."""
    if "second_moment" in model or "second_moments" in model:
        return vector(first(model, "second_moment", "second_moments"), len(mean)) / mean**2 - 1
    if "variance" in model or "service_variance" in model:
        return vector(first(model, "variance", "service_variance"), len(mean)) / mean**2
    if "scv" in model or "service_scv" in model:
        return vector(first(model, "scv", "service_scv"), len(mean))
    if model.get("deterministic"):
        return np.zeros(len(mean))
    if model.get("exponential") is False:
        raise CaseError("service that is not exponential needs scv, variance, second_moment or deterministic")
    return np.ones(len(mean))


def solve_mg1_priority(model: Model) -> Answer:
    """M/G/1 with non-preemptive or preemptive-resume priorities."""
    rates = vector(need(model, "arrival_rates", "arrival_rate"))
    rates_given = first(model, "service_rates", "service_rate")
    mean = 1 / vector(rates_given) if rates_given is not None else vector(need(model, "mean_service", "service"))
    mean = mean if len(mean) == len(rates) else np.repeat(mean, len(rates))
    scv, levels = _variation(model, mean), _levels(model, len(rates))
    second = mean**2 * (1 + scv)
    discipline = str(model.get("discipline", model.get("type", ""))).lower()
    preemptive = "preemptive" in discipline and "non" not in discipline
    if discipline in ("fcfs", "fifo"):
        response, scheduling = mg1_fcfs(rates, mean, second), "fcfs"
    elif preemptive:
        response, scheduling = mg1_preemptive_resume(rates, mean, second, levels), "preemptive"
    else:
        response, scheduling = mg1_head_of_line(rates, mean, second, levels), "hol"
    classes = tuple(
        opened(f"class {r + 1}", (Visit(station="q", service=Distribution.with_scv(float(mean[r]), float(scv[r]))),),
               float(rates[r]), priority=int(levels[r]))
        for r in range(len(rates))
    )  # fmt: skip
    network = Network(name="priorities", stations=(Station(name="q", scheduling=scheduling),), classes=classes)  # type: ignore[arg-type]

    def values(r: np.ndarray) -> dict[str, Any]:
        return {
            "R": r, "W": r, "T": r, "Wq": r - mean, "Q": rates * r, "L": rates * r, "Lq": rates * (r - mean),
            "U": rates * mean, "X": rates, "rho": float(rates @ mean), "R_mean": float(rates @ r / rates.sum()),
        }  # fmt: skip

    # Erlang shapes below 1 have the nearest whole number of phases: simulated only where that is exact.
    simulated = all(v >= 1 or abs(1 / v - round(1 / v)) < 1e-9 for v in scv if v > 1e-6)
    check = Check(network, lambda run: extras_only(values(run.visit_response[0])), 2_000_000) if simulated else None
    return Answer(extras_only(values(response)), method=f"M/G/1 {scheduling}", check=check)


def solve_asymmetric(model: Model) -> Answer:
    """M/M/m with unequal servers, the fastest idle one taken unless the case says otherwise."""
    rate = float(need(model, "arrival_rate", "lambda"))
    mu = vector(need(model, "service_rates", "mu"))
    choice = str(model.get("choice", model.get("selection", "fastest")))
    result = heterogeneous_mm(rate, mu, choice if choice in ("random", "fastest", "ordered") else "fastest")  # type: ignore[arg-type]
    other = heterogeneous_mm(rate, mu, "random")
    fast = float(mu.max())
    network = Network(
        name="unequal servers",
        stations=(Station(name="q", servers=len(mu), speeds=tuple(float(m) / fast for m in mu), source="the case"),),
        classes=(opened("jobs", (Visit(station="q", service=Exp(1 / fast)),), rate),),
    )

    def read(run: Run) -> Metrics:
        length, x = float(run.queue[0, 0]), float(run.flow[0, 0])
        return extras_only({"L": length, "Q": length, "R": length / x, "W": length / x, "X": x, "rho": x / mu.sum()})

    values = {
        "L": result.queue_length, "Q": result.queue_length, "R": result.response, "W": result.response, "X": rate,
        "rho": result.capacity_used, "Pw": result.wait_probability, "U": result.capacity_used,
    }  # fmt: skip
    note = (
        f"exact with the fastest idle server taken; {other.queue_length:.6g} customers with a random one, "
        f"{heterogeneous_as_identical(rate, mu):.6g} if the servers were identical"
    )
    check = Check(network, read, 4_000_000) if choice == "fastest" else None
    return Answer(extras_only(values), method="birth-death over busy sets", note=note, check=check)
