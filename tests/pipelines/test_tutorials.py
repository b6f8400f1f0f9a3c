"""README and tutorials do what they say."""

from pathlib import Path

import pytest

from pipelines.home import Home
from tests.pipelines.conftest import ROOT, Done
from tests.pipelines.documents import alike, follow

TUTORIALS = ROOT / "docs" / "tutorials"
IN_ONE_FOLDER = ("first-dump", "nightly-service", "record-type")
OF_THE_DEMO = ("what-if", "sql", "notebook")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a reader begins."""
    return tmp_path_factory.mktemp("reader")


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_ONE_FOLDER)
def test_a_tutorial_over_files_does_what_it_says(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert follow(TUTORIALS / f"{name}.md", folder / ".etalon") >= 3
    if name == "nightly-service":
        assert Home(folder / ".etalon").champion.is_file()
        assert (folder / ".etalon" / "nights" / "index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "README.md", *(TUTORIALS / f"{name}.md" for name in OF_THE_DEMO)], ids=str)
def test_a_page_over_the_state_of_the_demo_does_what_it_says(page, demo: tuple[Path, Done], tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert follow(page, demo[0]) >= 3


def test_every_tutorial_is_followed():
    assert {path.stem for path in TUTORIALS.glob("*.md")} == {*IN_ONE_FOLDER, *OF_THE_DEMO}


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("busy  83.55 (79.4 … 87.7)", "  busy 83.6   (79.41 … 87.69)", True),
        ("busy  83.55", "busy  85.55", False),
        ("busy  1,616", "busy 1616.2", True),
        ("busy  83.55", "idle  83.55", False),
        ("───  ──", "─────  ─", True),
        ("n -7.291", "n 7.291", False),
    ],
)
def test_shown_lines_are_compared_by_words_and_figures(shown, printed, same):
    assert alike(shown, printed) is same
