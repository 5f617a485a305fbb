"""Latency in the report: which numbers are shown, what is said of them, and samples that cannot be read."""

import json
import re

import numpy as np
import pytest

from assay_dashboards import plots
from assay_dashboards.plain import slug
from sample_report import report, ticks_of, view_of
from sample_run import latency_summary, record


def test_samples_that_cannot_be_read_are_findings(tmp_path):
    view = view_of(tmp_path, [record(latency=[latency_summary(), latency_summary("cold", "../x.bin")])])
    kinds = [kind for kind, _ in view.findings]
    assert kinds == ["samples", "samples"]


def test_of_one_sample_one_value_is_shown(tmp_path):
    once = latency_summary("prepare", samples=1, p50_us=7.77, p90_us=7.77, p99_us=7.77)
    files = report(tmp_path, [record(latency=[once])], samples={"samples/a.bin": [7770]})
    for name in ("index.html", f"kernel-{slug('gemm/simd')}.html"):
        assert files[name].count("7.77 µs") == 1, name
        assert "measured once" in files[name]
        assert "Batch: launches timed together" in files[name]
    assert files["summary.md"].count("7.77") == 1


def test_labels_of_long_latencies_are_short(monkeypatch):
    series = [(plots.FIRST, np.array([9000.0, 2.0e6]))]
    ticks, _ = ticks_of(monkeypatch, lambda: plots.latency_ecdf(series, "a"))
    assert {"10k", "100k", "1M"} <= set(ticks["x"])
    assert not any("e" in label for label in ticks["x"])


def test_benchmark_json_has_no_bare_nan(tmp_path):
    text = report(tmp_path, [record(latency=[latency_summary(p50_us="nan")])])["benchmark.json"]
    assert json.loads(text, parse_constant=pytest.fail)["benchmarks"][0]["real_time"] is None


def test_what_is_too_short_for_the_clock_is_said(tmp_path):
    fine, coarse = latency_summary("warm"), latency_summary("cold", coarse=True)
    files = report(tmp_path, [record(latency=[fine, coarse])], samples={"samples/a.bin": [120, 130]})
    for name in ("index.html", f"kernel-{slug('gemm/simd')}.html"):
        # One mark of the row and one of the note that explains it.
        assert files[name].count('class="coarse"') == 2, name
        assert re.search(r"cold\s*<span class=\"coarse\"", files[name]), name
    assert "`cold` (coarse)" in files["summary.md"]
    assert "`warm` |" in files["summary.md"]
    assert "coarse: a launch is shorter than the clock resolves well" in files["summary.md"]
    said = {row["name"].split("/")[-1]: row["coarse"] for row in json.loads(files["benchmark.json"])["benchmarks"]}
    assert said == {"warm_median": False, "cold_median": True}


def test_without_a_coarse_one_the_summary_does_not_explain_it(tmp_path):
    assert "coarse" not in report(tmp_path, [record(latency=[latency_summary()])])["summary.md"]
