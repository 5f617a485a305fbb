"""index.html and one page a kernel, or the page of a selftest."""

import math
from collections import Counter, defaultdict

import numpy as np

from . import plots, sumtrees
from .html import template_environment, us
from .latency_page import compared
from .plain import slug
from .selftest import Selftest
from .view import CLASS_OF_EXIT, SYMBOL_OF_OUTCOME, SYMBOL_OF_VERDICT, View

_MOST_LISTED = 200  # cards of failures on the index; the kernel pages have them all
_MOST_FOLDED = 50  # cases listed in a card of the index
_ACCUMULATORS = {0: "none", 1: "f16", 2: "bf16", 3: "f32", 4: "f64", 5: "i32", 6: "tensor"}  # ASSAY_ACC_*
_EXPS = {0: "none", 1: "accurate", 2: "fast", 3: "base 2"}  # ASSAY_EXP_*
_WORST_OUTCOME_CLASS = {
    "fail": "bad", "skipped": "unsure", "no-baseline": "blank", "weak": "weak", "pass": "good",
    "not-applicable": "none",
}  # fmt: skip
_CLASS_OF_INVARIANT = {"promised": "good", "partly": "blank", "observed": "blank", "varies": "weak", "broken": "bad"}


def pages(view: View, selftest: Selftest | None = None) -> dict:
    """File name -> content. `selftest` is shown on index.html."""
    environment = template_environment()
    environment.globals.update(
        view=view,
        selftest=selftest,
        symbol_of_verdict=lambda verdict: SYMBOL_OF_VERDICT.get(verdict, "✗"),
        class_of_verdict=lambda verdict: _class_of(view, verdict),
        symbol_of_outcome=SYMBOL_OF_OUTCOME,
        class_of_outcome=_WORST_OUTCOME_CLASS,
        page_of=lambda name: f"kernel-{slug(name)}.html",
        class_of_invariant=_CLASS_OF_INVARIANT,
        us=us,
        most_folded=_MOST_FOLDED,
    )
    made = {"index.html": environment.get_template("index.html.j2").render(**_index(view))}
    kernel_template = environment.get_template("kernel.html.j2")
    for name in view.kernels:
        made[f"kernel-{slug(name)}.html"] = kernel_template.render(**_kernel(view, name))
    return made


def selftest_pages(selftest: Selftest) -> dict:
    return {"index.html": template_environment().get_template("selftest.html.j2").render(selftest=selftest)}


def _class_of(view, verdict):
    # An exit code of 0 that is not a pass is said in another colour: it proves nothing.
    if verdict != "pass" and view.verdicts[verdict]["exit_code"] == 0:
        return "blank"
    return CLASS_OF_EXIT.get(view.verdicts[verdict]["exit_code"], "bad")


def _index(view):
    rows = []
    for name in view.kernels:
        records = view.records_of(name)
        facts = view.facts_of(name)
        rows.append(
            {
                "name": name,
                "target": facts["target"] if facts else records[0]["target"],
                "cases": len(records),
                "verdicts": view.verdict_counts(name),
                "cells": [(check, view.outcome_counts(check, name)) for check in view.checks],
            }
        )
    return {
        "rows": rows,
        "totals": [(check, view.outcome_counts(check)) for check in view.checks],
        "failures": view.failure_groups()[:_MOST_LISTED],
        "failures_left": sum(map(len, view.failure_groups()[_MOST_LISTED:])),
        "against": compared(view),
        "latencies": _latencies(view),
        "fingerprints": [one | {"told": _told(one)} for one in view.fingerprints],
        "seconds": _time_spent(view.records),
    }


def _latencies(view):
    """(kernel, number of its cases, rows)."""
    groups = view.latency_frame.groupby("name", sort=False)
    return [(name, rows["index"].nunique(), rows.to_dict("records")) for name, rows in groups]


def _time_spent(records):
    spent = Counter()
    for record in records:
        spent.update(record["seconds"])
    return spent.most_common()


def _kernel(view, name):
    records = view.records_of(name)
    facts = view.facts_of(name)
    unsupported = defaultdict(list)
    for record in records:
        if record["verdict"] == "unsupported":
            unsupported[record["reason"]].append(record)
    return {
        "name": name,
        "facts": facts,
        "arithmetic": _arithmetic(facts),
        "owner": facts["contract"]["owner"] if facts else next((r["owner"] for r in records), ""),
        "records": records,
        "failures": view.failure_groups(name),
        "errors": _error_plots(view, name, records),
        "ecdfs": _latency_plots(view, name, records),
        "fingerprints": [_drawn(one) for one in view.fingerprints if one["name"] == name],
        "selections": _selections(records),
        "fallbacks": [record for record in records if record["selection"].get("fallback")],
        "unsupported": sorted(unsupported.items(), key=lambda item: -len(item[1])),
        "outcomes": {record["index"]: {c["check"]: c for c in record["checks"]} for record in records},
    }


_TREES = (("tree", "shape"), ("tree_across", "shape_across"))  # of a fingerprint, and its words


def _told(fingerprint):
    """Fact -> value; what is not known is left out."""
    return {fact["name"]: fact["value"] for fact in fingerprint["facts"] if fact["value"]}


def _drawn(fingerprint):
    told = _told(fingerprint)
    trees = [(told.get(shape, ""), sumtrees.drawing(told[tree])) for tree, shape in _TREES if tree in told]
    return fingerprint | {"trees": [(shape, drawing) for shape, drawing in trees if drawing]}


def _arithmetic(facts):
    if facts is None:
        return []
    words = {
        "accumulator": _ACCUMULATORS,
        "partial_type": _ACCUMULATORS,
        "intermediate": _ACCUMULATORS | {0: "the accumulator's"},
        "exp_kind": _EXPS,
    }
    arithmetic = facts["contract"]["arithmetic"]
    return [(key.replace("_", " "), words.get(key, {}).get(value, value)) for key, value in sorted(arithmetic.items())]


def _error_plots(view, name, records):
    """One drawing a dtype: narrow outputs round outside their bound, and must not be mixed with wide ones."""
    edges = view.run["tables"]["error_histogram_edges"]
    by_dtype = defaultdict(list)
    for record in records:
        by_dtype[record["dtype"]] += record["errors"]
    drawn = []
    for dtype, errors in sorted(by_dtype.items()):
        sums = {key: sum(error[key] for error in errors) for key in _SUMMED}
        if not any(sums.values()):  # every case of this dtype was refused
            continue
        histograms = [error["histogram"] for error in errors if len(error["histogram"]) == len(edges) + 1]
        counts = np.sum(histograms, axis=0) if histograms else None
        worst = max((error["max_q"] for error in errors), key=lambda q: math.inf if math.isnan(q) else q, default=0.0)
        plot = None
        if counts is not None and counts.sum() > 0:
            plot = plots.error_histogram(counts, edges, f"errors-{slug(name)}-{slug(dtype)}")
        drawn.append({"dtype": dtype, "plot": plot, "sums": sums, "worst": worst})
    return drawn


_SUMMED = ("elements", "exact", "rigorous", "weak", "vacuous", "no_evidence", "failures")


def _latency_plots(view, name, records):
    drawn = []
    for record in records:
        series, colours = [], {}
        for latency in record["latency"]:
            samples = view.samples_of(record, latency["metric"])
            if samples is not None and len(samples.microseconds) > 1:  # one sample has no distribution
                colours[latency["metric"]] = len(series) % 2
                series.append(((plots.FIRST, plots.SECOND)[len(series) % 2], samples.microseconds))
        if record["latency"]:
            plot = plots.latency_ecdf(series, f"latency-{record['index']}") if series else None
            unread = any(view.samples_of(record, latency["metric"]) is None for latency in record["latency"])
            drawn.append({"record": record, "plot": plot, "colours": colours, "unread": unread})
    return drawn


def _selections(records):
    """(key, [(value, count)]) of everything kernels said they chose, the commonest value first."""
    counted = defaultdict(Counter)
    for record in records:
        for key, value in record["selection"].items():
            counted[key][value] += 1
    return [(key, values.most_common(8), len(values)) for key, values in sorted(counted.items())]
