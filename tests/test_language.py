"""The rules of language that can be checked: length of sentences, and terms that have one form."""

import re
from pathlib import Path

import pytest

from tests.shared import ROOT

LONGEST = 28
"""Words of a sentence of prose."""
GENERATED = re.compile(r"^<!-- (Generated|Made) by")
PAGES = [
    path
    for path in sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
    if not GENERATED.match(path.read_text(encoding="utf-8")) and "field-reference" not in path.parts
]
END = re.compile(r"(?:(?<=[.!?:;])|(?<=[.!?]\*\*))\s+(?=[A-Z*`0-9(]|code)")
"""Where a sentence ends and the next begins."""
LONG = {
    "architecture.md": 7,
    "hex-examples.md": 3,
    "ims-log-layouts.md": 1,
}
"""Pages with longer sentences, and how many: mostly lists of names within a sentence."""
TERMS = {
    "utilization": r"utilisation",
    "percentage point": r"percent points?\b",
    "service units per second": r"service units a second",
    "corrected": r"\bmended\b",
    "baseline": r"\bnaive (answer|way)",
    "probability": r"\bchance to (fill|be) first",
    "R4HA": r"R4H[^A]",
}
"""The form of a term, and a pattern of other forms."""


def sentences(text: str) -> list[str]:
    """The sentences of a page's prose: paragraphs and items of lists, without tables, code, formulas and headings."""
    text = re.sub(r"^---\n.*?^---\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^( *)```.*?^\1```", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    kept: list[str] = []
    for line in text.splitlines():
        if re.match(r"^(\||#|    \S|!\[)", line):
            kept.append("")
        elif re.match(r"^\s*([-*]|\d+\.) ", line):
            kept += ["", re.sub(r"^\s*([-*]|\d+\.) ", "", line)]
        else:
            kept.append(line)
    found = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(kept)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        words = re.sub(r"`[^`]*`", "code", words)
        found += filter(None, END.split(words))
    return found


def length(sentence: str) -> int:
    """How many words a sentence has."""
    return len(re.findall(r"[^\W_][\w'’-]*", sentence))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page: Path) -> None:
    long = [sentence for sentence in sentences(page.read_text(encoding="utf-8")) if length(sentence) > LONGEST]
    assert len(long) <= LONG.get(page.name, 0), "\n".join(long)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_term_has_one_form(page: Path) -> None:
    prose = "\n".join(sentences(page.read_text(encoding="utf-8")))
    assert {term: found[0] for term, form in TERMS.items() if (found := re.search(form, prose))} == {}


def test_the_exceptions_are_needed() -> None:
    pages = {page.name: page for page in PAGES}
    for name, count in LONG.items():
        found = sentences(pages[name].read_text(encoding="utf-8"))
        assert count - sum(length(sentence) > LONGEST for sentence in found) < 5, name
