"""Writers of files and of records beside CPU activity: what they write, and what they refuse."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from ingest import registry
from ingest.formats.ims.decode import decode_log
from model.lab import LabError
from model.lab.records import collected, ims_log, load_driver, smf30, storage
from model.lab.records.common import Clock, Setting
from model.lab.records.interface import Span, Target, Window
from model.lab.samples import levels
from model.published.catalogue import Figure
from model.published.plan import Point, read_plan

START = datetime(2007, 3, 1, 8)
PLAN = read_plan(
    {"smf_sid": "SYSA", "start_local": START, "intervals": 3, "interval_s": 60, "assumptions": [], "points": []}
)
SETTING = Setting(PLAN, None, Clock(0))


def window(**settings):
    spans = tuple(Span(START + timedelta(minutes=i), 60_000) for i in range(3))
    return Window("system", "SYSA", Point("P", "", "", "point", settings=settings), spans)


def figure(subject, metric, value, factor=1.0, **options):
    printed = Figure("study", "table", "", metric, value, "", "measured", "high", False)
    return Target(printed, "P", "SYSA", subject, metric, factor, options)


def render(writer, *targets, **settings):
    return writer(SETTING, window(**settings), targets, np.random.default_rng(11))


def test_storage_goes_to_78_2_where_it_is_private_and_to_displays_where_not():
    made = render(
        storage.storage_in_use,
        figure("TCPIP private above", "storage_kb", "20200"),
        figure("csa below", "storage_kb", "436"),
        figure("csm_ecsa", "storage_max_kb", "1146.9"),
    )
    sections = [record.sections["private"][0] for record in made.records]
    assert len(sections) == 3 and {section["r782jobn"] for section in sections} == {"TCPIP"}
    total = sum(section["r782usal_vsdatotl"] for section in sections)
    assert total == 20200 * 1024 * sum(section["r782samp"] for section in sections)
    shown = {
        area: [row["used_kb"] for row in made.rows["storage"] if row["area"] == area] for area in ("csa", "csm_ecsa")
    }
    assert sum(shown["csa"]) == 3 * 436 and max(shown["csm_ecsa"]) == 1146.9


def test_storage_printed_in_megabytes_is_carried_to_its_last_digit():
    made = render(storage.storage_in_use, figure("ecsa above", "storage_kb", "19.7", factor=1 / 1024))
    shown = [row["used_kb"] for row in made.rows["storage"]]
    assert sum(shown) == pytest.approx(3 * 19.7 * 1024, rel=1e-12)


def test_a_part_the_paper_contradicts_is_what_the_totals_leave():
    parts = ["csa below", "sqa below"]
    means, _ = storage.consistent(
        [figure("csa below", "storage_kb", "400", parts=parts), figure("total below", "storage_kb", "700", parts=parts)]
    )
    assert means["sqa below"] == 300


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([("csa below", "storage_kb", "400"), ("total below", "storage_kb", "700")], "add up to 400"),
        ([("csa below", "storage_kb", "400"), ("csa below", "storage_max_kb", "500")], "printed as 400 and as 500"),
    ],
)
def test_storage_that_contradicts_itself_is_refused(targets, message):
    with pytest.raises(LabError, match=message):
        storage.consistent([figure(*target) for target in targets])


def test_phases_follow_each_other_and_the_total_is_left_to_the_marts():
    made = render(
        collected.phases,
        figure("PREPARE", "elapsed_s", "0.51", operation="ONLINE CHANGE"),
        figure("COMMIT", "elapsed_s", "25.61", operation="ONLINE CHANGE"),
        figure("total", "elapsed_s", "26.12", operation="ONLINE CHANGE"),
    )
    first, second = made.rows["phases"]
    assert first["end_utc"] == second["start_utc"]
    seconds = [
        (datetime.fromisoformat(row["end_utc"]) - datetime.fromisoformat(row["start_utc"])).total_seconds()
        for row in (first, second)
    ]
    assert seconds == [0.51, 25.61]


def test_phases_add_up_to_a_total_that_has_more_than_them_and_to_none_that_has_less():
    commit = figure("COMMIT", "elapsed_s", "25.61", operation="ONLINE CHANGE")
    rows = render(collected.phases, commit, figure("total", "elapsed_s", "85.87")).rows["phases"]
    assert [row["phase"] for row in rows] == ["COMMIT", "other"]
    first, last = (datetime.fromisoformat(time) for time in (rows[0]["start_utc"], rows[-1]["end_utc"]))
    assert (last - first).total_seconds() == pytest.approx(85.87)
    with pytest.raises(LabError, match="longer than their total"):
        render(collected.phases, commit, figure("total", "elapsed_s", "25.5"))


def test_buffers_reach_the_printed_number_and_data_sets_add_up():
    rows = render(collected.buffers, figure("IO00", "buffers_max", "255")).rows["buffers"]
    assert max(row["max_used"] for row in rows) == 255 and all(row["in_use"] <= row["max_used"] for row in rows)
    options = {"data_sets": 17, "prefix": "A.B", "ci_bytes": 4096}
    listed = render(
        collected.data_sets,
        figure("", "records_inserted", "4491520", **options),
        figure("", "free_space_bytes", "49352704", **options),
    ).rows["data_sets"]
    assert len(listed) == 17 and sum(row["rec_inserted"] for row in listed) == 4_491_520
    assert sum(row["free_space_bytes"] for row in listed) == 49_352_704
    with pytest.raises(LabError, match="multiple"):
        render(collected.data_sets, figure("", "free_space_bytes", "4097", **options))


def test_steps_run_so_many_at_a_time_and_span_the_printed_time():
    made = render(
        smf30.steps,
        figure("", "elapsed_s", "100", jobs=9, parallel=4, prefix="COPY", program="DFSUDMP0"),
        figure("", "excps", "548", jobs=9, parallel=4, prefix="COPY", program="DFSUDMP0"),
    )
    starts = [record.sections["identification"][0]["smf30sit"] for record in made.records]
    ends = [record.sections["header"][0]["smf30tme"] for record in made.records]
    assert len(made.records) == 9 and max(ends) - min(starts) == 100 * 100 and starts.count(min(starts)) == 4
    assert sum(record.sections["io"][0]["smf30tex"] for record in made.records) == 548
    with pytest.raises(LabError, match="shorter"):
        render(smf30.steps, figure("", "elapsed_s", "400", prefix="COPY", program="X"))


def test_a_log_holds_a_record_for_every_message_over_the_printed_time():
    made = render(
        ims_log.render,
        figure("", "msc_send_s", "29.277", messages=50),
        figure("", "msc_receive_s", "29.271", messages=50),
        msc_send_s_us=400,
    )
    seconds = {}
    for name, log in made.files.items():
        rows = [
            row
            for batch in decode_log(log, registry.load(), name=name)
            for row in batch.tables["ims_log_record"].to_pylist()
        ]
        assert len(rows) == 50
        seconds[name] = (rows[-1]["written_utc"] - rows[0]["written_utc"]).total_seconds()
    assert seconds == {"P.send.imslog": 29.2774, "P.receive.imslog": 29.271}


def test_response_times_have_the_statistics_of_the_run_and_of_its_steady_phase():
    printed = {
        "response_min_s": "0.031",
        "response_avg_s": "0.178",
        "response_max_s": "11.734",
        "response_p90_s": "0.24",
    }
    steady = {
        "response_min_s": "0.031",
        "response_avg_s": "0.128",
        "response_max_s": "1.5",
        "response_stddev_s": "0.098",
    }
    targets = [figure("T", metric, value, steady_share=0.79) for metric, value in {**printed, "passed": "2300"}.items()]
    targets += [figure("T steady", metric, value) for metric, value in steady.items()]
    rows = render(load_driver.results, *targets, figure("T", "failed", "3")).rows["load_results"]
    times = {phase: np.repeat(*_times(rows, phase)) for phase in ("steady", "ramp-up")}
    both = np.sort(np.concatenate(list(times.values())))
    assert (len(both), both[0], both[-1], f"{both.mean() / 1000:.3f}") == (2300, 31, 11734, "0.178")
    assert f"{both[2069] / 1000:.2f}" == "0.24"
    calm = times["steady"]
    assert (f"{calm.mean() / 1000:.3f}", f"{calm.std() / 1000:.3f}", calm.max()) == ("0.128", "0.098", 1500)
    assert [row["count"] for row in rows if row["status"] == "fail"] == [3]


@pytest.mark.parametrize(
    ("targets", "missing"),
    [
        ([figure("T", "response_avg_s", "0.178")], "passed, response_min_s, response_max_s, response_p90_s"),
        ([figure("T steady", "response_avg_s", "0.1")], "response_min_s, response_max_s, response_stddev_s"),
        (
            [figure("T steady", f"response_{name}_s", "0.1") for name in ("min", "avg", "max", "stddev")],
            "passed: give the options",
        ),
    ],
)
def test_response_times_that_are_half_known_say_what_is_missing(targets, missing):
    with pytest.raises(LabError, match=f"response times of T.* cannot be made without {missing}"):
        render(load_driver.results, *targets)


def _times(rows, phase):
    chosen = [row for row in rows if row["phase"] == phase and row["status"] == "pass"]
    return [row["response_ms"] for row in chosen], [row["count"] for row in chosen]


def test_levels_reach_both_extremes_and_keep_their_mean():
    wanted = {f"frames_{end}": figure("csa", f"frames_{end}", value) for end, value in
              (("min", "5692"), ("avg", "6235"), ("max", "6620"))}  # fmt: skip
    made = levels(np.random.default_rng(2), wanted, "frames", 5)
    assert min(level.low for level in made) == 5692 and max(level.high for level in made) == 6620
    assert sum(level.mean for level in made) == 5 * 6235
    assert all(level.low <= level.mean <= level.high for level in made)
    wanted["frames_avg"] = figure("csa", "frames_avg", "7000")
    with pytest.raises(LabError, match="does not lie between"):
        levels(np.random.default_rng(2), wanted, "frames", 5)
