"""The invariance matrix in the report: what is promised, seen, varies or is broken stands apart."""

import json

import pytest

from assay_dashboards.__main__ import write_report
from assay_dashboards.load import load
from assay_dashboards.plain import InputError
from assay_dashboards.view import View
from sample_run import SCHEMA, record, write_run


def cell(word, **counts):
    return {"word": word, "promised": 0, "observed": 0, "varied": 0, "broken": 0} | counts


def index_of(folder, matrix):
    write_run(folder, [record()])
    (folder / "invariances.json").write_text(json.dumps({"schema": SCHEMA} | matrix), "utf-8")
    return (write_report(View(load(folder)), folder / "report").parent / "index.html").read_text("utf-8")


def test_each_word_is_told_with_its_cases(tmp_path):
    cells = [
        cell("promised", promised=4),
        cell("varies", promised=3, varied=2),
        cell("partly", promised=7, observed=182),
        cell("broken", broken=1),
        cell("unknown"),
    ]
    page = index_of(
        tmp_path,
        {
            "properties": ["same-run", "same-batch", "same-threads", "same-load", "same-graph"],
            "kernels": [{"kernel": "a/b", "cells": cells}],
        },
    )
    for said in ("promised 4", "varies 2", "promised 7, observed 182", "broken 1"):
        assert said in page
    assert "What the bytes do not depend on" in page
    assert page.index("promised 4") < page.index("varies 2") < page.index("broken 1")


def test_hostile_text_stays_text(tmp_path):
    hostile = "<script>alert(1)</script>"
    page = index_of(
        tmp_path,
        {"properties": ["same-run"], "kernels": [{"kernel": hostile, "cells": [cell("observed", observed=1)]}]},
    )
    assert hostile not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_run_without_the_matrix_says_nothing_of_it(tmp_path):
    write_run(tmp_path, [record()])
    out = write_report(View(load(tmp_path)), tmp_path / "report").parent
    assert "What the bytes do not depend on" not in (out / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (
            {"schema": SCHEMA, "properties": ["a", "b"], "kernels": [{"kernel": "k", "cells": [cell("observed")]}]},
            "has 1 cells",
        ),
        ({"schema": SCHEMA, "properties": []}, "'kernels' is missing"),
        ([], "not an object"),
    ],
)
def test_a_malformed_matrix_is_one_line(tmp_path, matrix, says):
    write_run(tmp_path, [record()])
    (tmp_path / "invariances.json").write_text(json.dumps(matrix), "utf-8")
    with pytest.raises(InputError, match=says) as error:
        load(tmp_path)
    assert "invariances.json" in str(error.value)
