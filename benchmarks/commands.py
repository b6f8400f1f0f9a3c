"""What a user waits for: whole commands, from their start to their end, Python's own start among it.

`python -m benchmarks.commands [--repeat N] [--home HOME] [FILE …]` decodes the dumps named, each repeated N times, or a
made-up one. A state folder with a champion, as `make demo` leaves in .etalon, is asked for the first of its systems.
Every command runs several times; the middle one counts. Decoding is measured on one core and on all.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import dumps
from ingest import registry
from model.capacity import bundle
from pipelines.home import Home

RUNS = 5
RECORDS = 150_000
ETALON = str(Path(sys.executable).with_name("etalon"))


def main(arguments: Sequence[str]) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--home", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    print(f"{'command':44} {'cores':>5} {'MB':>7} {'s':>7} {'CPU s':>7} {'MB/s':>7}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ETALON_HOME"] = str(folder / "home")
        report, small = folder / "report.xml", folder / "small.smf"
        report.write_bytes(dumps.rmf_report(10_000))
        small.write_bytes(dumps.made_up_dump(registry.load(), "smf30", 10))
        _time([ETALON, "ingest", str(small)])
        _time([ETALON, "publish"])
        for title, command in (
            ("--help", ["--help"]),
            ("systems", ["systems"]),
            ("sql", ["sql", "select 1"]),
            ("decode, a small dump", ["decode", str(small)]),
            ("ingest, a small report again and again", ["ingest", "--reload", "always", str(report)]),
            ("build --all, of a small dump", ["build", "--all", "--no-publish"]),
            ("nightly, without files", ["nightly"]),
        ):
            _report(title, [ETALON, *command], cores[:1], 0)
        if given.home:
            champion = Home(given.home.absolute()).champion
            system = next(iter(bundle.read(champion)["systems"]))
            for question in ("predict", "max-rate", "explain"):
                _report(question, [ETALON, "--home", str(given.home), question, system], cores[:1], 0)
        for dump in given.files or [_made(folder)]:
            large = folder / dump.name
            if given.files:
                large.write_bytes(dump.read_bytes() * given.repeat)
            size = large.stat().st_size / 1e6
            for form in ("parquet", "csv"):
                for use in (cores[:1], cores) if len(cores) > 1 else (cores,):
                    command = [ETALON, "decode", str(large), "--to", form, "--out", str(folder / form)]
                    _report(f"decode {dump.name} to {form}", command, use, size)
    print(f"load when it ended: {os.getloadavg()[0]:.1f}")
    return 0


def _made(folder: Path) -> Path:
    path = folder / "smf30.smf"
    path.write_bytes(dumps.made_up_dump(registry.load(), "smf30", RECORDS))
    return path


def _report(title: str, command: Sequence[str], cores: Sequence[int], size: float) -> None:
    """One line: the middle of several runs on these cores."""
    runs = [_time(command, cores) for _ in range(RUNS + 1)][1:]
    wall, processor = (statistics.median(column) for column in zip(*runs, strict=True))
    line = f"{title:44} {len(cores):5} "
    line += (
        f"{size:7.0f} {wall:7.2f} {processor:7.2f} {size / wall:7.0f}"
        if size
        else f"{'':7} {wall:7.2f} {processor:7.2f}"
    )
    print(line, flush=True)


def _time(command: Sequence[str], cores: Sequence[int] = ()) -> tuple[float, float]:
    """Seconds that a command takes, and seconds of processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pin)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
