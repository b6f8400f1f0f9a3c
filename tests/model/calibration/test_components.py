"""Address-space groups of a user's groups file in the answers of a calibrated LPAR, against a truth the test knows."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from model.calibration.groups import Groups, groups_of, with_components
from model.calibration.lpar import calibrate_lpar
from model.capacity.answer import Answer
from model.capacity.ask import predict, sweep
from model.capacity.bundle import build, dumps, loads
from model.capacity.parameters import SystemParameters
from tests.cases.histories import history

PART = 0.7
US = {"db2": 900.0, "regions": 2500.0}


@cache
def plain() -> SystemParameters:
    return calibrate_lpar(history())


def bundle(groups: Groups | None) -> dict[str, Any]:
    made = with_components(plain(), replace(history(), groups=groups))
    return loads(dumps(build({"PRDA": made}, data={}, validation={})))


def answered(groups: Groups | None, at: dict[str, float] | None = None) -> Answer:
    return predict(bundle(groups), "PRDA", at or {})


@pytest.fixture(scope="module")
def groups() -> Groups:
    """A workload of all transactions of HIGH and seven tenths of those of LOW, whose groups have known costs."""
    given = history()
    ended = given.ended[:, 0] + np.round(PART * given.ended[:, 1])
    scatter = np.random.default_rng(5).normal(1.0, 0.01, (2, len(ended)))
    none = np.zeros_like(ended)
    cpu = {
        ("orders", group): np.column_stack([1e-6 * each * ended * noise, none, none])
        for (group, each), noise in zip(US.items(), scatter, strict=True)
    }
    return Groups({"orders": ended, "web": given.ended[:, 0]}, cpu)


def test_groups_of_the_users_own_are_components_of_the_answer(groups):
    answer = answered(groups, {"growth_pct": 10})
    for group, each in US.items():
        found = answer.output(f"{group}_cpu_us_per_tran", "class=orders")
        assert found.value == pytest.approx(each, rel=0.01)
        assert found.lo < found.value < found.hi
    assert answer.output("service_cpu_us_per_tran", "class=orders").value == pytest.approx(sum(US.values()), rel=0.01)
    high, low = (answer.output("etr_tps", f"class={name}").value for name in ("HIGH", "LOW"))
    assert answer.output("etr_tps", "class=orders").value == pytest.approx(high + PART * low, rel=1e-3)


def test_groups_add_nothing_to_what_the_classes_use(groups):
    for metric in ("cpu_busy_pct", "cpu_us_per_tran"):
        assert answered(groups).output(metric) == answered(None).output(metric)


def test_a_transaction_class_is_asked_by_the_name_the_groups_file_gives(groups):
    by_name, by_class = (answered(groups, {f"growth_pct.{name}": 25}) for name in ("web", "HIGH"))
    assert by_name.output("cpu_busy_pct").value == by_class.output("cpu_busy_pct").value
    assert by_name.output("web_tps").value == pytest.approx(by_class.output("etr_tps", "class=HIGH").value)


def test_a_sweep_follows_the_groups(groups):
    steps = sweep(bundle(groups), "PRDA", "growth_pct", [0, 20], metrics=["db2_cpu_us_per_tran"])["steps"]
    assert [step["outputs"][0]["value"] for step in steps] == pytest.approx([US["db2"]] * 2, rel=0.01)


def test_transactions_of_no_service_class_are_left_out_with_a_note(groups):
    given = history()
    other = np.roll(given.ended[:, 0], 48)
    note = next(note for note in answered(replace(groups, ended={"orders": other})).notes if "orders" in note)
    assert "not those of the service classes" in note


def test_groups_are_read_from_the_marts_and_follow_the_intervals():
    keys = pd.Index(["A", "B", "C"])
    transactions = pd.DataFrame(
        [
            ("A", "workload", "orders", None, 10.0),
            ("B", "workload", "orders", None, 20.0),
            ("A", "report_class", "orders", "web", 4.0),
            ("A", "report_class", "orders", "web", 3.0),
            ("Z", "workload", "other", None, 9.0),
        ],
        columns=["interval_key", "class_kind", "workload", "transaction_class", "transactions_ended"],
    )
    costs = pd.DataFrame(
        [("B", "orders", "db2", 2.0, 0.5, 0.1)],
        columns=["interval_key", "workload", "name", "cp_s", "ziip_s", "ziip_on_cp_s"],
    )
    found = groups_of(transactions, costs, keys).rows(np.array([True, True, False]))
    assert {name: list(counts) for name, counts in found.ended.items()} == {"orders": [10, 20], "web": [7, 0]}
    np.testing.assert_array_equal(found.cpu_s["orders", "db2"], [[np.nan] * 3, [2.0, 0.5, 0.1]])
