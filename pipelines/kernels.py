"""`python -m pipelines.kernels`: compile the loops of readers, writers, solver and simulator, by using each once.

`make setup` runs it, so that no command has to compile: see `ingest.kernels.native.folders`.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pipelines import steps
from pipelines.decoding import decode_file
from pipelines.home import ROOT, Home
from pipelines.progress import Reporter

if TYPE_CHECKING:
    from model.network import TransactionClass

#: What the lab writes has, together, records of every form that loops read.
RENDERED = ("cics53-18cp", "ims10-msc-ctc", "cicsjava-s1-200u-19tps", "subsystems")


def main(arguments: list[str]) -> int:
    """Compile all loops, in two processes side by side; with the argument `networks` those of networks alone."""
    if arguments == ["networks"]:
        use_networks()
        return 0
    reporter = Reporter()
    with subprocess.Popen([sys.executable, "-m", "pipelines.kernels", "networks"], cwd=ROOT) as networks:
        with reporter.step("compiling readers and writers, once"), TemporaryDirectory() as folder:
            use_records(Path(folder))
        with reporter.step("compiling solver and simulator, once"):
            return networks.wait()


def use_records(folder: Path) -> None:
    """Write, load and decode dumps and reports."""
    from ingest import registry

    for path in steps.render(RENDERED, folder):
        decode_file(path, "csv", folder / "csv", registry.load())
    steps.ingest(Home(folder / "home"), [folder])


def use_networks() -> None:
    """Solve and simulate the example networks, and replay transactions through one."""
    import numpy as np

    from model.network import Network
    from model.network.simulator import replay, simulate
    from model.network.solvers import solve
    from model.network.solvers.load_sweep import sweep_load

    for path in sorted((ROOT / "model" / "examples").glob("*.toml")):
        network = Network.load(path)
        solve(network)
        solve(replace(network, classes=tuple(_in_pairs(c) for c in network.classes)))
        sweep_load(network, [0.5, 1.0])
        simulate(network, seed=1, replications=1, horizon=1_000)
    replay(network, np.arange(3.0), np.zeros(3), {})


def _in_pairs(cls: "TransactionClass") -> "TransactionClass":
    """The class with two transactions to an arrival."""
    from model.network import Distribution

    pairs = Distribution.deterministic(2.0)
    return replace(cls, arrivals=cls.arrivals and replace(cls.arrivals, batch=pairs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
