"""Daily dumps of machines with two LPARs each, for the benchmarks of nights; run by itself it measures nothing."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from pipelines.home import ROOT

_TWIN = "lpars-weights"


def daily_dumps(folder: Path, machines: int, days: int, interval_s: int) -> list[list[Path]]:
    """The dumps of each day, one for every LPAR: `m0.SY0A.0.smf` is the first day of LPAR A of the first machine."""
    from model.lab.twin import Twin, live, write

    folder.mkdir(parents=True)
    found: list[list[Path]] = [[] for _ in range(days)]
    for machine in range(machines):
        for path in (ROOT / "model" / "lab" / "twin" / "twins").glob(f"{_TWIN}*"):
            text = path.read_text(encoding="utf-8").replace("days = 21", f"days = {days}")
            text = text.replace("interval_s = 900", f"interval_s = {interval_s}").replace(_TWIN, f"m{machine}")
            text = text.replace("PRD", f"SY{machine}").replace('"machine"', f'"machine{machine}"')
            (folder / path.name.replace(_TWIN, f"m{machine}")).write_text(text, encoding="utf-8")
        for dump in write(live(Twin.load(folder / f"m{machine}.toml")), folder / f"records{machine}"):
            for number, data in enumerate(_by_day(dump.read_bytes()) if dump.suffix == ".smf" else ()):
                path = folder / f"{dump.stem}.{number}.smf"
                path.write_bytes(data)
                found[min(number, days - 1)].append(path)
    return found


def _by_day(dump: bytes) -> list[bytes]:
    """The records of a dump by the day of their writing."""
    days: dict[bytes, list[bytes]] = defaultdict(list)
    at = 0
    while at < len(dump):
        size = int.from_bytes(dump[at : at + 2])
        days[dump[at + 10 : at + 14]].append(dump[at : at + size])
        at += size
    return [b"".join(days[day]) for day in sorted(days)]
