"""How well studies predict levels left out of the published studies, beside a naive answer; 40 s of CPU."""

from __future__ import annotations

import time

from model.published.reading import read_catalogue
from model.published.validation import validate


def main() -> None:
    """Leave every level of every condition out once and print the errors by family."""
    start = time.perf_counter()
    print(validate(read_catalogue()).to_text())
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
