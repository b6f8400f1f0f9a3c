"""The morning's page: what became of a night, and the nights before."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines import pages
from pipelines.home import Home
from pipelines.nights import accounts
from pipelines.nights.findings import FILES, QUALITY_PAGE, UNDECODED, Finding, findings, page_of
from state.catalogue import NIGHT
from state.files import StateDamaged

_HEX_BYTES, _HEX_LINE = 256, 16
_MOST_NIGHTS = 400


def write_pages(home: Home) -> Path:
    """Write the pages of nights that have none and `nights/index.html`, which lists all; the path of the latter."""
    paths = sorted(home.nights.glob("20*.json"), reverse=True)
    nights = [(path, read_night(path)) for path in paths[:_MOST_NIGHTS]]
    for number, (path, night) in enumerate(nights):
        if path.with_suffix(".html").exists() and number:
            continue
        before = next((earlier for _, earlier in nights[number + 1 :] if earlier["ended"]), {})
        tables = {
            "Findings": _findings(night, before),
            "Findings of the night before that are gone": _closed(night, before),
            FILES: accounts.outcomes(night["files"]),
            UNDECODED: _first_bad(home, night["files"]),
            "Files not loaded": accounts.left(night.get("left", {})),
            "Messages": [{"message": line} for line in night["notes"]],
            "Steps": [{"step": name, "seconds": f"{seconds:.1f}"} for name, seconds in night["steps"].items()],
        }
        lead = (
            f"Records of {night['day']}. The job ran from {night['started']} to {night['ended']}. "
            f"Built: {night['built'] or 'nothing'}."
        )
        links = {"All nights": "index.html", "Data quality": "../quality/index.html"}
        shown = {heading: rows for heading, rows in tables.items() if rows}
        pages.write(path.with_suffix(".html"), night["verdict"], lead, shown, links, _worst(night))
    rows = [
        {
            "night": pages.Link(night["started"], f"{path.stem}.html"),
            "records of": night["day"],
            "worst": _worst(night),
            "verdict": night["verdict"],
            "files": len(night["files"]),
            "records": sum(file["records"] for file in night["files"]),
            "seconds": f"{sum(night['steps'].values()):.1f}",
        }
        for path, night in nights
    ]
    return pages.write(home.nights / "index.html", "Nights", "The latest first.", {"": rows})


def _worst(night: Mapping[str, Any]) -> str:
    """How bad the worst is that nobody has acknowledged: `failure`, `warning` or nothing."""
    if not night["ended"]:
        return "failure"
    open_ = [finding.severity for finding in findings(night) if finding.name not in night.get("acknowledged", {})]
    return next((severity for severity in open_[:1] if severity in ("failure", "warning")), "")


def _findings(night: Mapping[str, Any], before: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The findings, the worst first; those that are new since the night before are marked."""
    page, notes = page_of(night), night.get("acknowledged", {})
    names_before = {finding.name for finding in _compared(before, night)}
    new = {finding.name for finding in _compared(night, before)} - names_before if before else set()

    def text(finding: Finding) -> str | pages.Link:
        return finding.text if finding.page == page else pages.Link(finding.text, f"../{finding.page}")

    return [
        {
            "kind": finding.severity,
            "what": text(finding),
            "change": "new" if finding.name in new else "",
            "what to do": finding.advice,
            "note": notes.get(finding.name, ""),
            "same cause": "; ".join(finding.details),
        }
        for finding in findings(night)
    ]


def _closed(night: Mapping[str, Any], before: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = {finding.name for finding in _compared(night, before)}
    return [{"what": finding.text} for finding in _compared(before, night) if finding.name not in names]


def _compared(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Finding]:
    """Findings of one night that the other checked, too: a night that had nothing to build checked nothing."""
    if not one:
        return []
    checked = other.get("quality") is not None
    return [finding for finding in findings(one) if checked or finding.page != QUALITY_PAGE]


def _first_bad(home: Home, files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The start of the first quarantined record of a night, as a dump."""
    digests = [file["sha256"] for file in files if file.get("quarantined") and file.get("sha256")]
    if not digests or not home.snapshot.exists():
        return []
    from ingest import warehouse

    pieces = warehouse.query(
        home.snapshot,
        "SELECT path, byte_offset, reason, raw FROM meta.quarantine JOIN meta.ledger USING (file_id) "
        "WHERE list_contains(?, sha256) ORDER BY path, byte_offset LIMIT 1",
        [digests],
    ).to_pylist()
    return [
        {"file": Path(row["path"]).name, "reason": row["reason"], **line}
        for row in pieces
        for line in hex_lines(row["raw"][:_HEX_BYTES], row["byte_offset"])
    ]


def hex_lines(data: bytes, offset: int = 0) -> list[dict[str, str]]:
    """Bytes as lines of a dump: place in the file, hexadecimal digits, EBCDIC text."""
    lines = []
    for at in range(0, len(data), _HEX_LINE):
        part = data[at : at + _HEX_LINE]
        shown = "".join(char if char.isprintable() else "." for char in part.decode("cp037"))
        lines.append({"offset": f"X'{offset + at:08X}'", "bytes": part.hex(" ", 4).upper(), "EBCDIC": shown})
    return lines


def read_night(path: Path) -> dict[str, Any]:
    """The account of a night; of a damaged one, a night whose verdict says so."""
    try:
        return dict(NIGHT.read(path))
    except StateDamaged as damaged:
        empty: dict[str, Any] = {"day": "", "started": path.stem, "ended": "", "built": "", "steps": {}}
        return {
            "verdict": str(damaged),
            **empty,
            "quality": None,
            "model": None,
            "files": [],
            "lacks": [],
            "errors": [],
            "notes": [],
        }
