"""`python -m benchmarks [NAME …]`: run every benchmark of this folder, or the named ones, one after the other."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    """Run each in a process of its own, so that none warms up another; the worst exit code comes back."""
    known = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name != "__main__"]
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    codes = []
    for name in wanted or known:
        print(f"== {name}", flush=True)
        codes.append(subprocess.call([sys.executable, "-m", f"benchmarks.{name}"]))
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
