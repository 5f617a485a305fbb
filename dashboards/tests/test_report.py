"""The report's files: what they say, what they must never say, and that nothing in a record can act in them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay_dashboards import plots
from assay_dashboards import summary as summary_module
from assay_dashboards.__main__ import main
from assay_dashboards.junit import junit
from assay_dashboards.load import load
from assay_dashboards.plain import plain, slug
from assay_dashboards.summary import cell, code, summary
from assay_dashboards.view import View
from sample_report import Page, report, ticks_of, view_of
from sample_run import EDGES, error_summary, kernel_entry, latency_summary, record, write_run

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}../../etc/passwd`|@all\u202e\x00\n&amp;"


def test_pages_are_self_contained_and_their_links_lead_somewhere(full_report):
    _, out = full_report
    pages = {file.name: Page(file.read_text("utf-8")) for file in out.glob("*.html")}
    assert len(pages) == 19
    for name, page in pages.items():
        assert page.problems == [], name
        assert len(page.ids) == len(set(page.ids)), f"{name}: an id twice"
        assert page.tags.count("script") == 1
        for link in page.links:
            target, _, anchor = link.partition("#")
            assert (target or name) in pages, link
            assert not anchor or anchor in pages[target or name].ids, link


@pytest.mark.parametrize("package", ["assay_dashboards", "assay_dashboards.history"])
def test_a_full_standard_output_is_exit_code_4(tmp_path, package):
    """And not that with which the interpreter ends whose last bytes cannot be written."""
    folder = write_run(tmp_path / "run", [record()])
    arguments = [folder] if package == "assay_dashboards" else ["import", f"--db=sqlite:///{tmp_path}/h.sqlite", folder]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    with Path("/dev/full").open("w") as full:
        end = subprocess.run(
            [sys.executable, "-m", package, *map(str, arguments)],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    said = "standard output: cannot be written: No space left on device; free space on its disk\n"
    assert (end.returncode, end.stderr) == (4, said)


def test_index_puts_failures_first_with_owner_reason_and_repro(full_report):
    _, out = full_report
    said = Page((out / "index.html").read_text("utf-8")).said
    sections = ("Findings", "Not passing (5)", "killed by signal 11", "Kernels and checks", "Environment")
    order = [said.index(word) for word in sections]
    assert order == sorted(order)
    for part in ("killed by signal 11", "gemm-team", "assay repro 'softmax/onednn", "kernel reduce/naive is gone"):
        assert part in said
    assert "Example CPU" in said
    assert "0badcafe" in said


def test_what_the_kernels_ran_on_is_named(tmp_path):
    of_both = {
        "environment": {"cpu.model": "A host", "gpu.model": "A GPU"},
        "kernels": [kernel_entry(), kernel_entry(name="hopper", target="cuda")],
    }
    on_gpu = [record("gemm/hopper:m=1", target="cuda")]
    assert "on `A GPU`" in summary(view_of(tmp_path / "gpu", on_gpu, **of_both))
    assert "<dd>A GPU</dd>" in report(tmp_path / "page", on_gpu, **of_both)["index.html"]
    assert "on `A host`" in summary(view_of(tmp_path / "cpu", [record()], **of_both))


def test_kernels_of_a_device_that_the_run_had_not_are_told(tmp_path):
    kernels = [kernel_entry(), kernel_entry(name="hopper", target="cuda"), kernel_entry(name="mma", target="cuda")]
    index = report(tmp_path / "page", [record()], kernels=kernels)["index.html"]
    assert "target <b>cuda</b>: gemm/hopper, gemm/mma" in index
    assert "target `cuda`: `gemm/hopper, gemm/mma`" in summary(view_of(tmp_path / "cpu", [record()], kernels=kernels))
    on_gpu = view_of(tmp_path / "gpu", [record("gemm/hopper:m=1", target="cuda")], kernels=kernels)
    assert "target `cpu`: `gemm/simd`" in summary(on_gpu)
    for nothing in (view_of(tmp_path / "one", [record()]), view_of(tmp_path / "none", [], kernels=kernels)):
        assert "another device" not in summary(nothing)


def test_kernels_that_the_machine_cannot_run_are_told(tmp_path):
    def lacking(i):
        return record(f"gemm/new:m={i}", "unsupported", reason="not available on this machine: needs <AVX9>")

    records = [record(), lacking(1), lacking(2), record("gemm/odd:m=1", "unsupported", reason="odd m")]
    index = report(tmp_path / "page", records)["index.html"]
    assert "<li>2 cases of <b>gemm/new</b>: needs &lt;AVX9&gt;</li>" in index
    told = summary(view_of(tmp_path / "view", records))
    assert "- 2 cases of `gemm/new`: `needs <AVX9>`" in told
    assert "gemm/odd" not in told
    for said in (summary(view_of(tmp_path / "one", [record()])), report(tmp_path, [record()])["index.html"]):
        assert "cannot run" not in said


def test_the_commit_that_was_judged_is_told_where_the_run_knows_it(tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567-dirty"
    files = report(tmp_path / "known", [record()], commit=commit)
    assert f"commit {commit}" in " ".join(Page(files["index.html"]).said.split())
    assert f", commit `{commit}` on `" in files["summary.md"]
    for text in report(tmp_path / "not", [record()]).values():
        assert "commit" not in text


def test_cases_left_out_are_told(tmp_path):
    left_out = [{"kernel": "gemm/slow", "cases": 20, "judged_by": "smoke", "reason": "seconds a case"}]
    index = report(tmp_path, [record()], left_out=left_out)["index.html"]
    assert "20 cases of <b>gemm/slow</b>, judged by the cases of tier smoke: seconds a case" in index
    told = summary(view_of(tmp_path, [record()], left_out=left_out))
    assert "- 20 cases of `gemm/slow`, judged by the cases of tier `smoke`: `seconds a case`" in told
    assert "Left out" not in report(tmp_path, [record()])["index.html"]
    assert "Left out" not in summary(view_of(tmp_path, [record()]))


def test_the_headline_says_whether_the_environment_was_pinned(tmp_path):
    lines = ["libm: pinned version 6 (build-id <ab>), found version 6 (build-id cd); install it"]
    pin = {"platform": "avx2-t2-0a1b2c3d", "state": "mismatched", "differences": lines, "unknown": ["cpu.microcode"]}
    says = {
        "pinned": "pinned, as ci/pins/avx2-t2-0a1b2c3d.toml says; unknown then and now: cpu.microcode",
        "mismatched": "mismatched: differs from ci/pins/avx2-t2-0a1b2c3d.toml in libm; unknown then",
        "unpinned": "unpinned: there is no ci/pins/avx2-t2-0a1b2c3d.toml",
    }
    for state, said in says.items():
        differences = lines if state == "mismatched" else []
        files = report(tmp_path / state, [record()], pin=pin | {"state": state, "differences": differences})
        header = files["index.html"][: files["index.html"].index("</header>")]
        assert f"environment {state}</span>" in header
        assert said in Page(files["index.html"]).said
        heading = files["summary.md"].splitlines()[0]
        assert heading == "## Assay: Pass" + ("" if state == "pinned" else f", environment {state}")
        assert f"Environment: `{said}" in files["summary.md"]
        assert json.loads(files["benchmark.json"])["context"]["assay_pin"]["state"] == state
        for text in (Page(files["index.html"]).said, files["summary.md"]):
            assert (lines[0] in text) == (state == "mismatched")
    assert "differs from its pin" not in report(tmp_path / "one", [record()])["index.html"]


def test_of_a_run_from_before_there_were_pins_none_is_claimed(tmp_path):
    write_run(tmp_path, [record()])
    value = json.loads((tmp_path / "run.json").read_text("utf-8"))
    del value["pin"]
    (tmp_path / "run.json").write_text(json.dumps(value), "utf-8")
    view = View(load(tmp_path))
    assert view.pin == "unknown: the run is older than pins"
    assert summary(view).startswith("## Assay: Pass, environment unknown\n")


def test_grid_counts_every_outcome(tmp_path):
    records = [record(f"gemm/simd:m={i}") for i in range(3)]
    records.append(record("gemm/simd:m=9", "wrong", "accuracy", "y[0]"))
    view = view_of(tmp_path, records)
    assert view.outcome_counts("accuracy", "gemm/simd") == {"fail": 1, "pass": 3}
    assert view.outcome_counts("golden-bits") == {"no-baseline": 4}
    index = report(tmp_path, records)["index.html"]
    assert 'title="accuracy: 1 fail, 3 pass"' in index
    assert 'title="golden-bits: 4 no-baseline"' in index


def test_kernel_page_shows_errors_latency_selection_and_refusals(full_report):
    _, out = full_report
    page = (out / f"kernel-{slug('gemm/onednn')}.html").read_text("utf-8")
    said = Page(page).said
    assert "dtype f64 is not in f32 bf16" in said
    assert page.count("<svg") >= 2 + 2  # errors of two dtypes, latency of two cases
    assert "accumulator" in said
    assert "bound" in said
    dispatch = Page((out / f"kernel-{slug('gemm/dispatch')}.html").read_text("utf-8")).said
    assert "rows are not contiguous" in dispatch
    assert "candidate.onednn" in dispatch


def hostile_run(folder):
    bad = record(
        f"gemm/simd:m=1,{HOSTILE}",
        "wrong",
        "accuracy",
        HOSTILE,
        owner=HOSTILE,
        repro=HOSTILE,
        module_hash=HOSTILE,
        target=HOSTILE,
        selection={HOSTILE: HOSTILE, "fallback": HOSTILE, "fallback_reason": HOSTILE},
        errors=[error_summary(tensor=HOSTILE)],
        latency=[latency_summary(metric=HOSTILE, samples_file="../../etc/passwd"), latency_summary(HOSTILE + "2")],
        seconds={HOSTILE: 1.0},
    )
    refused = record("gemm/simd:m=2", "unsupported", reason=HOSTILE)
    entry = kernel_entry(HOSTILE, "../../../tmp/x", module=HOSTILE)
    entry["contract"] |= {"owner": HOSTILE, "domain": HOSTILE, "promised": [HOSTILE], "arithmetic": {HOSTILE: 1}}
    return report(
        folder,
        [bad, refused],
        samples={"samples/a.bin": [1000, 2000, 0]},
        kernels=[entry],
        findings=[{"kind": HOSTILE, "text": HOSTILE}],
        left_out=[{"kernel": HOSTILE, "cases": 2, "judged_by": HOSTILE, "reason": HOSTILE}],
        environment={HOSTILE: HOSTILE, "cpu.model": HOSTILE, "cpu.cores": HOSTILE},
        pin={"platform": HOSTILE, "state": "mismatched", "differences": [HOSTILE], "unknown": [HOSTILE]},
        libraries=[{"path": HOSTILE, "version": HOSTILE, "build_id": HOSTILE}],
        asked={"command": HOSTILE, "tier": HOSTILE, "filter": HOSTILE, "shard": HOSTILE, "argv": [HOSTILE]},
    )


def test_hostile_strings_stay_text(tmp_path):
    files = hostile_run(tmp_path / "run")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run"], "nothing is written elsewhere"
    assert all(re.fullmatch(r"(kernel-)?[a-z0-9-]+\.(html|xml|json|md)", name) for name in files)
    html = {name: text for name, text in files.items() if name.endswith(".html")}
    assert len(html) == 3
    for name, text in html.items():
        page = Page(text)
        assert page.problems == [], name
        assert page.tags.count("script") == 1, name
        assert "img" not in page.tags, name
        assert "49" not in re.findall(r"\{\{7\*7\}\}|49", page.said), "a template was evaluated"
        assert "\u202e" not in text
        assert "\x00" not in text
    said = Page(html["index.html"]).said
    assert "<script>alert(1)</script>" in said, "what was said is shown as it was"
    assert "\\u202e\\x00\\n" in said, "what cannot be seen is shown as an escape"

    suites = ElementTree.fromstring(files["junit.xml"])
    failure = suites.find(".//failure")
    assert "<script>alert(1)</script>" in failure.get("message")
    assert json.loads(files["benchmark.json"])["context"]["num_cpus"] == 0
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", files["summary.md"])
    for part in ("<script>", "<img", "@all", "passwd"):
        assert part not in outside_code
    for line in files["summary.md"].splitlines():
        if line.startswith("|") and "wrong" in line:
            assert len(re.findall(r"(?<!\\)\|", line)) == 5, line


def test_an_empty_run_is_not_a_pass(tmp_path):
    files = report(tmp_path, [], exit_code=0)
    said = Page(files["index.html"]).said
    assert "Empty" in said
    assert "nothing was recorded" in said
    assert View(load(tmp_path)).exit_code == 4
    assert "## Assay: Empty" in files["summary.md"]
    assert ElementTree.fromstring(files["junit.xml"]).find(".//error").get("message").startswith("Empty")
    assert json.loads(files["benchmark.json"])["benchmarks"] == []


def test_one_fault_of_a_kernel_is_one_card(tmp_path):
    records = [record(f"gemm/simd:m={i}", "contract", "contract", "domain: no field z") for i in range(70)]
    records.append(record("gemm/simd:m=99", "contract", "contract", "another"))
    records.append(record("gemm/other:m=1", "contract", "contract", "domain: no field z"))
    files = report(tmp_path, records)
    index, kernel = files["index.html"], files[f"kernel-{slug('gemm/simd')}.html"]
    assert "Not passing (72)" in index
    assert index.count("<article") == 3
    assert kernel.count("<article") == 2
    assert "✗ 70 contract" in Page(index).said
    card = index[index.index("<article") : index.index("</article>")]
    assert card.partition("<details>")[0].count("assay repro") == 1 + 1, "one line and its copy button"
    assert card.count("assay repro") == 2 + 50
    assert "19 more are on the kernel's page" in card
    assert all(f"m={i}<" in kernel for i in range(70))
    assert "and 69 more cases" in files["summary.md"]


def test_a_nan_has_no_sign_and_nothing_is_not_a_detail(tmp_path):
    made = record(verdict="wrong", failed="accuracy", detail="y[3]: got -nan, want x-nan")
    made["checks"][13] |= {"outcome": "not-applicable", "detail": "0 of 0 arguments"}
    made["checks"][14] |= {"outcome": "pass", "detail": "3 relations"}
    made["selection"] = {"algorithm": ""}
    page = report(tmp_path, [made])[f"kernel-{slug('gemm/simd')}.html"]
    assert "got nan, want x-nan" in page
    assert "got -nan" not in page
    assert "0 of 0" not in page
    assert "3 relations" in page
    assert "Selection and fallbacks" not in page


def test_a_dtype_without_a_judged_case_has_no_panel(tmp_path):
    refused = record("gemm/simd:m=2,dtype=i8", "unsupported", errors=[])
    empty = record("gemm/simd:m=3,dtype=f16", "crashed", errors=[error_summary(elements=0, rigorous=0, histogram=[])])
    page = report(tmp_path, [record(), refused, empty])[f"kernel-{slug('gemm/simd')}.html"]
    assert re.findall(r"<figcaption><b>(\w+)</b>", page) == ["f32"]


def test_the_legend_says_what_weak_is(full_report):
    _, out = full_report
    assert "the depth is unknown, the bound is vacuous or an intermediate may overflow" in (
        out / "index.html").read_text("utf-8")  # fmt: skip


def test_the_bound_stands_at_one(monkeypatch):
    counts = [1] * (len(EDGES) + 1)
    ticks, lines = ticks_of(monkeypatch, lambda: plots.error_histogram(counts, EDGES, "a"))
    assert lines == [ticks["x"]["1"]]


def test_a_run_with_only_failures(tmp_path):
    records = [record(f"gemm/simd:m={i}", "crashed", "launch", "signal 11", errors=[]) for i in range(3)]
    files = report(tmp_path, records)
    assert "Not passing (3)" in files["index.html"]
    assert ElementTree.fromstring(files["junit.xml"]).find("testsuite").get("failures") == "3"


@pytest.mark.parametrize(
    ("said", "verdict", "failed", "code", "headline"),
    [
        (0, "pass", None, 0, "Pass"),
        (0, "wrong", "accuracy", 1, "Fail"),  # run.json must not talk a failure away
        (0, "error", "truth", 4, "Error"),
        (2, "mistrusted", "trust", 2, "Inconclusive"),
        (0, "unsupported", None, 0, "Pass"),
        (3, "pass", None, 3, "Invalid"),
        (77, "pass", None, 4, "Error"),
        (None, "pass", None, 4, "Unfinished"),
    ],
)
def test_headline_is_never_milder_than_the_records(tmp_path, said, verdict, failed, code, headline):
    view = view_of(tmp_path, [record(verdict=verdict, failed=failed, detail="x")], exit_code=said)
    assert (view.exit_code, view.headline) == (code, headline)
    tests = ElementTree.fromstring(junit(view))
    assert (tests.find(".//error") is not None) == (code == 4)
    assert int(tests.get("tests")) == len(list(tests.iter("testcase")))
    if said is not None and said != code:
        assert any(kind == "exit code" for kind, _ in view.findings)


def test_counts_that_differ_are_a_finding(tmp_path):
    whole, lacking = view_of(tmp_path, [record()]), view_of(tmp_path, [record()], planned=2)
    assert whole.findings == []
    assert lacking.findings[0][0] == "count"
    assert ["--approve-findings" in summary(view) for view in (whole, lacking)] == [False, True], "what to do about it"


@pytest.mark.parametrize("tail", ["", '{"schema":{"maj'])
@pytest.mark.parametrize("counts", [{"planned": 3, "recorded": 3}, {"planned": 2, "recorded": 3}])
def test_a_finished_run_that_lost_records_is_an_error(tmp_path, capsys, tail, counts):
    write_run(tmp_path, [record("gemm/simd:m=1"), record("gemm/simd:m=2")], tail=tail, exit_code=0, **counts)
    assert main([str(tmp_path)]) == 4
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'report' / 'index.html'}\n", "the report is written all the same"
    assert err == f"{tmp_path / 'records.jsonl'}: incomplete: 2 of 3 records; run it again\n"
    said = Page((tmp_path / "report" / "index.html").read_text("utf-8")).said
    assert "✗ Error, incomplete: 2 of 3 records" in said
    assert "exit code 4" in said
    assert "✓ Pass" not in said
    assert "## Assay: Error, incomplete" in (tmp_path / "report" / "summary.md").read_text("utf-8")


def test_a_whole_run_ends_with_0_whatever_it_says(tmp_path, capsys):
    write_run(tmp_path, [record(verdict="wrong", failed="accuracy", detail="x")])
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["index.html", "summary.md"])
def test_a_full_disk_is_said_with_the_file_and_a_remedy(tmp_path, capsys, name):
    write_run(tmp_path, [record()])
    out = tmp_path / "report"
    out.mkdir()
    (out / f"{name}.part").symlink_to("/dev/full")
    assert main([str(tmp_path)]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"{out / name}: cannot be written: No space left on device; free space on its disk\n"
    assert not list(out.glob("*.part")), "half a page does not stay"


def test_junit_tells_the_kinds_apart(tmp_path):
    records = [
        record("gemm/simd:m=1"),
        record("gemm/simd:m=2", "wrong", "accuracy", "y[3]: got 1"),
        record("gemm/simd:m=3", "unsupported", reason="m > 2"),
        record("gemm/simd:m=4", "error", "truth", "no golden"),
        record("gemm/simd:m=5", "mistrusted", "trust", "zeros"),
        record("gemm/other:m=1"),
    ]
    root = ElementTree.fromstring(report(tmp_path, records)["junit.xml"])
    suite = root.find("testsuite[@name='gemm/simd']")
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "1", "skipped": "2"
    }  # fmt: skip
    failure = suite.find("testcase[@name='m=2']/failure")
    assert failure.get("message") == "accuracy: y[3]: got 1"
    assert "assay repro 'gemm/simd:m=2'" in failure.text
    assert "owner: kernels" in failure.text
    assert suite.find("testcase[@name='m=3']/skipped").get("message") == "unsupported: m > 2"
    assert len(suite.find("testcase[@name='m=1']")) == 0
    assert root.find("testsuite[@name='gemm/other']").get("tests") == "1"


def test_benchmark_json_has_the_fields_tools_read(full_report):
    _, out = full_report
    value = json.loads((out / "benchmark.json").read_text("utf-8"))
    assert {"date", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "library_build_type"} <= set(value["context"])
    assert len(value["benchmarks"]) == 48
    for entry in value["benchmarks"]:
        assert entry["run_type"] == "aggregate"
        assert entry["aggregate_name"] == "median"
        assert entry["time_unit"] == "us"
        assert entry["name"] == entry["run_name"] + "_median"
        assert entry["real_time"] in (80.0, 130.0)
        assert entry["p99_us"] > entry["p90_us"] > entry["real_time"]


def test_summary_is_bounded_and_says_what_it_left_out(tmp_path):
    long = "x" * 5000
    records = [record(f"gemm/simd:m={i}", "wrong", "accuracy", f"{i}{long}", owner="o" * 900) for i in range(400)]
    text = summary(view_of(tmp_path, records))
    assert len(text) <= summary_module.LONGEST
    assert "350 more are in the report" in text


def test_summary_that_is_cut_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(summary_module, "LONGEST", 1500)
    records = [record(f"gemm/simd:m={i}", "wrong", "accuracy", f"{i}" + "x" * 100) for i in range(40)]
    text = summary(view_of(tmp_path, records))
    assert len(text) <= 1500
    assert "lines are left out here" in text


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a", "`a`"),
        ("", ""),
        ("a`b", "`` a`b ``"),
        ("```", "```` ``` ````"),
        ("a|b", "`a|b`"),
    ],
)
def test_code_spans_hold_anything(text, span):
    assert code(text) == span


@pytest.mark.parametrize(("text", "span"), [("", ""), ("a|b", "`a\\|b`"), ("a\\|b", "`a\\ \\|b`")])
def test_code_spans_hold_pipes_in_a_table(text, span):
    assert cell(text) == span


def test_a_pipe_is_escaped_in_tables_alone(tmp_path):
    made = record("gemm/simd:m=1", "wrong", "accuracy", "a|b", repro="assay repro 'c|d'")
    lines = summary(view_of(tmp_path, [made], findings=[{"kind": "policy", "text": "e|f"}])).splitlines()
    assert [line for line in lines if "accuracy: a\\|b" in line]
    assert {"- `assay repro 'c|d'`", "- `policy` `e|f`"} <= set(lines)


def test_plain_and_slug():
    assert plain("a\nb\u2028\u200f\ud800é√ \x7f") == "a\\nb\\u2028\\u200f\\ud800é√ \\x7f"
    assert slug("../../x") != slug("..-..-x")
    assert re.fullmatch(r"[a-z0-9-]+", slug("../<\x00>" + "y" * 500))
    assert len(slug("y" * 500)) < 70


def test_stale_kernel_pages_go_and_other_files_stay(tmp_path):
    report(tmp_path, [record("gemm/old:m=1")])
    (tmp_path / "report" / "notes.txt").write_text("mine")
    files = report(tmp_path, [record("gemm/new:m=1")])
    assert f"kernel-{slug('gemm/old')}.html" not in files
    assert f"kernel-{slug('gemm/new')}.html" in files
    assert files["notes.txt"] == "mine"


@pytest.mark.parametrize(("intermediate", "told"), [(0, "the accumulator's"), (2, "bf16")])
def test_what_results_pass_through_is_told_by_its_name(tmp_path, intermediate, told):
    entry = kernel_entry()
    entry["contract"]["arithmetic"]["intermediate"] = intermediate
    files = report(tmp_path, [record()], kernels=[entry])
    said = " ".join(Page(files[f"kernel-{slug('gemm/simd')}.html"]).said.split())
    assert f"intermediate {told}" in said
