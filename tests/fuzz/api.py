"""`python -m tests.fuzz.api UV`: the service against its own description, by all checks of schemathesis.

Takes the state folder ETALON_HOME with a champion and a snapshot. schemathesis is no dependency: uv fetches it.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

from pipelines import asking
from pipelines.home import Home

SCHEMATHESIS = "schemathesis==4.32.5"
SECONDS = 300


def main(uv: str) -> int:
    """Run it with a token, so that its checks of authentication apply; the exit code is its own."""
    os.environ["ETALON_TOKEN"] = token = secrets.token_urlsafe(24)
    with asking.service(Home.from_environment()) as address:
        command = [uv, "tool", "run", SCHEMATHESIS, "--config-file", str(Path(__file__).with_name("schemathesis.toml"))]
        command += ["run", f"{address}/openapi.json", "--checks", "all"]
        command += ["--header", f"Authorization: Bearer {token}", "--phases", "examples,coverage,fuzzing"]
        command += ["--max-time", str(SECONDS), "--continue-on-failure", "--suppress-health-check", "all"]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
