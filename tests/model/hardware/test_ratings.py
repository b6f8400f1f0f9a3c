"""Ratings of engines by machine and number of engines."""

import math

import pytest

from model.hardware.imported import read_ratings
from model.hardware.machines import MachineError, machine, machines
from model.hardware.ratings import cpu_rate_adjustment, engine_speed, identity, rated


def per_engine(name, engines, imported=()):
    return engine_speed(name, engines, imported).su_per_s


def test_every_generation_from_z13_to_z17_is_rated_with_source_and_confidence():
    assert rated() == ("z13", "z14", "z15", "z16", "z17")
    for name in machines():
        rating = machine(name).rating
        assert rating.source and rating.confidence in ("high", "medium", "low")


@pytest.mark.parametrize(("engines", "factor"), [(1, 65536), (2, 61470), (4, 58336), (18, 45292), (129, 31945)])
def test_engines_of_a_z13_deliver_what_its_multiprocessing_factors_say(engines, factor):
    assert per_engine("z13", engines) == pytest.approx(87_188 * factor / 65536)


def test_readings_of_a_z13_come_out_to_the_digit():
    # 60,150 SU/s on 18 engines and 79,602 on 3, by the service units of a published study.
    assert (cpu_rate_adjustment("z13", 18), cpu_rate_adjustment("z13", 3)) == (266, 201)
    assert pytest.approx(16e6 / 266, rel=5e-6) == 242_395_000 / 4_029.814


def test_engines_of_newer_machines_are_faster_as_their_capabilities_say():
    capability = {name: machine(name).rating.capability for name in machines()}
    for older, newer in zip(machines(), machines()[1:], strict=False):
        assert per_engine(newer, 1) / per_engine(older, 1) == pytest.approx(
            capability[older] / capability[newer], rel=1e-4
        )


def test_msu_ratings_are_those_of_the_engines_within_half_a_percent():
    # MSU x capability / (engines x factor) is the same for every machine: 102,600.
    for name in machines():
        about = machine(name)
        for row in about.msu:
            factor = per_engine(name, row.engines) / per_engine(name, 1)
            assert row.msu * about.rating.capability / (row.engines * factor) == pytest.approx(102_600, rel=0.005), row


def test_factors_of_another_machine_stand_in_and_are_named_and_less_sure():
    assert per_engine("z16", 8) / per_engine("z16", 1) == pytest.approx(53949 / 65536)
    speed = engine_speed("z16", 8)
    assert "those of the z13 stand in" in speed.source
    assert speed.sd > engine_speed("z16", 1).sd > engine_speed("z13", 8).sd


def test_a_part_of_an_engine_is_between_its_neighbours_in_the_logarithm():
    half = math.sqrt(4 * 5)
    assert per_engine("z13", half) == pytest.approx(math.sqrt(per_engine("z13", 4) * per_engine("z13", 5)))


def test_beyond_the_table_engines_go_on_to_deliver_less():
    assert per_engine("z13", 200) < per_engine("z13", 129)
    assert per_engine("z13", 256) * 256 > per_engine("z13", 129) * 129


TABLE = "machine,engines,su_per_s\n9999-705,4,90000\n9999-705,16,75000\n3931,1,110000\n"


def test_imported_ratings_are_exact_and_between_them_follow_the_factors():
    rows = read_ratings(TABLE, "machines.csv")
    assert per_engine("9999-705", 4, rows) == pytest.approx(90_000)
    assert per_engine("9999-705", 16, rows) == pytest.approx(75_000)
    # In the middle of 4 and 16 by logarithm: half of the way from one ratio to the z13's factors to the other.
    ratios = [90_000 / 58336, 75_000 / 46270]
    assert per_engine("9999-705", 8, rows) == pytest.approx(53949 * math.sqrt(math.prod(ratios)))


def test_imported_ratings_of_a_known_machine_take_the_place_of_its_own_by_any_name():
    rows = read_ratings(TABLE, "machines.csv")
    assert per_engine("z16", 1, rows) == per_engine("3931", 1, rows) == pytest.approx(110_000)
    assert identity("3931", rows) == identity("z16", rows) == "z16"
    assert rated(rows) == (*rated(), "9999-705")


def test_a_machine_without_a_rating_is_refused_with_those_that_have_one():
    with pytest.raises(MachineError, match="known: z13, z14, z15, z16, z17"):
        engine_speed("0001", 4)
