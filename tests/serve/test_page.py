"""The planner's page in a real browser: its views, journeys through them, and nothing that keeps anyone out."""

import json
import re
import shutil
from pathlib import Path

import pytest

from expectations.pages import Chart, front_page, stylesheet, suites_page
from expectations.result import Finding, QualityResult
from model.capacity import bundle as bundles
from model.published.model import fit
from model.published.observations import Observation
from pipelines import asking
from pipelines.home import Home
from serve.client import Client

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VIEWS = ("overview", "cpc", "lpar", "what-if", "headroom", "compare", "r4ha", "alerts", "saved", "model", "data")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    """The installed browser, driven; skips where there is none."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no browser found: install chromium to run the page's tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def address(recorded_home):
    """A running service over two days of an LPAR and a system of measured points."""
    with asking.service(Home(recorded_home)) as running:
        yield running


class Seen:
    """A page of the service, with what its console and its requests said."""

    def __init__(self, browser, address):
        self.page = browser.new_page()
        self.page.set_default_timeout(60_000)
        self.address, self.faults = address, []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("requestfailed", self._failed)

    def _failed(self, request):
        """Note a request that failed, unless the browser itself ended it because the page was left."""
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"{request.url}: {request.failure}")

    def go(self, view):
        """Open a view and wait until it has been drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/#/{view}")
        self.page.wait_for_selector('body[data-ready="yes"]')
        return self.page

    def text(self, selector="main"):
        return self.page.inner_text(selector)


@pytest.fixture
def seen(browser, address):
    one = Seen(browser, address)
    yield one
    one.page.close()
    assert not [fault for fault in one.faults if "ResizeObserver" not in fault]


def barriers(page):
    """What axe-core finds on a page."""
    from axe_playwright_python.sync_playwright import Axe

    rules = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in rules]


def test_the_page_of_the_api_asks_its_examples_and_reaches_no_other_host(seen):
    asked, said = [], []
    seen.page.on("request", lambda request: asked.append(request.url))
    seen.page.on("console", lambda message: said.append(message.text))
    seen.page.goto(f"{seen.address}/api")
    seen.page.get_by_text("/v1/predict").first.click()
    seen.page.get_by_role("button", name="Try it out").click()
    with seen.page.expect_response("**/v1/predict") as answer:
        seen.page.get_by_role("button", name="Execute").click()
    assert answer.value.ok and answer.value.json()["outputs"]
    assert all(url.startswith((seen.address, "data:")) for url in asked)
    assert not said


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_keeps_anyone_out_in_light_in_dark_or_on_a_phone(seen, view):
    page = seen.go(f"{view}?system=PRDA")
    assert not {"null", "undefined", "NaN"} & set(seen.text().split())
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert not barriers(page), scheme
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if view == "what-if":
        headline, form = (page.locator(f"main {one}").first.bounding_box()["y"] for one in (".headline", "form.ask"))
        assert headline < form


def test_the_overview_leads_to_an_lpar_its_classes_and_the_records_behind(seen):
    page = seen.go("overview")
    assert "PRDA" in seen.text()
    page.get_by_role("link", name="PRDA", exact=True).first.click()
    page.wait_for_selector("#view-lpar .plot canvas")
    page.get_by_role("link", name="HIGH").click()
    page.wait_for_selector("text=Transaction rate of HIGH")
    assert "class=HIGH" in page.url
    page.get_by_label("Local start").fill("2026-09-07T00:00")
    page.get_by_role("button", name="Show").last.click()
    page.wait_for_selector("text=SMF 70.1")


def test_a_cpc_stacks_its_lpars_up_to_the_physical_cps_and_sets_r4ha_against_its_limits(seen):
    page = seen.go("lpar?system=PRDA")
    page.get_by_role("link", name="3906-704 CEC1").click()
    page.wait_for_selector("#view-cpc .plot canvas")
    assert seen.text("h1") == "CPC: 3906-704 CEC1"
    assert "23:00, 2.96 of 8.00 physical CPs were busy (37.0 %); headroom: 5.04 CPs" in seen.text("#headline")
    stacked = page.locator("figure", has_text="Physical CPs by LPAR").locator(".u-legend").inner_text()
    assert all(name in stacked for name in ("PRDA", "PRDB", "physical CPs"))
    limits = page.locator("figure", has_text="R4HA against").locator(".u-legend").inner_text()
    assert all(name in limits for name in ("R4HA of PRDA", "defined capacity of PRDB", "limit of group GROUP1"))
    rows = page.locator("section[aria-label^='LPARs of the last 24 hours'] tbody tr").all_inner_texts()
    assert ["own records" in row for row in rows] == [True, False]
    assert "defined: 120 MSU" in rows[1]
    page.get_by_role("link", name="LPAR", exact=True).click()
    page.wait_for_selector("#view-lpar")


def test_a_question_stands_in_its_address_and_comes_back_from_it(seen):
    page = seen.go("what-if?system=PRDA")
    page.get_by_label("Growth of all classes, %", exact=True).fill("40")
    page.wait_for_url("**growth_pct=40**")
    page.wait_for_selector(".answers:not([aria-busy])")
    first = seen.text("#headline")
    assert "% busy" in first
    assert "limited by" in seen.text("#verdict")
    seen.go(page.url.split("#/")[1])
    assert seen.text("#headline") == first


def test_a_key_of_an_address_without_a_field_of_its_own_is_asked_all_the_same(seen):
    page = seen.go("what-if?system=PRDA&rate.HIGH=100")
    assert page.get_by_label("rate.HIGH", exact=True).input_value() == "100"
    row = page.locator("main section[aria-label^='Every figure'] tbody tr", has_text="(ETR), HIGH")
    assert row.locator("td").nth(2).inner_text() == "100.0"
    assert "rate.HIGH=100" in page.url
    seen.go("what-if?system=PRDA&nonsense=1")
    assert "nonsense" in seen.text(".answers .refusal")


@pytest.mark.parametrize(
    ("question", "said"),
    [("growth_pct=40", "% busy"), ("growth_pct=900", "% of the engines"), ("cap_engines=0.5", ") and gets ")],
)
def test_the_headline_has_the_busy_of_the_table_below(seen, question, said):
    page = seen.go(f"what-if?system=PRDA&{question}")
    cells = page.locator("main section[aria-label^='Busy by resource'] tbody tr", has_text="general-purpose CPs")
    _, _, asked, interval, *_ = cells.first.locator("td").all_inner_texts()
    headline = seen.text("#headline")
    assert said in headline and interval in headline
    assert float(re.search(r"([\d.]+) %", headline)[1]) == pytest.approx(float(asked), rel=1e-3)


def test_the_baseline_is_a_recorded_peak_with_its_name_beside_the_scenario(seen):
    page = seen.go("what-if?system=PRDA&growth_pct=20")
    baseline = seen.text("#baseline")
    assert re.search(r"Baseline: \w{3} \d+ Sep( 2026)? \d\d:\d\d", baseline) and "the recorded peak" in baseline
    rows = page.locator("section[aria-label=Answer] tbody tr").all_inner_texts()
    assert rows[0].startswith("CPU busy")
    assert page.locator("form.ask details[open]").count() == 0


def test_lpars_and_caps_in_msu_are_changed_by_fields(seen):
    page = seen.go("what-if?system=PRDA")
    page.get_by_text("LPARs and classes that move").click()
    with page.expect_request("**/v1/compare") as asked:
        page.get_by_label("LPAR to add to the CPC").fill("NEW1:2:100:1.5")
    assert asked.value.post_data_json["b"]["add_lpar"] == "NEW1:2:100:1.5"
    assert "add_lpar=NEW1" in page.url


def test_responses_are_scaled_by_workload_and_a_mix_has_no_curve_over_its_rate(seen):
    def mixed(route):
        found = route.fetch().json()
        for system in found["systems"]:
            if system["system"] == "PRDA":
                system["workloads"] = {"HIGH": "CICS", "LOW": "BATCH"}
        route.fulfill(json=found)

    seen.page.route("**/v1/systems", mixed)
    page = seen.go("what-if?system=PRDA")
    bars = page.locator("section[aria-label='Response by class'] .bar")
    ends = bars.evaluate_all("""bars => bars.map((bar) => {
      const parts = [...bar.querySelectorAll("rect")];
      return parts.reduce((sum, one) => sum + parseFloat(one.getAttribute("width")), 0);
    })""")
    assert max(ends[:2]) == pytest.approx(100) and max(ends[2:]) == pytest.approx(100)
    curve = page.locator("section[aria-label='Load curve']")
    assert "CPU busy against growth of all classes" in curve.inner_text()
    assert "measured" not in curve.locator(".u-legend").inner_text()
    assert "Internal transaction rate (ITR)" not in curve.locator("select").first.inner_text()


def test_charts_of_answers_of_before_are_let_go(seen):
    # The number of charts that are watched, on the root element.
    seen.page.add_init_script("""
        let watched = 0;
        const count = (more) => { document.documentElement.dataset.charts = watched += more; };
        window.ResizeObserver = class extends ResizeObserver {
          observe(...given) { count(1); super.observe(...given); }
          disconnect() { count(-1); super.disconnect(); }
        };
    """)
    page = seen.go("what-if?system=PRDA")
    for growth_pct in (10, 20, 30):
        page.get_by_label("Growth of all classes, %", exact=True).fill(str(growth_pct))
        page.wait_for_url(f"**growth_pct={growth_pct}**")
        page.wait_for_selector(".answers:not([aria-busy])")
    page.wait_for_selector('html[data-charts="1"]')


def test_a_load_fits_only_within_all_targets(seen):
    seen.go("what-if?system=PRDA")
    assert seen.text("#verdict").startswith("Fits") and "headroom" in seen.text("#headline")
    seen.go("what-if?system=PRDA&max_response_ms=0.01")
    assert seen.text("#verdict").startswith("Does not fit") and "response" in seen.text("#verdict")
    seen.go("what-if?system=PRDA&max_response_ms=LOW=0.01")
    assert "90 % busy and 0.01 ms of LOW" in seen.text("#verdict")
    seen.go("what-if?system=PRDA&max_response_ms=LO=0.01")
    assert seen.text("#verdict").startswith("Fullest") and "max_response_ms.LO: no class" in seen.text("#verdict")


def test_an_answer_does_not_stay_after_a_refusal(seen):
    page = seen.go("what-if?system=PRDA")
    page.get_by_label("Baseline", exact=True).fill("yesterday")
    page.wait_for_selector(".answers .refusal")
    assert "when" in seen.text(".answers")
    assert page.locator("#headline").count() == 0


def test_what_an_address_has_and_no_field_takes_is_said_and_left_out(seen):
    seen.go("what-if?system=PRDA&growth_pct=abc&max_busy_pct=80")
    said = " ".join(seen.page.locator("main > .warning").all_inner_texts())
    assert "growth_pct=abc" in said
    assert "max_busy_pct" not in said
    assert seen.page.get_by_label("Growth of all classes, %, slider").input_value() == "0"
    assert "growth_pct" not in seen.page.url


@pytest.mark.parametrize("load", ["etr_tps=4000", "cpu_busy_pct=50"])
def test_the_curve_follows_the_engines_that_are_asked(seen, load):
    page = seen.go(f"what-if?system=shop&engines=16&{load}")
    # A chart that is drawn again folds its table; by now every answer has come.
    page.wait_for_load_state("networkidle")
    page.locator("summary", has_text="Table").first.click()
    steps = page.locator("figure", has=page.locator("summary", has_text="Table")).first.locator("details tbody tr")
    steps.nth(1).wait_for(state="attached")
    cells = steps.evaluate_all("rows => rows.map(row => [...row.cells].slice(0, 2).map(cell => cell.textContent))")
    rows = [(float(rate.replace(",", "")), float(busy)) for rate, busy in cells if busy != "–"]
    rate, marker = (
        float(re.search(said, seen.text("#headline"))[1].replace(",", ""))
        for said in (r"At ([\d.,]+)", r"([\d.]+) % busy")
    )
    (_, low), (_, high) = sorted(sorted(rows, key=lambda row: abs(row[0] - rate))[:2])
    assert low <= marker <= high


def test_a_chart_saves_as_svg_and_csv_that_stand_alone(seen):
    page = seen.go("what-if?system=shop")
    with page.expect_download() as got:
        page.get_by_role("button", name="SVG of").first.click()
    picture = Path(got.value.path()).read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "measured, held out" in picture
    with page.expect_download() as got:
        page.locator("figure").get_by_role("button", name="CSV of").click()
    assert Path(got.value.path()).read_text(encoding="utf-8").startswith("transaction rate,")


def test_three_years_of_forecast_do_not_squeeze_the_history_until_all_is_asked_for(seen):
    page = seen.go("headroom?system=PRDA")

    def drawn_until() -> str:
        with page.expect_download() as svg:
            page.get_by_role("button", name="SVG of: Busy of the general-purpose engines").click()
        drawing = svg.value.path().read_text(encoding="utf-8")
        # The target is a line, although it ends far beyond what is shown.
        assert re.search(r'd="M[^"L]+L[^"]+"[^>]+stroke-dasharray', drawing)
        return re.search(r"\d to (\d{4}-\d\d-\d\d)", drawing)[1]

    first = drawn_until()
    page.locator("main .u-over").first.dblclick()
    assert "2026-09" < first < drawn_until()


def test_groups_beyond_the_colours_are_one_area_and_lines_are_told_apart_by_dashes(seen):
    def crowded(route):
        found = route.fetch().json()
        group = next(one for one in found["columns"] if one["kind"] == "class_group")
        found["columns"] += [{**group, "name": f"GROUP{i}"} for i in range(9)]
        route.fulfill(json=found)

    seen.page.route("**/history?**", crowded)
    page = seen.go("lpar?system=PRDA")
    legend = page.locator("figure", has_text="engines in use by class group").locator(".u-legend")
    assert "6 smaller groups" in legend.inner_text()
    with page.expect_download() as got:
        page.get_by_role("button", name="SVG of: General-purpose").click()
    picture = Path(got.value.path()).read_text(encoding="utf-8")
    marks = re.findall(r'stroke="(#\w+)" stroke-width="2" stroke-dasharray="([\d ]*)"/><text', picture)
    assert len(marks) == len(set(marks)) >= 3


def test_a_cap_is_asked_as_a_number_of_engines_and_the_machine_stands_above_its_lpars(seen):
    page = seen.go("what-if?system=PRDA")
    page.get_by_label("Absolute cap, engines", exact=True).fill("1.5")
    page.wait_for_url("**cap_engines=1.5**")
    page.wait_for_selector(".answers:not([aria-busy])")
    assert "share of the machine by weight or cap" in seen.text("#verdict")
    page = seen.go("overview")
    assert "CPC 3906-704 CEC1" in seen.text("main table tbody tr:first-child")


def test_the_overview_says_of_what_day_old_records_are_and_counts_time_from_today(seen):
    page = seen.go("overview")
    assert "All LPARs: the last records are of 2026-09-22" in seen.text(".attention")
    page.clock.set_fixed_time("2026-09-23T12:00:00Z")
    page.wait_for_selector("main table:not(:has([aria-busy]))")
    seen.go("overview")
    assert "the last records are of" not in seen.text()


def test_a_full_cpc_is_one_alert_with_the_time_of_its_peak_and_not_one_of_each_lpar(seen):
    def full(route):
        found = route.fetch().json()
        crossing = {"resource": "machine 3906-704 CEC1", "value": None, "lo": None, "hi": None, "already": True}
        route.fulfill(json={**found, "first": crossing, "crossings": [crossing]})

    seen.page.route("**/v1/headroom", full)
    page = seen.go("overview")
    page.wait_for_selector("section[aria-label^='CPCs and LPARs'] table:not(:has([aria-busy]))")
    alerts = [text for text in page.locator(".attention li").all_inner_texts() if "90 %" in text]
    assert len(alerts) == 1
    assert re.fullmatch(r"CPC 3906-704 CEC1 \(\w+ \d+ Sep( 2026)? 23:00\): over 90 % at the recorded peak", alerts[0])


def test_the_overview_has_peaks_with_their_time_msu_by_class_and_gaps_with_their_cause(seen):
    def night(route):
        found = route.fetch().json()
        found["night"] = {"day": "2026-09-22", "started": "2026-09-23T00:15:00Z", "ended": "2026-09-23T00:40:00Z"}
        found["night"] |= {"verdict": "fine", "files": 2, "records": 12, "errors": [], "page": "/nights/x.html"}
        route.fulfill(json=found)

    seen.page.route("**/v1/overview", night)
    page = seen.go("overview")
    assert "Last night, 2026-09-23 00:15 UTC: records of 2026-09-22, 2 files, 12 records: fine" in seen.text("#night")
    assert page.locator("#night a").get_attribute("href") == "/nights/x.html"
    row = page.locator("section[aria-label^='CPCs and LPARs'] tbody tr").last.locator("td")
    assert [row.nth(i).inner_text().split()[0] for i in (2, 3, 4)] == ["90.0", "100", "49.0"]
    assert "Mon 7 Sep" in row.nth(4).inner_text() and "23:00" in row.nth(4).inner_text()
    classes = page.locator("section[aria-label^='MSU by service class']")
    assert "PRDA 93.2 %" in classes.inner_text()
    assert "HIGH" in classes.locator("tbody tr").first.inner_text()
    gaps = page.locator("section[aria-label^='Data gaps'] tbody tr").all_inner_texts()
    assert "down: IPL at 06:40" in gaps[0] and "SMF lost 1,234 records" in gaps[1]


def test_an_lpar_shows_starved_work_first_and_what_changed_at_a_date(seen):
    def starved(route):
        found = route.fetch().json()
        (one,) = found["classes"]
        indices = {"A": 0.4, "B": 2.5}
        found["classes"] = [{**one, "class_name": name, "performance_index": pi} for name, pi in indices.items()]
        route.fulfill(json=found)

    seen.page.route("**/PRDA/classes?**", starved)
    page = seen.go("lpar?system=PRDA&shift=prime")
    rows = page.locator("section[aria-label^='Service classes'] table").first.locator("tbody tr")
    assert [row.split("\t")[0] for row in rows.all_inner_texts()] == ["B", "A"]
    assert page.get_by_label("Shift").input_value() == "prime"
    section = page.locator("section[aria-label='Before and after a date']")
    section.get_by_label("Date of the change").fill("2026-09-14")
    section.get_by_role("button", name="Compare").click()
    section.locator("tbody tr", has_text="CPU per transaction, HIGH").wait_for()
    assert "change=2026-09-14" in page.url
    section.get_by_label("Date of the change").fill("2027-01-01")
    section.get_by_role("button", name="Compare").click()
    section.get_by_role("alert").wait_for()
    assert "should be from 2026-09-08 to 2026-09-22" in section.inner_text()


def test_a_printed_chart_is_as_wide_as_the_paper(seen):
    page = seen.go("lpar?system=PRDA")
    page.wait_for_selector(".plot canvas")
    page.emulate_media(media="print")
    try:
        widths = page.evaluate("""() => {
          const figure = document.querySelector("main figure");
          figure.style.width = "500px";
          const drawn = [...figure.querySelectorAll(".uplot, .u-wrap, canvas")];
          return drawn.map((one) => one.getBoundingClientRect().width);
        }""")
        assert widths and all(width == 500 for width in widths)
    finally:
        page.emulate_media(media="screen")


def test_files_with_the_same_fault_are_one_row_of_the_data_view(seen):
    def faulty(route):
        found = route.fetch().json()
        file = {"kind": "smf", "bytes": 10, "records": 1, "loaded_at": "2026-09-22T01:00:00", "decoded": 0}
        bad = {**file, "status": "quarantined", "quarantined": 1}
        found["files"] = [{**bad, "file": f"day{i}.smf", "message": f"day{i}.smf: cut short"} for i in range(7)]
        found["files"].append({**file, "file": "good.smf", "status": "loaded", "quarantined": 0, "message": None})
        route.fulfill(json=found)

    seen.page.route("**/v1/files", faulty)
    page = seen.go("data")
    rows = page.locator("section[aria-label='Files with faults'] tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["7"]
    assert "day0.smf, day1.smf, day2.smf, day3.smf, day4.smf and 2 more" in rows[0]
    assert page.locator("section[aria-label='Files loaded'] tbody tr").count() == 1


def test_the_model_shows_what_was_held_out_beside_the_best_naive_answer(seen):
    seen.go("model?system=PRDA")
    row = seen.text("main section[aria-label^='Errors of'] tbody tr")
    assert row.split("\t") == [
        "later days",
        "CPU busy",
        "40",
        "1.25",
        "4.00",
        "85.0 %",
        "2.00",
        "same hour last week",
        "3.50",
    ]


def test_the_model_shows_its_versions_and_the_errors_of_the_one_that_is_chosen(seen):
    page = seen.go("model?system=PRDA")
    rows = page.locator("main section[aria-label=Versions] tbody tr")
    data = "2026-09-23 02:00\t2026-09-07 to 2026-09-22"
    assert rows.all_inner_texts() == [
        f"test/2\t{data}\t1.00\t7.90\twas in service; PRDA is kept from test/1: it was nearer",
        f"test/1\t{data}\t1.25\t7.90\tin service; PRDA passes",
    ]
    assert "largest response error, later days, %" in seen.text("main section[aria-label=Versions] thead")
    page.get_by_role("link", name="test/2").click()
    page.wait_for_selector("text=Errors of test/2 on held-out data")


def test_measured_points_stay_with_the_curve_of_today_where_engines_are_changed(seen):
    page = seen.go("what-if?system=PRDA&engines=6")
    page.wait_for_selector("text=measured, as today")
    assert "predicted, as today" in page.inner_text(".u-legend")
    seen.go("what-if?system=PRDA&growth_pct=20")
    assert "as today" not in page.inner_text(".u-legend")


def test_a_short_history_says_what_a_comparison_takes(seen):
    def shortened(route):
        found = route.fetch().json()
        for one in found["systems"]:
            one["first_start_local"] = one["last_start_local"][:10] + "T00:00:00"
        route.fulfill(json=found)

    seen.page.route("**/v1/overview", shortened)
    seen.go("compare?system=PRDA")
    assert "takes 8 days; PRDA has 1 so far" in seen.text()


def test_the_overview_says_what_changed_in_the_last_week_beyond_the_scatter_of_days(seen):
    def changed(route):
        one = {"metric": "rate_tps", "class_name": "CICSHI", "unit": "tran/s", "lo_pct": 1.0, "hi_pct": 9.0}
        changes = [(5.0, True), (0.5, True), (9.0, False)]
        one |= {"a": 100.0, "b": 105.0}
        found = [{**one, "change_pct": pct, "significant": significant} for pct, significant in changes]
        route.fulfill(json={"system": "PRDA", "changes": found})

    seen.page.route("**/PRDA/periods?**", changed)
    page = seen.go("overview")
    rows = page.locator("section", has_text="What changed in the last week").locator("tbody tr")
    rows.first.wait_for()
    assert rows.all_inner_texts() == ["PRDA\tTransaction rate, CICSHI\t+5.0 %\t1.0 … 9.0\t100.0\t105.0\ttran/s"]
    with page.expect_download() as got:
        page.get_by_role("button", name="CSV of: What changed").click()
    assert 'PRDA,"Transaction rate, CICSHI",5,' in Path(got.value.path()).read_text(encoding="utf-8")


def test_two_periods_and_two_questions_are_compared(seen):
    page = seen.go("compare?system=PRDA&b=growth_pct%3D20")
    page.wait_for_selector("text=Fullest in A")
    assert "+20 %" in seen.text()


def test_changes_of_a_compared_question_are_added_and_left_out(seen):
    page = seen.go("compare?system=PRDA&b=growth_pct%3D20")
    form = page.locator("form[aria-label='Two questions']")
    for _ in range(2):
        page.get_by_label("Add a change to B").select_option(label="General-purpose CPs")
        page.keyboard.type("7")
    form.get_by_label("Leave out Growth of all classes, %").click()
    assert barriers(page) == []
    with page.expect_response("**/v1/compare") as asked:
        form.locator("button").last.click()
    assert asked.value.json()["b"]["at"]["engines"] == 7
    assert "growth_pct" not in asked.value.json()["b"]["at"]
    assert "b=engines%3D7" in page.url


def test_what_an_address_compares_is_asked_as_it_is_written(seen):
    def keep(request):
        if request.url.endswith("/v1/compare"):
            asked.append(request.post_data_json)

    seen.page.on("request", keep)
    for b in ({"cap": "on"}, {"cap": 2}, {"engines": "abc"}):
        asked = []
        seen.go("compare?system=PRDA&b=" + "".join(f"{key}%3D{value}" for key, value in b.items()))
        assert [one["b"] for one in asked] == [b]


def test_an_answer_that_comes_late_does_not_replace_the_next(seen):
    page, held = seen.go("compare?system=PRDA&b=growth_pct%3D1"), []
    page.wait_for_selector("text=Fullest in A")
    page.route("**/v1/compare", lambda route: route.continue_() if held else held.append(route))
    answer = page.locator("section[aria-label^='As predicted'] [aria-live]")
    button = page.get_by_label("Two questions").get_by_role("button", name="Compare")
    for growth in (5, 50):
        page.locator("form[aria-label='Two questions'] input[type=number]").fill(f"{growth}")
        button.click()
        if growth == 5:
            answer.and_(page.locator("[aria-busy]")).wait_for()
    answer.locator("td", has_text="+50 %").first.wait_for()
    last = answer.inner_text()
    with page.expect_response("**/v1/compare"):
        held[0].continue_()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert answer.inner_text() == last


def test_headroom_says_in_a_sentence_until_when_each_scenario_fits(seen):
    seen.go("headroom?system=PRDA&with=growth_pct%3D1000")
    said = seen.page.locator("section[aria-label=Answer] .headline").all_inner_texts()
    assert len(said) == 2
    assert said[0].startswith("as today: ")
    assert said[1].startswith("Growth of all classes 1000 %: over 90 % already")


def test_a_plan_file_is_a_scenario_and_what_to_install_stands_by_date(seen, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("growth_pct_per_year = 40\n[steps]\n2027-01-15 = 20\n2027-06-01 = 5\n")
    page = seen.go("headroom?system=PRDA")
    page.get_by_label("Growth plan, a TOML file").set_input_files(plan)
    page.wait_for_url("**step_pct**")
    page.wait_for_selector('body[data-ready="yes"]')
    assert page.get_by_label("Planned growth, % a year", exact=True).input_value() == "40"
    assert page.get_by_label("Planned steps, DATE:PCT", exact=True).input_value() == "2027-01-15:20,2027-06-01:5"
    headlines = page.locator("section[aria-label=Answer] .headline").all_inner_texts()
    assert headlines[0].startswith("as today: ") and len(headlines) == 2
    rows = page.locator("section[aria-label='What to install by when'] tbody tr")
    rows.nth(1).wait_for()
    cells = [row.split("\t") for row in rows.all_inner_texts()]
    # Physical CPs of the CPC and logical CPs of the LPAR, as today and as planned.
    assert cells[0] == ["installed now", "8", "4", "8", "4"]
    assert [row[0][:3] for row in cells[1:]] == ["by "] * 4
    trended, planned = ([float(cell.split()[0]) for cell in cells[1][at : at + 2]] for at in (1, 3))
    assert all(more >= fewer for more, fewer in zip(planned, trended, strict=True))
    assert "short history" in seen.text("section[aria-label=Answer] .warning").lower()


def test_views_are_of_the_shift_that_their_address_names(seen):
    page = seen.go("overview")
    page.get_by_role("combobox", name="Shift").select_option("prime")
    page.wait_for_url("**/#/overview?shift=prime")
    page.wait_for_selector('body[data-ready="yes"]')
    assert "42.7 Mon 7 Sep 17:00" in seen.text("section[aria-label^='CPCs and LPARs']").replace("\n", " ")
    for view in ("headroom", "what-if", "compare"):
        page = seen.go(f"{view}?system=PRDA&shift=night")
        assert page.get_by_role("combobox", name="Shift").first.input_value() == "night"
    drawn = page.locator("figure", has_text="CPU busy by hour of the day")
    drawn.get_by_text("Table", exact=True).click()
    rows = drawn.locator("details tbody tr")
    rows.first.wait_for()
    assert "12\t–\t–" in rows.all_inner_texts()
    baselines = []
    for shift in ("", "night"):
        seen.go(f"what-if?system=PRDA&shift={shift}")
        baselines.append(seen.text("section[aria-label=Answer] th:nth-child(2)"))
    assert baselines[0] != baselines[1]


def test_two_periods_are_drawn_by_hour_of_the_day(seen):
    page = seen.go("compare?system=PRDA&a_from=2026-09-08&a_to=2026-09-09&b_from=2026-09-15&b_to=2026-09-16")
    drawn = page.locator("figure", has_text="CPU busy by hour of the day")
    drawn.get_by_text("Table", exact=True).click()
    rows = drawn.locator("details tbody tr")
    rows.first.wait_for()
    texts = rows.all_inner_texts()
    assert (texts[0], texts[12], len(texts)) == ("0\t25.00\t25.00", "12\t37.50\t37.50", 24)


def test_the_keyboard_reaches_every_view(seen):
    page = seen.go("overview")
    reached = set()
    for _ in range(len(VIEWS) + 3):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.view ?? ''"))
    assert set(VIEWS) <= reached


def test_the_first_key_leads_past_the_views(seen):
    page = seen.go("overview")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    assert page.url.endswith("#/overview")


def test_measured_responses_are_asked_of_their_load_alone(seen):
    with Client(seen.address) as client:
        outputs = client.predict("PRDA").outputs
    usual = next(one.value for one in outputs if one.metric == "response_ms" and "class=HIGH" in one.condition)
    page = seen.go(f"what-if?system=PRDA&response_ms.HIGH={usual}")
    assert "the measured response times indicate" in seen.text(".notes")
    page.get_by_text("Fewest engines").wait_for()
    page.get_by_label("Measured response of HIGH, ms").fill("")
    page.wait_for_url(lambda url: url.endswith("#/what-if?system=PRDA"))


def test_a_service_without_a_champion_says_so_on_its_page(browser, tmp_path):
    with asking.service(Home(tmp_path), "/healthz") as running:
        one = Seen(browser, running)
        page = one.go("what-if")
        assert "no champion" in one.text()
        one.go("overview")
        assert "no snapshot is published" in one.text()
        page.close()


def test_a_system_measured_at_conditions_is_asked_by_them(browser, home, bundle):
    name = "ims10-msc-ctc"
    rows = [
        Observation(name, "send_s", {"buffer_kb": size, "bandwidth_mode": mode}, value * by, "s", "link")
        for size, value in (("4", 12.0), ("8", 10.0), ("32", 9.0))
        for mode, by in (("no", 2.0), ("yes", 1.0))
    ]
    rows.append(Observation("shop", "storage_mb", {}, 512.0, "MB", "frames"))
    bundles.write({**bundle, "conditions": fit(rows, {})}, home / "models" / "champion.json")
    with asking.service(Home(home)) as running:
        one = Seen(browser, running)
        page = one.go(f"headroom?system={name}")
        assert "What if asks about these" in one.text()
        page = one.go("overview")
        assert "null" not in one.text().split()
        page.click(f"main >> text={name}")
        page.wait_for_selector(".u-legend >> text=measured: yes")
        page.locator(".ask select").first.select_option("yes")
        page.locator(".ask input[list]").fill("8")
        page.wait_for_selector("#headline:has-text('10.00 s')")
        assert "buffer_kb=8" in page.url
        assert "bandwidth_mode=yes" in page.url
        assert barriers(page) == []
        one.go(f"what-if?{page.url.partition('?')[2]}")
        assert "10.00 s" in one.text("#headline")
        page.locator(".ask input[list]").fill("-1")
        page.wait_for_selector(".refusal")
        assert not page.query_selector("#headline")
        one.go(f"compare?system={name}&a=bandwidth_mode%3Dno&b=bandwidth_mode%3Dyes")
        page.locator("section[aria-label^='As predicted'] td", has_text="-50 %").first.wait_for()
        one.go("what-if?system=shop&by=conditions&metric=cpu_busy_pct")
        drawn = page.locator("figure", has_text="CPU busy against General-purpose CPs")
        drawn.get_by_text("Table", exact=True).click()
        rows = drawn.locator("details tbody tr")
        rows.first.wait_for()
        busy = [text.split("\t")[1:] for text in rows.all_inner_texts()]
        assert len(busy) > 3, "one line along the engines, which no figure's condition divides"
        assert all(cells[0] != "–" for cells in busy)
        assert float(busy[0][0].replace(",", "")) > float(busy[-1][0].replace(",", ""))
        assert not [fault for fault in one.faults if "ResizeObserver" not in fault]
        page.close()


def test_a_token_is_asked_for_once_and_opens_the_quality_report_too(browser, recorded_home, monkeypatch):
    monkeypatch.setenv("ETALON_TOKEN", "open-sesame-0123456789")
    with asking.service(Home(recorded_home)) as running:
        one = Seen(browser, running)
        one.page.goto(running)
        assert not one.page.get_by_role("alert").is_visible()
        one.page.get_by_label("Bearer token").fill("schließe dich ✓")
        one.page.keyboard.press("Enter")
        one.page.get_by_text("The token sent is not known here").wait_for()
        one.page.get_by_label("Bearer token").fill("open-sesame-0123456789")
        one.page.get_by_role("button", name="Continue").click()
        one.page.wait_for_selector('body[data-ready="yes"]')
        assert "PRDA" in one.text()
        one.page.get_by_role("link", name="Data quality").click()
        one.page.wait_for_url("**/quality/**")
        assert one.page.title() == "Data quality"
        one.page.close()


HOSTILE = "bad<svg onload=alert(4)><img src=x onerror=alert(5)><script>alert(6)</script>.smf"


def test_no_name_of_a_file_runs_as_a_script_on_any_page(browser, recorded_home, tmp_path):
    shutil.copytree(recorded_home, tmp_path, dirs_exist_ok=True)
    examples = ({"status": "quarantined", "file": f"/landing/{HOSTILE}", "message": HOSTILE},)
    finding = Finding("files_were_readable", HOSTILE, "ledger", "warning", False, 1, 1, HOSTILE, examples, HOSTILE)
    result = QualityResult((finding,), tmp_path / "quality" / "index.html", HOSTILE)
    files = [{"file": f"/landing/{HOSTILE}", "status": "quarantined", "message": HOSTILE}]
    front = front_page(result, made_at="now", charts=[Chart(HOSTILE, HOSTILE, "")], files=files)
    pages = {"index.html": front, "suites.html": suites_page([finding], {"ledger": HOSTILE}), "page.css": stylesheet()}
    for name, text in pages.items():
        (tmp_path / "quality" / name).write_text(text, encoding="utf-8")
    (tmp_path / "quality" / "quality.json").write_text(json.dumps(result.as_dict()), encoding="utf-8")

    def named(route):
        found = route.fetch().json()
        about = {"kind": "smf", "status": "quarantined", "bytes": 1, "records": 1, "decoded": 0, "quarantined": 1}
        found["files"] = [{**about, "file": HOSTILE, "message": HOSTILE, "loaded_at": "2026-09-22T01:00:00"}]
        route.fulfill(json=found)

    with asking.service(Home(tmp_path)) as running:
        one, ran = Seen(browser, running), []
        one.page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
        one.page.on("console", lambda said: ran.append(said.text) if "Content Security Policy" in said.text else None)
        one.page.route("**/v1/files", named)
        for address in ("quality/index.html", "quality/suites.html#files_were_readable", "#/data", "#/overview"):
            one.page.goto(f"{running}/{address}")
            one.page.get_by_text(HOSTILE).first.wait_for()
            assert one.page.locator("svg[onload], img[onerror], main script").count() == 0
            assert not barriers(one.page)
        assert not ran
        one.page.close()


def test_a_printed_view_takes_the_whole_width_and_says_its_question(seen):
    seen.go("what-if?system=shop&max_busy_pct=70")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    seen.page.emulate_media(media="print")
    try:
        assert "max_busy_pct=70" in seen.text("footer")
        widths = [seen.page.locator(part).bounding_box()["width"] for part in (".answers", ".view")]
        assert widths[0] == widths[1]
    finally:
        seen.page.emulate_media(media="screen")


def test_what_can_be_changed_comes_with_the_fewest_engines_and_the_msu_to_come(seen):
    seen.go("what-if?system=shop&max_busy_pct=70")
    assert "CPs keep within 70 % busy" in seen.text()
    rows = seen.page.locator("main section[aria-label='Fewest engines'] tbody tr").all_inner_texts()
    assert all(row.endswith("general-purpose CPs") for row in rows)
    seen.go("headroom?system=PRDA&with=growth_pct%3D20")
    assert "Growth of all classes 20 %" in seen.text("main table")
    assert "R4HA forecast" in seen.text()
