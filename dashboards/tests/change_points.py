"""How often series without a change show one, and how often a planted one is found.
python dashboards/tests/change_points.py prints both tables of dashboards/README.md."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay_dashboards.history.edivisive import LEVEL, SHORTEST, changes

_OF_EACH = 4000  # null series of a kind and length
_OF_EACH_PLANTED = 1000
NULLS = (
    "normal", "t, 2 degrees", "log-normal", "1 in 20 ten times wider", "two values, 1 in 2", "two values, 1 in 5",
    "on a grid", "constant", "AR(1), 0.5", "AR(1), 0.8", "AR(1), 0.8, on a grid", "AR(1), 0.8, 1 in 20 ten times wider",
)  # fmt: skip
# What is not claimed: dependence of other kinds.
BEYOND = ("AR(1), 0.8, and as much noise", "AR(1), 0.8, t, 2 degrees", "AR(1), 0.95", "random walk")
# (size, noise, AR(1) coefficient, points, of them after the change, share that is found)
PLANTED = (
    (0.03, 0.003, 0.0, 100, 50, 0.99),
    (0.03, 0.003, 0.0, 100, 5, 0.97),
    (0.03, 0.003, 0.0, 30, 10, 0.95),
    (0.03, 0.006, 0.0, 100, 50, 0.98),
    (0.03, 0.006, 0.0, 100, 5, 0.94),
    (0.03, 0.01, 0.0, 100, 50, 0.95),
    (0.03, 0.01, 0.0, 100, 5, 0.80),
    (0.05, 0.01, 0.0, 100, 50, 0.98),
    (0.05, 0.01, 0.0, 100, 5, 0.92),
    (0.05, 0.01, 0.0, 30, 10, 0.85),
    (0.03, 0.006, 0.5, 100, 50, 0.88),
    (0.05, 0.006, 0.5, 100, 50, 0.96),
    (0.05, 0.01, 0.5, 100, 50, 0.85),
)


def null_series(kind, n, generator, coefficient=0.0):
    """`coefficient` is for the kind AR(1), without a number."""
    if kind == "constant":
        return np.ones(n)
    if kind == "random walk":
        return np.cumsum(generator.standard_normal(n))
    coefficient = float(kind.split(", ")[1]) if kind.startswith("AR(1), ") else coefficient
    drawn = n + 100 if coefficient else n  # until what it began with is forgotten
    shocks = generator.standard_normal(drawn)
    if "t, 2 degrees" in kind:
        shocks = generator.standard_t(2, drawn)
    elif kind == "log-normal":
        shocks = np.exp(shocks)
    elif "ten times wider" in kind:
        shocks *= np.where(generator.random(drawn) < 0.05, 10, 1)
    elif kind.startswith("two values"):
        shocks = (generator.random(drawn) < 1 / float(kind[-1])).astype(float)
    values = shocks
    for t in range(1, drawn) if coefficient else ():
        values[t] += coefficient * values[t - 1]
    values = values[-n:]
    if "as much noise" in kind:
        values = values + generator.standard_normal(n) / np.sqrt(1 - coefficient**2)
    return np.round(values) if "on a grid" in kind else values


def rate_of_false_changes(kind, n, count, seed):
    """p of the strongest change of so many series."""
    generator = np.random.default_rng([seed, n, NULLS.index(kind) if kind in NULLS else 99])
    return np.array([changes(null_series(kind, n, generator), i)[0] for i in range(count)])


def planted_series(size, noise, coefficient, n, after, count, seed):
    """Logarithms of latencies, of which the last `after` are longer by the share `size`."""
    generator = np.random.default_rng([seed, n, after, int(1e4 * noise), int(10 * coefficient)])
    series = []
    for _ in range(count):
        values = noise * np.sqrt(1 - coefficient**2) * null_series("AR(1)", n, generator, coefficient)
        values[n - after :] += np.log1p(size)
        series.append(values)
    return series


def found_share(series, position):
    """The share of series with a change within two points of `position`."""
    found = [changes(values, i)[1] for i, values in enumerate(series)]
    return np.mean([any(abs(change.position - position) <= 2 for change in of_one) for of_one in found])


def main():
    lengths = (SHORTEST, 60, 200)
    print(f"| null series | {' | '.join(f'{n} points' for n in lengths)} |\n| --- | {'--: | ' * len(lengths)}")
    for kind in NULLS + BEYOND:
        rates = [(rate_of_false_changes(kind, n, _OF_EACH, seed=1) <= LEVEL).mean() for n in lengths]
        print(f"| {kind} | {' | '.join(f'{100 * rate:.1f} %' for rate in rates)} |", flush=True)
    print("\n| change | noise | AR(1) | points | after it | found |\n| --- | --- | --- | --: | --: | --: |")
    for size, noise, coefficient, n, after, _ in PLANTED:
        share = found_share(planted_series(size, noise, coefficient, n, after, _OF_EACH_PLANTED, seed=2), n - after)
        words = f"+{100 * size:.0f} % | {100 * noise:.1f} % | {coefficient:g} | {n} | {after}"
        print(f"| {words} | {100 * share:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
