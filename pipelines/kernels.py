"""`python -m pipelines.kernels`: compile all loops (records, exact methods, simulator) by using each once.

`make setup` runs it, so that no command has to compile: see `state.kernels.folders`.
"""

import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pipelines import steps
from pipelines.decoding import decode_file
from pipelines.home import ROOT, Home
from pipelines.progress import Reporter

#: These systems of the lab have records of every form that loops read.
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
        with reporter.step("compiling exact methods and simulator, once"):
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

    from model.network import Network, NetworkError
    from model.network.exact import solve
    from model.network.simulator import replay, simulate

    for path in sorted((ROOT / "model" / "examples").glob("*.toml")):
        network = Network.load(path)
        with suppress(NetworkError):
            solve(network)
        simulate(network, seed=1, replications=1, horizon=1_000)
    open_network = Network.load(ROOT / "model" / "examples" / "mm18.toml")
    users = replace(open_network.classes[0], name="users", arrivals=None, users=2)
    for classes in ((users,), (*open_network.classes, users)):
        solve(replace(open_network, classes=classes))
    replay(network, np.arange(3.0), np.zeros(3), {})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
