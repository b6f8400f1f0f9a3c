"""`python -m serve.simulating`: one simulation in a process of its own, which can be ended at any time.

Reads ``{"kind", "question", "bundle"}`` from standard input and writes JSON lines: ``{"progress": part}``, at the end
``{"result": …}`` or ``{"refused": {"field", "message"}}``.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson

MEMORY_BYTES = 4 * 1024**3
EVERY_SECONDS = 0.2


def main() -> None:
    """Run the simulation that standard input describes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    asked = orjson.loads(sys.stdin.buffer.read())
    from model.capacity.questions import QuestionError
    from model.network import NetworkError
    from model.network.simulator import SimulationError

    field = "network" if asked["kind"] == "replay" else "at"
    play = {"simulate": simulated, "replay": replayed}[asked["kind"]]
    try:
        _say({"result": play(asked)})
    except QuestionError as error:
        _say({"refused": {"field": error.field, "message": str(error)}})
    except (NetworkError, SimulationError, ValueError) as error:
        _say({"refused": {"field": field, "message": str(error)}})
    except (RecursionError, ArithmeticError, MemoryError) as error:
        what = {RecursionError: "is nested too deeply", MemoryError: "needs too much memory"}
        message = f"{field}: this network {what.get(type(error), 'has a number that is too large')}"
        _say({"refused": {"field": field, "message": message}})


def simulated(asked: dict[str, Any]) -> dict[str, Any]:
    """A calibrated system at a load."""
    from model.capacity.simulation import simulated as play

    question = asked["question"]
    options = {name: question.get(name) for name in ("seed", "horizon", "precision", "replications")}
    at = question.get("at", {})
    found = play(asked["bundle"], question["system"], at, **options, progress=_progress(options["horizon"]))
    return found.to_dict()


def replayed(asked: dict[str, Any]) -> dict[str, Any]:
    """Recorded transactions through a network that is described, or that of a calibrated system."""
    import numpy as np

    from model.network import Network
    from model.network.simulator import recorded, replay, report

    question = asked["question"]
    network = Network.from_toml(question.get("network") or asked["bundle"]["network"])
    columns = {
        name: np.array(values, "datetime64[us]" if name == "arrival" and isinstance(values[0], str) else None)
        for name, values in question["transactions"].items()
        if values
    }
    records = recorded(network, columns)
    found, left_s = replay(network, records.arrival_s, records.classes, records.work_s, seed=question["seed"])
    return report.as_dict(found) | {"replayed": report.replayed_rows(network, records, np.asarray(left_s))}


def _progress(horizon: int) -> Callable[[int], None]:
    last = time.monotonic()

    def progress(transactions: int) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY_SECONDS:
            last = time.monotonic()
            _say({"progress": min(transactions / horizon, 0.99)})

    return progress


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
