"""The rules as Great Expectations suites, validated on frames in memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from expectations.frame import Frame
from expectations.result import MOST_EXAMPLES, Finding, QualityError
from expectations.rules import Rule


def validate(frames: Sequence[Frame], rules: Iterable[Rule]) -> list[Finding]:
    """Findings of every rule on its frame.

    QualityError if a rule names a frame or column that there is not, or Great Expectations cannot evaluate it.
    """
    rules = tuple(rules)
    _check_names(frames, rules)
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    _remove_default_site(context)
    source = context.data_sources.add_pandas("warehouse")
    by_subject: dict[str, dict[str, Rule]] = {}
    for rule in rules:
        by_subject.setdefault(rule.subject, {})[rule.name] = rule
    findings: list[Finding] = []
    for frame in frames:
        wanted = by_subject.get(frame.name)
        if not wanted:
            continue
        batches = source.add_dataframe_asset(frame.name).add_batch_definition_whole_dataframe("all")
        expectations = [_expectation(rule, frame) for rule in wanted.values()]
        suite = gx.ExpectationSuite(name=frame.name, expectations=expectations)
        form = {
            "result_format": "COMPLETE",
            "unexpected_index_column_names": list(frame.labels),
            "partial_unexpected_count": MOST_EXAMPLES,
            "return_unexpected_index_query": False,
        }
        outcome = batches.get_batch({"dataframe": frame.rows}).validate(suite, result_format=form)
        findings += _findings(outcome, frame, wanted)
    return findings


def _check_names(frames: Sequence[Frame], rules: Iterable[Rule]) -> None:
    columns = {frame.name: [str(column) for column in frame.rows.columns] for frame in frames}
    for rule in rules:
        if rule.subject not in columns:
            raise QualityError(f"rule {rule.name}: no frame {rule.subject!r}; there are {', '.join(sorted(columns))}")
        if rule.column not in columns[rule.subject]:
            there = ", ".join(columns[rule.subject])
            raise QualityError(f"rule {rule.name}: {rule.subject} has no column {rule.column!r}; it has {there}")


def _remove_default_site(context: Any) -> None:
    """Remove the temporary folder that an ephemeral context makes for pages of its own."""
    temporary = context.list_data_docs_sites()["local_site"]["store_backend"]["base_directory"]
    shutil.rmtree(temporary, ignore_errors=True)


def _expectation(rule: Rule, frame: Frame) -> Any:
    import great_expectations.expectations as gxe

    common: dict[str, Any] = {
        "column": rule.column,
        "severity": rule.severity,
        "meta": {"rule": rule.name},
    }
    if rule.kind == "between":
        return gxe.ExpectColumnValuesToBeBetween(min_value=rule.low, max_value=rule.high, **common)
    if rule.kind == "in_set":
        return gxe.ExpectColumnValuesToBeInSet(value_set=list(rule.values), **common)
    if rule.kind == "not_null":
        return gxe.ExpectColumnValuesToNotBeNull(**common)
    if rule.kind == "unique":
        return gxe.ExpectColumnValuesToBeUnique(**common)
    raise QualityError(f"rule {rule.name} on {frame.name}: unknown kind {rule.kind!r}")


def _findings(outcome: Any, frame: Frame, rules: dict[str, Rule]) -> list[Finding]:
    findings = []
    for result in outcome.results:
        rule = rules[result.expectation_config.meta["rule"]]
        if result.exception_info.get("raised_exception"):
            raise QualityError(f"rule {rule.name} on {frame.name}: {result.exception_info['exception_message']}")
        detail = result.result
        examples = detail.get("unexpected_index_list") or []
        findings.append(
            Finding(
                rule=rule.name,
                title=rule.title,
                subject=frame.name,
                severity=rule.severity,
                success=bool(result.success),
                checked=int(detail.get("element_count", 0)),
                unexpected=int(detail.get("unexpected_count", 0)),
                advice=rule.advice,
                examples=tuple(_plain(example) for example in examples[:MOST_EXAMPLES]),
                places=_places(frame, examples) if rule.severity == "critical" else frozenset(),
            )
        )
    return findings


def _places(frame: Frame, examples: Sequence[dict[str, Any]]) -> frozenset[tuple[str, str]]:
    """Systems and intervals of rows; none where the frame has none."""
    if not {"system", "interval"} <= {*frame.labels}:
        return frozenset()
    return frozenset((str(example["system"]), str(example["interval"])) for example in examples)


def _plain(example: dict[str, Any]) -> dict[str, Any]:
    """Values as Python's own, so that they can be printed and written as JSON."""
    return {name: value.item() if hasattr(value, "item") else value for name, value in example.items()}
