"""`python -m benchmarks [NAME …]`: run every benchmark of this folder, or the named ones, one after the other."""

from __future__ import annotations

import argparse
import ast
import pkgutil
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run each in a process of its own, so that none warms up another; the worst exit code comes back."""
    folder = Path(__file__).parent
    known = [module.name for module in pkgutil.iter_modules([str(folder)]) if module.name != "__main__"]
    listed = "\n".join(f"  {name:<12} {_summary(folder / f'{name}.py')}" for name in known)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run every benchmark, or the named ones, one after the other, each in a process of its own.",
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark; all of them without one")
    given, options = parser.parse_known_args(arguments)
    wanted = given.names
    if options and len(wanted) != 1:
        parser.error(f"options of a benchmark ({' '.join(options)}) stand behind its name alone")
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    codes = []
    for name in wanted or known:
        print(f"== {name}", flush=True)
        codes.append(subprocess.call([sys.executable, "-m", f"benchmarks.{name}", *options]))
    return max(codes, default=0)


def _summary(path: Path) -> str:
    """The first line of a module's docstring, without loading the module."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
