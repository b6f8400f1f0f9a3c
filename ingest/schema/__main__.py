"""`python -m ingest.schema --write | --check`: make the files derived from the layouts, or list those that differ."""

import argparse
import sys
from pathlib import Path

from ingest import registry
from ingest.schema.files import drift, write

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns 1 when `--check` finds drift."""
    parser = argparse.ArgumentParser(prog="python -m ingest.schema", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true", help="write what differs")
    group.add_argument("--check", action="store_true", help="only list what differs")
    options = parser.parse_args(arguments)
    known = registry.load()
    paths = write(known, ROOT) if options.write else drift(known, ROOT)
    for path in paths:
        print(f"{'written' if options.write else 'drifted'}: {path}")
    return 1 if options.check and paths else 0


if __name__ == "__main__":
    sys.exit(main())
