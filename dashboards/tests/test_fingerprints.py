"""Fingerprints in the report: trees are read and drawn as they are written, and what changed stands out."""

import json

import pytest

from assay_dashboards import sumtrees
from assay_dashboards.__main__ import write_report
from assay_dashboards.load import load
from assay_dashboards.plain import InputError
from assay_dashboards.view import View
from sample_report import Page
from sample_run import SCHEMA, record, write_run


def fingerprint(variant="dtype=f32", **changes):
    value = {
        "schema": SCHEMA, "op": "gemm", "kernel": "simd", "target": "cpu", "variant": variant,
        "facts": [
            {"name": "shape", "value": "steps of 16", "why": ""},
            {"name": "tree", "value": "[[[0:15],16:31],32:47]", "why": ""},
            {"name": "kept_bits", "value": "23", "why": ""},
            {"name": "split_k", "value": "", "why": "no blocks are seen"},
        ],
        "baseline": "same", "changes": [], "complete": True, "seconds": 0.1,
    }  # fmt: skip
    return value | changes


def pages_of(folder, fingerprints):
    write_run(folder, [record()])
    lines = "".join(json.dumps(one) + "\n" for one in fingerprints)
    (folder / "fingerprints.jsonl").write_text(lines, "utf-8")
    out = write_report(View(load(folder)), folder / "report").parent
    return {file.name: file.read_text("utf-8") for file in out.iterdir()}


def nested(tree):
    return tree.term if not tree.parts else [nested(part) for part in tree.parts]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(0,1)", [0, 1]),
        ("(0:3)", [[[0, 1], 2], 3]),
        ("(0,1,(2,3))", [[0, 1], [2, 3]]),
        ("[0:3]", [0, 1, 2, 3]),
        ("((0:4:2),(1:5:2))", [[[0, 2], 4], [[1, 3], 5]]),
        ("(2:0:-1)", [[2, 1], 0]),
    ],
)
def test_trees_are_read_as_they_are_written(text, tree):
    assert nested(sumtrees.parse(text)) == tree


@pytest.mark.parametrize(
    "text", ["", "(0", "(0,1]", "(0,1))", "(0)", "x", "(0,,1)", "(0:9999999)", "(0:4:0)", "(" * 5000, "<script>"]
)
def test_what_is_no_tree_is_not_drawn(text):
    assert sumtrees.drawing(text) is None


def test_a_long_chain_is_drawn():
    drawing = sumtrees.drawing("(0:1000)")
    assert drawing.count("M") == 2000
    assert "1001 terms" in drawing


def test_sums_of_many_at_once_are_marked():
    assert sumtrees.drawing("[[0:15],16:31]").count("<circle") == 2
    assert "<circle" not in sumtrees.drawing("(0:31)")


def test_the_page_of_a_kernel_shows_its_tree_and_facts(tmp_path):
    pages = pages_of(tmp_path, [fingerprint(), fingerprint("dtype=f16", baseline="no-baseline")])
    (name,) = (name for name in pages if name.startswith("kernel-gemm-simd"))
    page = Page(pages[name])
    assert page.problems == []
    assert pages[name].count('class="tree"') == 2
    for part in ("How it computes", "steps of 16", "as approved", "nobody approved one", "unknown: no blocks are seen"):
        assert part in page.said
    index = Page(pages["index.html"])
    assert f"{name}#fingerprints" in index.links
    assert "steps of 16" in index.said


def test_what_changed_is_told(tmp_path):
    changed = fingerprint(baseline="changed", changes=["shape: sequential -> steps of 16"])
    pages = pages_of(tmp_path, [changed])
    (name,) = (name for name in pages if name.startswith("kernel-gemm-simd"))
    assert "sequential -> steps of 16" in Page(pages[name]).said
    assert "✗ changed" in Page(pages["index.html"]).said


def test_a_run_without_fingerprints_says_nothing_of_them(tmp_path):
    write_run(tmp_path, [record()])
    out = write_report(View(load(tmp_path)), tmp_path / "report").parent
    assert "How kernels compute" not in (out / "index.html").read_text("utf-8")


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "'\"><img src=x onerror=alert(2)>\u202e"])
def test_hostile_text_stays_text(tmp_path, hostile):
    facts = [{"name": hostile, "value": hostile, "why": ""}, {"name": "tree", "value": hostile, "why": hostile}]
    pages = pages_of(tmp_path, [fingerprint(hostile, facts=facts, changes=[hostile])])
    for name, text in pages.items():
        if name.endswith(".html"):
            assert Page(text).problems == []
            assert Page(text).tags.count("script") == 1
            assert "img" not in Page(text).tags


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{}", "'schema' is missing"),
        (json.dumps(fingerprint(baseline="fine")), "baseline: 'fine' is not one of"),
        (json.dumps(fingerprint(facts=[{"name": "x"}])), "facts[0]: 'value' is missing"),
    ],
)
def test_a_broken_file_is_refused_by_line(tmp_path, line, problem):
    write_run(tmp_path, [record()])
    (tmp_path / "fingerprints.jsonl").write_text(json.dumps(fingerprint()) + "\n" + line + "\n", "utf-8")
    with pytest.raises(InputError) as error:
        load(tmp_path)
    assert "fingerprints.jsonl:2: " in str(error.value)
    assert problem in str(error.value)
