"""Every output figure goes through a prediction, a comparison, a simulation and a what-if adjustment."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from model.capacity.adjustments import Adjustment, Factor
from model.capacity.ask import compare, predict
from model.capacity.figures import QUANTITIES, figures_of
from model.capacity.parameters import Limit, ZiipPool
from model.capacity.simulation import simulate_system
from tests.cases.systems import RECORDED, demand, response
from tests.shared import ROOT

DEARER = 1.1


def lpar():
    """An LPAR that has a figure of every quantity of LPARs: zIIPs, a limit, users, a workload and an MSU rating."""
    intervals = RECORDED.recorded.rates.shape[1]
    users = np.repeat([[0.0], [60.0]], intervals, axis=1)
    online = replace(
        response("online"), ziip_series=("online:ziip",), p90=np.full(41, 2.0), p90_waiting=np.full(41, 2.3)
    )
    return replace(
        RECORDED,
        demands={
            **RECORDED.demands,
            "online:ziip": replace(demand("online", 1e-3, 0, 3), engine="ziip"),
            "ziip_work": replace(demand("ziip_work", 1e-3, 0, 4), engine="ziip_busy", additive=False),
        },
        responses={**RECORDED.responses, "online": online},
        recorded=replace(RECORDED.recorded, users=users, thinking=0.9 * users),
        ziip=ZiipPool(2.0),
        limits=(Limit("regions", ("online",), servers=8.0, hold_s=2e-3, determined=True),),
        mixes={"shop": {"online": 1.0, "batch": 1.0}},
        msu_per_engine=100.0,
        adjustments={"dear": Adjustment("dear", "Dearer", {"cpu": Factor(math.log(DEARER), 0.0)}, ("a study",))},
    )


@pytest.fixture(scope="module")
def both(bundle):
    """The LPAR, and a system of measured points."""
    points = replace(bundle["systems"]["shop"], adjustments=lpar().adjustments)
    return {"model_version": "test/1", "systems": {"PRDA": lpar(), "shop": points}}


def key(figure):
    return figure.metric, figure.class_name or figure.station


def answered(answer):
    """Values by metric and what they are of."""
    result = {}
    for output in answer.outputs:
        parts = dict(part.partition("=")[::2] for part in output.condition.split("; ") if "=" in part)
        result[output.metric, parts.get("class", parts.get("station", ""))] = output.value
    return result


def test_the_systems_of_these_tests_have_every_quantity(both):
    forms = {figure.form for one in both["systems"].values() for figure in figures_of(one)}
    assert forms == QUANTITIES.keys()


def test_every_figure_of_an_lpar_has_a_name_on_the_page_and_a_meaning_in_the_docs():
    metrics = {figure.metric for figure in figures_of(lpar())} - {"shop_tps"}
    words = (ROOT / "serve" / "page" / "words.js").read_text(encoding="utf-8").partition("const ENDINGS")[0]
    assert metrics <= set(re.findall(r"^  (\w+): \"", words, re.MULTILINE)), "add it to NAMES of words.js"
    table = (ROOT / "docs" / "model.md").read_text(encoding="utf-8").partition("### Figures\n")[2].partition("\n## ")[0]
    assert metrics <= set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)), "add it to the figures of docs/model.md"


@pytest.mark.parametrize("system", ["PRDA", "shop"])
def test_every_figure_is_predicted_and_compared(both, system):
    expected = {key(figure) for figure in figures_of(both["systems"][system])}
    assert answered(predict(both, system)).keys() == expected
    result = compare(both, system, {}, {"growth_pct": 10})
    changed = {(row["metric"], row["class"]) for row in result["changes"]}
    assert changed == expected


def test_every_figure_is_simulated_in_its_unit(both):
    simulated, predicted = simulate_system(both, "PRDA", horizon=2_000), predict(both, "PRDA")
    assert {one.metric: one.unit for one in simulated.outputs} == {one.metric: one.unit for one in predicted.outputs}
    assert answered(simulated).keys() == answered(predicted).keys()


@pytest.mark.parametrize("system", ["PRDA", "shop"])
def test_an_adjustment_of_cpu_changes_costs_and_leaves_rates(both, system):
    before, after = (answered(predict(both, system, at)) for at in ({}, {"adjust.dear": "on"}))
    for figure in figures_of(both["systems"][system]):
        ratio = after[key(figure)] / before[key(figure)]
        kind, on_cps = figure.quantity.kind, "ziip" not in figure.metric
        if kind == "cost" and on_cps:
            assert ratio == pytest.approx(DEARER, rel=0.02), figure
        elif kind == "rate" and figure.form != "internal_rate":
            assert ratio == pytest.approx(1.0, rel=0.02), figure
        elif kind == "rate":
            assert ratio == pytest.approx(1.0 / DEARER, rel=0.02), figure
        else:
            assert math.isfinite(ratio), figure
