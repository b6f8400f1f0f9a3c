"""What must hold of the predictions of every reference system."""

import math
from dataclasses import replace

import pytest

from model.capacity.values import QuestionError
from model.published import catalogue
from model.published.identities import sums
from model.published.model import Published, fit, predictor
from model.published.reading import read_catalogue
from model.published.tables import number

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    study = read_catalogue()
    return fit(study.rows, study.facts, study.identities)


@pytest.fixture(scope="module")
def studies(model):
    return Published(model)


def test_every_system_with_a_number_can_be_asked(studies):
    known = {name: catalogue.system(name).figures for name in catalogue.systems()}
    numbered = {name for name, figures in known.items() if any(figure.number is not None for figure in figures)}
    assert set(studies.systems()) == numbered
    assert all(studies.predict(name) for name in studies.systems())


def test_every_key_a_system_lists_is_answered_at_every_level(studies):
    for system in studies.systems():
        for key, levels in studies.keys(system).items():
            assert all(studies.predict(system, {key: level}) for level in levels), (system, key)


def test_unknown_keys_are_refused_with_the_known_ones(studies):
    for system in studies.systems():
        with pytest.raises(QuestionError, match="colour") as refused:
            studies.predict(system, {"colour": "red"})
        assert refused.value.allowed == sorted(studies.keys(system))


def test_unknown_levels_are_refused_with_the_known_ones(studies):
    for system in studies.systems():
        for key, levels in studies.keys(system).items():
            with pytest.raises(QuestionError) as refused:
                studies.predict(system, {key: "none such"})
            assert refused.value.field == key
            if not all(number(level) for level in levels):
                assert set(refused.value.allowed) <= set(levels)


def test_totals_are_the_sums_of_their_parts_at_measured_and_other_levels(model):
    known = predictor(model)
    tables = known.tables.blocks
    checked = 0
    for table in tables.values():
        found_sums = sums(table)
        for cell in table.values:
            for at in {cell, *_between(cell)}:
                for total in found_sums:
                    parts = [known.value(part) for part in total.operands(at) or ()]
                    found = known.value(at)
                    if parts and None not in parts:
                        assert found.value == pytest.approx(math.fsum(part.value for part in parts), rel=1e-9)
                        assert found.low <= found.value <= found.high
                        checked += 1
    assert checked > 100


def _between(cell):
    return () if cell.x is None else (replace(cell, x=1.5 * cell.x),)
