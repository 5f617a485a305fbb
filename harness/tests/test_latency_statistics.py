"""The latency gate's statistics against SciPy's, on random questions that the program latency_statistics answers by the
harness's own code."""

import itertools
import json
import math
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special, stats

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "harness" / "tests" / "latency_statistics"
SEED = 20240501


@pytest.fixture
def chance():
    print(f"seed {SEED}")
    return random.Random(SEED)


def ask(questions: list[dict]) -> list:
    text = "".join(json.dumps(question) + "\n" for question in questions)
    told = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(answers) == len(questions)
    return answers


def deltas(chance: random.Random, count: int) -> list[float]:
    return [chance.gauss(0.002, 0.01) for _ in range(count)]


def number(value: float | str) -> float:
    return float(value)


def close(got: float | str, want: float) -> bool:
    return number(got) == pytest.approx(want, rel=1e-9, abs=1e-300)


def test_signed_rank_is_wilcoxons(chance):
    questions = [
        {
            "what": "signed rank",
            "deltas": deltas(chance, chance.choice([1, 2, 5, 6, 12, 24, 48])),
            "bound": chance.choice([0.0, 0.003, -0.003]),
            "confidence": chance.choice([0.9, 0.95, 0.975, 0.999]),
        }
        for _ in range(300)
    ]
    for question, got in zip(questions, ask(questions), strict=True):
        shifted = np.array(question["deltas"]) - question["bound"]
        for side, alternative in (("above", "greater"), ("below", "less")):
            assert close(got[side], stats.wilcoxon(shifted, alternative=alternative, method="exact").pvalue)
        averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(question["deltas"], 2))
        assert got["estimate"] == pytest.approx(np.median(averages), rel=1e-12)
        level = 1 - question["confidence"]
        if 2.0 ** -len(shifted) > level:
            assert number(got["upper"]) == math.inf and number(got["lower"]) == -math.inf
            continue
        # The test at that level rejects what lies beyond a bound, and not what lies before it.
        for side, alternative, outwards in (("upper", "less", 1e-12), ("lower", "greater", -1e-12)):
            for step, rejects in ((outwards, True), (-outwards, False)):
                beyond = np.array(question["deltas"]) - (got[side] + step)
                assert (stats.wilcoxon(beyond, alternative=alternative, method="exact").pvalue <= level) == rejects


def test_moderated_t_is_smyths(chance):
    questions = [
        {
            "what": "t",
            "deltas": deltas(chance, chance.randint(2, 30)),
            "prior": [chance.uniform(1e-5, 1e-3), chance.choice([0.0, 0.7, 4.0, 20.0])],
            "bound": chance.choice([0.0, 0.003, -0.003]),
            "confidence": chance.choice([0.5, 0.95, 0.975, 0.9999]),
        }
        for _ in range(300)
    ]
    for question, got in zip(questions, ask(questions), strict=True):
        values, (s0, d0) = np.array(question["deltas"]), question["prior"]
        freedom = d0 + len(values) - 1
        spread = math.sqrt((d0 * s0 + (len(values) - 1) * values.var(ddof=1)) / freedom)
        error = spread / math.sqrt(len(values))
        t = (values.mean() - question["bound"]) / error
        assert close(got["above"], stats.t.sf(t, freedom))
        assert close(got["below"], stats.t.cdf(t, freedom))
        width = stats.t.ppf(question["confidence"], freedom) * error
        assert got["upper"] == pytest.approx(values.mean() + width, abs=1e-12)
        assert got["lower"] == pytest.approx(values.mean() - width, abs=1e-12)


def fit_by_root(variances: list[list[float]]) -> tuple[float, float]:
    """Smyth (2004), section 6.2, with the inverse of trigamma by bracketing."""
    s, d = np.array(variances).T
    e = np.log(s) - special.digamma(d / 2) + np.log(d / 2)
    beyond = e.var(ddof=1) - special.polygamma(1, d / 2).mean()
    if beyond <= 0:
        return math.exp(e.mean()), math.inf
    half = optimize.brentq(lambda x: special.polygamma(1, x) - beyond, 1e-6, 1e9)
    return math.exp(e.mean() + special.digamma(half) - math.log(half)), 2 * half


def test_the_prior_is_smyths(chance):
    questions = []
    for _ in range(200):
        d0, s0 = chance.choice([1.0, 3.0, 10.0, 100.0]), chance.uniform(1e-6, 1e-2)
        variances = []
        for _ in range(chance.randint(2, 60)):
            own = s0 * d0 / chance.gammavariate(d0 / 2, 2)
            freedom = chance.choice([3.0, 5.0, 11.0])
            variances.append([own * chance.gammavariate(freedom / 2, 2) / freedom, freedom])
        questions.append({"what": "prior", "variances": variances})
    finite = 0
    for question, got in zip(questions, ask(questions), strict=True):
        value, freedom = fit_by_root(question["variances"])
        assert number(got[0]) == pytest.approx(value, rel=1e-6)
        assert number(got[1]) == pytest.approx(freedom, rel=1e-6)
        finite += freedom < math.inf
    assert 100 < finite < 200  # both branches were asked


def test_the_prior_is_recovered():
    """Of many cases: the variances' own distribution comes out."""
    chance = np.random.default_rng(SEED)
    s0, d0, freedom, count = 4e-4, 6.0, 5.0, 20000
    variances = s0 * d0 / chance.chisquare(d0, count) * chance.chisquare(freedom, count) / freedom
    got = ask([{"what": "prior", "variances": [[v, freedom] for v in variances]}])[0]
    assert number(got[0]) == pytest.approx(s0, rel=0.03)
    assert number(got[1]) == pytest.approx(d0, rel=0.1)


def test_holm(chance):
    questions = [
        {"what": "holm", "p": [10 ** chance.uniform(-5, 0) for _ in range(chance.randint(1, 30))], "alpha": 0.01}
        for _ in range(200)
    ]
    any_rejected = 0
    for question, got in zip(questions, ask(questions), strict=True):
        p, m = question["p"], len(question["p"])
        order = sorted(range(m), key=lambda i: p[i])
        adjusted, running = [0.0] * m, 0.0
        for rank, i in enumerate(order):
            running = max(running, min(1.0, (m - rank) * p[i]))
            adjusted[i] = running
        assert got == [a <= question["alpha"] for a in adjusted]
        any_rejected += any(got)
    assert 20 < any_rejected < 200


def test_rates_are_clopper_pearsons(chance):
    questions = []
    for _ in range(100):
        of = chance.randint(1, 5000)
        questions.append({"what": "rate", "seen": chance.randint(0, of), "of": of, "confidence": 0.975})
    for question, got in zip(questions, ask(questions), strict=True):
        interval = stats.binomtest(question["seen"], question["of"]).proportion_ci(0.95, method="exact")
        assert got == pytest.approx(interval.high, rel=1e-9)
