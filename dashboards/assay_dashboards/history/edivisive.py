"""Change points of one series: E-divisive with the threshold of an autoregressive null.

The statistic is Q of Matteson & James 2014, "A Nonparametric Approach for Multiple Change Point Analysis of
Multivariate Data", JASA 109(505), equations 5 and 6, with alpha = 1 and the second segment reaching to the end,
bisecting hierarchically. Three things differ from its common use, which permutes the values and so takes any slow drift
for a change:

- The series is whitened as an AR(1) process first. What is left has independent points, and a change of level is still
  one. The coefficient is estimated after the likely changes of level are taken out, and raised by its bias and by an
  allowance for its error, which grows as smaller levels are asked for.
- Q is of the normal scores of the ranks (ties in random order), so that its distribution under the null is the same for
  every distribution of the noise, heavy tails and values on a grid included: null_quantiles.csv, by calibrate.py.
- A p-value comes out, however small, which a night's worth of series needs (watch.py).
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.special import ndtri

SHORTEST = 28  # points, below which nothing can be told from noise that hangs together
LONGEST = 1024  # points; the table ends there, and the work grows as their square
SIDE = 3  # points at least on either side of a change
LEVEL = 0.05  # a change with a larger p is none, however few series there are

_LEVELS = (LEVEL, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # p-values are told down to the last
_STRONGEST = 0.9  # coefficient that is whitened away; above it a change of level would go too
# Lags whose correlations are asked for the coefficient: (lag, points needed, standard errors taken off). Long ones see
# a dependence that noise of the single measurement hides from short ones.
_LAGS = ((1, 0, 0.0), (2, 50, 1.5), (4, 100, 2.0))
_CERTAIN = 1e-5  # p, without whitening, below which a level is taken out besides the likeliest one


@dataclass(frozen=True)
class Change:
    position: int  # of the first point after it
    p: float


def split_statistics(scores: np.ndarray) -> np.ndarray:
    """Q of every split of `scores` (n): element t is that of the first t against the rest. NaN where a side is shorter
    than SIDE."""
    n = len(scores)
    below = _sums_to_earlier(scores)
    order = np.argsort(scores, kind="stable")
    ranked, ends = scores[order], np.cumsum(scores[order])
    to_all = np.empty(n)
    to_all[order] = (2 * np.arange(1, n + 1) - n) * ranked - 2 * ends + ends[-1]
    # Sums of |difference| over pairs within the first t, within the rest, and across.
    first = np.concatenate(([0.0], np.cumsum(below)))
    rest = first[-1] - np.concatenate(([0.0], np.cumsum(to_all - below)))
    across = first[-1] - first - rest
    t = np.arange(SIDE, n - SIDE + 1)
    r = n - t
    found = np.full(n + 1, np.nan)
    found[t] = t * r / n * (2 * across[t] / (t * r) - 2 * first[t] / (t * (t - 1)) - 2 * rest[t] / (r * (r - 1)))
    return found


def _sums_to_earlier(values, block=256):
    """For each value the sum of its distances to those before it, a block of rows at a time for the memory's sake."""
    sums = np.empty(len(values))
    for start in range(0, len(values), block):
        stop = min(start + block, len(values))
        distances = np.abs(values[start:stop, None] - values[None, :stop])
        sums[start:stop] = np.tril(distances, k=start - 1).sum(axis=1)
    return sums


def strongest_split(scores: np.ndarray) -> tuple[float, int]:
    """The largest Q, and the index of the first value after that split."""
    found = split_statistics(scores)
    position = int(np.nanargmax(found))
    return float(found[position]), position


def normal_scores(values: np.ndarray, generator) -> np.ndarray:
    """Quantiles of the normal distribution at (rank - 1/2) / n; equal values are ranked in random order."""
    n = len(values)
    order = np.lexsort((generator.random(n), values))
    scores = np.empty(n)
    scores[order] = _quantiles_of_ranks(n)
    return scores


@cache
def _quantiles_of_ranks(n):
    return ndtri((np.arange(1, n + 1) - 0.5) / n)


def dependence(values: np.ndarray, cuts: list[int]) -> float:
    """An AR(1) coefficient, 0 to 1, that explains how points some lags apart hang together: the largest that the lags
    say. The mean between `cuts` is taken out. Each mean lowers a correlation r by (1 + 3 r) / n (Kendall 1954, "Note on
    bias in the estimation of autocorrelation", Biometrika 41), and one between cuts at the largest differences by
    about as much again."""
    n = len(values)
    ends = [0, *sorted(cuts), n]
    rest = np.concatenate([values[a:b] - values[a:b].mean() for a, b in pairwise(ends)])
    power = float(rest @ rest)
    found = 0.0
    for lag, fewest, errors in _LAGS if power > 0 else ():
        if n >= fewest:
            r = float(rest[lag:] @ rest[:-lag]) / power
            r += 2 * (len(ends) - 1) * (1 + 3 * max(r, 0.0)) / n - errors / np.sqrt(n)
            found = max(found, min(max(r, 0.0), 1.0) ** (1 / lag))
    return found


def _likely_cuts(scores, likeliest):
    """Where the level changes for certain if points were independent; the likeliest place whatever its p."""
    cuts = [likeliest]
    parts = [(0, likeliest), (likeliest, len(scores))]
    while parts:
        start, stop = parts.pop()
        if stop - start >= SHORTEST:
            statistic, position = strongest_split(scores[start:stop])
            if p_value(statistic, stop - start) <= _CERTAIN:
                cuts.append(start + position)
                parts += [(start, start + position), (start + position, stop)]
    return cuts


def whitened(values: np.ndarray, coefficient: float) -> np.ndarray:
    return np.concatenate(((1 - coefficient) * values[:1], values[1:] - coefficient * values[:-1]))


@cache
def _null_table():
    """(log of sizes, -log of levels, quantiles [size, level])"""
    table = np.loadtxt(Path(__file__).with_name("null_quantiles.csv"), delimiter=",")
    return np.log(table[1:, 0]), -np.log(table[0, 1:]), table[1:, 1:]


def p_value(statistic: float, n: int) -> float:
    """The chance that the largest Q of n independent points is as large; 1 where it is more than a half. Beyond the
    table log p goes on as a straight line, which is never too small, since log p falls ever faster."""
    sizes, levels, table = _null_table()
    quantiles = np.array([np.interp(np.log(n), sizes, column) for column in table.T])
    if statistic < quantiles[0]:
        return 1.0
    if statistic <= quantiles[-1]:
        return float(np.exp(-np.interp(statistic, quantiles, levels)))
    slope = (levels[-1] - levels[-2]) / (quantiles[-1] - quantiles[-2])
    return float(np.exp(-levels[-1] - slope * (statistic - quantiles[-1])))


def strongest_change(values: np.ndarray, generator) -> Change:
    """Of SHORTEST to LONGEST points in the order of time; p is 1 where all are equal."""
    if (values == values[0]).all():
        return Change(len(values) // 2, 1.0)
    n = len(values)
    scores = normal_scores(values, generator)
    statistic, position = strongest_split(scores)
    p = p_value(statistic, n)
    if p > LEVEL:  # whitened it would be larger still; most series end here
        return Change(position, p)
    cuts = _likely_cuts(scores, position)
    # Of scores a few far values cannot hide how the others hang together, of values they can show it best.
    estimate = max(dependence(values, cuts), dependence(scores, cuts))
    position, p = None, 1.0
    for level in _LEVELS:
        # An estimate that happens to be low must not make a small p: the smaller, the more is allowed for.
        allowance = (0.8 - 0.5 * np.log10(level)) / np.sqrt(n)
        coefficient = min(estimate + allowance, _STRONGEST)
        statistic, split = strongest_split(normal_scores(whitened(values, coefficient), generator))
        position = split if position is None else position
        found = p_value(statistic, n)
        p = min(p, max(found, level))
        if found > level:
            break
    return Change(position, p)


def changes(values: np.ndarray, seed: int) -> tuple[float, list[Change]]:
    """(p of the strongest change of the whole, all changes with p up to LEVEL in the order of time). The p of a change
    that was found in a part is no smaller than that of the change that made the part."""
    generator = np.random.default_rng(seed)
    whole = strongest_change(values, generator)
    found = [whole] if whole.p <= LEVEL else []
    parts = [(0, whole.position, whole.p), (whole.position, len(values), whole.p)] if found else []
    while parts:
        start, stop, parent = parts.pop()
        if stop - start < SHORTEST:
            continue
        change = strongest_change(values[start:stop], generator)
        p = max(parent, 2 * change.p)  # either of two parts
        if p <= LEVEL:
            middle = start + change.position
            found.append(Change(middle, p))
            parts += [(start, middle, p), (middle, stop, p)]
    return whole.p, sorted(found, key=lambda change: change.position)


def benjamini_hochberg(p_values: np.ndarray, rate: float) -> float:
    """The p up to which changes are told, so that of those told at most `rate` are none, on average: Benjamini &
    Hochberg 1995, "Controlling the False Discovery Rate", JRSS B 57(1). 0 where none is told."""
    ordered = np.sort(p_values)
    passing = ordered <= rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    return float(ordered[passing].max()) if passing.any() else 0.0
