"""Lines of printed output begin pages as their carriage control says, however it came."""

import io

import pytest

from ingest.formats.printed.lines import read_lines, text_form

# First lines of pages, and others, as machine control prints them: a code acts after its line, but for 8B.
PAGES = [(0x8B, ""), (0x09, "ONE"), (0x89, "LAST OF ONE"), (0x09, "TWO"), (0x8B, ""), (0x09, "THREE"), (0x09, "END")]


def lines(data: bytes) -> list[tuple[str, bool]]:
    form = text_form(data)
    assert form is not None
    found = list(read_lines(io.BytesIO(data), form))
    assert sum(line.length for line in found) == len(data)
    return [(line.text, line.starts_page) for line in found]


@pytest.mark.parametrize("fixed", [False, True])
def test_machine_control_begins_a_page_with_this_line_or_with_the_next(fixed: bool) -> None:
    records = [bytes([code]) + text.ljust(80).encode("cp037") for code, text in PAGES]
    data = b"".join(record if fixed else record + b"\x15" for record in records)
    assert lines(data) == [
        ("", True),
        ("ONE", False),
        ("LAST OF ONE", False),
        ("TWO", True),
        ("", True),
        ("THREE", False),
        ("END", False),
    ]


def test_a_form_feed_begins_a_page() -> None:
    assert lines(b"ONE\n\fTWO\nTHREE\n") == [("ONE", False), ("TWO", True), ("THREE", False)]
