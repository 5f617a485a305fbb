"""Numbers and drawings of a comparison of latencies, against NumPy and SciPy."""

import numpy as np
import pytest
from scipy import stats

from assay_dashboards import latency_page, plots
from assay_dashboards.load import load
from assay_dashboards.view import View
from sample_against_base import SLOWER, compared, files_of, generator, one_case, said, section
from sample_latency import launches


def samples_of_arm(blocks, is_change):
    """Of the blocks that count, by the order's letters."""
    chosen = [
        values
        for one in blocks
        if one["void"] is None
        for letter, values in zip(one["order"], one["nanoseconds"], strict=True)
        if (letter == "B") == is_change
    ]
    return [np.array(values) / 1e3 for values in chosen]


def test_numbers_of_both_arms_follow_from_the_samples(tmp_path):
    voids = [("foreign", 1)]
    case, blocks = one_case(**SLOWER, voids=voids)
    assert {one["order"] for one in blocks} == {"ABBA", "BAAB"}
    arms = compared(tmp_path, [case], blocks).comparison.cases[0].arms
    for arm, is_change in zip(arms, (False, True), strict=True):
        processes = samples_of_arm(blocks, is_change)
        assert len(processes) == 2 * 28
        assert arm.p50_us == pytest.approx(np.median([np.median(one) for one in processes]))
        assert arm.p90_us == pytest.approx(np.median([np.percentile(one, 90) for one in processes]))
        assert arm.tail == pytest.approx(np.mean([np.mean(one > 1.05 * np.median(one)) for one in processes]))
        np.testing.assert_array_equal(np.sort(arm.microseconds), np.sort(np.concatenate(processes)))
    row = said(section(files_of(View(load(tmp_path)))["index.html"]))
    assert f"{arms[0].p50_us:.4g} µs {arms[1].p50_us:.4g} µs" in row


@pytest.mark.parametrize("count", [1, 5, 6, 24, 96])
def test_the_p99_ratio_has_the_interval_of_the_binomial(tmp_path, count):
    case, blocks = one_case(count=count, change={"stalls": 0.01})
    reading = compared(tmp_path, [case], blocks).comparison.cases[0].p99
    ratios = []
    for one in blocks:
        base, change = (np.concatenate(samples_of_arm([one], is_change)) for is_change in (False, True))
        ratios.append(np.log(np.percentile(change, 99) / np.percentile(base, 99)))
    assert reading.blocks == count
    assert reading.estimate == pytest.approx(np.median(ratios))
    left_out = int(stats.binom.ppf(0.025, count, 0.5))
    if left_out == 0:
        assert (reading.low, reading.high) == (-np.inf, np.inf)
        assert count < 6
    else:
        assert reading.low == pytest.approx(np.sort(ratios)[left_out - 1])
        assert reading.high == pytest.approx(np.sort(ratios)[-left_out])
        inside = stats.binom.cdf(count - left_out, count, 0.5) - stats.binom.cdf(left_out - 1, count, 0.5)
        assert inside >= 0.95


def curves_of(monkeypatch, draw):
    drawn = []
    plot = plots.matplotlib.axes.Axes.plot
    monkeypatch.setattr(
        plots.matplotlib.axes.Axes,
        "plot",
        lambda self, x, y, **style: (drawn.append((x, y)), plot(self, x, y, **style)),
    )
    draw()
    return drawn


@pytest.mark.parametrize("count", [3, 40, 30_000])
def test_every_drawn_point_lies_on_the_ecdf(monkeypatch, count):
    random = generator()
    base, change = (np.array(launches(random, stalls=0.01, count=count)) / 1e3 for _ in range(2))
    for draw, is_tail in ((plots.arms_ecdf, False), (plots.arms_tail, True)):
        with monkeypatch.context() as patch:
            curves = curves_of(patch, lambda draw=draw: draw(base, change, "a"))
        assert len(curves) == 2
        for values, (x, y) in zip((base, change), curves, strict=True):
            distribution = stats.ecdf(values)
            assert len(x) <= plots._POINTS
            if is_tail:
                longer = distribution.sf.evaluate(x)
                np.testing.assert_allclose(y[longer > 0], longer[longer > 0])
                assert x[-1] == values.max(), "to the very longest"
            else:
                np.testing.assert_allclose(y, distribution.cdf.evaluate(x))
                assert np.interp(0.5, y, x) == pytest.approx(np.median(values), rel=0.02)


def test_arms_that_are_the_same_or_constant_are_drawn():
    for base, change in (([5.0], [5.0]), ([5.0, 5.0], [5.0]), ([1e-3], [1e9])):
        for draw in (plots.arms_ecdf, plots.arms_tail):
            assert "<svg" in draw(np.array(base), np.array(change), "a")


def test_intervals_are_drawn_against_no_change_and_the_margin(tmp_path):
    case, blocks = one_case(**SLOWER)
    case = compared(tmp_path, [case], blocks).comparison.cases[0]
    for row in latency_page._rows(case):
        place = row["strip"]
        assert 0 <= place["zero"] <= 100
        pair_of = case.pairs.get(row["metric"])
        if pair_of is None:
            assert place["margin"] is None
            continue
        unit = (place["margin"] - place["zero"]) / pair_of["margin"]
        assert place["estimate"] == pytest.approx(place["zero"] + unit * pair_of["estimate"])
        assert place["low"] == pytest.approx(place["zero"] + unit * pair_of["low"])
        assert place["width"] == pytest.approx(unit * (pair_of["high"] - pair_of["low"]))
