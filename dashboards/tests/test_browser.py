"""The report in a real browser, from disk: the filter works, and a failure leads to its page and case.

Needs Chromium and its driver. Without them these tests fail, unless ASSAY_NO_BROWSER says why there is none.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from assay_dashboards.__main__ import main, write_report
from assay_dashboards.history.__main__ import main as history
from assay_dashboards.load import load
from assay_dashboards.view import View
from sample_canary import full_canary, reason, write_canary
from sample_history import full_history, store
from sample_latency import full_comparison
from sample_run import CHECKS, SCHEMA, kernel_entry, latency_summary, record, run_json, write_run
from sample_selftest import fault, full_selftest, write_selftest
from test_history_page import noisy, step
from test_report import HOSTILE, hostile_run

REASON = os.environ.get("ASSAY_NO_BROWSER", "")
pytestmark = pytest.mark.skipif(bool(REASON), reason=f"ASSAY_NO_BROWSER: {REASON}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.fail("no chromium and chromedriver: install Debian's chromium-driver, or set ASSAY_NO_BROWSER=why")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    started.set_page_load_timeout(60)
    yield started
    started.quit()


def shown(browser, selector):
    return [element for element in browser.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()]


def quiet(browser):
    """No error in the console: a blocked script, a missing file, a violated policy."""
    return [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_filter_the_grid_and_follow_a_failure(browser, full_report):
    _, out = full_report
    browser.get((out / "index.html").as_uri())
    rows = "#grid tbody tr"
    assert len(shown(browser, rows)) == 18
    assert browser.find_element(By.ID, "headline").text == "✗ Fail"

    browser.find_element(By.ID, "filter-text").send_keys("softmax")
    assert {row.find_element(By.TAG_NAME, "th").text for row in shown(browser, rows)} == {
        "softmax/simd", "softmax/onednn", "softmax/dispatch"
    }  # fmt: skip
    assert len(shown(browser, ".failure")) == 2
    assert "of 23 rows" in browser.find_element(By.ID, "filter-count").text

    Select(browser.find_element(By.ID, "filter-verdict")).select_by_value("crashed")
    assert [row.find_element(By.TAG_NAME, "th").text for row in shown(browser, rows)] == ["softmax/onednn"]
    (failure,) = shown(browser, ".failure")
    assert "signal 11" in failure.text

    case = failure.find_element(By.CSS_SELECTOR, "a.mono").text
    failure.find_element(By.CSS_SELECTOR, "a.mono").click()
    assert browser.title == "softmax/onednn: Assay"
    (target,) = browser.find_elements(By.CSS_SELECTOR, "tr:target")
    assert case.partition(":")[2] in target.text
    assert "crashed" in target.text

    Select(browser.find_element(By.ID, "filter-verdict")).select_by_value("crashed")
    assert len(shown(browser, "#cases ~ .scroll tbody tr")) == 1
    assert quiet(browser) == []


def test_a_filter_that_matches_nothing_shows_nothing(browser, full_report):
    _, out = full_report
    browser.get((out / "index.html").as_uri())
    browser.find_element(By.ID, "filter-text").send_keys("no such kernel")
    assert shown(browser, "#grid tbody tr") == []
    assert browser.find_element(By.ID, "filter-count").text.startswith("0 of")


def test_a_phone_does_not_scroll_sideways(browser, full_report):
    _, out = full_report
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    )
    try:
        for page in sorted(out.glob("*.html")):
            browser.get(page.as_uri())
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= 390, f"{page.name} is {width} wide"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def wide_report(tmp_path_factory):
    """21 kernels, 23 checks, counts of up to four digits, long names."""
    run = tmp_path_factory.mktemp("wide")
    more = ["same-padding", "same-batch", "same-load"]
    kernels = [(f"layernorm_residual{i}", "dispatch") for i in range(21)]
    records = []
    for op, kernel in kernels:
        for i in range(104):
            case = f"{op}/{kernel}:rows={i},cols=1024,batch=12,tb=t,alpha=0.125,form=erf,fill=special,dtype=bf16"
            made = record(case, "unsupported" if i > 100 else "pass", errors=[])
            made["checks"] += [{"check": c, "outcome": "pass", "verdict": "wrong", "detail": ""} for c in more]
            records.append(made)
    records[0]["latency"] = [
        latency_summary(metric, p50_us=1234.5, p90_us=2234.5, p99_us=32345, samples=samples)
        for metric, samples in (("first_call", 1), ("warm", 300), ("cold", 300), ("prepare", 1))
    ]
    tables = run_json(records)["tables"]
    tables["checks"] += [{"check": c, "verdict": "wrong", "meaning": "x"} for c in more]
    assert len(tables["checks"]) == len(CHECKS) + 3 == 23
    write_run(
        run,
        records,
        samples={"samples/a.bin": [1_000_000, 90_000_000]},
        tables=tables,
        kernels=[kernel_entry(*k) for k in kernels],
    )
    return write_report(View(load(run)), run / "report").parent


def too_wide(browser):
    return browser.execute_script(
        "return [document.documentElement, ...document.querySelectorAll('.scroll, figure, figure .wide')]"
        ".filter(e => e.scrollWidth > e.clientWidth).map(e => `${e.className} ${e.scrollWidth} in ${e.clientWidth}`)"
    )


@pytest.mark.parametrize(("width", "media"), [(1200, "screen"), (1032, "print")])  # A4 landscape less its margins
def test_every_column_is_in_view(browser, wide_report, width, media):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    try:
        first, *_ = sorted(wide_report.glob("kernel-*.html"))
        for page in (wide_report / "index.html", first):
            browser.get(page.as_uri())
            assert len(browser.find_elements(By.CSS_SELECTOR, "table.grid thead th.turned")) == 23
            assert too_wide(browser) == [], page.name
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_the_sum_of_the_grid_is_its_last_row_alone(browser, wide_report):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.get((wide_report / "index.html").as_uri())
        display = "return getComputedStyle(document.querySelector('#grid tfoot')).display"
        assert browser.execute_script(display) == "table-row-group", "a footer group is repeated on every page"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_table_too_wide_for_a_phone_scrolls_in_its_card(browser, wide_report):
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get((wide_report / "index.html").as_uri())
        assert [text.split()[0] for text in too_wide(browser)] == ["scroll"]
        grid = "document.querySelector('#grid').parentElement"
        left = f"{grid}.scrollLeft = 300; return document.querySelector('#grid tbody th').getBoundingClientRect().left"
        assert browser.execute_script(left) >= 0, "the first column stays"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def selftest_page(tmp_path_factory):
    folder = full_selftest(tmp_path_factory.mktemp("selftest"))
    assert main([str(folder), "--before", str(folder)]) == 0
    return folder / "report" / "index.html"


def test_a_selftests_survivors_are_found_by_the_filter(browser, selftest_page):
    browser.get(selftest_page.as_uri())
    rows = "#faults ~ .scroll tbody tr"
    assert len(shown(browser, rows)) == 99
    Select(browser.find_element(By.ID, "filter-verdict")).select_by_value("survives")
    assert len(shown(browser, rows)) == 3
    browser.find_element(By.ID, "filter-text").send_keys("large k")
    assert [row.find_element(By.TAG_NAME, "th").text for row in shown(browser, rows)] == ["gemm_simd_unseen"]
    assert len(shown(browser, "table.kills tbody tr")) == 12
    assert quiet(browser) == []


@pytest.mark.parametrize("width", [1200, 390])
def test_a_selftest_fits_a_screen_and_a_phone(browser, selftest_page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 1000}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get(selftest_page.as_uri())
        assert [text.split()[0] for text in too_wide(browser)] == ([] if width > 1000 else ["scroll"])
        bars = browser.find_elements(By.CSS_SELECTOR, ".tile .bar")
        assert len(bars) == 3
        first, target = bars[0].find_element(By.TAG_NAME, "span"), bars[0].find_element(By.TAG_NAME, "i")
        share = first.rect["width"] / bars[0].rect["width"]
        assert share == pytest.approx(96 / 99, abs=0.01)
        assert target.rect["x"] > first.rect["x"] + first.rect["width"], "short of its target"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_nothing_hostile_of_a_selftest_runs(browser, tmp_path):
    faults = [fault(HOSTILE, (HOSTILE,), family=HOSTILE, what=HOSTILE), fault(HOSTILE, (), survives=HOSTILE)]
    assert main([str(write_selftest(tmp_path, faults, alarms=[HOSTILE]))]) == 0
    browser.get((tmp_path / "report" / "index.html").as_uri())
    assert browser.execute_script("return document.images.length") == 0
    assert quiet(browser) == []


@pytest.fixture(scope="module")
def compared_page(tmp_path_factory):
    folder = full_comparison(tmp_path_factory.mktemp("compared"))
    return write_report(View(load(folder)), folder / "report")


@pytest.mark.parametrize("width", [1600, 1280, 390])
def test_a_comparison_fits_a_screen_and_a_phone(browser, compared_page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 1000}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get(compared_page.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        wide = "#against-base ~ article figure .wide"
        tables = browser.find_elements(By.CSS_SELECTOR, wide)
        assert len(tables) == 5
        scrolls = browser.execute_script(
            f"return [...document.querySelectorAll('{wide}')].filter(e => e.scrollWidth > e.clientWidth).length"
        )
        assert (scrolls == 0) == (width > 1000), "on a phone the table scrolls in its card"
        for drawn in browser.find_elements(By.CSS_SELECTOR, "#against-base ~ article svg"):
            assert drawn.rect["width"] > 250
        strip = browser.find_element(By.CSS_SELECTOR, "#against-base ~ article .strip")
        margin, estimate = (strip.find_element(By.CSS_SELECTOR, one).rect["x"] for one in ("i.margin", "b"))
        assert strip.rect["width"] > 80
        assert strip.rect["x"] < margin < estimate < strip.rect["x"] + strip.rect["width"], "beyond its margin"
        assert quiet(browser) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_filter_finds_cases_that_are_slower(browser, compared_page):
    browser.get(compared_page.as_uri())
    browser.find_element(By.ID, "filter-text").send_keys("slower softmax")
    assert [card.find_element(By.CSS_SELECTOR, "a.mono").text for card in shown(browser, "article")] == [
        "softmax/simd:rows=64,cols=1000,dtype=f32 warm"
    ]
    shown(browser, "article a.mono")[0].click()
    assert browser.title == "softmax/simd: Assay"


def test_rows_without_a_verdict_stay_when_one_is_chosen(browser, tmp_path):
    run = write_run(tmp_path, [record(), record("gemm/other:m=1", "wrong", "accuracy", "x")])
    cells = [{"word": "observed", "promised": 0, "observed": 1, "varied": 0, "broken": 0}]
    matrix = {"schema": SCHEMA, "properties": ["same-run"], "kernels": [{"kernel": "gemm/simd", "cells": cells}]}
    (run / "invariances.json").write_text(json.dumps(matrix), "utf-8")
    page = write_report(View(load(run)), run / "report")
    browser.get(page.as_uri())
    Select(browser.find_element(By.ID, "filter-verdict")).select_by_value("wrong")
    assert [row.find_element(By.TAG_NAME, "th").text for row in shown(browser, "#grid tbody tr")] == ["gemm/other"]
    assert len(shown(browser, "#invariances ~ .scroll tbody tr")) == 1
    assert quiet(browser) == []


@pytest.fixture(scope="module")
def history_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    database = f"--db=sqlite:///{folder / 'h.sqlite'}"
    assert history(["import", database, *map(str, full_history(folder / "runs"))]) == 0
    assert history(["show", database, f"--out={folder}"]) == 0
    return folder / "history.html"


def test_series_are_found_by_words_and_by_state(browser, history_page):
    browser.get(history_page.as_uri())
    rows = "#series ~ .scroll tbody tr"
    assert len(shown(browser, rows)) == 11
    Select(browser.find_element(By.ID, "filter-verdict")).select_by_value("candidate")
    assert len(shown(browser, rows)) == len(shown(browser, "figure")) == 2
    browser.find_element(By.ID, "filter-text").send_keys("m=9,")
    (row,) = shown(browser, rows)
    assert row.find_element(By.TAG_NAME, "th").text == "gemm/simd:m=9,n=64,k=64,dtype=f32"
    assert "≈ candidate" in row.text
    (figure,) = shown(browser, "figure")
    assert "assay gate --base REF" in figure.text
    assert quiet(browser) == []


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_history_fits_a_screen_and_a_phone_in_light_and_dark(browser, history_page, width, scheme):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 1000}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        browser.get(history_page.as_uri())
        assert too_wide(browser) == []
        colours = browser.execute_script(
            "const of = selector => getComputedStyle(document.querySelector(selector));"
            "return [of('body').backgroundColor, of('figure svg path[style*=first]').stroke]"
        )
        expected = {
            "light": ["rgb(255, 255, 255)", "rgb(47, 111, 179)"],
            "dark": ["rgb(15, 19, 24)", "rgb(106, 168, 232)"],
        }
        assert colours == expected[scheme]
        assert quiet(browser) == []
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_nothing_hostile_of_a_history_runs(browser, tmp_path):
    database = f"sqlite:///{tmp_path / 'h.sqlite'}"
    columns = {"metric": HOSTILE, "device": HOSTILE, "unit": HOSTILE, "module_hash": HOSTILE, "commit": HOSTILE}
    facts = {1: {HOSTILE: HOSTILE}, 2: {HOSTILE: "x"}}
    values = {HOSTILE: noisy(step(90, 60, 0.1))}
    store(database, values, epochs=[1] * 30 + [2] * 60, facts=facts, **columns)
    assert history(["show", f"--db={database}", f"--out={tmp_path}"]) == 0
    browser.get((tmp_path / "history.html").as_uri())
    assert "onerror" in browser.find_element(By.TAG_NAME, "figure").text
    assert browser.execute_script("return document.images.length") == 0
    assert quiet(browser) == []


def test_nothing_hostile_runs(browser, tmp_path):
    hostile_run(tmp_path)
    for page in sorted((tmp_path / "report").glob("*.html")):
        browser.get(page.as_uri())
        assert browser.execute_script("return document.images.length") == 0
        assert quiet(browser) == []


def test_an_injected_script_would_be_blocked(browser, full_report, tmp_path):
    # Shows that the policy in the page's head is in force, so that the tests above are not about escaping alone.
    _, out = full_report
    text = (out / "index.html").read_text("utf-8")
    page = tmp_path / "injected.html"
    page.write_text(text.replace("</body>", "<script>document.title = 'owned'</script></body>"), "utf-8")
    browser.get(page.as_uri())
    assert browser.title != "owned"
    assert quiet(browser) != []


def test_every_column_of_a_canary_is_in_view(browser, tmp_path):
    metrics = {"width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert main([str(write_canary(tmp_path))]) == 0
        browser.get((tmp_path / "report" / "index.html").as_uri())
        assert len(shown(browser, "table.canary thead th")) == 11
        assert too_wide(browser) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


KEPT = sorted((Path(__file__).parents[1] / "canaries").glob("*.html"))


@pytest.mark.parametrize("page", [None, *KEPT], ids=lambda page: page.stem if page else "sample")
def test_a_canary_fits_a_phone(browser, tmp_path, page):
    if page is None:
        value = full_canary(out_of_time=True)
        value["latency"]["blocks"] = 1234567
        value["reasons"].append(reason("PROMOTE", "note", "", "no look at " + ",".join(["gemm/openblas:m=1"] * 9)))
        assert main([str(write_canary(tmp_path, value))]) == 0
        page = tmp_path / "report" / "index.html"
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get(page.as_uri())
        assert len(shown(browser, "#headline")) == 1
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_readme_tells_how_each_kept_canary_was_made():
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    assert sorted(re.findall(r"^\| .*\]\(canaries/(\S+)\)", readme, re.M)) == [page.name for page in KEPT] != []


def test_a_canarys_shapes_are_filtered(browser, tmp_path):
    assert main([str(write_canary(tmp_path))]) == 0
    browser.get((tmp_path / "report" / "index.html").as_uri())
    assert browser.find_element(By.ID, "headline").text == "✗ REJECT"
    assert len(shown(browser, "[data-text]")) == 4
    Select(browser.find_element(By.ID, "filter-verdict")).select_by_value("newly-wrong")
    assert len(shown(browser, "[data-text]")) == 1
    width = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width == 0, "the page is wider than the window"
    assert quiet(browser) == []
