"""The documentation site is built without a warning, searched, and shown without a network."""

import json
import re
from pathlib import Path

import pytest

from tests.shared import ROOT

FETCHED = re.compile(r"<(?:script|img|link)[^>]*?\b(?:src|href)=.?(https?://[^\"' >]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, in a folder of its own; a warning fails the build."""
    mkdocs = pytest.importorskip("mkdocs.config", reason="mkdocs is not installed: run make setup")
    from mkdocs.commands.build import build

    folder = tmp_path_factory.mktemp("site")
    build(mkdocs.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


@pytest.mark.filterwarnings("ignore")
def test_every_page_is_part_of_the_site(site):
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "docs" / "changelog.md", ROOT / "docs" / "contributing.md"]
    names = (path.relative_to(ROOT / "docs").with_suffix(".html") for path in pages)
    missing = [name for name in names if not (site / name.parent / name.name.replace("README", "index")).is_file()]
    assert missing == []


def test_prose_and_reference_are_found_by_search(site):
    found = {
        entry["location"].partition("#")[0]
        for entry in json.loads((site / "search" / "search_index.json").read_text())["docs"]
    }
    assert {
        "operations.html",
        "tutorials/first-dump.html",
        "data-dictionary/marts.html",
        "field-reference/smf70_1.html",
    } <= found


def test_a_page_is_shown_without_a_network(site):
    for page in ("index.html", "operations.html", "data-dictionary/index.html"):
        fetched = [url for url in FETCHED.findall((site / page).read_text(encoding="utf-8")) if "canonical" not in url]
        assert fetched == []
