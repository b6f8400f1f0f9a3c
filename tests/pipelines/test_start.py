"""Commands load what they need: every further package is waited for at every start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("duckdb", "lxml", "numba", "numpy", "pandas", "pyarrow", "pydantic", "urllib.request")
SCRIPT = """
import sys
from pipelines.cli import main
try:
    main(sys.argv[2:])
finally:
    print(*sorted(set(sys.argv[1].split(",")) & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["--help", "systems"])
def test_a_command_that_reads_no_data_loads_no_library_for_data(tmp_path: Path, command: str) -> None:
    arguments = [sys.executable, "-c", SCRIPT, ",".join(HEAVY), command]
    environment = {**os.environ, "ETALON_HOME": str(tmp_path)}
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
    assert not done.stderr.split()
