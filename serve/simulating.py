"""One simulation in a process of its own, which can be ended at any time."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import orjson

MAX_MEMORY_BYTES = 4 * 1024**3
PROGRESS_SECONDS = 0.2

Progress = Callable[[int], None]


def simulate(pipe: Connection, kind: str, question: Mapping[str, Any], bundle: bytes) -> None:
    """Run a simulation and send what becomes of it.

    Sends ``{"progress": share}`` repeatedly, then ``{"result": …}`` or ``{"refused": {"field", "message"}}``.

    Parameters
    ----------
    pipe
        where to send.
    kind
        ``simulate`` or ``replay``.
    question
        the body of the question.
    bundle
        as JSON: the part of the champion that is simulated, or the network that is replayed.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    from model.capacity.values import QuestionError
    from model.network import NetworkError
    from model.network.simulator import SimulationError

    last = time.monotonic()

    def progress(transactions: int) -> None:
        nonlocal last
        if time.monotonic() - last > PROGRESS_SECONDS:
            last = time.monotonic()
            pipe.send({"progress": min(transactions / question["horizon"], 0.99)})

    field = "network" if kind == "replay" else "at"
    try:
        part = orjson.loads(bundle)
        result = _replayed(part, question) if kind == "replay" else _simulated(part, question, progress)
        outcome = {"result": result}
    except QuestionError as error:
        outcome = {"refused": {"field": error.field, "message": str(error)}}
    except (NetworkError, SimulationError, ValueError) as error:
        outcome = {"refused": {"field": field, "message": str(error)}}
    except (RecursionError, ArithmeticError, MemoryError) as error:
        reasons = {RecursionError: "is nested too deeply", MemoryError: "needs too much memory"}
        message = f"{field}: this network {reasons.get(type(error), 'has a number that is too large')}"
        outcome = {"refused": {"field": field, "message": message}}
    pipe.send(outcome)


def _simulated(bundle: Mapping[str, Any], question: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """A calibrated system at a load."""
    from model.capacity.bundle import typed
    from model.capacity.simulation import simulate_system

    options: dict[str, Any] = {name: question.get(name) for name in ("seed", "horizon", "precision", "replications")}
    at = question.get("at", {})
    return simulate_system(typed(bundle), question["system"], at, **options, progress=progress).to_dict()


def _replayed(bundle: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded transactions through a network that is described, or that of a calibrated system."""
    import numpy as np

    from model.network import Network
    from model.network.simulator import recorded, replay, report

    network = Network.from_toml(question.get("network") or bundle["network"])
    columns = {
        name: np.array(values, "datetime64[us]" if name == "arrival" and isinstance(values[0], str) else None)
        for name, values in question["transactions"].items()
        if values
    }
    records = recorded(network, columns)
    result, left_s = replay(network, records.arrival_s, records.classes, records.work_s, seed=question["seed"])
    return report.as_dict(result) | {"replayed": report.replayed_rows(network, records, np.asarray(left_s))}
