"""Measured runs side by side: which intervals make a run, what differs, and whether it is better.

A run is a system and a set of its intervals. Every metric of a run is the ratio of sums over its intervals, from the
numerators and denominators the marts give; no metric is defined here.
"""

from model.studies.comparison.runs import ComparisonError, Figure, Interval, Measure, Metric, Run, ratio_of_sums
from model.studies.comparison.selection import Query, Stretch, choose, parse, steady_stretch
from model.studies.comparison.verdicts import Band, Comparison, Row, Side, compare

__all__ = [
    "Band",
    "Comparison",
    "ComparisonError",
    "Figure",
    "Interval",
    "Measure",
    "Metric",
    "Query",
    "Row",
    "Run",
    "Side",
    "Stretch",
    "choose",
    "compare",
    "parse",
    "ratio_of_sums",
    "steady_stretch",
]
