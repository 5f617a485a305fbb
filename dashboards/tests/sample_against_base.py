"""What tests of the report of a comparison share."""

import re

import numpy as np

from assay_dashboards.__main__ import write_report
from assay_dashboards.load import load
from assay_dashboards.view import View
from sample_latency import blocks_of, case_of, write_comparison
from sample_report import Page
from sample_run import record, write_run

NAME = "gemm/simd:m=64,n=64,k=64,dtype=f32"
SEED = 3


def generator(seed=SEED):
    print("seed", seed)
    return np.random.default_rng(seed)


def compared(folder, cases=(), blocks=(), records=None, run=None, **changes):
    """A view of a run with that comparison."""
    write_run(folder, [record(NAME)] if records is None else records, **(run or {}))
    write_comparison(folder, list(cases), blocks, **changes)
    return View(load(folder))


def files_of(view):
    out = write_report(view, view.folder / "report").parent
    return {file.name: file.read_text("utf-8") for file in out.iterdir()}


def said(text):
    return re.sub(r"\s+", " ", Page(text).said)


def section(text):
    start = text.index('<h2 id="against-base">')
    return text[start : text.index("<h2>Kernels and checks</h2>")]


def one_case(name=f"{NAME} warm", outcomes=("pass",) * 4, count=12, fresh=0, pairs=None, of=None, seed=SEED, **more):
    made = blocks_of(name, generator(seed), count, **more)
    return case_of(name, made, outcomes, fresh, pairs, **(of or {})), made


SLOWER = {"outcomes": ("regress", "pass", "pass", "pass"), "count": 28, "fresh": 24, "change": {"slower": 0.05}}
