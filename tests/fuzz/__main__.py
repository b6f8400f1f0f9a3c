"""Coverage-guided fuzzing of one target with atheris: `python -m tests.fuzz TARGET --seconds N`."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import atheris

INTERPRETED = ("csrcesrv", "amaterse")
"""Targets whose loops are interpreted, so that their coverage is seen; elsewhere they are compiled and check bounds."""

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Fuzz a target until the time is up; an input that breaks it is kept in `--findings`."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--corpus", type=Path, help="folder that keeps inputs which reached new code")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    interpreted = options.target in INTERPRETED
    os.environ["NUMBA_DISABLE_JIT" if interpreted else "NUMBA_BOUNDSCHECK"] = "1"
    with atheris.instrument_imports(include=["ingest"], exclude=[] if interpreted else kernels()):
        from tests.fuzz import checks, targets
    if options.target not in targets.TARGETS:
        parser.error(f"no target {options.target!r}; there are {', '.join(targets.TARGETS)}")
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


def kernels() -> list[str]:
    """Modules with compiled loops, which cannot be compiled any more once they are instrumented."""
    found = [path for path in (ROOT / "ingest").rglob("*.py") if "ingest.kernels.jit import" in path.read_text()]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]


if __name__ == "__main__":
    main()
