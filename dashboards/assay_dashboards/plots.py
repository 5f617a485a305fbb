"""Drawings as inline SVG. Text in them is ours alone: what a record says stands beside them, in HTML.

Colours are placeholders that become CSS variables, so that a drawing follows the page from light to dark to paper.
"""

import io
import math
import re

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

_COLOURS = {
    "#010101": "var(--ink)",
    "#020202": "var(--muted)",
    "#030303": "var(--line)",
    "#040404": "var(--first)",
    "#050505": "var(--second)",
    "#060606": "var(--bad)",
}
_INK, _MUTED, _LINE, FIRST, SECOND, _BAD = _COLOURS
_STYLE = {
    "svg.fonttype": "none",  # text stays text: searchable, and in the page's own font
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def _svg(figure: Figure, name: str, description: str) -> Markup:
    """`name` keeps the ids of several drawings in one page apart."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1 inherit", text)
    # A hundredth of a point is finer than any screen, and the rest of a number half of a drawing's size.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    prefix = re.sub(r"\W", "", name)
    text = re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
    for placeholder, variable in _COLOURS.items():
        text = text.replace(placeholder, variable)
    description = Markup.escape(description)
    # Safe: matplotlib's own output, of numbers and of texts written in this file.
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{description}"', 1))  # noqa: S704


def _axes(width, height, left, bottom, right=0.08):
    """A figure of inches with fixed margins: layout engines draw everything twice to find the same."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + 0.1) / height))
    return figure, axes


def _ticks(axis, positions, labels):
    """Fixed ticks: automatic ones cost most of the drawing's time."""
    axis.set_minor_locator(NullLocator())
    axis.set_major_locator(FixedLocator(positions))
    axis.set_major_formatter(FixedFormatter(labels))


def error_histogram(counts, edges, name: str) -> Markup:
    """Elements by q = |got - want| / bound, against the bound at 1."""
    counts = np.asarray(counts, dtype=float)
    with matplotlib.rc_context(_STYLE):
        figure, axes = _axes(5.2, 2.0, left=0.62, bottom=0.5)
        inside = [edge <= 1 for edge in edges] + [False]
        axes.bar(range(len(counts)), counts, width=0.86, color=[FIRST if ok else SECOND for ok in inside])
        axes.set_yscale("log")
        highest = max(10, counts.max() * 3)
        axes.set_ylim(0.7, highest)
        decades = [10.0**e for e in range(0, 20, 2 if highest > 1e6 else 1) if 10.0**e <= highest]
        _ticks(axes.yaxis, decades, [_compact(d) for d in decades])
        bound = sum(inside)
        shown = [i for i in range(1, len(edges) - 1) if (bound - 1 - i) % 3 == 0 and i > 1]
        # A bar holds what lies between two edges, so an edge's tick stands on the bar's right end.
        positions = [0, *(i + 0.5 for i in shown), len(edges)]
        _ticks(axes.xaxis, positions, ["0", *(_power(edges[i]) for i in shown), "more"])
        axes.axvline(bound - 0.5, color=_BAD, linewidth=1.2, linestyle="--")
        axes.text(bound - 0.35, highest / 1.2, "bound", color=_BAD, va="top", fontsize=8)
        axes.set_xlabel("q = |got − want| / bound, up to")
        axes.set_ylabel("elements")
        return _svg(figure, name, "Histogram of errors relative to their bound")


def _power(edge: float) -> str:
    exponent = math.log2(edge)
    return f"2^{exponent:.0f}" if exponent < 0 else f"{edge:g}"


def _compact(value: float) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.4g}{unit}"
    return f"{value:.4g}"


def _round_values(lowest, highest, fewest):
    """1-2-5 values inside a range; the ends themselves when hardly any are."""
    decades = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        values = [s * 10.0**e for e in decades for s in steps if lowest <= s * 10.0**e <= highest]
        if len(values) >= fewest:
            return values
    return [lowest, highest]


def latency_ecdf(series, name: str) -> Markup:
    """`series`: (colour, microseconds a launch). Every sample is in the curve."""
    lowest = max(1e-4, min(float(np.min(values)) for _, values in series))
    highest = max(1.05 * lowest, max(float(np.max(values)) for _, values in series))
    with matplotlib.rc_context(_STYLE):
        figure, axes = _axes(3.8, 1.8, left=0.42, bottom=0.45, right=0.25)
        for colour, microseconds in series:
            # Beyond some hundreds of points a curve only grows the page: quantiles keep its shape and both ends.
            shares = np.linspace(0, 1, min(len(microseconds), 300)) if len(microseconds) > 1 else np.array([1.0])
            axes.plot(np.quantile(microseconds, shares), shares, color=colour, drawstyle="steps-post", linewidth=1.4)
        for share in (0.5, 0.9):
            axes.axhline(share, color=_LINE, linewidth=0.8, zorder=0)
        axes.set_ylim(0, 1.03)
        axes.set_xscale("log")
        margin = (highest / lowest) ** 0.04
        axes.set_xlim(lowest / margin, highest * margin)
        ticks = _round_values(lowest / margin, highest * margin, fewest=2)
        _ticks(axes.xaxis, ticks, [_compact(tick) for tick in ticks])
        _ticks(axes.yaxis, [0, 0.5, 0.9], ["0", "p50", "p90"])
        axes.set_xlabel("µs a launch")
        return _svg(figure, name, "Cumulative distribution of latency samples")


_POINTS = 150  # of a curve of two arms


def arms_ecdf(base, change, name: str) -> Markup:
    """Where most launches of both arms lie: the cumulative distributions of their microseconds, without their tails."""
    ends = np.quantile(base, (0.002, 0.97)), np.quantile(change, (0.002, 0.97))
    lowest, highest = min(e[0] for e in ends), max(e[1] for e in ends)
    highest = max(highest, 1.01 * lowest)
    margin = 0.03 * (highest - lowest)
    with matplotlib.rc_context(_STYLE):
        figure, axes = _axes(3.8, 1.9, left=0.42, bottom=0.45, right=0.25)
        for share in (0.5, 0.9):
            axes.axhline(share, color=_LINE, linewidth=0.8, zorder=0)
        for values, style in zip((base, change), _ARMS, strict=True):
            x, y = ecdf(values)
            kept = _thinned(y, lowest - margin <= x, x <= highest + margin)
            axes.plot(x[kept], y[kept], drawstyle="steps-post", **style)
        axes.set_ylim(0, 1.03)
        axes.set_xlim(lowest - margin, highest + margin)
        _ticks(axes.xaxis, *_linear_ticks(lowest - margin, highest + margin))
        _ticks(axes.yaxis, [0, 0.5, 0.9], ["0", "p50", "p90"])
        _name_arms(axes, 0.98, 0.12, "right")
        axes.set_xlabel("µs a launch")
        return _svg(figure, name, "Cumulative distributions of the launches of base and change, without their tails")


def arms_tail(base, change, name: str) -> Markup:
    """Which share of launches takes longer than so many microseconds, of both arms, to the very longest."""
    lowest = float(min(np.quantile(base, 0.25), np.quantile(change, 0.25)))
    highest = max(1.05 * lowest, float(max(np.max(base), np.max(change))))
    least = 0.5 / max(len(base), len(change))
    with matplotlib.rc_context(_STYLE):
        figure, axes = _axes(3.8, 1.9, left=0.66, bottom=0.45, right=0.25)
        for values, style in zip((base, change), _ARMS, strict=True):
            x, y = ecdf(values)
            # Of the longest no share is longer: the curve goes down to the axis there.
            longer = np.maximum(1 - y, least)
            kept = _thinned(-np.log(longer), lowest <= x, x <= highest)
            axes.plot(x[kept], longer[kept], drawstyle="steps-post", **style)
        axes.set_yscale("log")
        axes.set_ylim(least, 1.2)
        axes.set_xscale("log")
        margin = (highest / lowest) ** 0.03
        axes.set_xlim(lowest, highest * margin)
        few = highest < 5 * lowest
        ticks = _linear_ticks(lowest, highest * margin)[0] if few else _round_values(lowest, highest * margin, fewest=2)
        _ticks(axes.xaxis, ticks, [_compact(tick) for tick in ticks])
        shares = [s for s in (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6) if s >= least]
        _ticks(axes.yaxis, shares, [f"{100 * s:g} %" for s in shares])
        for share in shares[1:]:
            axes.axhline(share, color=_LINE, linewidth=0.8, zorder=0)
        _name_arms(axes, 0.98, 0.82, "right")
        axes.set_xlabel("µs a launch")
        return _svg(figure, name, "Shares of the launches of base and change that take longer than a time")


_ARMS = (  # base, change
    {"color": FIRST, "linewidth": 1.4, "linestyle": (0, (4, 1.5))},
    {"color": SECOND, "linewidth": 1.4},
)


def ecdf(values):
    """(ascending values, the share of all that is no greater)."""
    x, counts = np.unique(values, return_counts=True)
    return x, np.cumsum(counts) / len(values)


def _thinned(y, after, before):
    """Indices of points evenly spread over the ascending y: beyond some a curve only grows the page. Of those that lie
    after the one end of the axis and before the other, and the next one beyond each, so that no line ends within."""
    first = max(0, int(np.argmax(after)) - 1)
    last = min(len(y) - 1, int(np.sum(before)))
    wanted = np.linspace(y[first], y[last], _POINTS)
    return np.unique(np.searchsorted(y[first : last + 1], wanted).clip(0, last - first)) + first


def _linear_ticks(lowest, highest):
    step = 10.0 ** math.floor(math.log10((highest - lowest) / 2))
    step *= next(s for s in (5, 2, 1) if (highest - lowest) / (s * step) >= 2)
    values = np.arange(math.ceil(lowest / step), math.floor(highest / step) + 1) * step
    decimals = max(0, -math.floor(math.log10(step)))
    return list(values), [f"{value:.{decimals}f}" for value in values]


def _name_arms(axes, x, y, align):
    for i, (word, style) in enumerate(zip(("base", "change"), _ARMS, strict=True)):
        axes.text(
            x, y + 0.12 * (1 - i), f"{'- -' if i == 0 else '—'} {word}", color=style["color"], ha=align, fontsize=8,
            transform=axes.transAxes,
        )  # fmt: skip


_MOST_DRAWN = 400  # points of a series; of more the extremes of stretches


def history_curve(values, days, breaks, changes, levels, unit: str, name: str) -> Markup:
    """A series over its runs, in their order. `days` are texts of digits and hyphens, one a point; `breaks` and
    `changes` positions of first points, of an epoch and after a change; `levels`: (start, stop, value)."""
    count = len(values)
    with matplotlib.rc_context(_STYLE):
        figure, axes = _axes(5.2, 1.9, left=0.7, bottom=0.36, right=0.12)
        x, y = _extremes(np.asarray(values, dtype=float))
        axes.plot(x, y, color=FIRST, linewidth=0.9, marker="." if count <= 60 else None, markersize=3)
        for start, stop, value in levels:
            axes.plot((start, stop - 1), (value, value), color=SECOND, linewidth=1.6)
        for position in breaks:
            axes.axvline(position - 0.5, color=_MUTED, linewidth=0.9, linestyle=":")
        for position in changes:
            axes.axvline(position - 0.5, color=_BAD, linewidth=1.2, linestyle="--")
        lowest, highest = float(y.min()), float(y.max())
        margin = 0.06 * (highest - lowest) or 0.01 * highest
        axes.set_ylim(lowest - margin, highest + margin)
        axes.set_xlim(-0.5 - 0.01 * count, count - 0.5 + 0.01 * count)
        middle = (lowest + highest) / 2
        _ticks(axes.yaxis, [lowest, middle, highest], [f"{value:.4g}" for value in (lowest, middle, highest)])
        shown = sorted({0, (count - 1) // 2, count - 1})
        _ticks(axes.xaxis, shown, [days[i] for i in shown])
        for label, side in zip(axes.get_xticklabels(), ("left", "center", "right")[: len(shown)], strict=True):
            label.set_horizontalalignment(side)
        axes.set_ylabel(unit)
        return _svg(figure, name, "Latency over the runs")


def _extremes(values):
    """(positions, values), of many points the least and the largest of each stretch."""
    if len(values) <= _MOST_DRAWN:
        return np.arange(len(values)), values
    kept = []
    for stretch in np.array_split(np.arange(len(values)), _MOST_DRAWN // 2):
        kept += sorted({int(stretch[values[stretch].argmin()]), int(stretch[values[stretch].argmax()])})
    return np.array(kept), values[kept]
