"""Which series changed, and where: change points within the epochs of every series, told at a rate of false ones that
holds for all series together. What is found is a candidate: the A/B gate has to confirm it."""

import json
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
from sqlalchemy import func, select

from . import edivisive
from .database import epoch, point, run, series
from .runs import UNKNOWN

RATE = 0.05  # of the series that are told at most so many have not changed, on average
SMALLEST = 0.003  # relative; below it the A/B gate calls a median unchanged, so that nothing could confirm it
_ROWS = 50_000  # that are read at a time


@dataclass(frozen=True)
class Run:
    id: int
    started: str
    commit: str


@dataclass(frozen=True)
class Candidate:
    """A change of the level."""

    position: int  # of the first point after it, in the series
    last: int  # of the last point before it that may be compared with that
    p: float
    before: float  # medians of the points between it and its neighbours
    after: float

    @property
    def relative(self) -> float:
        return self.after / self.before - 1


@dataclass
class Series:
    """Points in the order of time; `runs` are indices into History.runs, `values` p50 in microseconds, or relative to
    the reference build where `cancelled`."""

    id: int
    key: str
    kernel_id: str
    metric: str
    target: str
    device: str
    unit: str
    runs: np.ndarray
    epochs: np.ndarray
    values: np.ndarray
    cancelled: np.ndarray
    breaks: list = field(default_factory=list)  # positions of the first points of epochs but the first
    state: str = ""  # "candidate", "no candidate", or why it is not watched: "too short", "device unknown"
    p: float | None = None  # of one that is watched
    candidates: list = field(default_factory=list)


@dataclass
class History:
    runs: list
    epochs: dict  # id -> facts
    series: list
    points: int
    level: float = 0.0  # the p up to which changes are told


def read_history(connection) -> History:
    """Everything that is watched; points without a positive p50 are left out."""
    order = select(run.c.id, run.c.started, run.c.commit).order_by(run.c.started, run.c.id)
    runs = [Run(*row) for row in connection.execute(order)]
    epochs = {row.id: json.loads(row.facts) for row in connection.execute(select(epoch.c.id, epoch.c.facts))}
    columns = (point.c.series, point.c.run, point.c.epoch, point.c.p50_us, func.coalesce(point.c.reference_us, 0.0))
    rows = connection.execute(select(*columns).where(point.c.p50_us > 0)).partitions(_ROWS)
    parts = [np.fromiter(chain.from_iterable(part), float).reshape(-1, len(columns)) for part in rows]
    table = np.concatenate([np.empty((0, len(columns))), *parts])

    if strays := set(table[:, 1].astype(int)) - {one.id for one in runs}:
        raise ValueError(f"points of run {min(strays)}, of which nothing else is told")
    place = np.zeros(max((one.id for one in runs), default=0) + 1, dtype=int)
    place[[one.id for one in runs]] = np.arange(len(runs))
    when = place[table[:, 1].astype(int)]
    table = table[np.lexsort((when, table[:, 0]))]
    ids, starts = np.unique(table[:, 0], return_index=True)
    of_series = dict(zip(ids.astype(int).tolist(), np.split(table, starts)[1:], strict=True))
    none = np.empty((0, len(columns)))
    found = []
    for row in connection.execute(select(series).order_by(series.c.id)):
        rows = of_series.get(row.id, none)
        cancelled = rows[:, 4] > 0
        values = np.where(cancelled, rows[:, 3] / np.where(cancelled, rows[:, 4], 1), rows[:, 3])
        found.append(Series(*row, place[rows[:, 1].astype(int)], rows[:, 2].astype(int), values, cancelled))
    return History(runs, epochs, found, len(table))


def watch(history: History):
    """Fills in what was found of every series."""
    changes = {}
    for one in history.series:
        one.breaks = (np.flatnonzero(np.diff(one.epochs) | np.diff(one.cancelled)) + 1).tolist()
        kinds = _kinds(one)
        parts = [places[-edivisive.LONGEST :] for places in kinds if len(places) >= edivisive.SHORTEST]
        if UNKNOWN in (one.device, one.unit.partition(";")[0]):
            one.state = "device unknown"  # it may be several, which are never compared
        elif not parts:
            one.state = "too short"
        else:
            one.state = "no candidate"
            tested = [edivisive.changes(np.log(one.values[places]), int(one.key, 16)) for places in parts]
            one.p = min(1.0, len(parts) * min(p for p, _ in tested))
            changes[one.id] = [(places, len(parts), found) for places, (_, found) in zip(parts, tested, strict=True)]
    watched = [one for one in history.series if one.id in changes]
    history.level = edivisive.benjamini_hochberg(np.array([one.p for one in watched]), RATE)
    for one in watched:
        for places, parts, found in changes[one.id]:
            told = [(change.position, parts * change.p) for change in found]
            one.candidates += _candidates(one, places, [change for change in told if change[1] <= history.level])
        if one.candidates:
            one.candidates.sort(key=lambda candidate: candidate.position)
            one.state = "candidate"
        elif len(next(places for places in _kinds(one) if places[-1] == len(one.values) - 1)) < edivisive.SHORTEST:
            one.state, one.p = "too short", None  # what is measured now: nobody looks at it yet


def _kinds(one):
    """Places of the points that may be compared, in the order of time: those of one epoch, whatever was measured
    between them, for nights may take turns on two machines."""
    kinds = {}
    for place, kind in enumerate(zip(one.epochs.tolist(), one.cancelled.tolist(), strict=True)):
        kinds.setdefault(kind, []).append(place)
    return [np.array(places) for places in kinds.values()]


def _candidates(one, places, told):
    """Those large enough to matter, of (position, p) in the part of the series that lies at these places."""
    ends = [0, *(position for position, _ in told), len(places)]
    medians = [float(np.median(one.values[places[a:b]])) for a, b in pairwise(ends)]
    found = [
        Candidate(int(places[position]), int(places[position - 1]), p, before, after)
        for (position, p), (before, after) in zip(told, pairwise(medians), strict=True)
    ]
    return [candidate for candidate in found if abs(candidate.relative) >= SMALLEST]
