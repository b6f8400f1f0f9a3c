"""Documents in JSON: whatever figures they hold, they can be read, and null has its reason."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.documents import REASONS, dumps, finite, for_readers, not_finite

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text().filter(lambda key: key != REASONS), inside),
)


def strictly(text):
    def refuse(number):
        raise AssertionError(f"{number} is no JSON")

    return json.loads(text, parse_constant=refuse)


def without_reasons(value):
    if isinstance(value, dict):
        return {key: without_reasons(item) for key, item in value.items() if key != REASONS}
    return [without_reasons(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_a_document_is_read_as_it_was_written_but_for_what_is_not_finite(value):
    read = strictly(dumps(value))
    assert read == finite(value)
    if not list(not_finite(value)):
        assert read == value
    assert without_reasons(read) == without_reasons(finite(value))


@given(st.dictionaries(st.text().filter(lambda key: key != REASONS), st.lists(st.floats()) | st.floats()))
def test_every_null_of_an_object_has_a_reason(value):
    reasons = dict(not_finite(value))
    assert finite(value).get(REASONS, {}).keys() == reasons.keys()


def test_reasons_stand_beside_the_figures_and_say_which_limit_there_is_none_of():
    found = finite(
        {"rows": [{"lo": -math.inf, "hi": np.float32(math.inf), "n": np.int64(3), "worst": [1.0, math.nan]}]}
    )
    why = {"lo": "no lower limit", "hi": "no upper limit", "worst[1]": "not defined"}
    assert found == {"rows": [{"lo": None, "hi": None, "n": 3, "worst": [1.0, None], REASONS: why}]}
    assert for_readers({"hi": None, "bias": None, REASONS: {"hi": "no upper limit", "bias": "not defined"}}) == {
        "hi": "no upper limit",
        "bias": None,
    }


@dataclass
class Figure:
    """A figure with a limit."""

    value: float
    hi: float


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Figure(1.0, math.inf), {"value": 1.0, "hi": None, REASONS: {"hi": "no upper limit"}}),
        ({"path": Path("a/b"), "draws": np.array([1, 2])}, {"path": "a/b", "draws": [1, 2]}),
        (math.nan, None),
    ],
)
def test_what_json_has_no_form_for_is_written_all_the_same(value, written):
    assert strictly(dumps(value)) == written
