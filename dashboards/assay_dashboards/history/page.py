"""history.html and a short table: the series that changed first, drawn, and a list of the others."""

import re
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import numpy as np
from sqlalchemy import select

from .. import plots
from ..command import write_pages
from ..html import template_environment, us
from ..plain import InputError, shortened
from .database import Database, point
from .watch import RATE, History, Series, read_history, watch

PAGE = "history.html"
_MOST_CHANGED = 40  # series that are drawn because they changed
_MOST_NEAREST = 10  # that are drawn because they are nearest to it
_MOST_LISTED = 2000  # rows of the page's table
_MOST_PRINTED = 20  # lines of the printed table
_MOST_EPOCHS = 12  # that are listed of a series
_STATES = {
    "candidate": ("unsure", "≈", "with a candidate"),
    "no candidate": ("good", "✓", "with none"),
    "too short": ("blank", "○", "too short to watch"),
    "device unknown": ("blank", "?", "of an unknown device, not watched"),
}


def write_history(database: Database, kernels: str, out: Path) -> str:
    """Writes the page of the series whose op/kernel, or whole id, matches the glob `kernels`. Returns the table and
    the page's path. Raises InputError."""
    with database.reading() as connection:
        with database.making_sense():
            history = read_history(connection)
        watch(history)
        if not history.series:
            raise InputError(f"{database.name}: no latencies in {len(history.runs)} runs; import runs that timed cases")
        shown = [one for one in history.series if _matches(one, kernels)]
        if not shown:
            raise InputError(f"--kernel {kernels}: matches none of {len(history.series)} series in {database.name}")
        shown.sort(key=_gravest_first)
        changed = [one for one in shown if one.state == "candidate"]
        others = [one for one in shown if one.state == "no candidate"]
        drawn = changed[:_MOST_CHANGED] + others[:_MOST_NEAREST]
        details = _details(connection, drawn)
    page = _page(history, shown, drawn, details, kernels)
    file = write_pages({PAGE: page.encode("utf-8")}, out)
    return "\n".join([*_table(history, shown, changed), str(file)])


def _matches(one, kernels):
    return fnmatchcase(one.kernel_id.partition(":")[0], kernels) or fnmatchcase(one.kernel_id, kernels)


def _gravest_first(one):
    largest = max((abs(candidate.relative) for candidate in one.candidates), default=0.0)
    return (one.state != "candidate", -largest, one.p is None, one.p or 0.0, one.kernel_id, one.metric)


def _details(connection, drawn):
    """Series -> run -> module hash: of the points beside each candidate."""
    found = {}
    columns = (point.c.series, point.c.run, point.c.module_hash)
    ids = [one.id for one in drawn if one.candidates]
    for row in connection.execute(select(*columns).where(point.c.series.in_(ids))):
        found.setdefault(row.series, {})[row.run] = row.module_hash
    return found


def _page(history, shown, drawn, details, kernels):
    environment = template_environment()
    environment.globals.update(us=us, states=_STATES, history=history, rate=RATE)
    counts = {state: sum(one.state == state for one in shown) for state in _STATES}
    return environment.get_template("history.html.j2").render(
        kernels=kernels,
        shown=shown,
        counts=counts,
        headline=_headline(counts),
        changed=[_drawn(history, one, details) for one in drawn if one.state == "candidate"],
        nearest=[_drawn(history, one, details) for one in drawn if one.state == "no candidate"],
        rows=[_row(history, one) for one in shown[:_MOST_LISTED]],
    )


def _headline(counts):
    """(class, symbol, words)"""
    if counts["candidate"]:
        return "unsure", "≈", f"candidates in {counts['candidate']} series"
    return ("good", "✓", "no candidate") if counts["no candidate"] else ("blank", "○", "nothing watched yet")


def _row(history, one):
    last = one.candidates[-1] if one.candidates else None
    return {
        "series": one,
        "change": percent(last.relative) if last else "",
        "day": _day(history, one, last.position) if last else "",
        "last": _shown_value(one, float(one.values[-1])) if len(one.values) else "",
    }


def _drawn(history, one, details):
    changes = [candidate.position for candidate in one.candidates]
    days = [_day(history, one, i) for i in range(len(one.values))]
    ends = sorted({0, *changes, *one.breaks, len(one.values)})
    levels = [(a, b, float(np.median(one.values[a:b]))) for a, b in pairwise(ends)]
    unit = "of the reference" if one.cancelled[-1] else "µs a launch"
    name = f"series-{one.id}"
    return {
        "series": one,
        "anchor": name,
        "plot": plots.history_curve(one.values, days, one.breaks, changes, levels, unit, name),
        "candidates": [_told(history, one, candidate, details) for candidate in one.candidates],
        "epochs": [_new_facts(history, one, position) for position in one.breaks[-_MOST_EPOCHS:]],
        "epochs_left": max(0, len(one.breaks) - _MOST_EPOCHS),
    }


def _told(history, one, candidate, details):
    runs = [history.runs[one.runs[i]] for i in (candidate.last, candidate.position)]
    modules = [details.get(one.id, {}).get(run.id, "") for run in runs]
    before, after = (_commit(run.commit) for run in runs)
    return {
        "change": percent(candidate.relative),
        "slower": candidate.relative > 0,
        "before": _shown_value(one, candidate.before),
        "after": _shown_value(one, candidate.after),
        "p": candidate.p,
        "runs": [run.started for run in runs],
        "commits": [before, after],
        "code": "unknown" if "" in modules else "the same" if modules[0] == modules[1] else "another",
        # Of a tree that differed from its commit there is no name.
        "command": f"assay gate --base {'REF' if before.endswith('-dirty') else before or 'REF'}",
    }


def _new_facts(history, one, position):
    """What differs at the beginning of an epoch."""
    before, after = (history.epochs[one.epochs[i]] for i in (position - 1, position))
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    facts = [(name, *(_fact(facts, name) for facts in (before, after))) for name in names]
    if one.cancelled[position - 1] != one.cancelled[position]:
        words = ("absolute", "relative to a reference")
        facts.append(("values", words[one.cancelled[position - 1]], words[one.cancelled[position]]))
    return {"day": _day(history, one, position), "facts": facts}


def _fact(facts, name):
    """A run has not every library; a fact that it lacks was not kept when it was imported."""
    return facts.get(name, "none" if name.startswith("library ") else "not kept")


def _commit(text):
    """A name that a shell and git take for a commit, perhaps with -dirty behind it, or nothing."""
    return text if re.fullmatch(r"[0-9a-f]{7,64}(-dirty)?", text) else ""


def _day(history, one, position):
    return history.runs[one.runs[position]].started[:10]


def _shown_value(one: Series, value):
    return f"{value:.4f}" if one.cancelled[-1] else us(value)


def percent(relative: float) -> str:
    return f"{100 * relative:+.1f} %"


def _table(history: History, shown, changed):
    lines = []
    if changed:
        lines.append(f"{'change':>9}  {'p':>7}  {'since':10}  series")
    for one in changed[:_MOST_PRINTED]:
        last = one.candidates[-1]
        name = shortened(f"{one.kernel_id} {one.metric}, {one.device} {one.unit}", 140)
        lines.append(f"{percent(last.relative):>9}  {last.p:7.0e}  {_day(history, one, last.position):10}  {name}")
    if len(changed) > _MOST_PRINTED:
        lines.append(f"and {len(changed) - _MOST_PRINTED} more in the page")
    states = [f"{sum(one.state == state for one in shown)} {what}" for state, (_, _, what) in _STATES.items()]
    lines.append(f"{len(shown)} series: {', '.join(states)}")
    if changed:
        lines.append("a candidate is to be confirmed by the A/B gate on its pair: assay gate --base REF")
    return lines
