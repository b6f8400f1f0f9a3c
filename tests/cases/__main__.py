"""``python -m tests.cases DIR [--json]``: solve every known-answer case of a folder and say which pass."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from tests.cases.solve_case import judge_folder


def main(arguments: list[str] | None = None) -> int:
    """Print one row a case; exit code 1 where any fails, 2 where the folder holds none."""
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of case files (*.json)")
    parser.add_argument("--json", action="store_true", help='print {"cases": [{"id", "outputs", "verdict"}]}')
    parser.add_argument("--seed", type=int, default=20261121, help="seed of the simulations")
    parser.add_argument("--no-simulation", action="store_true", help="analytic answers only")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        print(f"{options.folder} is not a folder", file=sys.stderr)
        return 2
    rows = judge_folder(options.folder, options.seed, not options.no_simulation)
    if not rows:
        print(f"{options.folder} holds no case files (*.json)", file=sys.stderr)
        return 2
    if options.json:
        cases = [
            {"id": r.id, "outputs": r.outputs, "verdict": r.verdict, "kind": r.kind, "method": r.method,
             "simulated": r.simulated, "notes": r.lines}
            for r in rows
        ]  # fmt: skip
        print(json.dumps({"cases": cases}, indent=1))
    else:
        for r in rows:
            print(f"{r.verdict:4}  {r.id}  ({r.kind or 'no kind'}; {r.method or 'no solver'})")
            print(f"      {json.dumps(r.outputs)}")
            if r.simulated:
                print(f"      simulated: {json.dumps(r.simulated)}")
            for line in r.lines:
                print(f"      {line}")
        totals = Counter((r.kind or "no kind", r.verdict) for r in rows)
        print("; ".join(f"{kind} {verdict}: {n}" for (kind, verdict), n in sorted(totals.items())))
    return 1 if any(r.verdict == "fail" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
