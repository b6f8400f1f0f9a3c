"""Plans of growth as files."""

import pytest

from pipelines import plans
from pipelines.answer_text import flagged
from pipelines.commands.answers import planned
from pipelines.exits import EtalonError

PLAN = """
growth_pct_per_year = 5

[seasons]
12 = 30
11 = 15

[classes.ONLHI]
growth_pct_per_year = 12
steps = { 2027-01-15 = 20, 2027-06-01 = -5 }
"""


def test_a_plan_stands_for_keys_of_a_question(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    keys = {
        "growth_pct_per_year": 5,
        "season_pct": "12:30,11:15",
        "growth_pct_per_year.ONLHI": 12,
        "step_pct.ONLHI": "2027-01-15:20,2027-06-01:-5",
    }
    assert plans.read(path) == keys
    given = ["growth_pct_per_year=7,step_pct.ONLHI=2027-02-01:10,2027-03-01:5"]
    assert planned(path, given) == {
        **keys,
        "growth_pct_per_year": 7.0,
        "step_pct.ONLHI": "2027-02-01:10,2027-03-01:5",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("growth = 5", "growth is not understood; it takes growth_pct_per_year"),
        ("steps = 5", "steps should be a table"),
        ("classes = 5", "classes should be tables"),
        ("=", "the plan cannot be read"),
    ],
)
def test_a_plan_that_says_anything_else_is_refused_with_its_form(tmp_path, text, message):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(EtalonError, match=f"{path}.*{message}"):
        plans.read(path)


def test_a_short_history_is_flagged_in_the_first_line():
    notes = ["short history: 3.0 weeks were recorded, too few to know growth and seasons", "another"]
    assert flagged("SYSA at when = 2027-03-01", notes) == f"SYSA at when = 2027-03-01 ({notes[0]})"
    assert flagged("SYSA", notes[1:]) == "SYSA"
