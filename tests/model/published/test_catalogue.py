"""Reference systems and machines: every figure has a source, and the catalogue says what the papers say."""

import csv
import shutil

import pytest

from model.hardware import machines
from model.published import catalogue
from tests.shared import shared

SYSTEMS = catalogue.systems()


def test_every_measured_system_of_the_studies_is_known():
    with shared("evidence/scenarios.csv").open(encoding="utf-8") as file:
        assert set(SYSTEMS) == {row["id"] for row in csv.DictReader(file)}


def test_titles_tell_the_systems_apart():
    titles = [catalogue.system(system_id).title for system_id in SYSTEMS]
    assert len(set(titles)) == len(titles)
    assert all(title and not title.startswith("same") for title in titles)


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_every_figure_and_fact_has_a_source_and_a_confidence(system_id):
    system = catalogue.system(system_id)
    assert system.figures or system.class_ in ("claim", "chart", "relative")
    for figure in system.figures:
        assert figure.source == f"{figure.study}, {figure.table}"
        assert figure.confidence in catalogue.CONFIDENCES
    for fact in system.facts:
        assert fact.source.startswith(system.study)
        assert fact.confidence in catalogue.CONFIDENCES
    for transaction in system.workload.transactions if system.workload is not None else ():
        assert transaction.source and transaction.confidence in catalogue.CONFIDENCES


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_figures_are_those_of_the_published_measurements(system_id):
    with shared("evidence/measurements.csv").open(encoding="utf-8") as file:
        published = {
            (
                r["doc"],
                r["table"],
                r["condition"],
                r["metric"],
                r["value"],
                r["unit"],
                r["kind"],
                r["confidence"],
                r["model_target"] == "yes",
            )
            for r in csv.DictReader(file)
            if r["scenario_id"] == system_id
        }
    assert {
        (f.study, f.table, f.condition, f.metric, f.value, f.unit, f.kind, f.confidence, f.target)
        for f in catalogue.system(system_id).figures
    } == published


@pytest.mark.parametrize("system_id", SYSTEMS)
def test_systems_are_described_as_the_list_of_scenarios_describes_them(system_id):
    with shared("evidence/scenarios.csv").open(encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    system = catalogue.system(system_id)
    row = rows[system_id]
    assert (system.study, system.class_, system.hardware, system.varied, system.records) == (
        row["doc"],
        row["cls"],
        row["hardware"],
        row["varied"],
        row["records"],
    )


def test_the_mix_of_the_ims_workload_adds_up():
    workload = catalogue.workload("ims-ff-haldb")
    shares = [float(t.share_pct) for t in workload.transactions if t.share_pct is not None]
    assert len(shares) == 8
    assert sum(shares) == pytest.approx(100, abs=0.05)
    touched = {name for t in workload.transactions for name in t.databases}
    assert touched <= {database.name for database in workload.databases}


def test_select_keeps_figures_whose_condition_holds_more_than_was_asked():
    system = catalogue.system("ims14-ff-haldb-z13")
    (busy,) = system.select("table16_ff_haldb", "machine=z13; quantity=value", "cpu_busy_pct")
    assert busy.conditions == {"group": "CPU", "machine": "z13", "quantity": "value"}
    assert not system.select("table16_ff_haldb", "machine=z14")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (('class = "numeric"', 'class = "good"'), "class: Input should be 'numeric'.*got 'good'"),
        (('confidence = "high", target = true', 'confidence = "sure", target = true'), "confidence.*got 'sure'"),
        (('value = "6012.12"', 'value = "many"'), "'many' is neither a number"),
        (('smf_sid = "IM13"', 'smf_sid = "IMS13"'), "smf_sid 'IMS13'"),
        (('condition = "machine=z13; quantity=value"', 'condition = "machine=z12"'), "selects no figure"),
        (('source = "ims14_z14 environment"', 'source = ""'), "no source"),
        (("title = ", "titel = "), "lab.points.0.titel: Unexpected keyword argument"),
        ((", target = true }", " }"), "figures.0.target: Field required"),
        (("target = true }", "target = true, note = 1 }"), "figures.0.note: Unexpected keyword argument"),
        (('condition = "group=CPU; machine', 'condition = "CPU; machine'), "not key=value"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_with_the_reason(tmp_path, edit, message):
    shutil.copytree(catalogue.SYSTEMS / "workloads", tmp_path / "workloads")
    text = (catalogue.SYSTEMS / "ims14-ff-haldb-z13.toml").read_text(encoding="utf-8")
    assert edit[0] in text
    (tmp_path / "ims14-ff-haldb-z13.toml").write_text(text.replace(*edit), encoding="utf-8")
    with pytest.raises(catalogue.CatalogueError, match=message):
        catalogue.system("ims14-ff-haldb-z13", tmp_path)


def test_an_unknown_system_is_refused_with_the_known_ones():
    with pytest.raises(catalogue.CatalogueError, match="cics53-18cp"):
        catalogue.system("cics99")


def test_machines_give_every_figure_with_a_source():
    for machine_id in machines.machines():
        machine = machines.machine(machine_id)
        assert machine.facts and all(fact.source and fact.confidence for fact in machine.facts)
        assert machine.rating.source and machine.rating.confidence
    assert machines.machine("z13").fact("clock").value == "5.0"


def test_a_machine_that_is_not_described_is_refused():
    with pytest.raises(machines.MachineError, match="no machine"):
        machines.machine("z99")
