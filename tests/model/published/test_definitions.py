"""What follows from a definition is computed, in the units and sections of a report."""

import pytest

from model.published.definitions import following
from model.published.model import Published, fit
from model.published.observations import WORKLOAD, Observation
from model.published.reading import read_catalogue
from model.published.tables import Tables

SECTIONS = {"service units": "SERVICE", "service units/s": "SERVICE", "s": "TIME", "pct of one CP": "APPL %"}
SECTIONS |= {"tran/s": "TRANSACTIONS", "count": "TRANSACTIONS", "average": "TRANSACTIONS"}


def report(system, values, report_class="TOR"):
    return [
        Observation(
            system=system,
            metric=metric,
            condition={"report_class": report_class, "section": SECTIONS[unit]},
            value=value,
            unit=unit,
            table="workload activity",
            study="study",
        )
        for (metric, unit), value in values.items()
    ]


SECONDS = {("CPU", "s"): 8.0, ("SRB", "s"): 2.0, ("RCT", "s"): 0.0, ("IIT", "s"): 0.0, ("HST", "s"): 0.0}
UNITS = {("IOC", "service units"): 500.0, ("MSO", "service units"): 0.0}
ENDED = {("ENDED", "count"): 6000.0, ("END/S", "tran/s"): 100.0, ("AVG", "average"): 4.0}


def predicted(rows, system, **at):
    found = Published(fit(rows, {})).predict(system, at)
    return {(output.metric, output.unit): output.value for output in found}


def test_service_units_and_rates_follow_from_times():
    rows = report("one", SECONDS | UNITS | ENDED | {("CPU", "service units"): 80000.0})
    rows += report("one", {("SRB", "service units"): 20000.0})
    rates = {
        ("/SEC", "service units/s"): 8.0,
        ("ABSRPTN", "service units/s"): 4.0,
        ("TRX SERV", "service units/s"): 4.0,
    }
    found = predicted(rows + report("other", {("TOT", "service units"): 9.0} | rates), "one", report_class="TOR")
    assert found["TOT", "service units"] == pytest.approx(100500)
    assert found["/SEC", "service units/s"] == pytest.approx(100500 / 60)
    assert found["ABSRPTN", "service units/s"] == found["TRX SERV", "service units/s"] == pytest.approx(100500 / 60 / 4)


def test_times_of_a_longer_run_are_longer_as_its_interval_is():
    """A gateway took 12 % of an engine in 100 s; of the run of an hour, at the same rate, the region alone is known."""

    def fields(system, report_class, interval_s, busy_pct):
        times = {("TCB", "s"): busy_pct * interval_s / 100.0, ("SRB", "s"): 0.0}
        rest = dict.fromkeys((("RCT", "s"), ("IIT", "s"), ("HST", "s")), 0.0)
        return report(system, times | rest | {("APPL %", "pct of one CP"): busy_pct}, report_class)

    rows = fields("short", "GATEWAY", 100.0, 12.0) + fields("short", "REGION", 100.0, 80.0)
    rows += fields("long", "REGION", 3600.0, 80.0)
    rows += [Observation(run, "etr_tps", {}, 19.0, "tran/s", "rates", "study") for run in ("short", "long")]
    facts = {run: {WORKLOAD: "w", "machine": "m"} for run in ("short", "long")}
    found = Published(fit(rows, facts)).predict("long", {"report_class": "GATEWAY"})
    assert next(o.value for o in found if o.metric == "TCB") == pytest.approx(432.0, rel=0.05)


def test_a_machine_s_service_units_per_second_are_seen_in_another_class():
    seen = report("one", SECONDS | {("CPU", "service units"): 80000.0, ("SRB", "service units"): 20000.0}, "AOR")
    found = predicted(seen + report("one", {("CPU", "s"): 3.0}), "one", report_class="TOR")
    assert found["CPU", "service units"] == pytest.approx(30000)
    assert found["CPU", "s"] == pytest.approx(3)


def test_a_definition_that_the_values_contradict_is_not_used():
    rows = report("one", SECONDS | {("CPU", "service units"): 80000.0}, "AOR")
    rows += report("one", SECONDS | {("CPU", "service units"): 40000.0}, "FOR")
    found = predicted(rows + report("one", {("CPU", "s"): 3.0}), "one", report_class="TOR")
    assert found.get(("CPU", "service units")) != pytest.approx(3 * 7500)


def test_a_section_has_only_the_metrics_printed_in_it():
    rows = report("one", SECONDS | ENDED)
    assert {metric for metric, _ in predicted(rows, "one", section="TIME")} == {"CPU", "SRB", "RCT", "IIT", "HST"}


def test_itr_follows_from_rate_and_busy_where_only_these_were_measured():
    table = Tables(read_catalogue(["ims10-base-fp", "ims10-connect-smq"]).rows).blocks["ims10", "throughput_runs"]
    (entry,) = following(table, table.cell("ims10-base-fp", "itr_tps", {"variant": "IMS V10"}))
    assert entry.value([7774.0, 81.4]) == pytest.approx(9550, rel=1e-4)


def test_a_metric_of_one_class_is_told_for_another_that_has_its_other_metrics():
    rows = report("one", SECONDS, "AOR") + report("one", {("CPU", "s"): 4.0}, "TOR")
    assert ("SRB", "s") in predicted(rows, "one", report_class="TOR")


def test_parts_that_were_never_seen_together_are_not_answered():
    rows = [
        Observation("one", "average", {"graph": graph, "series": series}, value, unit, "graphs", "study")
        for graph, series, value, unit in (
            ("users", "Run", 200.0, "users"),
            ("rate", "Pass", 20.0, "tran/s"),
            ("rate", "Fail", 0.5, "tran/s"),
        )
    ]
    found = Published(fit(rows, {})).predict("one", {"series": "Fail"})
    assert [(output.value, output.condition["graph"]) for output in found] == [(0.5, "rate")]
