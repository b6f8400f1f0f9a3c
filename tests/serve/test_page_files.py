"""The files of the planner's page: nothing from elsewhere, and licences beside what is vendored."""

import re

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
