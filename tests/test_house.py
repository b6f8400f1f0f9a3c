"""The rules of the house that no single room can keep alone."""

import ast
import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from pipelines.cli import app
from pipelines.exits import MEANINGS

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("ingest", "model", "expectations", "serve", "pipelines")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def test_imports_go_one_way():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name} links to {target}"
        if fragment and found.suffix == ".md":
            assert fragment in headings(found), f"{page.name} links to {target}"


def headings(page: Path) -> set[str]:
    """Anchors of a page's headings, as they are commonly made."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_of_the_docs_is_reached_from_the_index():
    linked = set(LINK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8")))
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    names = {str(page.relative_to(ROOT / "docs")) for page in pages}
    assert names - linked == {"index.md"}


def test_every_command_and_exit_code_is_documented():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in typer.main.get_command(app).list_commands(None):
        assert f"`etalon {name}" in text, name
    for code, meaning in MEANINGS.items():
        assert f"| {int(code)} | {meaning} |" in text


def test_every_target_of_the_makefile_is_documented():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, flags=re.MULTILINE)) - {"help"}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert {target for target in targets if f"`make {target}`" not in text} == set()


def test_every_module_says_what_belongs_there():
    silent = [path for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_imports_names_that_exist(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        room = node.module.partition(".")[0] if isinstance(node, ast.ImportFrom) and node.module else ""
        if room in (*ROOMS, "benchmarks", "state"):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                is_module = find_spec(f"{node.module}.{name.name}") if hasattr(module, "__path__") else None
                assert hasattr(module, name.name) or is_module, f"{node.module} has no {name.name}"


def test_contexts_of_dagster_keep_their_annotations():
    postponing = "from __future__ import annotations"
    assert [path.name for path in (ROOT / "pipelines").rglob("*.py") if postponing in path.read_text()] == []


def test_the_dbt_folder_does_not_shadow_dbt():
    assert not (ROOT / "dbt" / "__init__.py").exists()


SHARED_BY_TESTS = re.compile(r"tests\.model\.(calibration|capacity)\.|tests\.serve\.test_questions$")
"""Test modules whose histories other tests use."""


def test_test_modules_do_not_import_each_other():
    """What several tests use belongs into a module that is no test."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests."):
                modules = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
                found += [f"{path.name} imports {m}" for m in modules if re.search(r"\.test_\w+$", m)
                          and not SHARED_BY_TESTS.match(m)]  # fmt: skip
    assert found == []


def test_nothing_is_pickled():
    word = re.compile(r"^\s*(import|from) (pickle|cloudpickle|joblib|dill)\b", flags=re.MULTILINE)
    assert [str(path.relative_to(ROOT)) for path in SOURCES if word.search(path.read_text(encoding="utf-8"))] == []
