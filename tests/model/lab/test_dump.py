"""The rendered bytes, read by literal offsets: the published figures come out of them."""

import csv
import itertools
import json
from datetime import datetime, timedelta

import pytest

from model.lab.rendering import render
from model.lab.targets import why_not_rendered
from model.published import catalogue
from model.published.printed import prints_as
from tests.model.lab.smf_reader import add_up, records, text
from tests.model.lab.systems import with_activity

SYSTEMS = with_activity()
CASES = [
    (system_id, point.id)
    for system_id in SYSTEMS
    for point in catalogue.system(system_id).lab.points
    if why_not_rendered(catalogue.system(system_id), point) is None
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("dumps")
    for system_id in SYSTEMS:
        render(system_id, path)
    return path


def read(folder, system_id, point_id):
    """Sums over a point's records, its manifest entry and its plan."""
    plan = catalogue.system(system_id).lab
    manifest = json.loads((folder / f"{system_id}.lab.json").read_text(encoding="utf-8"))
    (entry,) = [point for point in manifest["points"] if point["point"] == point_id]
    first = datetime.fromisoformat(entry["start_utc"]) + timedelta(hours=plan.utc_offset_hours)
    starts = set()
    for number in range(plan.intervals):
        local = first + timedelta(seconds=number * plan.interval_s)
        day = (local.year - 1900) * 1000 + local.timetuple().tm_yday
        starts.add((day, local.hour * 10_000 + local.minute * 100 + local.second))
    return add_up((folder / f"{system_id}.smf").read_bytes(), starts), entry, plan


def metrics(sums, plan):
    """The metrics as the studies define them, from sums of record fields alone."""
    classes = [entry.report_class for entry in plan.transactions]
    ended = sum(sums.ended[name] for name in classes)
    etr = ended / sums.seconds
    busy = 1 - sums.wait_us / sums.online_us
    values = {
        "etr_tps": [etr],
        "total_tps": [etr],
        "cpu_busy_pct": [100 * busy],
        "lpar_busy_pct": [100 * busy],
        "itr_tps": [etr / busy],
        "cpu_us_per_tran": [len(sums.engines) * busy * 1e6 / etr],
    }
    totals = [0.0, 0.0]
    for group in plan.groups:
        jobs = [job for region in group.regions for job in region.jobnames()]
        from_jobs = sum(sums.job_cpu_s.get(job, 0.0) for job in jobs)
        from_class = sums.class_cpu_s.get(group.report_class, 0.0)
        scale = 1e6 / ended if group.figure.endswith("us_per_tran") else 100 / sums.seconds
        values[group.figure] = [from_class * scale, from_jobs * scale]
        totals = [totals[0] + from_class * scale, totals[1] + from_jobs * scale]
    values["total_cics_cpu_pct"] = totals
    for entry in plan.transactions:
        if entry.figure is not None:
            values[entry.figure] = [sums.ended[entry.report_class] / sums.seconds]
        if entry.response is not None:
            values[entry.response] = [sums.elapsed_us[entry.report_class] / sums.ended[entry.report_class] / 1000]
    return values


@pytest.mark.parametrize(("system_id", "point_id"), CASES)
def test_published_figures_come_out_of_the_bytes(folder, system_id, point_id):
    sums, entry, plan = read(folder, system_id, point_id)
    values = metrics(sums, plan)
    assert len(sums.engines) == plan.engines
    assert entry["values"]
    for value in entry["values"]:
        for got in values[value["metric"]]:
            assert got == pytest.approx(value["constructed"], rel=1e-5)
            if value["status"] == "equal":
                assert prints_as(got, value["published"]) == "rounded", (value["metric"], got)


@pytest.mark.parametrize(("system_id", "point_id"), CASES)
def test_service_classes_account_for_most_of_the_busy_time(folder, system_id, point_id):
    sums, _, plan = read(folder, system_id, point_id)
    captured = sum(sums.class_cpu_s[service.name] for service in plan.service_classes)
    busy = (sums.online_us - sums.wait_us) / 1e6
    assert captured / busy == pytest.approx(plan.capture_ratio.value, rel=1e-4)


def test_a_group_of_unknown_cpu_has_address_spaces_but_no_cpu(folder):
    sums, _, plan = read(folder, "ims14-ff-haldb-z14", "80")
    jobs = {job for group in plan.groups for region in group.regions for job in region.jobnames()}
    assert sums.jobs == jobs
    assert not sums.job_cpu_s
    assert sums.report_classes == {"RIMSTRAN"}
    assert sums.class_cpu_s["IMSREGN"] > 0


def test_points_of_one_system_follow_without_a_gap_and_no_interval_is_left_over(folder):
    for system_id in SYSTEMS:
        with (folder / f"{system_id}.runs.csv").open(encoding="utf-8") as file:
            runs = list(csv.DictReader(file))
        assert all(before["end_utc"] == after["start_utc"] for before, after in itertools.pairwise(runs))
        dump = (folder / f"{system_id}.smf").read_bytes()
        found = [record for record in records(dump) if record[5] == 70]
        active = sum(system == system_id for system, _ in CASES)
        assert len(found) == active * catalogue.system(system_id).lab.intervals
        assert {text(record, 14, 4) for record in records(dump)} == {catalogue.system(system_id).lab.smf_sid}
