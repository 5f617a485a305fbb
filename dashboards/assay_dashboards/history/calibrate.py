"""python -m assay_dashboards.history.calibrate: makes null_quantiles.csv, the distribution of the largest Q of n
independent points, from random orders of their normal scores. Prints it; takes minutes."""

import sys

import numpy as np

from .edivisive import LONGEST, SHORTEST, SIDE, normal_scores

SIZES = (SHORTEST, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 768, LONGEST)
LEVELS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 5e-3, 3e-3, 2e-3, 1e-3, 5e-4, 3e-4, 2e-4, 1e-4)
_WORK = 1e11  # pairs of points looked at for a size, within
_ORDERS = (200_000, 4_000_000)  # orders at least and at most


def largest_statistics(n: int, orders: int, generator) -> np.ndarray:
    """The largest Q of so many random orders, all at once: a point after another joins the first segment."""
    scores = normal_scores(np.arange(n), generator)
    distances = np.abs(scores[:, None] - scores[None, :])
    to_all = distances.sum(axis=1)
    point = generator.permuted(np.tile(np.arange(n), (orders, 1)), axis=1)
    to_first = np.zeros((orders, n))  # of each point, to the first segment
    first, rest = np.zeros(orders), np.full(orders, to_all.sum() / 2)
    largest = np.full(orders, -np.inf)
    for t in range(1, n - SIDE + 1):
        joins = point[:, t - 1]
        own = to_first[np.arange(orders), joins]
        first += own
        rest -= to_all[joins] - own
        to_first += distances[joins]
        if t >= SIDE:
            r = n - t
            across = to_all.sum() / 2 - first - rest
            q = t * r / n * (2 * across / (t * r) - 2 * first / (t * (t - 1)) - 2 * rest / (r * (r - 1)))
            np.maximum(largest, q, out=largest)
    return largest


def null_sample(n: int, orders: int, generator) -> np.ndarray:
    block = max(1, 60_000 // n)  # what fits a processor's cache
    return np.concatenate([largest_statistics(n, block, generator) for _ in range(-(-orders // block))])


def main():
    print("# Quantiles of the largest Q of n independent points (rows) at the levels of the first row; made by")
    print("# python -m assay_dashboards.history.calibrate")
    print(",".join(["0", *(f"{level:g}" for level in LEVELS)]))
    for n in SIZES:
        orders = int(np.clip(_WORK / n**2, *_ORDERS))
        sample = null_sample(n, orders, np.random.default_rng([n, orders]))
        quantiles = np.quantile(sample, [1 - level for level in LEVELS])
        print(",".join([str(n), *(f"{quantile:.4f}" for quantile in quantiles)]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
