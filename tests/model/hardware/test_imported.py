"""Ratings that an installation brings: its table, and what a Linux LPAR prints of its machine."""

import pytest

from model.hardware.imported import read_ratings, read_sysinfo, with_ratings
from model.hardware.machines import MachineError
from model.hardware.ratings import engine_speed
from tests.model.hardware.sysinfo import FACTORS, sysinfo


def test_a_machine_of_full_speed_is_rated_by_its_capability_and_factors():
    info = read_sysinfo(sysinfo("3931", "705", 380), "lpar1")
    assert (info.name, info.msu, info.factors[:2]) == ("3931", 1_224, (65536, 62000))
    rows = info.ratings(info.name, "lpar1")
    # 87,188 SU/s at a capability of 492, in the ratio of both.
    assert [row["su_per_s"] for row in rows] == [
        pytest.approx(87_188 * 492 / 380 * factor / 65536, abs=0.1) for factor in (65536, *FACTORS)
    ]
    assert all("3931-705" in row["source"] for row in rows)


def test_reduced_capacity_is_named_after_its_level():
    info = read_sysinfo(sysinfo("8561", "504", 1067, 416), "lpar1")
    assert (info.name, info.capability, info.full_capability) == ("8561-5xx", 1067, 416)
    assert read_sysinfo(sysinfo("8562", "B02", 900, 416), "lpar1").name == "8562-Bxx"


def test_a_capability_that_linux_prints_as_the_bits_of_a_float_is_read_as_it():
    # 380.5 as IEEE single precision is 0x43be4000.
    assert read_sysinfo(sysinfo("3931", "705", 0x43BE4000), "lpar1").capability == 380.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"lpar1: no line .*cat /proc/sysinfo"),
        ("Type: 3931\n", "no line"),
        (sysinfo("3931", "705", 0), "Capability is '0'"),
        (sysinfo("3931", "705", 380).replace("62000", "70000"), "above 65536"),
    ],
)
def test_a_text_that_is_none_is_refused_with_the_reason(text, message):
    with pytest.raises(MachineError, match=message):
        read_sysinfo(text, "lpar1")


def test_imported_ratings_are_read_again_and_replace_those_of_the_same_machine():
    before = "machine,engines,su_per_s\nNEW-705,5,90000\nz16,1,1\n"
    rows = read_sysinfo(sysinfo("3931", "705", 380), "lpar1").ratings("3931", "lpar1")
    table = read_ratings(with_ratings(before, rows), "machines.csv")
    assert [row["machine"] for row in table] == ["NEW-705", *["3931"] * len(rows)]
    speed = engine_speed("z16", 2, table)
    assert speed.su_per_s == pytest.approx(rows[1]["su_per_s"])
    assert "machines.csv, line 4: lpar1: 3931-705" in speed.source


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machine,engines\nA,1\n", "no column su_per_s"),
        ("machine,engines,su_per_s\nA,1,fast\n", "line 2"),
        ("machine,engines,su_per_s,confidence\nA,1,9,sure\n", "line 2: confidence is 'sure'"),
    ],
)
def test_a_table_that_cannot_be_read_names_file_and_line(text, message):
    with pytest.raises(MachineError, match=f"machines.csv.*{message}"):
        read_ratings(text, "machines.csv")
