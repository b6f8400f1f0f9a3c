"""The records written out in docs/hex-examples.md decode to what the page says, line by line."""

import re

import pytest

from ingest import registry
from ingest.codec import decode_batches
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "hex-examples.md").read_text(encoding="utf-8")
EXAMPLES = {part.partition(":")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
REGISTRY = registry.load()
LINE = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (\d+) \| (\d+) \| `([0-9A-F]+)(…?)` \| (.*?) \|$", re.MULTILINE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_says_what_the_record_holds(name: str) -> None:
    text = re.search(r"```hex\n(.*?)```", EXAMPLES[name], re.DOTALL)
    assert text
    record = bytes.fromhex(text[1])
    [batch] = decode_batches(record, REGISTRY)
    assert not batch.quarantined
    assert batch.accounting.decoded == 1
    lines = LINE.findall(EXAMPLES[name])
    assert len(lines) >= 7
    for table, column, at, length, shown, cut, value in lines:
        held = record[int(at) : int(at) + int(length)].hex().upper()
        assert held.startswith(shown) if cut else held == shown, column
        [found] = batch.tables[table][column].to_pylist()
        assert (found.hex() if isinstance(found, bytes) else str(found)) == value, column
