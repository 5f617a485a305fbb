"""The page of a canary: the verdict and its reasons first, what it refuses, and that nothing in it can act."""

import re
from pathlib import Path

import pytest

from assay_dashboards.__main__ import main
from assay_dashboards.canary import read_canary
from assay_dashboards.plain import InputError
from sample_canary import GEMM, canary_json, case, first_call, full_canary, latency, reason, side, write_canary
from sample_report import Page
from sample_run import record, write_run
from test_report import HOSTILE

WRITTEN = Path(__file__).parent / "data" / "written"  # kept by harness/tests/canary_report_test.cpp


def page_of(folder):
    assert main([str(folder)]) == 0
    return (folder / "report" / "index.html").read_text("utf-8")


def said(page):
    return re.sub(r"\s+", " ", Page(page).said)


def refusal(folder):
    with pytest.raises(InputError) as caught:
        read_canary(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_the_program_wrote_is_read():
    canary = read_canary(WRITTEN)
    assert canary.told["verdict"] == "REJECT"
    assert [shape["change"] for shape in canary.shapes] == ["newly wrong", "moved"]
    assert canary.rows[0]["slowest"][2] == pytest.approx(1.3)


def test_the_verdict_and_its_reasons_come_first(tmp_path):
    text = said(page_of(write_canary(tmp_path)))
    assert "✗ REJECT exit code 1" in text
    order = ["newly wrong gemm/openblas", "slower gemm/openblas", "computes in another way gemm/openblas", "Kernels"]
    places = [text.index(what, text.index("Reasons")) for what in order]
    assert places == sorted(places)
    assert "tier ci, 2 threads, the whole corpus" in text
    assert "0.3.21 → 0.3.29" in text


@pytest.mark.parametrize(
    ("reasons", "symbol"),
    [
        ([], "✓ PROMOTE"),
        ([reason("HOLD", "unknown")], "≈ HOLD"),
        ([reason("INVALID", "voids")], "⊘ INVALID"),
        ([reason("PROMOTE", "fixed"), reason("HOLD", "worse"), reason("REJECT")], "✗ REJECT"),
    ],
)
def test_each_verdict_is_said_by_word_and_symbol(tmp_path, reasons, symbol):
    assert symbol in said(page_of(write_canary(tmp_path, canary_json([case()], reasons))))


def test_a_reason_has_the_lines_that_replay_it_on_both_sides(tmp_path):
    text = said(page_of(write_canary(tmp_path)))
    for version in ("pin", "candidate"):
        assert f"build/bin/assay repro '{GEMM}' --library openblas={version}" in text
    assert "build/bin/assay repro ID --library openblas=0.3.29" in text


def test_kernels_show_errors_latency_and_first_calls(tmp_path):
    text = said(page_of(write_canary(tmp_path)))
    assert "0.25 → 0.26" in text
    assert "0.01 → none" in text
    assert "+30.0 % +28.7 % to +31.3 %" in text
    assert "-20.0 %" in text
    assert "×1.50 1.40 to ∞" in text
    assert "isa: Haswell -> SkylakeX" in text


def test_cases_that_are_the_same_and_were_not_timed_are_left_out_of_the_shapes(tmp_path):
    canary = read_canary(write_canary(tmp_path))
    assert [shape["change"] for shape in canary.shapes] == ["newly wrong", "as before", "fixed", "moved"]
    timed = canary_json([case()], latency=latency((GEMM + " warm", "pass", 0.0)), first_calls=[first_call()])
    assert len(read_canary(write_canary(tmp_path, timed)).shapes) == 1


def test_reasons_of_one_kind_and_kernel_share_a_card(tmp_path):
    reasons = [reason(what=f"gemm/openblas:m={m}", text="wrong (accuracy): " + "x" * 60 + str(m)) for m in range(40)]
    text = said(page_of(write_canary(tmp_path, canary_json([case()], reasons))))
    assert "and 39 more" in text
    assert text.count("✗ REJECT newly wrong") == 1


def test_what_was_not_asked_is_said(tmp_path):
    asked = {"tier": "smoke", "filters": ["gemm/openblas"], "latency": False, "threads": 1}
    text = said(page_of(write_canary(tmp_path, canary_json([case()], asked=asked))))
    assert "gemm/openblas alone, correctness alone: nothing is known of latency" in text
    text = said(page_of(write_canary(tmp_path, canary_json([case()], latency=latency(), out_of_time=True))))
    assert "ended when the time was up" in text


def test_the_same_build_is_said(tmp_path):
    text = said(page_of(write_canary(tmp_path, canary_json([case()], same_build=True))))
    assert "Pin and candidate are the same build, loaded from two paths." in text


def test_libraries_are_told_by_build_and_package(tmp_path):
    asked = side("0.3.29", "bb", environment={"OPENBLAS_CORETYPE": "Haswell"}, loader="/set/ld.so")
    text = said(page_of(write_canary(tmp_path, canary_json([case()], candidate=asked))))
    for what in ("aa", "bb", "5e" * 32, "OPENBLAS_CORETYPE=Haswell", "set/ld.so", "1 more files", "/lib/0.3.21.so"):
        assert what in text


def test_where_the_cache_of_libraries_lies_is_not_told(tmp_path):
    told = canary_json([case()])
    path = "/home/me/.cache/assay/libraries/sets/openblas/debian-1-aa/libopenblas.so.0"
    told["candidate"]["set"]["files"][0]["path"] = path
    text = said(page_of(write_canary(tmp_path, told)))
    assert "sets/openblas/debian-1-aa/libopenblas.so.0" in text
    assert "/home/me" not in text


def test_one_of_which_nothing_ran_has_a_page(tmp_path):
    told = canary_json([], [reason("INVALID", "arms", "", "candidate: cannot be loaded: no file")])
    told["pin"]["set"]["files"] = []
    assert "candidate: cannot be loaded: no file" in said(page_of(write_canary(tmp_path, told)))


def test_hostile_text_stays_text(tmp_path):
    told = full_canary(library=HOSTILE)
    for one in told["reasons"]:
        one["text"] = one["what"] = one["kind"] = HOSTILE
    told["candidate"]["set"]["version"] = told["candidate"]["repro"] = HOSTILE
    told["environment"][HOSTILE] = HOSTILE
    told["cases"][1]["selection"] = told["cases"][2]["pin"] = HOSTILE
    told["asked"]["filters"] = [HOSTILE]
    page = Page(page_of(write_canary(tmp_path, told)))
    assert page.problems == []
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert "{{7*7}}" in page.said
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "PASS"}, "verdict: none of REJECT"),
        ({"verdict": "PROMOTE", "exit_code": 0}, "verdict: PROMOTE, but its reasons ask for REJECT"),
        ({"exit_code": 0}, "exit_code: 0 is not that of REJECT"),
        ({"cases": [case(change="newly wrong")]}, "kernels: gemm/openblas has 2 cases planned, and 1"),
        ({"cases": [case(change="gone")]}, "cases[0].change: none of"),
        ({"schema": {"major": 9, "minor": 0}}, "schema 9 cannot be read by this program"),
        ({"latency": {}}, "latency: 'cases' is missing"),
        ({"kernels": 3}, "kernels: not an array"),
    ],
)
def test_what_does_not_fit_is_one_line_that_names_the_field(tmp_path, change, says):
    said_so = refusal(write_canary(tmp_path, full_canary() | change))
    assert says in said_so
    assert "canary.json" in said_so


def test_arms_that_are_not_as_asked_outweigh_what_fails(tmp_path):
    told = full_canary(verdict="INVALID", exit_code=3)
    told["reasons"].insert(0, reason("INVALID", "arms", "", "candidate: loads the pin's file"))
    assert "⊘ INVALID" in said(page_of(write_canary(tmp_path, told)))


def test_wrong_use_is_one_line(tmp_path, capsys):
    folder = write_canary(tmp_path / "canary")
    assert main([str(folder), "--selftest", str(tmp_path)]) == 4
    assert "is a canary, beside which no selftest is shown" in capsys.readouterr().err


def test_a_runs_folder_is_a_run(tmp_path):
    folder = write_run(tmp_path, [record()])
    write_canary(folder)
    assert "REJECT" not in said(page_of(folder))
