"""Files of a comparison of latencies: what is missing of them, what is refused, and that nothing in them can act."""

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay_dashboards import latency_page
from assay_dashboards import summary as summary_module
from assay_dashboards.__main__ import main
from assay_dashboards.latency import read_comparison
from assay_dashboards.load import load
from assay_dashboards.plain import InputError
from assay_dashboards.view import View
from sample_against_base import NAME, SLOWER, compared, files_of, one_case, said, section
from sample_latency import latency_json, of_each, write_comparison
from sample_report import Page
from sample_run import record, write_run
from test_report import HOSTILE

WRITTEN = Path(__file__).parent / "data" / "written"  # kept by harness/tests/comparison_test.cpp


def test_what_the_program_wrote_is_read():
    loaded = load(WRITTEN)
    assert loaded.notes == []
    slower, batched = loaded.comparison.cases
    assert (slower.outcome, batched.outcome) == ("regress", "invalid")
    assert slower.pairs["p50"]["high"] is None, "infinite"
    assert batched.void_reasons == {"steal": 1}
    assert batched.arms[0].microseconds is None
    # By the writer, from the blocks in either order: which arm is which.
    for line in (WRITTEN / "blocks.jsonl").read_text("utf-8").splitlines()[:2]:
        base, change = slower.arms
        assert json.loads(line)["deltas"]["p50"] == pytest.approx(math.log(change.p50_us / base.p50_us))


def test_cases_of_batches_have_a_median_and_no_drawing(tmp_path):
    none = {"note": "not gated: its samples are of batches, coarse, or too few, or its calibration has none of this"}
    case, blocks = one_case(
        outcomes=("regress", *("not gated",) * 3), pairs=dict.fromkeys(("p90", "tail", "stall"), none),
        median_only=True, change={"slower": 0.05},
    )  # fmt: skip
    view = compared(tmp_path, [case], blocks)
    assert view.findings[0][0] == "exit code", "and nothing is said of samples"
    text = section(files_of(view)["index.html"])
    assert "<svg" not in text
    assert "No distribution is drawn: its samples are of batches, or coarse, and show no single launches." in text
    rows = latency_page._rows(view.comparison.cases[0])
    assert [row["base"] is not None for row in rows] == [True, False, False, False, False]
    assert [bool(row["difference"]) for row in rows] == [True, False, False, False, False]


def test_samples_that_were_not_kept_are_said(tmp_path):
    case, blocks = one_case(**SLOWER)
    del blocks[3]["nanoseconds"]
    text = section(files_of(compared(tmp_path, [case], blocks))["index.html"])
    assert "No distribution is drawn: the samples of some of its blocks were not kept." in text


def test_a_torn_last_line_is_left_out_and_said(tmp_path):
    case, blocks = one_case(**SLOWER)
    view = compared(tmp_path, [case], blocks[:-1], tail=json.dumps(blocks[-1])[:100], run={"exit_code": 1})
    assert [text for _, text in view.findings] == [
        "blocks.jsonl ends in a torn line, which is left out",
        f"{NAME} warm: 27 blocks in blocks.jsonl, 28 in latency.json: what is drawn differs",
    ]
    assert len(view.comparison.cases[0].counted) == 27


def test_a_comparison_without_its_blocks_is_told_and_said_to_lack_them(tmp_path):
    case, _ = one_case(**SLOWER)
    view = compared(tmp_path, [case], None, run={"exit_code": 1})
    assert [text for _, text in view.findings] == [
        f"{NAME} warm: 0 blocks in blocks.jsonl, 28 in latency.json: what is drawn differs"
    ]
    text = section(files_of(view)["index.html"])
    assert "Median 5." in text
    assert "No distribution is drawn: none of its blocks counts." in text


def test_a_comparison_that_did_not_end_is_a_finding(tmp_path):
    case, blocks = one_case()
    view = compared(tmp_path, [case], blocks)
    assert view.findings == []
    (tmp_path / "latency.json").unlink()
    view = View(load(tmp_path))
    assert view.comparison is None
    assert read_comparison(tmp_path, "bench") == (None, []), "blocks of a bench are there for themselves"
    assert view.findings == [
        ("latency", "blocks.jsonl without latency.json: a comparison with the base did not end, and says nothing yet")
    ]


def test_blocks_of_another_comparison_are_a_finding(tmp_path):
    case, _ = one_case(**SLOWER)
    _, others = one_case(count=28)
    view = compared(tmp_path, [case], others, run={"exit_code": 1})
    assert view.findings == [("latency", f"{NAME} warm: latency.json has a median that no blocks of blocks.jsonl give")]


def many(outcome, count):
    cases, blocks = [], []
    for i in range(count):
        case, made = one_case(
            f"gemm/simd:m={i},n=4096,k=4096,dtype=bf16 warm", (outcome, "pass", "pass", "pass"), 2, seed=i
        )
        cases.append(case)
        blocks += made
    return cases, blocks


@pytest.mark.parametrize(("outcome", "cards", "drawn"), [("pass", 3, 3), ("regress", 60, 20)])
def test_a_page_of_300_cases_is_small_and_says_what_it_leaves_out(tmp_path, outcome, cards, drawn):
    made, blocks = many(outcome, 300)
    view = compared(tmp_path, made, blocks, run={"exit_code": 0 if outcome == "pass" else 1})
    files = files_of(view)
    text = section(files["index.html"])
    assert len(text) < 1_500_000
    assert text.count("<article") == cards
    assert text.count("<svg") == 2 * drawn
    assert "all cases (300)" in text
    if outcome == "pass":
        assert "297 more are not drawn" in text
    else:
        assert "of the first 20 of these; of 40 they are left out" in said(text)
        assert "240 more did not pass: they are in the table of all cases" in text
        assert "250 more are in the report." in files["summary.md"]
    assert len(files["summary.md"]) <= summary_module.LONGEST


def test_hostile_texts_stay_text(tmp_path):
    name = f"gemm/simd:m=1,{HOSTILE} warm"
    texts = {"reason": HOSTILE, "note": HOSTILE, "blind": True, "blocks": 0}
    case, blocks = one_case(name, ("regress", "invalid", "inconclusive", "pass"), 3, pairs=of_each(**texts),
                            of={"class": HOSTILE}, voids=[(HOSTILE, 1)])  # fmt: skip
    void, void_blocks = one_case(f"{HOSTILE}2 cold", ("invalid",) * 4, 2, pairs=of_each(**texts))
    entry = {"what": HOSTILE, "why": HOSTILE}
    view = compared(
        tmp_path, [case, void], blocks + void_blocks, base=HOSTILE, change=HOSTILE, unchanged=[entry], left_out=[entry],
        selections=[{"kernel_id": HOSTILE, "what": HOSTILE}], findings=[{"kind": HOSTILE, "text": HOSTILE}],
    )  # fmt: skip
    files = files_of(view)
    page = Page(files["index.html"])
    assert page.problems == []
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    for drawing in re.findall(r"<svg.*?</svg>", files["index.html"], re.DOTALL):
        assert "alert" not in drawing
    for text in files.values():
        assert "\u202e" not in text
        assert "\x00" not in text
    assert "&lt;script&gt;alert(1)" in section(files["index.html"])
    told = files["summary.md"].partition("### Latency against the base")[2]
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", told)
    for part in ("<script>", "<img", "@all", "passwd"):
        assert part not in outside_code
    assert "<script>alert(1)</script>" in "".join(ElementTree.fromstring(files["junit.xml"]).itertext()) or any(
        "<script>" in (one.get("message") or "") for one in ElementTree.fromstring(files["junit.xml"]).iter()
    )


def refusal(folder, capsys):
    with pytest.raises(InputError) as caught:
        read_comparison(folder, "gate")
    assert main([str(folder)]) == 4
    error = capsys.readouterr().err
    assert error == f"{caught.value}\n"
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.pop("schema"), "'schema' is missing"),
        (lambda d: d["schema"].update(major=2), "schema 2 cannot be read by this program"),
        (lambda d: d.pop("left_out"), "'left_out' is missing"),
        (lambda d: d.update(cases={}), "cases: not an array"),
        (lambda d: d.update(blocks=-1), "blocks: negative"),
        (lambda d: d.update(exit_code="1"), "exit_code: not an integer"),
        (lambda d: d["unchanged"].append({"what": "a"}), "unchanged[0]: 'why' is missing"),
        (lambda d: d["cases"][0].pop("voids"), "cases[0]: 'voids' is missing"),
        (lambda d: d["cases"][0].update(outcome="slow"), "cases[0].outcome: 'slow' is not one of not gated, pass"),
        (lambda d: d["cases"][0].update(outcome="pass"), "cases[0].outcome: 'pass', but of its pairs the worst is"),
        (lambda d: d["cases"][0]["pairs"].pop(), "cases[0].pairs: not one each of p50, p90, tail"),
        (lambda d: d["cases"][0]["pairs"].reverse(), "cases[0].pairs: not one each of p50, p90, tail"),
        (lambda d: d["cases"][0]["pairs"][1].update(metric="p99"), "pairs[1].metric: 'p99' is not one of"),
        (lambda d: d["cases"][0]["pairs"][0].update(estimate="5 %"), "pairs[0].estimate: not a number"),
        (lambda d: d["cases"][0]["pairs"][0].update(confirmed=1), "pairs[0].confirmed: neither true nor false"),
        (lambda d: d["cases"].append(d["cases"][0]), f"cases[1].case: '{NAME} warm' twice"),
    ],
)
def test_a_latency_json_that_does_not_fit_is_one_line(tmp_path, capsys, change, says):
    case, blocks = one_case(**SLOWER)
    compared(tmp_path, [case], blocks)
    document = latency_json([case])
    change(document)
    (tmp_path / "latency.json").write_text(json.dumps(document), "utf-8")
    assert refusal(tmp_path, capsys).startswith(f"{tmp_path / 'latency.json'}: ")
    assert says in refusal(tmp_path, capsys)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda b: b.pop("order"), "'order' is missing"),
        (lambda b: b.update(order="AABB"), "order: 'AABB' is not one of ABBA, BAAB"),
        (lambda b: b.update(case="gemm/other warm"), "case: 'gemm/other warm' is no case of latency.json"),
        (lambda b: b.update(block=0), "block: 0 of this case twice"),
        (lambda b: b["processes"].pop(), "processes: not an array of 4"),
        (lambda b: b["processes"][2].pop(), "processes[2]: not an array of 6"),
        (lambda b: b["processes"][2].__setitem__(1, 0), "processes[2]: not [samples, p50_us"),
        (lambda b: b["processes"][2].__setitem__(4, 1.5), "processes[2]: not [samples, p50_us"),
        (lambda b: b["processes"][2].__setitem__(5, 1.5), "processes[2]: not [samples, p50_us"),
        (lambda b: b.update(pooled_p99_us=[1.0]), "pooled_p99_us: not an array of 2"),
        (lambda b: b.update(pooled_p99_us=[1.0, -1.0]), "pooled_p99_us: holds something that is no duration"),
        (lambda b: b.update(void={"why": "steal"}), "void: 'process' is missing"),
        (lambda b: b["nanoseconds"].pop(), "nanoseconds: not an array of 4"),
        (lambda b: b["nanoseconds"].__setitem__(0, [1.5]), "nanoseconds[0]: not an array of durations"),
        (lambda b: b["nanoseconds"].__setitem__(0, [-1]), "nanoseconds[0]: not an array of durations"),
        (lambda b: b["nanoseconds"].__setitem__(0, [True]), "nanoseconds[0]: not an array of durations"),
        (lambda b: b["nanoseconds"][3].append(5), "nanoseconds[3]: samples from which the block's processes do not"),
        (lambda b: b["nanoseconds"].__setitem__(1, [7] * 100), "nanoseconds[1]: samples from which"),
    ],
)  # fmt: skip
def test_a_line_of_blocks_that_does_not_fit_is_one_line(tmp_path, capsys, change, says):
    case, blocks = one_case(**SLOWER)
    change(blocks[1])
    write_run(tmp_path, [record(NAME)])
    write_comparison(tmp_path, [case], blocks)
    message = refusal(tmp_path, capsys)
    assert message.startswith(f"{tmp_path / 'blocks.jsonl'}:2: ")
    assert says in message


def test_a_run_from_before_stalls_were_a_metric_is_read(tmp_path):
    case, blocks = one_case(**SLOWER)
    case["pairs"].pop()
    for block in blocks:
        block["deltas"].pop("stall")
        for process in block["processes"]:
            process.pop()
    view = compared(tmp_path, [case], blocks, schema={"major": 1, "minor": 10})
    assert view.findings == [("exit code", view.findings[0][1])]
    (read,) = view.comparison.cases
    assert (read.outcome, read.pairs["stall"]["outcome"]) == ("regress", "not gated")
    assert "from before stalls were a metric" in read.pairs["stall"]["note"]
    last = latency_page._rows(read)[-1]
    assert (last["metric"], last["base"], last["change"], last["margin"]) == ("stall", None, None, "")
    assert "nan" not in section(files_of(view)["index.html"])


def test_a_void_block_need_not_have_measured_anything(tmp_path):
    case, blocks = one_case(voids=[("failed", 2)])
    blocks[0] |= {"processes": [[0, 0, 0, 0, 0, 0]] * 4, "pooled_p99_us": [0, 0], "nanoseconds": None}
    view = compared(tmp_path, [case], blocks)
    assert view.comparison.cases[0].void_reasons == {"failed": 1}
    assert view.findings == []
