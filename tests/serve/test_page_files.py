"""The files of the planner's page: no other host, licences of vendored files, names and units of figures."""

import re

from pipelines import metrics
from pipelines.text import unit_sign
from tests.shared import ROOT

PAGE = ROOT / "serve" / "page"


def test_no_file_of_the_page_names_another_host():
    for path in (path for path in PAGE.rglob("*") if path.is_file() and path.parent.name != "vendor"):
        hosts = set(re.findall(r"https?://[^\s\"'`)$]+", path.read_text(encoding="utf-8")))
        assert hosts <= {"http://www.w3.org/2000/svg"}, path.name


def test_what_is_vendored_says_its_licence():
    names = {path.name for path in (PAGE / "vendor").iterdir()}
    licences = {"uPlot.LICENSE": "MIT", "swagger-ui.LICENSE": "Apache License"}
    files = {"uPlot.esm.js", "uPlot.css", "swagger-ui-bundle.js", "swagger-ui.css"}
    assert files | {*licences, "swagger-ui.NOTICE", "swagger-ui-bundle.js.LICENSE.txt"} == names
    for name, licence in licences.items():
        assert licence in (PAGE / "vendor" / name).read_text(encoding="utf-8")


def test_a_figure_has_the_label_of_the_registry():
    words = (PAGE / "words.js").read_text(encoding="utf-8")
    named = dict(re.findall(r"^  (\w+): \"(.+)\",$", words.partition("const ENDINGS")[0], re.MULTILINE))
    registry = {name: metric.label for name, metric in metrics.registry().items() if metric.label and not metric.about}
    shared = named.keys() & registry.keys()
    assert {"etr_tps", "itr_tps", "cpu_busy_pct", "cpu_us_per_tran", "ziip_us_per_tran"} <= shared
    assert {name: named[name] for name in shared} == {name: registry[name] for name in shared}


def test_a_unit_has_the_sign_of_the_command_line():
    assert r'.replace(/\bpct\b/g, "%").replace(/\bus\b/g, "µs")' in (PAGE / "words.js").read_text(encoding="utf-8")
    signs = {unit_sign(metric.unit) for metric in metrics.registry().values() if metric.unit} | {"MSU", "points"}
    views = [view.read_text(encoding="utf-8") for view in (PAGE / "views").glob("*.js")]
    shown = {sign for view in views for sign in re.findall(r'\bunit: "([^"]+)"', view)}
    assert shown >= {"tran/s", "µs/tran", "%", "ms"}
    assert shown - signs == set()
