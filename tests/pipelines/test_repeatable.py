"""The same input gives the same output, byte for byte, whatever the number of processors and the order of hashes."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ingest import registry
from ingest.formats.smf import encode_dump
from tests.ingest.tables import random_tables
from tests.ingest.warehouse.samples import report_xml, write

PROGRAM = textwrap.dedent(
    """
    import hashlib, os, sys
    from contextlib import suppress
    from pathlib import Path

    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    if sys.argv[3] == "one":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from ingest import registry
    from ingest.warehouse import load
    from tests.ingest.warehouse.content import content_hash
    from pipelines.cli import main

    reports = load([source], target / "etalon.duckdb", registry.load())
    shared = sum(report.overlap for report in reports)
    digests = [f"warehouse {content_hash(target / 'etalon.duckdb')} {shared}"]
    for form in ("arrow", "parquet", "csv", "json"):
        with suppress(SystemExit):
            main(["decode", str(source / "b.smf"), "--to", form, "--out", str(target / form)])
        for path in sorted((target / form).iterdir()):
            digests.append(f"{form} {path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    (target / "digests.txt").write_text("\\n".join(digests))
    """
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps that overlap, of several record types, and a report."""
    known = registry.load()
    dumps = [
        encode_dump(random_tables(known.layout_for(*kind), seed, 150), known)
        for seed, kind in enumerate(((30, 3), (70, 1), (72, 3), (115, 2)))
    ]
    folder = tmp_path_factory.mktemp("in")
    return write(folder, a__smf=b"".join(dumps[:3]), b__smf=b"".join(dumps[1:]), c__xml=report_xml(*range(30)))


def test_two_homes_and_two_decodings_hold_the_same_bytes(inputs: Path, tmp_path: Path) -> None:
    digests = []
    for seed, processors in (("1", "one"), ("2", "all")):
        (tmp_path / processors).mkdir()
        command = [sys.executable, "-c", PROGRAM, inputs, tmp_path / processors, processors]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        digests.append((tmp_path / processors / "digests.txt").read_text())
    assert digests[0] == digests[1]
    lines = digests[0].splitlines()
    assert int(lines[0].split()[2]) >= 300
    assert len({line.split()[0] for line in lines}) == 5 and len(lines) > 4 * 20
