"""Rules that tie printed figures to the marts: every value of every numeric system has one that can be applied."""

import pytest

from model.published import catalogue
from model.published.catalogue import contradiction, derived_rule, target, targets_by_writer
from model.published.rules import RuleError, fill
from model.studies.reproduction.verdicts import named

NUMERIC = [name for name in catalogue.systems() if catalogue.system(name).class_ == "numeric"]


def test_all_published_systems_are_listed_and_numeric_ones_can_be_reproduced():
    listed = [catalogue.system(name) for name in catalogue.systems()]
    assert len(listed) == 68
    assert all(about.reproducible == len(about.values) for about in listed if about.class_ == "numeric")
    assert [about.id for about in listed if about.class_ == "chart"] == [
        "cs113-ftp-security",
        "ims10-pra-preopen-scaling",
    ]


@pytest.mark.parametrize("name", NUMERIC)
def test_every_printed_value_has_a_place_in_the_marts_or_follows_from_figures_that_exist(name):
    system = catalogue.system(name)
    for figure in system.figures:
        derived, doubt = derived_rule(system, figure), contradiction(system, figure)
        for rule in (derived, doubt):
            for operand in rule.operands if rule is not None else ():
                other = catalogue.system(operand.system) if operand.system else system
                if not operand.value and not operand.point:
                    assert named(other, figure, operand).number is not None
        if figure.number is not None and figure.kind != "statement" and derived is None and doubt is None:
            assert target(system, figure) is not None, figure


def test_a_contradicted_figure_is_not_given_to_what_writes_records():
    system = catalogue.system("ims10-base-ff-smq")
    targets = targets_by_writer(system)["IMS V10", "I10Q", "smf74_4"]
    written = {t.figure.metric for t in targets if t.subject == "IMSLOGMSGQ"}
    assert "cf_sync_pct" not in written
    assert written == {"access_per_s", "sync_pct", "sync_service_us", "async_service_us"}


def test_a_template_is_filled_from_the_condition_and_refused_when_it_lacks_a_key():
    assert fill("report_class {class}", {"class": "RCTG"}, "AVG") == "report_class RCTG"
    assert fill("{metric}", {}, "AVG") == "AVG"
    with pytest.raises(RuleError, match="no 'figure'"):
        fill("{figure}", {}, "AVG")
