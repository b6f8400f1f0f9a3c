"""MSU to come: recorded averages grown by the model, added up over the LPARs of a machine."""

from dataclasses import replace

import numpy as np
import pytest

from model.capacity.forecast import RecordedMsu, forecast_msu
from model.capacity.values import QuestionError
from tests.cases.systems import RECORDED, grown

DAYS = 21
STARTS = np.datetime64("2026-09-07T00:00:00", "s") + np.arange(24 * DAYS) * np.timedelta64(3600, "s")
DAILY = 100.0 + 50.0 * np.sin(np.arange(24 * DAYS) * 2 * np.pi / 24)


def lpar(name: str, system: str, shift: int = 0) -> RecordedMsu:
    return RecordedMsu(name, system, "CEC1", 400.0, STARTS, np.roll(DAILY, shift))


@pytest.fixture(scope="module")
def bundle() -> dict:
    growth = np.append(0.01, [0.009, 0.011] * 20)
    return {"model_version": "test/1", "systems": {"PRDA": grown(RECORDED, growth)}}


def by_name(result: dict) -> dict:
    return {(subject["scope"], subject["name"]): subject for subject in result["subjects"]}


def test_an_lpar_grows_from_its_recorded_peak(bundle):
    subject = by_name(forecast_msu(bundle, [lpar("PRDA", "PRDA")]))["lpar", "PRDA"]
    assert subject["recorded"]["peak_r4ha_msu"] == pytest.approx(150)
    assert subject["recorded"]["peak_at_local"] == str(STARTS[np.argmax(DAILY)])
    today, year = subject["forecast"][0], subject["forecast"][-1]
    # The peak of every week is 150; that of the first has grown for two weeks at one percent.
    assert today["value"] == pytest.approx(153, abs=0.5)
    assert (year["week"], year["lo"] < year["value"] < year["hi"]) == (52, True)
    # A day of records: the trend is followed for four weeks, and fades with a time constant of thirteen.
    assert year["value"] / today["value"] == pytest.approx(np.exp(0.01 * (4 + 13 * (1 - np.exp(-48 / 13)))), rel=0.01)


def test_a_forecast_scatters_as_the_peaks_of_its_weeks_did(bundle):
    weekly = np.repeat([1.0, 1.1, 1.21], 24 * 7)
    grown = replace(lpar("PRDB", "other"), r4ha_msu=weekly * DAILY)
    today = by_name(forecast_msu(bundle, [grown]))["lpar", "PRDB"]["forecast"][0]
    # Of three weeks a tenth apart each, the standard deviation is a tenth.
    assert today["hi"] / today["value"] == pytest.approx(1.1**1.645, rel=0.01)
    assert today["lo"] / today["value"] == pytest.approx(1.1**-1.645, rel=0.01)


def test_a_machine_s_peak_is_that_of_the_sum_and_not_the_sum_of_peaks(bundle):
    result = by_name(forecast_msu(bundle, [lpar("PRDA", "PRDA"), lpar("PRDB", "other", shift=12)]))
    machine = result["machine", "CEC1"]
    assert machine["lpars"] == ["PRDA", "PRDB"]
    assert machine["forecast"][0]["value"] == pytest.approx(203, abs=0.5)
    assert result["lpar", "PRDB"]["forecast"][-1]["value"] == pytest.approx(150)


def test_a_renamed_lpar_counts_in_its_machine_under_one_name_at_a_time(bundle):
    whole = lpar("PRDB", "other")
    half = len(STARTS) // 2
    parts = [
        replace(whole, lpar=name, system=name, start=whole.start[of], r4ha_msu=whole.r4ha_msu[of])
        for name, of in (("OLD", slice(None, half)), ("NEW", slice(half, None)))
    ]
    result = forecast_msu(bundle, [lpar("PRDA", "PRDA", shift=12), *parts])
    [machine] = [one for one in result["subjects"] if one["scope"] == "machine"]
    assert machine["recorded"]["peak_r4ha_msu"] == pytest.approx(200)
    assert [note for note in result["notes"] if note.startswith("OLD: no records since 2026-09-17")]
    assert not any(note.startswith("NEW: no records since") for note in result["notes"])


def test_a_change_comes_on_top_of_growth_for_its_system_alone(bundle):
    both = [lpar("PRDA", "PRDA"), lpar("PRDB", "other")]
    plain = by_name(forecast_msu(bundle, both, system="PRDA"))
    changed = by_name(forecast_msu(bundle, both, system="PRDA", at={"growth_pct": 50.0}))
    assert ("lpar", "PRDB") not in plain
    assert changed["lpar", "PRDA"]["forecast"][0]["value"] > 1.2 * plain["lpar", "PRDA"]["forecast"][0]["value"]


def test_a_forecast_beyond_what_the_engines_give_says_so_with_the_date(bundle):
    parameters = bundle["systems"]["PRDA"]
    rating = 160.0 / parameters.engines
    rated = {**bundle, "systems": {"PRDA": replace(parameters, msu_per_engine=rating)}}
    result = forecast_msu(rated, [lpar("PRDA", "PRDA"), lpar("PRDB", "other")])
    alone, machine = result["subjects"][0]["forecast"], result["subjects"][-1]["forecast"]
    assert max(step["hi"] for step in alone) == pytest.approx(160.0)
    assert machine[-1]["value"] == pytest.approx(160.0 + DAILY.max())
    dates = {step["week"]: step["date"] for step in alone}
    [note] = [note for note in result["notes"] if "engines give" in note]
    assert "160 MSU" in note
    assert note.endswith(f"from {dates[8]} on")
    more = {"engines": 2 * parameters.engines}
    assert not any(
        "engines give" in n
        for n in forecast_msu(rated, [lpar("PRDA", "PRDA")], system="PRDA", at=more, weeks=8)["notes"]
    )


def test_a_forecast_of_nothing_recorded_says_so(bundle):
    assert forecast_msu(bundle, [])["notes"] == ["no LPAR has four hours of recorded MSU"]


@pytest.mark.parametrize(
    ("question", "field"),
    [({"system": "PRDC"}, "system"), ({"at": {"growth_pct": 5.0}}, "at"), ({"weeks": 500}, "weeks")],
)
def test_what_cannot_be_forecast_is_refused(bundle, question, field):
    with pytest.raises(QuestionError) as refused:
        forecast_msu(bundle, [lpar("PRDA", "PRDA")], **question)
    assert refused.value.field == field
