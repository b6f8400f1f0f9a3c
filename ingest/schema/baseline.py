"""Expectations that follow from the layouts alone and that every sound warehouse meets."""

from dataclasses import dataclass

from ingest.layout import Field
from ingest.registry import Registry


@dataclass(frozen=True, slots=True)
class BaselineExpectation:
    """One expectation on a raw column.

    `kind` is `not_null`, `unique` (over `columns` together) or `between` (inclusive, either end may be None, NULLs
    pass); `severity` is `critical` or `warning`.
    """

    table: str
    columns: tuple[str, ...]
    kind: str
    severity: str
    low: float | None = None
    high: float | None = None


def baseline_expectations(registry: Registry) -> list[BaselineExpectation]:
    """Every baseline expectation: keys are present and unique, and values keep within what their format and unit
    allow."""
    expectations = []
    for layout, section in registry.tables():
        keys = ("file_id", "record_seq", "section_seq")
        expectations += [BaselineExpectation(section.table, (key,), "not_null", "critical") for key in keys]
        expectations.append(BaselineExpectation(section.table, keys, "unique", "critical"))
        if section is layout.header:
            column = section.by_name("record_type").column
            expectations.append(
                BaselineExpectation(section.table, (column,), "between", "critical", layout.type, layout.type)
            )
        for item in section.fields:
            bounds = _bounds(item)
            if bounds is not None:
                expectations.append(BaselineExpectation(section.table, (item.column,), "between", "warning", *bounds))
    return expectations


def _bounds(item: Field) -> tuple[float | None, float | None] | None:
    """Lowest and highest sound value of a field, where its format or unit sets one; lists of values have none."""
    if item.count > 1:
        return None
    if item.form.name == "hundredths":
        return 0, 8_640_000
    if item.form.name == "packed_time":
        return 0, 235_959
    if item.form.name == "packed_interval":
        return 0, 9_959_999
    if item.form.name == "hfp":
        return 0, None
    if item.unit == "%" and item.form.name == "uint":
        return 0, 100_000
    return None
