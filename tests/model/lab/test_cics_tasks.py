"""CICS tasks: made so that every printed class has its statistics, and written as a region would write them."""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from ingest import registry
from ingest.formats.smf import decode_batches
from model.lab import LabError
from model.lab.records import smf110_1
from model.lab.records.common import Clock, Setting
from model.lab.records.interface import Span, Target, Window
from model.published.catalogue import Figure
from model.published.plan import Point, read_plan

START = datetime(2002, 6, 3, 8)
PLAN = read_plan(
    {"smf_sid": "SYSA", "start_local": START, "intervals": 4, "interval_s": 60, "assumptions": [], "points": []}
)
SPANS = tuple(Span(START - timedelta(hours=2) + timedelta(minutes=i), 60_000) for i in range(4))
CELLS = [
    {"service_class": "HIGH", "report_class": "RWEB", "transaction": "PAY"},
    {"service_class": "LOW", "report_class": "RCEMT", "transaction": "CEMT"},
    {"service_class": "LOW", "report_class": "RREST"},
]
OPTIONS = {"applid": "REGION", "release": "0620", "cells": CELLS}


def targets(**classes):
    """Figures of classes: number, mean, deviation, maximum, as printed."""
    names = ("tasks", "response_avg_s", "response_stddev_s", "response_max_s")
    figures = {name: Figure("s", "t", "", name, "", "", "measured", "high", False) for name in names}
    return [
        Target(replace(figures[name], value=value), "P", "SYSA", subject, name, 1.0, OPTIONS)
        for subject, values in classes.items()
        for name, value in zip(names, values, strict=True)
    ]


def classes_of(times):
    """Printed statistics of classes, made of tasks that are in one service and one report class each."""
    members = {
        "service class HIGH": [0],
        "service class LOW": [1, 2],
        "report class RWEB": [0],
        "report class RCEMT": [1],
        "report class RREST": [2],
    }
    found = {}
    for subject, parts in members.items():
        values = np.concatenate([times[i] for i in parts])
        found[subject] = (
            str(len(values)),
            f"{values.mean():.4f}",
            f"{values.std(ddof=1):.4f}",
            f"{values.max():.4f}",
        )
    return found


TIMES = [np.random.default_rng(5).lognormal(-2, 0.8, n).round(4) for n in (400, 12, 60)]


@pytest.mark.slow
def test_the_dump_holds_a_dictionary_and_every_task_plain_and_compressed():
    printed = classes_of(TIMES)
    del printed["report class RREST"]
    wanted = targets(**printed)
    window = Window("system", "SYSA", Point("P", "", "", "point"), SPANS)
    made = smf110_1.smf110_1(Setting(PLAN, None, Clock(2)), window, wanted, np.random.default_rng(1))
    [batch] = decode_batches(made.files["P.cics.smf"], registry.load())
    assert not batch.skipped and not batch.quarantined
    assert {row["cmodhead"] for row in batch.tables["smf110_1_dictionary"].to_pylist()} == set(smf110_1.FIELDS)
    rows = batch.tables["smf110_1_performance"].to_pylist()
    assert len(rows) == 472 and {row["usrcput"] for row in rows} == {None}
    lows = np.array([(r["stop"] - r["start"]).total_seconds() for r in rows if r["srvclsnm"] == "LOW"])
    assert (f"{lows.mean():.4f}", f"{lows.std(ddof=1):.4f}") == classes_of(TIMES)["service class LOW"][1:3]
    assert all(SPANS[0].start <= row["stop"] < SPANS[-1].end for row in rows)
    assert {row["tran"] for row in rows if row["rptclsnm"] == "RCEMT"} == {"CEMT"}
    # Of a run of four intervals the tasks of the first two stand there as they are, the others are compressed.
    readable = made.files["P.cics.smf"].count("HIGH    RWEB    ".encode("cp037"))
    assert 0.3 * 400 < readable < 0.7 * 400


def test_the_cell_that_is_no_class_of_its_own_has_what_the_others_leave_it():
    # The last cell is in two classes, neither of which is that cell alone.
    printed = classes_of(TIMES)
    both = np.concatenate([TIMES[0], TIMES[2]])
    del printed["report class RREST"], printed["report class RWEB"]
    cells = [CELLS[0], CELLS[1], {"service_class": "LOW", "report_class": "RWEB"}]
    printed["report class RWEB"] = ("460", f"{both.mean():.4f}", f"{both.std(ddof=1):.4f}", f"{both.max():.4f}")
    wanted: dict[str, dict[str, Target]] = {}
    for target in targets(**printed):
        wanted.setdefault(target.subject, {})[target.metric] = target
    made = smf110_1.tasks(np.random.default_rng(1), wanted, cells)
    assert [len(part) for part in made] == [400, 12, 60]
    assert f"{np.concatenate([made[0], made[2]]).mean() / smf110_1.TICKS_PER_S:.4f}" == f"{both.mean():.4f}"


def test_classes_that_do_not_fit_together_are_refused():
    printed = classes_of(TIMES) | {"service class LOW": ("72", "0.9000", "0.1000", "1.0000")}
    del printed["report class RREST"]
    with pytest.raises(LabError):
        smf110_1.tasks(
            np.random.default_rng(1),
            {subject: {t.metric: t for t in targets(**{subject: values})} for subject, values in printed.items()},
            CELLS,
        )
