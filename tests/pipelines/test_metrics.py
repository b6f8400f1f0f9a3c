"""The registry of metrics, and an installation's own."""

import json
import re

import pytest

from pipelines import contracts, metrics
from pipelines.exits import EtalonError
from pipelines.home import Home

ENTRY = """
[cost_s_per_tran]
grain = "workload"
label = "Cost"
unit = "s/tran"
numerator = "{cp_s}"
denominator = "{ended}"
"""


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def test_every_metric_of_the_project_is_complete():
    known = metrics.registry()
    for name, metric in known.items():
        base = known[metric.like] if metric.like else metric
        if metric.grain in metrics.grains():
            assert base.numerator, name
            assert base.denominator, name
            assert base.unit, name
        if metric.grain or metric.label:
            assert metric.label, name
            assert metric.source, name


@pytest.mark.parametrize("left", ["", "      - name: execution_ms\n"])
def test_a_column_that_a_model_makes_of_a_metric_comes_into_its_contract(tmp_path, left):
    text = (contracts.MARTS / "fct_service_class.yml").read_text(encoding="utf-8")
    without = re.sub(r"^      - name: execution_ms\n(?:        .*\n)*", left, text, flags=re.MULTILINE)
    assert without != text
    (tmp_path / "mart.yml").write_text(without, encoding="utf-8")
    (tmp_path / "mart.sql").write_text((contracts.MARTS / "fct_service_class.sql").read_text(encoding="utf-8"), "utf-8")
    assert contracts.contract(tmp_path / "mart.yml") == text


def test_an_installations_metrics_reach_dbt(home):
    assert metrics.environment(home) == {"ETALON_METRICS": "{}"}
    home.metrics.write_text(ENTRY, encoding="utf-8")
    [(name, entry)] = json.loads(metrics.environment(home)["ETALON_METRICS"]).items()
    assert (name, entry["grain"], entry["numerator"]) == ("cost_s_per_tran", "workload", "{cp_s}")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("[cost_s_per_tran]", "[etr_tps]"), "etr_tps is shipped with Etalon"),
        (("[cost_s_per_tran]", "[Cost]"), "'Cost': use lower-case"),
        (('unit = "s/tran"', ""), "cost_s_per_tran: field unit is missing"),
        (('"workload"', '"week"'), "field grain: unknown grain 'week'; allowed: baseline, channel, data_set"),
        (('"workload"', '"group"'), "the name must contain {about}"),
        (('label = "Cost"', 'lable = "Cost"'), "field lable"),
        (('label = "Cost"', "label = Cost"), "metrics.toml: "),
    ],
)
def test_a_metric_that_cannot_be_told_is_refused_by_file_name_and_field(home, changed, said):
    home.metrics.write_text(ENTRY.replace(*changed), encoding="utf-8")
    with pytest.raises(EtalonError) as refused:
        metrics.of_installation(home)
    assert said in str(refused.value)
    assert "metrics.toml" in str(refused.value)


def test_a_column_that_a_grain_lacks_is_told_with_those_it_has(home):
    home.metrics.write_text(ENTRY.replace("{cp_s}", "{cpu_secs}"), encoding="utf-8")
    failure = 'Binder Error: Referenced column "cpu_secs" not found in FROM clause!'
    said = metrics.unknown_column(home, failure)
    assert said is not None
    assert (
        "metrics.toml: metric cost_s_per_tran, field numerator: {cpu_secs} is not a column of the grain "
        "workload" in said
    )
    assert "cp_s" in said
    assert metrics.unknown_column(home, failure.replace("cpu_secs", "busy")) is None
