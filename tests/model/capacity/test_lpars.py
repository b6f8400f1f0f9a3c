"""The machine as a question changes it: what its LPARs use adds up, and weights and caps are arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import SharedMachine
from model.calibration.lpar import calibrate_lpar
from model.capacity.ask import headroom, predict, size
from model.capacity.bundle import build
from model.capacity.engines import prior_pool
from model.capacity.figures import ratings as engine_ratings
from model.capacity.forecast import RecordedMsu, forecast_msu
from model.capacity.question import parse
from model.capacity.system import System
from model.capacity.values import QuestionError
from model.queueing.lpar_share import Sharer
from tests.cases.histories import ENGINES, SECONDS, history

RATING, CPS = 60_000.0, 12.0
OTHERS = {"SYSB": (4.0, 300.0, 1.5), "SYSC": (4.0, 200.0, 0.5)}
"""Logical CPs, weight and busy engines of the other LPARs of M1, where SYSA has weight 500."""


def lpar(name, machine, weight, others, seed=1, cpc_type="3931", physical=CPS):
    """A history of an LPAR beside these others, which are always as busy."""
    given = replace(history(seed=seed), system_id=name, smf_sid=name, cpc_type=cpc_type)
    one = np.ones(len(given.seconds)) * SECONDS
    total = sum(busy for *_, busy in others.values())
    sharers = tuple(Sharer(cps, theirs, part=busy / total, name=other) for other, (cps, theirs, busy) in others.items())
    weights = sum(theirs for _, theirs, _ in others.values())
    shared = SharedMachine(
        machine, physical, weight, weight + weights, False, total * one, 0.1 * one, sharers, lpar=name,
        lpars_s={other: busy * one for other, (_, _, busy) in others.items()},
    )  # fmt: skip
    return replace(given, machine=shared)


@pytest.fixture(scope="module")
def bundle():
    """SYSA beside SYSB and SYSC on M1; SYSZ, another system, beside SYSY on M2, an older and smaller machine."""
    histories = {
        "SYSA": lpar("SYSA", "M1", 500.0, OTHERS),
        "SYSZ": lpar("SYSZ", "M2", 100.0, {"SYSY": (3.0, 100.0, 1.0)}, seed=2, cpc_type="2964", physical=8.0),
    }
    ratings = {"SYSA": RATING, "SYSZ": RATING / 1.5}
    systems = {}
    for name, given in histories.items():
        systems[name] = replace(calibrate_lpar(given), **engine_ratings(ratings[name], ratings[name]))
    return build(systems, data={}, validation={})


@pytest.fixture(scope="module")
def ask(bundle):
    return lambda system="SYSA", **at: predict(bundle, system, {key.replace("__", "."): v for key, v in at.items()})


def value(answer, metric, station=""):
    return next(o.value for o in answer.outputs if o.metric == metric and station in o.condition)


def busy_engines(answer, engines=ENGINES):
    return value(answer, "cpu_busy_pct") / 100.0 * engines


def machine_engines(answer, physical=CPS):
    """Engines of the machine in use, by its busy percent."""
    return value(answer, "machine_busy_pct") / 100.0 * physical


def test_busy_of_the_machine_is_the_sum_of_its_lpars(ask):
    here = ask()
    assert machine_engines(here) == pytest.approx(busy_engines(here) + 1.5 + 0.5 + 0.1)


@pytest.mark.parametrize(("gone", "left"), [("SYSB", 0.5), ("sysc", 1.5), ("SYSB,SYSC", 0.0)])
def test_an_lpar_that_goes_takes_what_was_recorded_of_it_away(ask, gone, left):
    answer = ask(remove_lpar=gone)
    assert machine_engines(answer) == pytest.approx(busy_engines(answer) + left + 0.1)
    assert any("remove_lpar" in note for note in answer.notes)


def test_an_lpar_that_comes_brings_what_is_said_of_it(ask):
    answer = ask(add_lpar="TEST:4:200:2.5")
    assert machine_engines(answer) == pytest.approx(busy_engines(answer) + 2.0 + 2.5 + 0.1)


def test_a_system_of_the_installation_comes_with_what_was_recorded_of_it(ask):
    there, answer = ask("SYSZ", when="2026-09-10T11:00"), ask(when="2026-09-10T11:00", add_lpar="SYSZ")
    # An engine of SYSZ does two thirds of the work of one here.
    assert machine_engines(answer) - busy_engines(answer) == pytest.approx(2.1 + busy_engines(there) / 1.5, rel=1e-3)


def test_other_physical_cps_divide_the_same_work(ask):
    here, more = ask(), ask(physical_cps=16)
    assert busy_engines(more) == pytest.approx(busy_engines(here), rel=1e-3)
    assert machine_engines(more, 16.0) == pytest.approx(machine_engines(here), rel=1e-3)
    # MSU of an engine are rated by the model: 46270/65536 on 16 engines, 49584/65536 on 12.
    assert value(more, "msu") / value(here, "msu") == pytest.approx(46270 / 49584, rel=1e-3)


@pytest.mark.parametrize(
    ("at", "most"),
    [
        ({}, 12 * 100 / 600),
        ({"physical_cps": 6}, 6 * 100 / 600),
        ({"physical_cps": 6, "remove_lpar": "SYSB"}, 6 * 100 / 300),
        ({"physical_cps": 6, "add_lpar": "TEST:4:400:0.5"}, 6 * 100 / 1000),
    ],
)
def test_a_share_by_weight_is_arithmetic(ask, at, most):
    answer = ask(cap="on", growth_pct=300, weight=100, **at)
    assert busy_engines(answer) == pytest.approx(most, rel=1e-3)


def test_a_cap_states_its_unit(ask):
    by_engines, by_msu = ask(cap_engines=1.5, growth_pct=300), ask(cap_msu=1.5 * RATING * 3600e-6, growth_pct=300)
    assert busy_engines(by_engines) == busy_engines(by_msu) == pytest.approx(1.5)
    assert value(by_msu, "msu") == pytest.approx(1.5 * RATING * 3600e-6)
    assert any("have no effect" in note for note in ask(cap_engines=ENGINES).notes)


def test_on_another_machine_of_the_installation_an_lpar_is_beside_the_lpars_of_that_one(ask):
    when = {"when": "2026-09-10T11:00"}
    here, there, moved = ask(**when), ask("SYSZ", **when), ask(**when, cpc="M2")
    slower = 1.5 * (1.0 if ENGINES == 4 else 0.0)
    assert busy_engines(moved) == pytest.approx(slower * busy_engines(here), rel=0.02)
    together = busy_engines(moved) + busy_engines(there) + 1.0 + 0.1
    assert machine_engines(moved, 8.0) == pytest.approx(together, rel=1e-3)
    assert any(station.resource == "machine M2" for station in moved.bottleneck.stations)


def test_its_own_machine_changes_nothing(ask):
    assert value(ask(cpc="m1"), "machine_busy_pct") == value(ask(), "machine_busy_pct")


def test_a_class_that_goes_takes_its_cpu_and_nothing_else(bundle, ask):
    when = {"when": "2026-09-10T11:00"}
    here, without = ask(**when), ask(**when, move_to__LOW="SYSZ")
    own_work = value(here, "cpu_us_per_tran", "LOW") * value(here, "etr_tps", "LOW") * 1e-6
    # Uncaptured time goes with captured time, by a twentieth.
    assert busy_engines(here) - busy_engines(without) == pytest.approx(1.05 * own_work, rel=0.02)
    assert machine_engines(here) - machine_engines(without) == pytest.approx(1.05 * own_work, rel=0.02)
    half = ask(**when, move_to__LOW="SYSZ:0.5")
    assert busy_engines(here) - busy_engines(half) == pytest.approx(1.05 * own_work / 2, rel=0.02)


def test_a_class_that_moves_within_a_machine_leaves_it_as_busy(ask):
    here, without = ask(), ask(move_to__LOW="SYSB")
    assert busy_engines(without) < busy_engines(here)
    assert machine_engines(without) == pytest.approx(machine_engines(here), rel=1e-3)


def test_a_class_that_comes_brings_the_cpu_that_was_recorded_of_it(ask):
    when = {"when": "2026-09-10T11:00"}
    here, there, answer = ask(**when), ask("SYSZ", **when), ask(**when, move_from__LOW="SYSZ")
    brought = value(there, "cpu_us_per_tran", "LOW") * value(there, "etr_tps", "LOW") * 1e-6 / 1.5
    assert value(answer, "etr_tps", "LOW@SYSZ") == pytest.approx(value(there, "etr_tps", "LOW"))
    assert busy_engines(answer) - busy_engines(here) == pytest.approx(1.05 * brought, rel=0.02)
    assert value(answer, "response_ms", "LOW@SYSZ") > 0
    msu_brought = (busy_engines(answer) - busy_engines(here)) * RATING * 3600e-6
    assert value(answer, "r4ha_msu") - value(here, "r4ha_msu") == pytest.approx(msu_brought, rel=0.05)
    grown = ask(**when, move_from__LOW="SYSZ", **{"growth_pct__LOW@SYSZ": 50})
    assert busy_engines(grown) - busy_engines(here) == pytest.approx(1.5 * 1.05 * brought, rel=0.02)


def test_sizing_and_headroom_ask_the_changed_machine(bundle):
    at = {"add_lpar": "TEST:8:800:6", "growth_pct": 40}
    with_others = size(bundle, "SYSA", at, max_busy_pct=95)
    assert size(bundle, "SYSA", {"growth_pct": 40}, max_busy_pct=95)["engines"]["value"] <= (
        with_others["engines"]["value"] or 256
    )
    crossings = {row["resource"] for row in headroom(bundle, "SYSA", {"cpc": "M2"})["crossings"]}
    assert "machine M2" in crossings


def test_a_cap_that_is_a_number_is_one_in_engines_and_the_answer_says_so(bundle):
    plain, stated = (predict(bundle, "SYSA", {key: 2}) for key in ("cap", "cap_engines"))
    assert plain.outputs == stated.outputs
    assert any(note.startswith("cap: 2 is taken as engines; write cap_engines=2") for note in plain.notes)


@pytest.mark.parametrize(
    ("at", "field", "message"),
    [
        ({"cap": "maybe"}, "cap", "takes on .* or off"),
        ({"cap_engines": 0}, "cap_engines", "above 0"),
        ({"cap_engines": 2, "cap_msu": 100}, "cap_msu", "both set the cap"),
        ({"physical_cps": 3}, "physical_cps", "fewer than the 4 logical CPs.*engines=3"),
        ({"physical_cps": 201}, "physical_cps", "at most 200 on this machine"),
        ({"physical_ziips": 2}, "physical_ziips", "no zIIPs that the LPAR shares"),
        ({"remove_lpar": "SYSX"}, "remove_lpar", "no other LPAR 'SYSX'.*SYSB, SYSC"),
        ({"add_lpar": "SYSX"}, "add_lpar", "NAME:CPS:WEIGHT:BUSY.*SYSZ"),
        ({"add_lpar": "TEST:4:200"}, "add_lpar", "NAME:CPS:WEIGHT:BUSY"),
        ({"add_lpar": "TEST:4:200:5"}, "add_lpar", "0 to its 4 CPs"),
        ({"add_lpar": "SYSB:4:200:1"}, "add_lpar", "has an LPAR SYSB already"),
        ({"cpc": "M9"}, "cpc", "no machine 'M9'.*M1, M2"),
        ({"cpc": "M2", "machine": "z14"}, "cpc", "leave out machine"),
        ({"move_to.NONE": "SYSB"}, "move_to.NONE", "no class 'NONE'"),
        ({"move_to.LOW": "SYSX"}, "move_to.LOW", "no LPAR 'SYSX'"),
        ({"move_to.LOW": "SYSB:2"}, "move_to.LOW", "above 0 and at most 1"),
        ({"move_from.LOW": "SYSB"}, "move_from.LOW", "no other system 'SYSB' with a history"),
        ({"move_from.NONE": "SYSZ"}, "move_from.NONE", "no class 'NONE'"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(bundle, at, field, message):
    with pytest.raises(QuestionError, match=message) as refused:
        predict(bundle, "SYSA", at)
    assert refused.value.field == f"at.{field}"


@pytest.mark.parametrize(("physical", "left"), [(6, 2.0), (5, 2.0), (4, 2.0), (3, 1.5), (2, 0.5)])
def test_the_zIIPs_left_are_those_that_the_others_do_not_use(bundle, physical, left):
    made = bundle["systems"]["SYSA"]
    used = np.full(len(made.recorded.start_local), 1.5)
    machine, recorded = replace(made.machine, ziips=6.0), replace(made.recorded, ziip_others=used)
    system = System(replace(made, machine=machine, recorded=recorded, ziip=prior_pool(2.0, 128)))
    assert parse(system, {"physical_ziips": physical}).scenario.ziips_left == left


def test_a_forecast_of_msu_refuses_lpars_that_move(bundle):
    starts = np.array(["2026-09-07T00:00", "2026-09-07T04:00"], "datetime64[s]")
    recorded = [RecordedMsu("SYSA", "SYSA", "M1", None, starts, np.ones(2))]
    with pytest.raises(QuestionError, match="adds up the LPARs as they were recorded"):
        forecast_msu(bundle, recorded, system="SYSA", at={"cpc": "M2"})


def test_an_lpar_without_a_recorded_machine_has_none_to_change():
    given = build({"PRDA": calibrate_lpar(history())}, data={}, validation={})
    with pytest.raises(QuestionError, match="show no machine that the LPAR shares"):
        predict(given, "PRDA", {"physical_cps": 8})
