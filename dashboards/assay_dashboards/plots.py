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
