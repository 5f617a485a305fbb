"""What index.html shows of a comparison with the base: the rows of its tables, and the drawings."""

import math

from . import plots
from .latency import FRACTIONS, METRICS, OUTCOMES, ComparedCase, Comparison
from .latency_words import (
    NAME,
    NOTE,
    SAID,
    SYMBOL,
    grouped,
    headline,
    limit,
    reasons,
    signed,
    unpinned,
    verdict,
)
from .view import CLASS_OF_EXIT, View

_MOST_CARDS = 60
_MOST_DRAWN = 20  # of those that did not pass,
_PASSED_DRAWN = 3  # and of those that did
_CLASS = {"pass": "good", "improved": "blank", "not gated": "none"}


def compared(view: View):
    """What the template needs; None of a run without a comparison."""
    comparison = view.comparison
    if comparison is None:
        return None
    anchors = {record["kernel_id"]: record for record in view.records}
    failing = grouped(comparison.not_passing)
    passing = [case for case in comparison.cases if case.outcome == "pass"]
    dispatch = {one["kernel_id"]: one["what"] for one in comparison.told["selections"]}

    def card(group, number, is_drawn):
        case = group[0]
        return {
            "case": case,
            "others": [(one, anchors.get(one.kernel_id)) for one in group[1:]],
            "record": anchors.get(case.kernel_id),
            "reasons": reasons(case),
            "blind": [(_names(metrics), why) for why, metrics in case.blind.items()],
            "dispatch": dispatch.get(case.kernel_id),
            "rows": _rows(case),
            "drawings": _drawings(case, number) if is_drawn else [],
            "why_not_drawn": _why_not_drawn(case),
            "is_drawn": is_drawn,
        }

    return {
        "told": comparison.told,
        "headline": headline(comparison),
        "verdict": verdict(comparison),
        "note": NOTE,
        "unpinned": unpinned(view),
        "counts": comparison.counts,
        "cards": [card(group, i, i < _MOST_DRAWN) for i, group in enumerate(failing[:_MOST_CARDS])],
        "cards_left": sum(map(len, failing[_MOST_CARDS:])),
        "drawn": _MOST_DRAWN,
        "undrawn": max(0, min(len(failing), _MOST_CARDS) - _MOST_DRAWN),
        "passed": [card([case], _MOST_CARDS + i, True) for i, case in enumerate(passing[:_PASSED_DRAWN])],
        "passed_left": max(0, len(passing) - _PASSED_DRAWN),
        "dispatch": [(one, _beside(comparison, one["kernel_id"])) for one in comparison.told["selections"]],
        "blind": [
            (why, [(name, _names(metrics)) for name, metrics in classes.items()])
            for why, classes in comparison.blind.items()
        ],
        "cases": [(case, anchors.get(case.kernel_id), _rows(case)) for case in comparison.cases],
        "said": SAID,
        "symbol": SYMBOL,
        "class_of": _class_of,
        "name": NAME,
    }


def _class_of(outcome):
    return _CLASS.get(outcome) or CLASS_OF_EXIT[OUTCOMES[outcome]]


def _names(metrics):
    return ", ".join(NAME[metric] for metric in metrics)


def _beside(comparison: Comparison, kernel_id):
    """The verdicts on the latency of a case whose dispatch changed."""
    return [case for case in comparison.cases if case.kernel_id == kernel_id]


def _rows(case: ComparedCase) -> list:
    """One a quantile and one a fraction: both arms, the difference, the margin, and where to draw them."""
    readings = [_gated(case.pairs[metric]) for metric in METRICS]
    readings.insert(2, _p99(case))
    scale = _scale([reading for reading in readings if reading])
    base, change = case.arms or (None, None)
    rows = []
    for metric, reading in zip(("p50", "p90", "p99", *FRACTIONS), readings, strict=True):
        pair = case.pairs.get(metric)
        shown = base is not None and (metric == "p50" or not case.is_of_medians)
        key = metric if metric in FRACTIONS else f"{metric}_us"
        of_base, of_change = (_known(getattr(arm, key)) for arm in (base, change)) if shown else (None, None)
        rows.append(
            {
                "metric": metric,
                "is_fraction": metric in FRACTIONS,
                "base": of_base,
                "change": of_change,
                "difference": signed(metric, reading["estimate"]) if reading else "",
                "interval": _interval(metric, reading) if reading else "",
                "margin": limit(metric, pair["margin"]).replace("percentage ", "") if pair else "",
                "outcome": pair["outcome"] if pair else "",
                "why": pair["reason"] or pair["note"] if pair else f"of {case.p99.blocks} blocks" if case.p99 else "",
                "strip": _strip(reading, scale) if reading and scale else None,
            }
        )
    return rows


def _known(value):
    return None if math.isnan(value) else value


def _interval(metric, reading):
    ends = (reading["low"], reading["high"])
    return signed(metric, *ends) if all(map(math.isfinite, ends)) else "too few blocks"


def _gated(pair):
    """metric, estimate, low, high, and the margin they are drawn in; None where nothing was read."""
    if not pair["blocks"] or pair["estimate"] is None or not pair["margin"]:
        return None
    low = -math.inf if pair["low"] is None else pair["low"]
    high = math.inf if pair["high"] is None else pair["high"]
    return {"metric": pair["metric"], "estimate": pair["estimate"], "low": low, "high": high, "unit": pair["margin"]}


def _p99(case):
    """Likewise; it has no margin, and is drawn in that of p90."""
    unit = case.pairs["p90"]["margin"]
    if case.p99 is None or not unit:
        return None
    reading = case.p99
    return {"metric": "p99", "estimate": reading.estimate, "low": reading.low, "high": reading.high, "unit": unit}


def _scale(readings):
    """(lowest, highest) that is drawn, in margins: all estimates and finite ends, no change, and the margin."""
    ends = [r[key] / r["unit"] for r in readings for key in ("estimate", "low", "high") if math.isfinite(r[key])]
    if not ends:
        return None
    lowest, highest = min(-0.5, *ends), max(1.5, *ends)
    room = 0.04 * (highest - lowest)
    return lowest - room, highest + room


def _strip(reading, scale):
    """Places in percent of the strip's width."""
    lowest, highest = scale

    def place(value):
        return 100 * min(1.0, max(0.0, (value - lowest) / (highest - lowest)))

    low, high = place(reading["low"] / reading["unit"]), place(reading["high"] / reading["unit"])
    return {
        "zero": place(0),
        "margin": None if reading["metric"] == "p99" else place(1),
        "low": low,
        "width": high - low,
        "estimate": place(reading["estimate"] / reading["unit"]),
    }


def _why_not_drawn(case):
    if not case.counted:
        return "none of its blocks counts"
    if case.is_of_medians:
        return "its samples are of batches, or coarse, and show no single launches"
    return "the samples of some of its blocks were not kept"


def _drawings(case: ComparedCase, number) -> list:
    """Empty where the single launches are not known."""
    if case.arms is None or case.arms[0].microseconds is None:
        return []
    base, change = (arm.microseconds for arm in case.arms)
    return [
        plots.arms_ecdf(base, change, f"arms-{number}"),
        plots.arms_tail(base, change, f"tails-{number}"),
    ]
