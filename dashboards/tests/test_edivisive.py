"""Change points of one series: the statistic against its definition, p-values against exhaustive orders, SciPy and
fresh samples, rates of false changes on null series of many kinds, and power on planted changes.

Rates and power as tables: python dashboards/tests/change_points.py"""

import itertools

import numpy as np
import pytest
from scipy import stats

from assay_dashboards.history import edivisive
from assay_dashboards.history.calibrate import LEVELS, SIZES, largest_statistics, null_sample
from assay_dashboards.history.edivisive import LEVEL, SHORTEST, SIDE, benjamini_hochberg, changes
from assay_dashboards.history.watch import RATE
from change_points import NULLS, PLANTED, found_share, null_series, planted_series, rate_of_false_changes


def q_by_definition(first, second):
    """Matteson & James 2014, equations 5 and 6, term by term."""
    n, m = len(first), len(second)
    across = sum(abs(x - y) for x in first for y in second)
    within_first = sum(abs(x - y) for x, y in itertools.combinations(first, 2))
    within_second = sum(abs(x - y) for x, y in itertools.combinations(second, 2))
    energy = 2 / (m * n) * across - within_first / (n * (n - 1) / 2) - within_second / (m * (m - 1) / 2)
    return m * n / (m + n) * energy


@pytest.mark.parametrize("n", [2 * SIDE, 7, SHORTEST, 61])
def test_the_statistic_is_that_of_the_paper(n):
    values = np.random.default_rng(n).standard_normal(n)
    found = edivisive.split_statistics(values)
    for t in range(n + 1):
        if SIDE <= t <= n - SIDE:
            assert found[t] == pytest.approx(q_by_definition(values[:t], values[t:]), abs=1e-10)
        else:
            assert np.isnan(found[t])


def test_blocks_of_rows_change_nothing():
    values = np.random.default_rng(1).standard_normal(700)
    t = 300
    assert edivisive.split_statistics(values)[t] == pytest.approx(q_by_definition(values[:t], values[t:]), abs=1e-8)


def test_the_statistic_is_scipys_energy_distance_but_for_a_values_distance_to_itself():
    values = np.random.default_rng(2).standard_normal(40)
    first, second = values[:15], values[15:]
    distance = stats.energy_distance(first, second) ** 2  # every pair, those of a value with itself too
    spread = [np.abs(part[:, None] - part).sum() / len(part) ** 2 / (len(part) - 1) for part in (first, second)]
    expected = 15 * 25 / 40 * (distance - sum(spread))
    assert edivisive.split_statistics(values)[15] == pytest.approx(expected, abs=1e-10)


def test_the_simulation_of_the_table_has_the_same_statistic():
    n = 30
    generator = np.random.default_rng(4)
    orders = np.random.default_rng(4)  # the same draws once more
    edivisive.normal_scores(np.arange(n), orders)
    points = orders.permuted(np.tile(np.arange(n), (5, 1)), axis=1)
    scores = edivisive.normal_scores(np.arange(n), np.random.default_rng())
    expected = [edivisive.strongest_split(scores[order])[0] for order in points]
    assert largest_statistics(n, 5, generator) == pytest.approx(expected, abs=1e-9)


def test_the_table_is_what_calibrate_makes_and_p_values_are_its_levels():
    sizes, levels, quantiles = edivisive._null_table()
    assert np.exp(sizes) == pytest.approx(SIZES)
    assert np.exp(-levels) == pytest.approx(LEVELS)
    for n, row in zip(SIZES, quantiles, strict=True):
        assert [edivisive.p_value(quantile, n) for quantile in row] == pytest.approx(LEVELS)
        beyond = [edivisive.p_value(row[-1] + step, n) for step in (0.0, 1.0, 5.0, 20.0)]
        assert beyond == sorted(beyond, reverse=True)
        assert edivisive.p_value(row[0] - 0.01, n) == 1.0


def test_scores_are_the_same_for_every_distribution_of_the_noise():
    generator = np.random.default_rng(5)
    normal = generator.standard_normal(50)
    expected = edivisive.normal_scores(normal, generator)
    assert edivisive.normal_scores(np.exp(30 * normal), generator) == pytest.approx(expected)
    assert expected == pytest.approx(stats.norm.ppf((stats.rankdata(normal) - 0.5) / 50))


def test_equal_values_are_ranked_at_random():
    generator = np.random.default_rng(6)
    drawn = {tuple(edivisive.normal_scores(np.array([1.0, 1.0, 2.0]), generator)) for _ in range(50)}
    assert len(drawn) == 2
    assert {scores[2] for scores in drawn} == {stats.norm.ppf(2.5 / 3)}


@pytest.mark.parametrize("coefficient", [0.0, 0.4, 0.8])
def test_whitening_gives_back_what_an_autoregressive_process_was_made_of(coefficient):
    shocks = np.random.default_rng(7).standard_normal(200)
    values = np.empty(200)
    values[0] = shocks[0]
    for t in range(1, 200):
        values[t] = coefficient * values[t - 1] + shocks[t]
    assert edivisive.whitened(values, coefficient)[1:] == pytest.approx(shocks[1:])


def test_the_estimated_dependence_is_that_of_the_process_with_or_without_a_change():
    for coefficient in (0.0, 0.5, 0.8):
        values = null_series("AR(1)", 4000, np.random.default_rng(8), coefficient)
        assert edivisive.dependence(values, [2000]) == pytest.approx(coefficient, abs=0.1)
        values[1000:] += 20 * values.std()
        assert edivisive.dependence(values, [1000]) == pytest.approx(coefficient, abs=0.1)
        assert edivisive.dependence(values, [2000]) > 0.85, "unless the change is taken out"


@pytest.mark.parametrize("n", [SHORTEST, 100])
def test_a_constant_series_has_no_change(n):
    assert changes(np.full(n, 3.0), 1) == (1.0, [])


def test_a_series_that_is_constant_but_for_its_level_has_one():
    p, found = changes(np.r_[np.zeros(40), np.ones(20)], 1)
    assert [change.position for change in found] == [40]
    assert p == found[0].p <= 1e-5


def test_a_rise_and_a_fall_are_two_changes():
    values = 0.005 * np.random.default_rng(9).standard_normal(120)
    values[40:80] += 0.05
    _, found = changes(values, 1)
    assert [change.position for change in found] == pytest.approx([40, 80], abs=2)


def test_the_same_series_has_the_same_changes():
    values = np.round(np.random.default_rng(10).standard_normal(60))
    assert changes(values, 7) == changes(values, 7)


def test_benjamini_hochberg_is_scipys():
    seed = np.random.SeedSequence().entropy
    print("seed", seed)
    generator = np.random.default_rng(seed)
    for _ in range(200):
        p = generator.random(generator.integers(1, 40)) ** generator.integers(1, 6)
        told = p <= benjamini_hochberg(p, 0.05)
        assert (told == (stats.false_discovery_control(p, method="bh") <= 0.05)).all()


def test_benjamini_hochberg_of_nothing_tells_nothing():
    assert benjamini_hochberg(np.array([]), 0.05) == 0.0
    assert benjamini_hochberg(np.array([0.2, 1.0]), 0.05) == 0.0


# ---- rates; measured figures stand in dashboards/README.md ----


def at_most(rate, count, of):
    """Whether so many of so many are no evidence, at 1 in 1000, of a rate above `rate`."""
    return stats.binomtest(count, of, rate, alternative="greater").pvalue > 1e-3


@pytest.mark.statistical
@pytest.mark.parametrize("n", [SHORTEST, 45, 300])
def test_p_values_of_fresh_samples_are_levels(n):
    """Between rows of the table too, and beyond its last level."""
    orders = 300_000 if n < 100 else 30_000
    sample = null_sample(n, orders, np.random.default_rng(11))
    p = np.array([edivisive.p_value(q, n) for q in np.sort(sample)[-orders // 10 :]])
    for level in (0.05, 0.01, 1e-3):
        assert (p <= level).sum() / len(sample) == pytest.approx(level, rel=0.04 + 4 / np.sqrt(level * len(sample)))
    for level in (1e-5, 1e-6):
        assert at_most(level, (p <= level).sum(), len(sample))


@pytest.mark.statistical
def test_every_order_of_few_points():
    """The exact distribution, of 8 points, is what the simulation draws from."""
    scores = edivisive.normal_scores(np.arange(8), np.random.default_rng())
    exact = np.sort([edivisive.strongest_split(scores[list(order)])[0] for order in itertools.permutations(range(8))])
    drawn = null_sample(8, 100_000, np.random.default_rng(12))
    assert set(np.round(np.unique(drawn), 9)) <= set(np.round(np.unique(exact), 9))
    shares = [(sample[:, None] >= exact[::2000] - 1e-9).mean(axis=0) for sample in (exact, drawn)]
    assert shares[1] == pytest.approx(shares[0], abs=0.006)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [SHORTEST, 60, 200])
@pytest.mark.parametrize("kind", NULLS)
def test_null_series_show_a_false_change_at_most_at_the_level(kind, n):
    count = 1500 if n < 100 else 800
    false = rate_of_false_changes(kind, n, count, seed=13)
    for level in (LEVEL, 0.01):
        assert at_most(level, int((false <= level).sum()), count), (kind, n, (false <= level).mean())


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["normal", "two values, 1 in 5", "AR(1), 0.5", "AR(1), 0.8"])
def test_nights_of_many_null_series_tell_of_none(kind):
    """One in twenty at most does, whatever the number of series: tails of the p-values are what is looked at."""
    series, nights = 200, 60
    p = rate_of_false_changes(kind, 60, series * nights, seed=15).reshape(nights, series)
    false = sum(benjamini_hochberg(night, RATE) > 0 for night in p)
    assert at_most(RATE, false, nights), false


@pytest.mark.statistical
def test_the_rate_would_be_missed_without_whitening(monkeypatch):
    """That the tests above can fail."""
    monkeypatch.setattr(edivisive, "_STRONGEST", 0.0)
    false = rate_of_false_changes("AR(1), 0.8", 60, 300, seed=13)
    assert (false <= LEVEL).mean() > 0.5


@pytest.mark.statistical
@pytest.mark.parametrize(("size", "noise", "coefficient", "n", "after", "least"), PLANTED)
def test_planted_changes_are_found_in_their_place(size, noise, coefficient, n, after, least):
    series = planted_series(size, noise, coefficient, n, after, 400, seed=14)
    count = round(400 * found_share(series, n - after))
    assert stats.binomtest(count, 400, least, alternative="less").pvalue > 1e-3, count / 400
