"""Prices that an installation brings: money per MSU of a billing month, and per hour of CPU."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = ("per", "price", "currency", "name")
PER = {"msu": "MSU of a billing month", "cpu_hour": "hour of general-purpose CPU"}


class PriceError(ValueError):
    """A table of prices that cannot be used; the message names the line and what is allowed."""

    #: That of the command line for an input that cannot be read.
    exit_code = 3


@dataclass(frozen=True)
class Price:
    """What one unit costs: ``per`` one of `PER`, for ``name`` (an LPAR, group, CPC or product), or empty for all."""

    per: str
    price: float
    currency: str
    name: str = ""


@dataclass(frozen=True)
class Prices:
    """The prices of an installation, in one currency; without any, nothing is shown in money."""

    rows: tuple[Price, ...] = ()

    def of(self, per: str, *names: str) -> Price | None:
        """The price of a unit for the first of these names that has one, else the one for all; None without any.

        Parameters
        ----------
        per
            ``msu`` or ``cpu_hour``.
        names
            from the most specific on, such as an LPAR and its CPC.
        """
        by_name = {row.name.casefold(): row for row in self.rows if row.per == per}
        return next((by_name[name] for name in (*map(str.casefold, names), "") if name in by_name), None)

    @property
    def currency(self) -> str:
        """The currency of all prices; empty without any."""
        return self.rows[0].currency if self.rows else ""


def read_prices(text: str, origin: str) -> Prices:
    """The prices of a CSV file with the columns ``per``, ``price``, ``currency`` and, for a price of its own, ``name``.

    Parameters
    ----------
    text
        the file.
    origin
        what it is called in errors.

    Raises
    ------
    PriceError
        for a column that is missing, a unit or price that is none, a second currency, or a price given twice.
    """
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    missing = [name for name in COLUMNS[:3] if name not in (reader.fieldnames or ())]
    if missing:
        raise PriceError(f"{origin}: no column {', '.join(missing)}; the first line names {', '.join(COLUMNS)}")
    rows: list[Price] = []
    for row in reader:
        where = f"{origin}, line {reader.line_num}"
        per, currency, name = ((row.get(key) or "").strip() for key in ("per", "currency", "name"))
        if per not in PER:
            raise PriceError(f"{where}: per is {per!r}, and should be {' or '.join(PER)}")
        if not currency:
            raise PriceError(f"{where}: names no currency, such as EUR")
        rows.append(Price(per, _price(where, row["price"]), currency, name))
        _check(where, rows)
    return Prices(tuple(rows))


def _price(where: str, given: str | None) -> float:
    try:
        price = float(given or "")
    except ValueError:
        price = -1.0
    if not 0.0 <= price < 1e12:
        raise PriceError(f"{where}: price is {given!r}, and should be a number from 0 on, with a point")
    return price


def _check(where: str, rows: Sequence[Price]) -> None:
    last = rows[-1]
    if last.currency != rows[0].currency:
        raise PriceError(f"{where}: is in {last.currency}, the lines before in {rows[0].currency}; use one currency")
    if any((row.per, row.name.casefold()) == (last.per, last.name.casefold()) for row in rows[:-1]):
        raise PriceError(f"{where}: is the second price per {last.per} of {last.name or 'all'}; leave one")
