"""Peak memory and growth of time with the size of a dump: CICS monitoring dumps of 50 MB, 500 MB and 5 GB.

`python -m benchmarks.memory [MEGABYTES …]` writes each dump to a temporary folder (TMPDIR), has `etalon ingest` and
`etalon decode --to parquet` read it, each in a process of its own, and deletes it. Kernels are compiled by a first run
that is not counted. Peak memory is that process's own
(`VmHWM`), with all it loads. The line through the times is fitted by least squares to the sizes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import dumps

SIZES_MB = (50, 500, 5000)
_PROGRAM = """
import sys
from pathlib import Path
from pipelines.cli import main
sys.argv[0] = "etalon"
try:
    main()
finally:
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""


def main(arguments: list[str]) -> int:
    """Measure and print a table and the fits."""
    sizes = [int(text) for text in arguments] or list(SIZES_MB)
    print(f"{'work':26} {'MB':>6} {'s':>8} {'CPU s':>7} {'MB/s':>6} {'peak MB':>8}")
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as kept:
        kernels = Path(kept) / "cache"
        for size in (0, *sizes):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                dump, home = folder / "cics.smf", folder / "home"
                dumps.write_cics(dump, size * 1_000_000)
                works = {
                    "ingest": ["ingest", str(dump)],
                    "decode --to parquet": ["decode", str(dump), "--to", "parquet", "--out", str(folder / "parquet")],
                }
                if size:
                    shutil.copytree(kernels, home / "cache")
                for title, words in works.items():
                    wall, processor, peak = _run(words, home)
                    if not size:
                        continue
                    megabytes = dump.stat().st_size / 1e6
                    found.setdefault(title, []).append((megabytes, processor))
                    rate = f"{megabytes / wall:6.0f} {peak:8.0f}"
                    print(f"{title:26} {megabytes:6.0f} {wall:8.1f} {processor:7.1f} {rate}", flush=True)
                if not size:
                    shutil.copytree(home / "cache", kernels)
    for title, points in found.items() if len(sizes) > 2 else ():
        print(f"{title}: {_fit(points)}")
    print(f"cores: {os.cpu_count()}; load when it ended: {os.getloadavg()[0]:.1f}")
    return 0


def _run(words: list[str], home: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and peak megabytes of one command."""
    environment = {**os.environ, "ETALON_HOME": str(home)}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    wall, after = time.perf_counter() - start, os.times()
    said = done.stderr.decode().split()
    if done.returncode or not said or not said[-1].isdigit():
        raise RuntimeError(f"etalon {' '.join(words)}: exit code {done.returncode}: {done.stderr.decode()[-2000:]}")
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, processor, int(said[-1]) * 1024 / 1e6


def _fit(points: list[tuple[float, float]]) -> str:
    sizes, times = np.array(points).T
    slope, constant = np.polyfit(sizes, times, 1)
    left = times - (slope * sizes + constant)
    r2 = 1 - (left @ left) / ((times - times.mean()) @ (times - times.mean()))
    exponent = np.polyfit(np.log(sizes[1:] - sizes[0]), np.log(times[1:] - times[0]), 1)[0]
    return (
        f"processor time = {constant:.1f} s + {slope * 1000:.2f} s per GB, R² = {r2:.4f}; "
        f"what is added to the smallest grows with what is added to its size to the power of {exponent:.2f}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
