"""Make the files derived from the layouts, list those that differ, or print the lines of an example in hex.

`python -m ingest.schema --write | --check | --example FILE`
"""

import argparse
import sys
from pathlib import Path

from ingest import registry
from ingest.schema.example import ExampleError, example
from ingest.schema.files import drift, write

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns 1 if `--check` lists files."""
    parser = argparse.ArgumentParser(prog="python -m ingest.schema", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true", help="write what differs")
    group.add_argument("--check", action="store_true", help="only list what differs")
    example_help = "print the section of docs/hex-examples.md for the record in a file"
    group.add_argument("--example", metavar="FILE", type=Path, help=example_help)
    options = parser.parse_args(arguments)
    layouts = registry.load()
    if options.example:
        try:
            print(example(options.example.read_bytes(), layouts))
        except (OSError, ExampleError) as error:
            parser.error(str(error))
        return 0
    paths = write(layouts, ROOT) if options.write else drift(layouts, ROOT)
    for path in paths:
        print(f"{'written' if options.write else 'drifted'}: {path}")
    return 1 if options.check and paths else 0


if __name__ == "__main__":
    sys.exit(main())
