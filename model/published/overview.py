"""What is known of every reference system, and how much of it Etalon can reproduce from records."""

from dataclasses import dataclass
from functools import cache

from model.published import catalogue
from model.published.catalogue import Figure, System


@dataclass(frozen=True, slots=True)
class Overview:
    """A reference system in a line.

    `values` counts its printed numbers and `reproducible` those of them that a rule derives from rendered records,
    `statements` counts claims and words. A system of which nothing numeric is published has none.
    """

    system: str
    title: str
    study: str
    class_: str
    hardware: str
    varied: str
    values: int
    statements: int
    reproducible: int


@cache
def overview() -> tuple[Overview, ...]:
    """Every reference system, in the order of their names."""
    return tuple(_overview(catalogue.system(name)) for name in catalogue.systems())


def _overview(system: System) -> Overview:
    values = [figure for figure in system.figures if figure.number is not None and figure.kind != "statement"]
    return Overview(
        system=system.id,
        title=system.title,
        study=system.study,
        class_=system.class_,
        hardware=system.hardware,
        varied=system.varied,
        values=len(values),
        statements=len(system.figures) - len(values),
        reproducible=sum(_has_rule(system, figure) for figure in values),
    )


def _has_rule(system: System, figure: Figure) -> bool:
    if system.lab is None:
        return False
    plan, conditions = system.lab, figure.conditions
    selectors = [rule.selector for rules in (plan.values, plan.derived, plan.contradictions) for rule in rules]
    return any(selector.selects(figure.table, conditions, figure.metric, figure.unit) for selector in selectors)
