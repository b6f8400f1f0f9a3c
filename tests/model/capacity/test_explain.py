"""What an interval comes from: each group of assumptions held at its centre in turn, all in one evaluation."""

from functools import cache

import numpy as np
import pytest

from model.capacity.ask import explain
from model.capacity.evaluation import evaluate
from model.capacity.evidence import groups_held
from model.capacity.figures import figure_draws, figures_of
from model.capacity.question import parse
from model.capacity.system import System
from tests.cases.histories import bundle_of, history


@cache
def bundle() -> dict:
    return bundle_of(history())


@pytest.mark.parametrize("query", [{"growth_pct": 10.0}, {"when": "mon 10:00"}, {"engines": 9.0, "growth_pct": 60.0}])
def test_a_share_is_the_variance_that_goes_where_its_assumption_is_held_alone(query):
    ready = System(bundle()["systems"]["PRDA"])

    def variances(system: System) -> dict[tuple[str, str], float]:
        state = evaluate(system, parse(system, dict(query)).scenario)
        figures = figures_of(system.parameters)
        drawn = {(one.metric, one.class_name): figure_draws(system, state, one) for one in figures}
        return {key: np.var(draws[1:]) for key, draws in drawn.items() if draws is not None}

    whole = variances(ready)
    left = {group: variances(System(one)) for group, one in groups_held(ready.parameters).items()}
    for row in explain(bundle(), "PRDA", query)["sensitivity"]:
        key = row["metric"], row["class"]
        went = {group: max(0.0, 1.0 - one[key] / whole[key]) for group, one in left.items()}
        every = max(sum(went.values()), 1.0)
        shares = {share["assumption"]: share["share_pct"] for share in row["shares"]}
        assert shares == pytest.approx({group: 100.0 * part / every for group, part in went.items()}, abs=0.1)
