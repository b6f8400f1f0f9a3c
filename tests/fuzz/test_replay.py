"""Every seed and every input that once broke something goes through its target."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

FINDINGS = sorted((Path(__file__).parent / "findings").glob("*.hex"))


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_writers_make_holds_what_every_input_must(name):
    for data in TARGETS[name].seeds():
        TARGETS[name].run(data)


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_what_once_broke_something_no_longer_does(path):
    TARGETS[path.stem.split("--")[0]].run(bytes.fromhex(path.read_text(encoding="ascii")))
