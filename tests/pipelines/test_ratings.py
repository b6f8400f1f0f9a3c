"""Ratings of machines that an installation writes into its state folder."""

import pytest

from pipelines import steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home


def test_ratings_name_their_line_and_no_folder_of_this_machine(tmp_path):
    home = Home(tmp_path)
    assert steps.imported_ratings(home) == []
    home.machines.write_text("machine,engines,su_per_s\nNEW-705,5,90000\n")
    assert [row["source"] for row in steps.imported_ratings(home)] == ["machines.csv, line 2"]


def test_ratings_that_cannot_be_read_are_told_with_the_file(tmp_path):
    home = Home(tmp_path)
    home.machines.write_text("machine,engines,su_per_s\nNEW-705,5,fast\n")
    with pytest.raises(EtalonError, match=f"{home.machines}.*line 2: needs a machine") as refused:
        steps.imported_ratings(home)
    assert refused.value.code == Exit.NO_INPUT
