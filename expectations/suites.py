"""The rules as Great Expectations suites: validates frames in memory and writes the detail pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from expectations.frame import Frame
from expectations.result import Finding, QualityError
from expectations.rules import Rule

_EXAMPLES = 20


def validate(frames: Sequence[Frame], rules: Iterable[Rule], pages: Path) -> list[Finding]:
    """Findings of every rule on its frame; detail pages under `pages`, one per frame.

    QualityError if a rule names a frame or column that there is not, or Great Expectations cannot evaluate it.
    """
    rules = tuple(rules)
    _check_names(frames, rules)
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    _one_site(context, pages)
    source = context.data_sources.add_pandas("warehouse")
    by_subject: dict[str, list[Rule]] = {}
    for rule in rules:
        by_subject.setdefault(rule.subject, []).append(rule)
    findings: list[Finding] = []
    for frame in frames:
        wanted = by_subject.get(frame.name)
        if not wanted:
            continue
        batch = source.add_dataframe_asset(frame.name).add_batch_definition_whole_dataframe("all")
        suite = context.suites.add(gx.ExpectationSuite(name=frame.name, meta={"about": frame.title}))
        for rule in wanted:
            suite.add_expectation(_expectation(rule, frame))
        definition = gx.ValidationDefinition(name=frame.name, data=batch, suite=suite)
        form = {
            "result_format": "COMPLETE",
            "unexpected_index_column_names": list(frame.labels),
            "partial_unexpected_count": _EXAMPLES,
            "return_unexpected_index_query": False,
        }
        checkpoint = gx.Checkpoint(
            name=frame.name,
            validation_definitions=[context.validation_definitions.add(definition)],
            result_format=form,
            actions=[],
        )
        outcome = context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": frame.rows})
        findings += _findings(outcome, frame, {rule.name: rule for rule in wanted})
    context.build_data_docs()
    return findings


def _check_names(frames: Sequence[Frame], rules: Iterable[Rule]) -> None:
    columns = {frame.name: [str(column) for column in frame.rows.columns] for frame in frames}
    for rule in rules:
        if rule.subject not in columns:
            raise QualityError(f"rule {rule.name}: no frame {rule.subject!r}; there are {', '.join(sorted(columns))}")
        if rule.column not in columns[rule.subject]:
            there = ", ".join(columns[rule.subject])
            raise QualityError(f"rule {rule.name}: {rule.subject} has no column {rule.column!r}; it has {there}")


def _one_site(context: Any, pages: Path) -> None:
    """Data docs go to `pages` only, not to the temporary folder an ephemeral context brings along."""
    temporary = context.list_data_docs_sites()["local_site"]["store_backend"]["base_directory"]
    context.delete_data_docs_site("local_site")
    shutil.rmtree(temporary, ignore_errors=True)
    site = {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(pages)},
    }
    context.add_data_docs_site(site_name="quality", site_config=site)


def _expectation(rule: Rule, frame: Frame) -> Any:
    import great_expectations.expectations as gxe

    common: dict[str, Any] = {
        "column": rule.column,
        "severity": rule.severity,
        "meta": {"rule": rule.name, "notes": [rule.title, rule.advice]},
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
    found = []
    for result in next(iter(outcome.run_results.values())).results:
        rule = rules[result.expectation_config.meta["rule"]]
        if result.exception_info.get("raised_exception"):
            raise QualityError(f"rule {rule.name} on {frame.name}: {result.exception_info['exception_message']}")
        detail = result.result
        examples = detail.get("unexpected_index_list") or []
        found.append(
            Finding(
                rule=rule.name,
                title=rule.title,
                subject=frame.name,
                severity=rule.severity,
                success=bool(result.success),
                checked=int(detail.get("element_count", 0)),
                unexpected=int(detail.get("unexpected_count", 0)),
                advice=rule.advice,
                examples=tuple(_plain(example) for example in examples[:_EXAMPLES]),
                places=_places(frame, examples) if rule.severity == "critical" else frozenset(),
            )
        )
    return found


def _places(frame: Frame, examples: Sequence[dict[str, Any]]) -> frozenset[tuple[str, str]]:
    """Systems and intervals of rows; none where the frame has none."""
    if not {"system", "interval"} <= {*frame.labels}:
        return frozenset()
    return frozenset((str(example["system"]), str(example["interval"])) for example in examples)


def _plain(example: dict[str, Any]) -> dict[str, Any]:
    """Values as Python's own, so that they can be printed and written as JSON."""
    return {name: value.item() if hasattr(value, "item") else value for name, value in example.items()}
