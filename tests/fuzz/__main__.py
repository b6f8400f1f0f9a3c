"""Search for inputs that break a target: `python -m tests.fuzz structure FORMAT`, or `coverage TARGET`.

`structure` changes the structure of valid inputs, and needs nothing but the project; `coverage` lets atheris change
bytes so that new code is reached. Loops test every place that they read or write.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

INTERPRETED = ("csrcesrv", "amaterse")
"""Targets whose loops are interpreted, so that their coverage is seen; elsewhere they are compiled and check bounds."""

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Fuzz until the time is up; an input that breaks its target is kept in `--findings`, and the exit code is 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    commands = parser.add_subparsers(required=True)
    for name, run, several in (("structure", structure, "*"), ("coverage", coverage, None)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("target", nargs=several)
        command.add_argument("--seconds", type=int, default=600, help="for each target")
        command.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
        if run is structure:
            command.add_argument("--inputs", type=int, help="for each target, in place of a time")
            command.add_argument("--seed", type=int, default=0, help="equal seeds make equal inputs")
        else:
            command.add_argument("--corpus", type=Path, help="folder that keeps inputs which reached new code")
    options = parser.parse_args()
    return int(options.run(options, parser) or 0)


def structure(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Change the structure of what a target's seeds hold; each fault is kept once, by where it came up."""
    os.environ["NUMBA_BOUNDSCHECK"] = "1"
    from tests.fuzz import checks
    from tests.fuzz import structure as changes
    from tests.fuzz.targets import TARGETS

    names = options.target or list(TARGETS)
    _known(names, TARGETS, parser)
    faults = 0
    for name in names:
        target, places, tried, end = TARGETS[name], set[str](), 0, time.monotonic() + options.seconds
        for data in changes.inputs(name, target.seeds(), options.seed):
            if tried == options.inputs or (options.inputs is None and time.monotonic() > end):
                break
            tried += 1
            try:
                with checks.bounded():
                    target.run(data)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(where.filename).name}:{where.lineno}-{type(error).__name__}"
                if place not in places:
                    places.add(place)
                    options.findings.mkdir(parents=True, exist_ok=True)
                    kept = options.findings / f"{name}--{place.replace(':', '-')}.hex"
                    kept.write_text(data.hex(), encoding="ascii")
                    print(f"{name}: input {tried:,}: {kept}\n{traceback.format_exc()}", flush=True)
        print(f"{name}: {tried:,} inputs, {len(places)} faults", flush=True)
        faults += len(places)
    return int(faults > 0)


def coverage(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Hand a target to atheris."""
    import atheris

    interpreted = options.target in INTERPRETED
    os.environ["NUMBA_DISABLE_JIT" if interpreted else "NUMBA_BOUNDSCHECK"] = "1"
    with atheris.instrument_imports(include=["ingest"], exclude=[] if interpreted else kernels()):
        from tests.fuzz import checks, targets
    _known([options.target], targets.TARGETS, parser)
    target = targets.TARGETS[options.target]
    corpus = options.corpus or Path(tempfile.mkdtemp(prefix="etalon-fuzz-corpus-"))
    corpus.mkdir(parents=True, exist_ok=True)
    options.findings.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed{number:03d}").write_bytes(data)
        target.run(data)

    def one_input(data: bytes) -> None:
        with checks.bounded():
            target.run(data)

    settings = [
        f"-max_total_time={options.seconds}",
        "-max_len=65536",
        "-timeout=300",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        f"-artifact_prefix={options.findings}/{options.target}-",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *settings], one_input)
    atheris.Fuzz()


def _known(names: list[str], targets: dict, parser: argparse.ArgumentParser) -> None:
    for name in names:
        if name not in targets:
            parser.error(f"no target {name!r}; there are {', '.join(targets)}")


def kernels() -> list[str]:
    """Modules with compiled loops, which cannot be compiled any more once they are instrumented."""
    found = [path for path in (ROOT / "ingest").rglob("*.py") if "ingest.kernels.jit import" in path.read_text()]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]


if __name__ == "__main__":
    sys.exit(main())
