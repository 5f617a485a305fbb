"""What the report says of a comparison of latencies with the base, outcome by outcome."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from assay_dashboards.latency import METRICS
from assay_dashboards.latency_words import headline, interval, limit, moved, reasons, signed, verdict
from assay_dashboards.load import load
from assay_dashboards.plain import InputError
from assay_dashboards.summary import summary
from assay_dashboards.view import View
from sample_against_base import NAME, SLOWER, compared, files_of, one_case, said, section
from sample_latency import case_of, full_comparison, of_each, pair
from sample_run import latency_summary, record, write_run

sys.path.insert(0, str(Path(__file__).parents[2] / "ci"))
from comment import inert


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = full_comparison(tmp_path_factory.mktemp("full"))
    view = View(load(folder))
    return view, files_of(view)


def test_a_run_without_a_comparison_says_nothing_of_one(tmp_path):
    view = View(load(write_run(tmp_path, [record()])))
    files = files_of(view)
    assert view.comparison is None
    assert "against-base" not in files["index.html"]
    assert "against the base" not in files["summary.md"] + files["junit.xml"]
    assert "against_base" not in files["benchmark.json"]


def test_worst_first_with_a_card_and_a_drawing_of_each_that_did_not_pass(full):
    view, files = full
    assert [case.outcome for case in view.comparison.cases][:6] == [
        "regress", "regress", "invalid", "inconclusive", "improved", "pass"
    ]  # fmt: skip
    text = section(files["index.html"])
    told = said(text)
    words = ["2 of 18 cases are slower than the base, 1 void, 1 undecided, 1 faster, 13 pass",
             "1 kernel unchanged and not measured; 1 left out; 1 dispatch change", "11 blocks were void", "m=64,n=64",
             "rows=64,cols=1000", "rows=4,cols=4", "rows=9,cols=900", "m=512", "What dispatch chose changed",
             "may go unseen", "left out, without a verdict", "is wrong: no latency of it counts", "unchanged, and so",
             "the 3 that passed nearest", "all cases (18)"]  # fmt: skip
    places = [told.index(word) for word in words]
    assert places == sorted(places)
    assert text.count("<article") == 5 + 3
    assert text.count("<svg") == 2 * (5 + 3)
    assert text.count("kernels@example.org") >= 5, "owners"


def test_a_case_5_percent_slower_is_told_with_its_evidence(tmp_path):
    case, blocks = one_case(**SLOWER)
    view = compared(tmp_path, [case], blocks, run={"exit_code": 1})
    ((sentence, rest),) = reasons(view.comparison.cases[0])
    assert re.fullmatch(
        r"Median 5\.\d % slower \(95 % interval 4\.\d to 5\.\d %\), margin 2 %, from 24 fresh blocks: beyond doubt "
        r"more than 0\.3 %, the least that counts \(p \de-0\d\)\.",
        sentence,
    )
    assert rest == ""
    files = files_of(view)
    assert sentence in said(files["index.html"])
    assert sentence in files["summary.md"]
    assert f"✗ **slower** `{NAME} warm`" in files["summary.md"]
    assert "✗ 1 of 1 case is slower than the base." in files["summary.md"]
    suite = ElementTree.fromstring(files["junit.xml"]).find("testsuite[@name='latency against the base']")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "1", "0")
    failure = suite.find("testcase[@name='m=64,n=64,k=64,dtype=f32 warm']/failure")
    assert failure.get("message") == sentence
    assert ElementTree.fromstring(files["junit.xml"]).get("tests") == "2"


def test_stalls_of_1_percent_are_told_as_slow_launches(tmp_path):
    outcomes = ("pass", "pass", "regress", "regress")
    case, blocks = one_case(outcomes=outcomes, count=28, fresh=24, change={"stalls": 0.02})
    told = reasons(compared(tmp_path, [case], blocks).comparison.cases[0])
    for (sentence, _), subject in zip(
        told, (r"Slow launches, above 1\.05", r"Stalled launches, above 1\.4"), strict=True
    ):
        assert re.fullmatch(
            subject + r" times the median of their process, [12]\.\d percentage points more \(95 % "
            r"interval \d\.\d+ to \d\.\d percentage points\), margin 1 percentage point, from 24 fresh blocks: beyond "
            r"doubt more than 0\.2 percentage points, the least that counts \(p [\de.-]+\)\.",
            sentence,
        )


def read(metric="p50", outcome="regress", **changes):
    value = {"blocks": 24, "confirmed": True, "estimate": 0.0469, "low": 0.0402, "high": 0.0545, "upper": 0.0531,
             "p_slower": 2.4e-7, "p_faster": 1.0, "least": 0.002995509}  # fmt: skip
    return pair(metric, outcome, **(value | changes))


@pytest.mark.parametrize(
    ("told", "sentence", "by_the_gate"),
    [
        (read(),
         "Median 4.8 % slower (95 % interval 4.1 to 5.6 %), margin 2 %, from 24 fresh blocks: beyond doubt more than "
         "0.3 %, the least that counts (p 2e-07).", ""),
        (read("tail", estimate=0.0112, low=0.009, high=0.0125, least=0.002, margin=0.01),
         "Slow launches, above 1.05 times the median of their process, 1.1 percentage points more (95 % interval 0.90 "
         "to 1.2 percentage points), margin 1 percentage point, from 24 fresh blocks: beyond doubt more than 0.2 "
         "percentage points, the least that counts (p 2e-07).", ""),
        (read("p90", "improved", estimate=-0.0469, low=-0.0545, high=-0.0402, p_faster=3e-5),
         "90th percentile 4.6 % faster (95 % interval 3.9 to 5.3 %), margin 3 %, from 24 fresh blocks: beyond doubt "
         "more than 0.3 %, the least that counts (p 3e-05).", ""),
        (read(outcome="inconclusive", estimate=0.0119, low=-0.004, high=0.0276, upper=0.0246, p_slower=0.08, blocks=96),
         "Median 1.2 % slower (95 % interval 0.40 % faster to 2.8 % slower), margin 2 %, from 96 fresh blocks: it may "
         "be as much as 2.5 % slower, too much to pass, but not beyond doubt more than 0.3 %, the least that counts "
         "(p 0.08).",
         ""),
        (read(outcome="inconclusive", blocks=4, confirmed=False, low=None, high=None, upper=None, p_slower=0.2),
         "Median 4.8 % slower (too few blocks for an interval), margin 2 %, from 4 blocks: how much is not known, too "
         "much to pass, but not beyond doubt more than 0.3 %, the least that counts (p 0.2).", ""),
        (read(outcome="inconclusive", estimate=1e-5, upper=0.01, low=-0.01, high=0.01, reason="the gate did not end"),
         "Median not moved (95 % interval 1.0 % faster to 1.0 % slower), margin 2 %, from 24 fresh blocks.",
         "the gate did not end"),
        (read(blocks=0, reason="called so by an earlier gate"), "Median: slower.", "called so by an earlier gate"),
        (read("tail", blocks=0, reason="called so by an earlier gate"), "Slow launches: more.",
         "called so by an earlier gate"),
        (read(outcome="inconclusive", blocks=0, reason="the gate did not end"), "Median: undecided.",
         "the gate did not end"),
    ],
)  # fmt: skip
def test_each_sentence(tmp_path, told, sentence, by_the_gate):
    rest = [pair(metric) for metric in METRICS if metric != told["metric"]]
    pairs = sorted([told, *rest], key=lambda one: METRICS.index(one["metric"]))
    case = case_of(f"{NAME} warm", []) | {"pairs": pairs, "outcome": told["outcome"]}
    assert reasons(compared(tmp_path, [case]).comparison.cases[0]) == [(sentence, by_the_gate)]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (moved("p50", np.log(2.5)), "150 % slower"),
        (moved("p50", np.log(0.5)), "50.0 % faster"),
        (moved("p50", 0.00996), "1.0 % slower"),
        (moved("p50", 4e-5), "not moved"),
        (moved("tail", -0.0025), "0.25 percentage points fewer"),
        (limit("tail", 0.01), "1 percentage point"),
        (limit("p50", np.log1p(0.02)), "2 %"),
        (limit("p50", 0.0421), "4.3 %"),
        (limit("p50", None), ""),
        (signed("p50", -0.0469), "-4.58 %"),
        (signed("tail", -0.005, 0.0025), "-0.50 to +0.25 points"),
        (interval({"metric": "p50", "low": 0.0, "high": 0.01}), "95 % interval 0.00 to 1.0 %"),
    ],
)
def test_numbers_in_words(shown, text):
    assert shown == text


def test_a_void_case_says_why_and_what_to_do(tmp_path):
    voids = [("foreign", 1), ("sentinel", 2), ("foreign", 0), ("cosmic rays", 1)]
    case, blocks = one_case(
        outcomes=("invalid",) * 4, count=3, voids=voids, pairs=of_each(reason="too many of its blocks were void")
    )
    view = compared(tmp_path, [case], blocks, run={"exit_code": 3})
    ((sentence, rest),) = reasons(view.comparison.cases[0])
    assert sentence == (
        "No verdict: 4 of its 7 blocks were void, 2 because other processes were at work on the machine, 1 because a "
        "fixed piece of work, timed beside the kernels, changed its speed within the block, 1 for other reasons. To "
        "get one, stop all other work on the machine; let nothing else change the machine's speed, and run it again."
    )
    assert rest == ""
    files = files_of(view)
    assert view.headline == "Invalid"
    assert sentence in said(files["index.html"])
    assert sentence in files["summary.md"]
    suite = ElementTree.fromstring(files["junit.xml"]).find("testsuite[@name='latency against the base']")
    assert suite.get("skipped") == "1"
    assert suite.find(".//skipped").get("message") == f"void: {sentence}"


def test_without_its_blocks_a_void_case_has_the_gates_words(tmp_path):
    why = "too many of its blocks were void, 3 were not: steal (4)"
    case, _ = one_case(outcomes=("invalid",) * 4, count=3, pairs=of_each(reason=why), of={"voids": 4})
    view = compared(tmp_path, [case], None)
    assert reasons(view.comparison.cases[0]) == [("No verdict: 4 of its 7 blocks were void, run it again.", why)]
    assert why in said(files_of(view)["index.html"])


def test_a_comparison_that_passes_is_one_line_of_the_summary(tmp_path):
    case, blocks = one_case()
    unchanged = [{"what": f"gemm/k{i}", "why": "same bytes"} for i in range(2)]
    view = compared(tmp_path, [case], blocks, unchanged=unchanged)
    told = "✓ the one case is not slower than the base; 2 kernels unchanged and not measured."
    assert [line for line in summary(view).splitlines() if "base" in line] == [f"**Latency against the base:** {told}"]
    assert view.exit_code == 0


def test_a_comparison_that_passes_blindly_says_so_in_that_line(full, tmp_path):
    note = "too noisy to see +2.00 % of p50: the margin is +4.30 %"
    case, blocks = one_case(pairs={"p50": {"blind": True, "note": note, "margin": 0.0421}})
    view = compared(tmp_path, [case], blocks)
    unseen = f"a change as small as the policy's margin may go unseen in `cpu/warm/below-500us` (p50): `{note}`."
    assert unseen in summary(view)
    text = section(files_of(view)["index.html"])
    assert f"<b>cpu/warm/below-500us</b> (median): {note}" in text
    assert '<span class="coarse">blind</span>' in text


def test_of_a_blind_class_the_widest_margin_is_told_and_several_are_a_list(tmp_path):
    def case(name, metric, margin):
        note = f"too noisy to see +2.00 % of {metric}: the margin is +{100 * margin:.0f} %"
        return one_case(f"{name} warm", **SLOWER, pairs={metric: {"blind": True, "note": note, "margin": margin}})

    cases = [case("gemm/a:m=1", "p50", 0.04), case("gemm/b:m=1", "p50", 0.07), case("gemm/c:m=1", "p90", 0.05)]
    text = summary(compared(tmp_path, [one for one, _ in cases], [b for _, blocks in cases for b in blocks]))
    unseen = text[text.index("A change as small as the policy's margin may go unseen:") :].splitlines()[2:4]
    widest = {"p50": "+7 %", "p90": "+5 %"}
    where = "- in `cpu/warm/below-500us`"
    assert sorted(unseen) == [
        f"{where} ({metric}): `too noisy to see +2.00 % of {metric}: the margin is {margin}`"
        for metric, margin in widest.items()
    ]
    assert "the margin is +4 %" not in text


@pytest.mark.parametrize("state", ["mismatched", "unpinned"])
def test_verdicts_of_another_environment_than_the_pinned_one_say_so(tmp_path, state):
    case, blocks = one_case()
    pin = {"platform": "avx2-t2-0a1b2c3d", "state": state, "differences": [], "unknown": []}
    told = f"The environment is {state}, and these verdicts are of it alone: assay env verify says in what it differs"
    view = compared(tmp_path / "one", [case], blocks, run={"pin": pin})
    assert told in said(section(files_of(view)["index.html"]))
    assert f"is not slower than the base. {told}" in summary(view)
    assert "verdicts are of it alone" not in summary(compared(tmp_path / "two", [case], blocks))
    assert "verdicts are of it alone" not in summary(compared(tmp_path / "none", run={"pin": pin}))


def test_an_unchanged_tree_was_not_measured(tmp_path):
    unchanged = [{"what": "gemm/simd", "why": "same bytes, same libraries"}]
    view = compared(tmp_path, unchanged=unchanged, blocks=None)
    line = "✓ nothing was measured: same machine code; 1 kernel unchanged and not measured."
    assert line in summary(view)
    assert view.exit_code == 0
    assert view.findings == []
    text = section(files_of(view)["index.html"])
    assert "<details open><summary>unchanged, and so not measured (1)" in text
    assert "same bytes, same libraries" in text
    assert "<svg" not in text


def test_nothing_compared_is_not_called_good(tmp_path):
    left_out = [{"what": NAME, "why": "is wrong: no latency of it counts"}]
    for folder, unchanged, also in (
        ("all", [], ""),
        ("some", [{"what": "gemm/same", "why": "same machine code"}], "1 kernel unchanged and not measured; "),
    ):
        view = compared(tmp_path / folder, left_out=left_out, unchanged=unchanged)
        assert verdict(view.comparison) == ("blank", "○")
        assert f"○ nothing was compared; {also}1 left out." in summary(view)
    assert "is wrong: no latency of it counts" in said(files_of(view)["index.html"])


def test_a_comparison_that_is_invalid_as_a_whole_says_why_and_what_to_do(tmp_path):
    why = "the environment is mismatched: differs from ci/pins/x.toml in libm; mend it, or add --unpinned"
    view = compared(tmp_path, blocks=None, invalid=why, exit_code=3, run={"exit_code": 3})
    assert verdict(view.comparison) == ("unsure", "⊘")
    assert f"⊘ no verdict: nothing was measured.\n\n`{why}`\n" in summary(view)
    assert f"No verdict: nothing was measured. {why}" in said(section(files_of(view)["index.html"]))
    assert view.exit_code == 3
    assert "Invalid" in view.headline


def test_cases_of_which_the_same_is_said_are_one_card(tmp_path):
    made = [one_case(f"gemm/simd:m={i} warm", ("invalid",) * 4, 2, voids=[("steal", 1)] * 3) for i in range(7)]
    made.append(one_case("gemm/simd:m=7 warm", ("invalid",) * 4, 2, voids=[("steal", 1)] * 2))
    cases, blocks = zip(*made, strict=True)
    view = compared(tmp_path, cases, [one for of_case in blocks for one in of_case], run={"exit_code": 3})
    text = section(files_of(view)["index.html"])
    assert text.count("<article") == 2
    assert "⊘ 7 void" in text
    assert "and 6 more cases of which the same is said" in text
    assert all(f"gemm/simd:m={i} warm" in text for i in range(8))
    assert "`gemm/simd:m=0 warm` and 6 more cases\n" in summary(view)
    assert summary(view).count("No verdict") == 2


def test_blocks_void_by_one_arm_alone_leave_a_comparison_in_doubt(tmp_path):
    finding = {"kind": "voids", "text": "11 blocks were void by 'slowdown' of the change's processes alone"}
    case, blocks = one_case()
    view = compared(tmp_path, [case], blocks, findings=[finding], exit_code=2, run={"exit_code": 2})
    assert verdict(view.comparison)[1] == "≈"
    assert f"- `voids` `{finding['text']}`" in summary(view)
    assert "11 blocks were void by 'slowdown'" in said(section(files_of(view)["index.html"]))


def test_what_an_earlier_gate_called_slower_fails_though_no_case_does(tmp_path):
    finding = {"kind": "latency", "text": f"{NAME} warm p50: called slower by an earlier gate of this base and change"}
    case, blocks = one_case()
    view = compared(tmp_path, [case], blocks, findings=[finding], exit_code=1, run={"exit_code": 1})
    assert verdict(view.comparison) == ("bad", "✗")
    assert "exit code 1 by what the findings say" in headline(view.comparison)
    assert finding["text"] in summary(view)
    suite = ElementTree.fromstring(files_of(view)["junit.xml"]).find("testsuite[@name='latency against the base']")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_a_dispatch_change_is_told_beside_the_verdicts(tmp_path):
    case, blocks = one_case()
    changed = [{"kernel_id": NAME, "what": "algorithm: 24 -> 66"}]
    view = compared(tmp_path, [case], blocks, selections=changed)
    assert f"⇄ **dispatch changed** `{NAME}`: `algorithm: 24 -> 66`" in summary(view)
    told = said(section(files_of(view)["index.html"]))
    assert f"What dispatch chose changed {NAME} : algorithm: 24 -> 66 ✓ pass warm" in told
    assert "Dispatch changed : algorithm: 24 -> 66" in told, "in the case's own card too"


def test_edited_margins_stand_beside_a_comparison_that_passes(tmp_path):
    finding = {"kind": "policy", "text": "ci/policy/policy.toml is edited: 1 line added, 1 removed"}
    case, blocks = one_case()
    told = summary(compared(tmp_path, [case], blocks, run={"findings": [finding], "exit_code": 1}))
    assert "## Assay: Fail" in told
    assert "none" not in told.partition("**Latency against the base:**")[0]
    assert f"`policy` `{finding['text']}`" in told


def test_a_kernel_that_failed_where_it_was_timed_is_told_with_how(tmp_path):
    why = "while it was timed, the change alone: failed: the kernel ended by signal 11"
    case, blocks = one_case(outcomes=("failed", "failed", "pass", "pass"), pairs=of_each(reason=why))
    view = compared(tmp_path, [case], blocks, run={"exit_code": 1})
    assert reasons(view.comparison.cases[0]) == [("The kernel failed.", why)]
    assert headline(view.comparison) == "1 of 1 case is failing"
    files = files_of(view)
    assert f"✗ **failing** `{NAME} warm`" in files["summary.md"]
    assert why in files["summary.md"]
    assert why in said(section(files["index.html"]))
    suite = ElementTree.fromstring(files["junit.xml"]).find("testsuite[@name='latency against the base']")
    assert suite.get("failures") == "1"


def test_a_comparison_that_could_not_be_made_is_an_error_with_its_line(tmp_path):
    why = "runs/latency-ledgers/a-b.json: is no JSON"
    files = files_of(compared(tmp_path, [], None, exit_code=4, invalid=why, run={"exit_code": 4}))
    assert why in said(section(files["index.html"]))
    suite = ElementTree.fromstring(files["junit.xml"]).find("testsuite[@name='latency against the base']")
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    assert suite.find("testcase/error").get("message") == why
    with pytest.raises(InputError, match="exit_code: 4 is that of no outcome"):
        compared(tmp_path / "without", [], None, exit_code=4)


def test_a_metric_that_blocks_lacked_is_not_called_a_disturbance(tmp_path):
    why = "too many of its blocks had no tail: 3 of 3"
    case, blocks = one_case(outcomes=("pass", "pass", "invalid", "pass"), pairs={"tail": {"reason": why}})
    view = compared(tmp_path, [case], blocks, run={"exit_code": 3})
    assert reasons(view.comparison.cases[0]) == [("No verdict.", why)]
    assert "void" not in reasons(view.comparison.cases[0])[0][0]


@pytest.mark.parametrize("outcome", ["regress", "invalid", "inconclusive"])
def test_a_run_is_never_milder_than_its_comparison(tmp_path, outcome):
    case, blocks = one_case(outcomes=(outcome, "pass", "pass", "pass"))
    view = compared(tmp_path, [case], blocks, exit_code=0, run={"exit_code": 0})
    code = {"regress": 1, "invalid": 3, "inconclusive": 2}[outcome]
    assert view.exit_code == code
    assert ("exit code", f"the run ended with 0, what it holds asks for {code}") in view.findings
    assert verdict(view.comparison)[0] != "good"


def test_benchmark_json_has_the_verdict_beside_the_latency(tmp_path):
    case, blocks = one_case(**SLOWER)
    records = [record(NAME, latency=[latency_summary("warm"), latency_summary("cold")])]
    view = compared(tmp_path, [case], blocks, records=records)
    warm, cold = json.loads(files_of(view)["benchmark.json"])["benchmarks"]
    estimate = case["pairs"][0]["estimate"]
    assert warm["against_base"] == {"outcome": "regress", "median": pytest.approx(np.exp(estimate) - 1)}
    assert "against_base" not in cold


def test_the_comment_keeps_every_word(full):
    _, files = full
    told = files["summary.md"].partition("### Latency against the base")[2].partition("### Findings")[0]
    assert inert(told).replace("&lt;", "<") == told
