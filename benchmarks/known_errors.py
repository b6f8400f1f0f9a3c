"""The table of how far approximate answers are off, by what they approximate: measured, printed, and written.

``python -m benchmarks.known_errors --networks 800 --seed 31001 --write`` draws so many networks of families of
`benchmarks.agreement` (textbooks; one hard feature each; of visits in a row a fifth as many), simulates those that are
not solved exactly, and puts what it finds into `model/network/solvers/known_errors.py` and docs/solvers.md. Without
``--write`` it only says how far the networks of another seed are within what is stated.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.agreement import FAMILIES, FEATURES, SURE, compare, error, random_network
from model.network import NetworkError
from model.network.simulator import SimulationError
from model.network.solvers import known_errors, solve
from model.network.solvers.known_errors import KNOWN_ERRORS, known_error

DRAWN = {"textbook": 1.0, "features": 1.0, "visits": 0.2}
"""Families, and how many networks of each are drawn for one of the first."""
ENOUGH = 30
"""Classes of networks with nothing else that is hard, from which only these are counted."""
BY_HAND = ("layered resources", "shared machine", "LPARs near their share", "visits at once beside long work")
"""Kinds for which random networks of these families say nothing."""
HEAD = "| approximated | classes of networks | compared | median | 95 % | 98 % | largest |\n" + "|---" * 7 + "|\n"
WHO = ("open classes alone", "with users")


class Measured(NamedTuple):
    """Relative errors of one kind: how many classes, and their quantiles."""

    classes: int
    median: float
    p95: float
    p98: float
    largest: float

    @property
    def stated(self) -> float:
        """The 98 % error, at most twice the 95 %, at least 1 %.

        Of n classes the chance that another one is further off than the largest is 1 / (n + 1). Where that is more than
        2 %, errors are taken to be so many times as large that it is not, if it falls in proportion to them.
        """
        return max(min(self.p98 * max(50 / (self.classes + 1), 1.0), 2 * self.p95), 0.01)


def draw(networks: int, seed: int, horizon: int, families: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is known of each class of the networks of each family that are not solved exactly; the next family is of the
    next seed."""
    rows = []
    for first, family in enumerate(families, seed):
        generator = np.random.default_rng(first)
        for index in range(round(networks * DRAWN.get(family, 1.0))):
            try:
                if family in FAMILIES:
                    network = FAMILIES[family](generator)
                else:
                    network = random_network(generator, FEATURES[index % len(FEATURES)])
                if not solve(network).exact:
                    users = any(cls.users for cls in network.classes)
                    rows += [row | {"users": users} for row in compare(network, first + index, horizon)]
            except (SimulationError, NetworkError):
                continue
    known = [r for r in rows if r["settled"] and r["response_half_width"] < SURE * r["simulated_response"]]
    return [row | {"error": error(row, "response")} for row in known]


def measured(rows: list[dict[str, Any]]) -> dict[tuple[str, bool], Measured]:
    """Errors by kind, and by whether there are users; without answers that state a bound of their own."""
    alone, among = defaultdict(list), defaultdict(list)
    for row in rows:
        kinds = tuple(row["approximated"])
        if row["stated"] > known_error(kinds, row["users"])[0][1] * 1.001:
            continue
        for kind in kinds:
            among[kind, row["users"]].append(row["error"])
            if len(kinds) == 1:
                alone[kind, row["users"]].append(row["error"])
    out = {}
    for key in among:
        errors = np.array(alone[key] if len(alone[key]) >= ENOUGH else among[key])
        quantiles = (float(np.quantile(errors, q, method="higher")) for q in (0.5, 0.95, 0.98, 1.0))
        out[key] = Measured(len(errors), *quantiles)
    return out


def table(found: dict[tuple[str, bool], Measured]) -> str:
    """The rows of the page."""
    lines = []
    for kind in KNOWN_ERRORS:
        for users in (False, True):
            if (kind, users) in found and kind not in BY_HAND:
                one = found[kind, users]
                cells = " | ".join(f"{part:.1%}".replace("%", " %") for part in one[1:])
                lines.append(f"| {kind} | {WHO[users]} | {one.classes} | {cells} |")
    return HEAD + "\n".join(lines) + "\n"


def write(found: dict[tuple[str, bool], Measured]) -> None:
    """Put the table into the solver and onto the page."""
    source = Path(known_errors.__file__)
    text = source.read_text(encoding="utf-8")
    for kind, known in KNOWN_ERRORS.items():
        if kind in BY_HAND:
            continue
        pairs = [found.get((kind, users)) for users in (False, True)]
        stated = [
            known[users] if one is None else (max(round(one.median, 3), 0.001), round(one.stated, 3))
            for users, one in enumerate(pairs)
        ]
        text = re.sub(rf'"{kind}": \(\(.*\)\),', f'"{kind}": ({stated[0]}, {stated[1]}),', text)
    source.write_text(text, encoding="utf-8")
    page = source.parents[3] / "docs/solvers.md"
    text = page.read_text(encoding="utf-8")
    rows = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")
    page.write_text(rows.sub(lambda _: table(found), text, count=1), encoding="utf-8")


def main() -> None:
    """Run, print, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=100, help="of each family; of visits in a row a fifth")
    parser.add_argument(
        "--family", action="append", choices=("features", *FAMILIES), help=f"default: {', '.join(DRAWN)}"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--horizon", type=int, default=80_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = draw(options.networks, options.seed, options.horizon, tuple(options.family or DRAWN))
    found = measured(rows)
    print(table(found))
    for users in (False, True):
        some = [r for r in rows if r["users"] is users]
        held = sum(r["error"] <= r["stated"] for r in some)
        wide = sum(r["stated"] > known_errors.WEAK for r in some)
        print(f"{WHO[users]}: {held} of {len(some)} classes within what is stated, which is more than 30 % for {wide}")
    if options.write:
        write(found)


if __name__ == "__main__":
    main()
