"""The records written out in docs/hex-examples.md decode to what the page says, line by line; every layout has one."""

import re

import pyarrow as pa
import pytest

from ingest import registry
from ingest.formats.dcollect.decode import decode_dcollect
from ingest.formats.ims.decode import decode_log
from ingest.formats.smf import decode_batches
from ingest.schema.example import ExampleError, example
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "hex-examples.md").read_text(encoding="utf-8")
EXAMPLES = {part.partition(":")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
REGISTRY = registry.load()
LOGS = {"ims": decode_log, "dcollect": decode_dcollect}
DECODERS = {layout.name: decode for log, decode in LOGS.items() for layout in REGISTRY.logged(log).values()}
LINE = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (\d+) \| (\d+) \| `([0-9A-F]+)(…?)` \| (.*?) \|$", re.MULTILINE)


def test_every_layout_has_an_example() -> None:
    assert {layout.name for layout in REGISTRY.layouts} | DECODERS.keys() == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_says_what_the_record_holds(name: str) -> None:
    text = re.search(r"```hex\n(.*?)```", EXAMPLES[name], re.DOTALL)
    assert text
    record = bytes.fromhex(text[1])
    [batch] = DECODERS.get(name, decode_batches)(record, REGISTRY)
    assert not batch.quarantined
    assert not batch.skipped
    lines = LINE.findall(EXAMPLES[name])
    assert len(lines) >= 7
    stated: dict[tuple[str, str], list[str]] = {}
    for table, column, at, length, shown, cut, value in lines:
        held = record[int(at) : int(at) + int(length)].hex().upper()
        assert held.startswith(shown) if cut else held == shown, column
        stated.setdefault((table, column), []).append(value)
    for (table, column), values in stated.items():
        assert rows_of(batch.tables[table], column) == values, column


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - DECODERS.keys() - {"smf110_1"}))
def test_a_printed_example_has_the_lines_that_were_read_by_hand(name: str) -> None:
    text = re.search(r"```hex\n(.*?)```", EXAMPLES[name], re.DOTALL)
    assert text
    by_hand = {line[:3]: line[3:] for line in LINE.findall(EXAMPLES[name])}
    printed = {line[:3]: line[3:] for line in LINE.findall(example(bytes.fromhex(text[1]), REGISTRY))}
    assert len(printed) >= 5
    for place in printed.keys() & by_hand.keys():
        (length, digits, _, value), (length_by_hand, digits_by_hand, _, value_by_hand) = printed[place], by_hand[place]
        assert value == value_by_hand, place
        if length == length_by_hand:
            assert digits.startswith(digits_by_hand) or digits_by_hand.startswith(digits), place


def test_what_is_no_whole_record_is_no_example() -> None:
    with pytest.raises(ExampleError, match="not one record"):
        example(bytes(20), REGISTRY)


def rows_of(table: pa.Table, column: str) -> list[str]:
    """A column's values in the order of the records, as the page prints them."""
    ordered = table.sort_by([("record_seq", "ascending"), ("section_seq", "ascending")])
    return [value.hex() if isinstance(value, bytes) else str(value) for value in ordered[column].to_pylist()]
