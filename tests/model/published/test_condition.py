"""Conditions as text and as mappings."""

from model.published.condition import condition_text, parse_condition


def test_conditions_are_read_and_written_back():
    text = "group=CPU; machine=z13; quantity=value"
    assert condition_text(parse_condition(text)) == text


def test_words_without_a_value_are_no_part_of_a_condition():
    assert parse_condition("point=1; fast") == {"point": "1"}
