"""Coverage of records by marts: by record type for the documentation, by bytes for a dump."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ingest.containers.limits import Limits
from pipelines.home import DBT_PROJECT

if TYPE_CHECKING:
    from ingest.layout import Condition, Layout
    from ingest.registry import Registry

_REFERRED = re.compile(r"'(\w+)'")
_MOST_NAMED = 4
#: From the best to the least trusted.
CONFIDENCES = ("macro", "manual", "decoder", "inferred", "memory")


#: Models that say whose a record is, or of what time, and nothing of what it measures.
_IDENTIFYING = frozenset({"int_owner", "int_interval_share", "int_point_share"})
#: Tables that every report has, whatever it is about.
_OF_EVERY_REPORT = frozenset({"rmf_report", "rmf_value", "rmf_message"})


@dataclass(frozen=True)
class Kind:
    """One kind of record of a dump, its amount, and where it goes.

    reaches: `marts`, `raw` (tables without a mart), `skipped`, `quarantined` or `framing` (bytes between records).
    """

    record: str
    title: str
    records: int
    bytes: int
    reaches: str
    marts: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


@cache
def marts_of() -> Mapping[str, frozenset[str]]:
    """Raw table → the marts that its rows are measured for, by what the dbt models refer to."""
    folder = DBT_PROJECT / "models"
    models = {path.stem: path for path in folder.rglob("*.sql")}
    # A name that ends with an underscore begins those of several models.
    refers = {
        name: {
            model
            for referred in _REFERRED.findall(path.read_text(encoding="utf-8"))
            for model in (
                [other for other in models if other.startswith(referred)] if referred.endswith("_") else [referred]
            )
        }
        for name, path in models.items()
    }
    marts = {path.stem for path in (DBT_PROJECT / "models" / "marts").rglob("*.sql")}
    marts_by_table: dict[str, set[str]] = defaultdict(set)
    for mart in marts:
        seen, waiting = set[str](), [mart]
        while waiting:
            name = waiting.pop()
            if name in seen or name in _IDENTIFYING:
                continue
            seen.add(name)
            marts_by_table[name.removeprefix("stg_")].add(mart)
            waiting += refers.get(name, ())
    return {table: frozenset(names) for table, names in marts_by_table.items()}


def described(registry: "Registry") -> Iterator[tuple[str, "Layout"]]:
    """Every record with a layout, by what it is called: `70.1`, `ims.67`, `dcollect.V`."""
    for layout in registry.layouts:
        version = (
            f" ({layout.when.selector} {'not ' * layout.when.negated}{_listed(layout.when)})" if layout.when else ""
        )
        yield f"{layout.type}{_subtypes(layout)}{version}", layout
    for layout in dict.fromkeys(registry.logged("ims").values()):
        yield f"ims.{layout.type:02X}{''.join(f'{code:02X}' for code in layout.subtypes)}", layout
    for layout in registry.logged("dcollect").values():
        yield f"dcollect.{layout.type.to_bytes(2).decode('cp037').strip()}", layout


def page(registry: "Registry") -> str:
    """The page about every record type, in Markdown."""
    lines = [_PAGE, f"| record | what | tables | fields | {' | '.join(CONFIDENCES)} | newest field | marts |"]
    lines.append("|---|---|" + "---|" * (len(CONFIDENCES) + 4))
    total: Counter[str] = Counter()
    for name, layout in described(registry):
        sections = (*layout.sections, *layout.handled)
        fields = [field for section in sections for field in section.fields]
        trust = Counter(field.confidence for field in fields)
        total += trust
        since = max((field.since for field in fields if field.since[:1].isdigit()), default="", key=_release)
        cells = [name, layout.title.split(": ", 1)[-1], str(len(sections)), str(len(fields))]
        cells += [str(trust[word] or "") for word in CONFIDENCES]
        marts = sorted({mart for section in sections for mart in marts_of().get(section.table, ())})
        lines.append("| " + " | ".join([*cells, since, _linked(marts)]) + " |")
    cells = ["**all**", "", "", f"{sum(total.values()):,}", *(f"{total[word]:,}" for word in CONFIDENCES), "", ""]
    return "\n".join([*lines, "| " + " | ".join(cells) + " |", ""])


def measure(file: Path, registry: "Registry", limits: Callable[[], Limits] = Limits) -> list[Kind]:
    """Contents of a dump, or of a container of dumps, by kind of record; the most bytes first.

    limits: says how much of a container is unpacked. Bytes between records (blocks, descriptors of segments) stand
    under `framing`. Raises OSError.
    """
    import pyarrow.compute as pc

    from ingest.containers.opening import form_of, inner_name, unpack
    from ingest.formats.identify import HEAD_BYTES, identify
    from ingest.formats.readers import read

    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    filled: dict[str, set[str]] = defaultdict(set)
    headers = {layout.header.table: name for name, layout in described(registry) if layout.header.has("record_length")}
    lengths = {layout.header.table: _length_column(layout) for _, layout in described(registry)}
    with TemporaryDirectory(prefix="etalon-") as scratch:
        with file.open("rb") as stream:
            form = form_of(stream.read(HEAD_BYTES))
        inside = unpack(file, file.name, form, Path(scratch), limits()) if form else ()
        for name, path in ((m.name, m.path) for m in inside) if form else ((file.name, file),):
            with path.open("rb") as stream:
                identity = identify(inner_name(name), stream.read(HEAD_BYTES))
            for batch in read(path, identity, registry):
                left = [batch.decoded, batch.decoded_bytes]
                for table, rows in ((t, r) for t, r in batch.tables.items() if t in headers):
                    size = int(pc.sum(rows[lengths[table]]).as_py() or 0)
                    _add(counts, (headers[table], "decoded"), rows.num_rows, size)
                    left = [left[0] - rows.num_rows, left[1] - size]
                _add(counts, (str(identity.kind), "decoded"), *left)
                filled[str(identity.kind)] |= {table for table, rows in batch.tables.items() if rows.num_rows}
                for record, (records, size) in batch.skipped.items():
                    _add(counts, (record, "skipped"), records, size)
                for piece in batch.quarantined:
                    _add(counts, (piece.reason, "quarantined"), 1, piece.length)
                _add(counts, ("framing", "framing"), 0, batch.framing_bytes)
    layouts = dict(described(registry))
    kinds = [
        _kind(record, state, records, size, layouts.get(record), filled[record])
        for (record, state), (records, size) in counts.items()
        if records or size
    ]
    return sorted(kinds, key=lambda kind: (-kind.bytes, kind.record))


def shares(kinds: list[Kind]) -> dict[str, int]:
    """Bytes by where they go, every place named."""
    sums = dict.fromkeys(("marts", "raw", "skipped", "quarantined", "framing"), 0)
    for kind in kinds:
        sums[kind.reaches] += kind.bytes
    return sums


def _add(counts: dict[tuple[str, str], list[int]], key: tuple[str, str], records: int, size: int) -> None:
    counts[key][0] += records
    counts[key][1] += size


def _kind(record: str, state: str, records: int, size: int, layout: "Layout | None", filled: Collection[str]) -> Kind:
    """A kind of record, described by its layout; reports and tables without a layout by the tables they fill."""
    if state != "decoded":
        return Kind(record, "", records, size, state, [])
    tables = [section.table for section in (*layout.sections, *layout.handled)] if layout else filled
    marts = sorted({mart for table in tables if table not in _OF_EVERY_REPORT for mart in marts_of().get(table, ())})
    return Kind(record, layout.title if layout else "", records, size, "marts" if marts else "raw", marts)


def _length_column(layout: "Layout") -> str:
    header = layout.header
    return header.by_name("record_length").column if header.has("record_length") else ""


def _subtypes(layout: "Layout") -> str:
    return "." + "/".join(map(str, layout.subtypes)) if layout.subtypes else ""


def _listed(when: "Condition") -> str:
    return ", ".join(map(str, sorted(when.values)))


def _release(since: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", since))


def _linked(marts: list[str]) -> str:
    more = f" and {len(marts) - _MOST_NAMED} more" if len(marts) > _MOST_NAMED else ""
    return ", ".join(f"[{mart}](marts.md#{mart})" for mart in marts[:_MOST_NAMED]) + more or "raw only"


_PAGE = """<!-- Generated by `python -m pipelines.dictionary --write`; do not edit. -->

# Coverage

Every kind of record with a layout: how many fields, how far each can be trusted, and which marts its rows reach.
Records without marts are decoded into raw tables with their staging views. A kind that is not here is counted as
skipped. What of a dump is covered, in bytes: `etalon doctor --coverage DUMP`.

`macro` and `manual` fields were read from IBM's mapping or manual, `decoder` fields from working programs;
`inferred` ones follow from order and stated lengths, `memory` ones are in doubt, and no key figure depends on them.
"""
