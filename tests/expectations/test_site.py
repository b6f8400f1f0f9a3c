"""The data-quality site opens with no network and shows what a planner needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urldefrag

from lxml import html

from expectations.chart import Interval, busy_chart
from expectations.quality import run
from expectations.result import QualityResult


def remote_addresses(page: bytes) -> list[str]:
    """Addresses on other hosts that a page loads or links to."""
    values = html.fromstring(page).xpath("//@src | //@href | //@srcset | //@data | //@action | //@poster")
    return [value for value in values if re.match(r"\s*(https?:)?//", value, re.IGNORECASE)]


def test_no_page_or_style_sheet_refers_to_another_host(spoiled: QualityResult) -> None:
    site = spoiled.report.parent
    pages = sorted(site.rglob("*.html"))
    assert [page.name for page in pages] == ["index.html", "suites.html"]
    for page in pages:
        assert remote_addresses(page.read_bytes()) == [], page
        assert not html.fromstring(page.read_bytes()).xpath("//script"), page
    for sheet in [*site.rglob("*.css"), *pages]:
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text()), sheet


def test_names_from_files_and_records_are_text_on_every_page(changed: Callable[..., Path], tmp_path: Path) -> None:
    hostile = "bad<svg onload=alert(4)><script>alert(5)</script>&\"'"
    quoted = hostile.replace("'", "''")
    warehouse = changed(
        f"update meta.ledger set path = '/landing/{quoted}', status = 'message', message = '{quoted}'",
        f"update marts.dim_interval set system_id = '{quoted}', interval_s = 100 where smf_sid = 'SHRD'",
        f"update marts.fct_interval_utilization set system_id = '{quoted}', cpu_busy_pct = 104 where smf_sid = 'SHRD'",
    )
    result = run(warehouse, tmp_path / "quality")
    for page in sorted(result.report.parent.rglob("*.html")):
        document = html.fromstring(page.read_bytes())
        assert hostile in document.text_content(), page
        assert not document.xpath("//script | //style | //*[@style] | //@*[starts-with(name(), 'on')]"), page


def test_every_link_of_the_site_leads_to_a_file_of_it(spoiled: QualityResult) -> None:
    site = spoiled.report.parent
    for page in site.rglob("*.html"):
        links = html.fromstring(page.read_bytes()).xpath("//@href")
        for link in (link for link in links if "#/" not in link):
            address = urldefrag(unquote(link))
            assert (page.parent / address.url).is_file(), (page, link)
            anchors = html.fromstring((page.parent / address.url).read_bytes()).xpath("//@id")
            assert address.fragment in ("", *anchors), (page, link)


def test_every_page_has_a_way_back_to_the_summary_and_to_the_planners_page(spoiled: QualityResult) -> None:
    site = spoiled.report.parent
    for page in site.rglob("*.html"):
        links = html.fromstring(page.read_bytes()).xpath("//nav[@class='site']/a/@href")
        assert (page.parent / links[2]).resolve() == (site / "index.html").resolve(), page
        assert (page.parent / urldefrag(links[1]).url).resolve() == site.parent.resolve(), page


def test_the_front_page_shows_verdict_counts_charts_and_files(spoiled: QualityResult) -> None:
    page = html.fromstring(spoiled.report.read_bytes())
    assert page.xpath("string(//h1)") == "Not fit for use"
    assert page.xpath("//ul[@class='tally']/li[1]/b/text()") == ["9"]
    assert {text.strip() for text in page.xpath("//figcaption/b/text()")} == {"LPA", "LPB", "SHRD"}
    assert "day.smf" in page.text_content()
    assert "/landing" not in page.text_content()
    marked = page.xpath("//figure[figcaption/b='LPB']//*[@class='suspect']")
    assert len(marked) == 2


def test_what_is_said_of_a_file_stands_whole_below_it(spoiled: QualityResult) -> None:
    page = html.fromstring(spoiled.report.read_bytes())
    (said,) = page.xpath("//tr[@class='said']/td")
    columns = page.xpath("//section[h2='Files']//th/text()")
    assert said.text == "no data in range"
    assert int(said.get("colspan")) == len(columns)
    assert "message" not in columns
    assert page.xpath("//tr[@class='spoken']/td[1]/text()") == ["day.smf"]


def test_a_title_goes_on_a_sentence_without_spoiling_abbreviations(spoiled: QualityResult) -> None:
    page = html.fromstring(spoiled.report.read_bytes()).text_content()
    assert "Expected: CPU of the service classes" in page
    assert "Expected: a measured point appears once" in page


def test_the_chart_breaks_its_line_at_holes_and_escapes_labels() -> None:
    intervals = [Interval("<a>", 10, False), Interval("b", 20, True), Interval("c", 30, False, suspect=True)]
    svg = html.fromstring(busy_chart(intervals, "Busy & more"))
    assert len(svg.xpath("//polyline")) == 2
    assert len(svg.xpath("//circle[@class='suspect']")) == 1
    assert "<a>: 10.00 %" in svg.xpath("//title/text()")
    assert busy_chart([], "nothing") == ""
