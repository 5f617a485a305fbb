"""What a comparison of latencies says, in sentences for a reader who knows nothing of it. Of what a file says they hold
numbers alone; its texts are for the caller to show, escaped."""

import math
from collections import Counter

from .latency import FRACTIONS, OUTCOMES, ComparedCase, Comparison
from .view import CLASS_OF_EXIT, PRECEDENCE, View

SAID = {
    "failed": "failing", "regress": "slower", "invalid": "void", "inconclusive": "undecided", "improved": "faster",
    "pass": "pass", "not gated": "not gated",
}  # fmt: skip
SYMBOL = {
    "failed": "✗", "regress": "✗", "invalid": "⊘", "inconclusive": "≈", "improved": "▼", "pass": "✓", "not gated": "–",
}  # fmt: skip
_SUBJECT = {
    "p50": "median",
    "p90": "90th percentile",
    "tail": "slow launches, above 1.05 times the median of their process,",
    "stall": "stalled launches, above 1.4 times the median of their process,",
}
NAME = {"p50": "median", "p90": "p90", "p99": "p99", "tail": "slow launches", "stall": "stalled launches"}
# Why a block is void (harness/gate/disturbance.h, block_meter.h), up to a colon -> what that was, what to do.
_VOID = {
    "steal": ("the host took processor time away", "use a machine of your own, or one whose host is idle"),
    "foreign": ("other processes were at work on the machine", "stop all other work on the machine"),
    "slowdown": ("the device slowed itself down, by heat or power", "see to the device's cooling and power supply"),
    "ecc": ("the memory reported errors", "have the memory checked"),
    "sentinel": (
        "a fixed piece of work, timed beside the kernels, changed its speed within the block",
        "let nothing else change the machine's speed",
    ),
    "failed": ("a launch failed", "see the case's verdict and its replay line"),
    "refused": ("the kernel refused the case", "see the case's verdict and its replay line"),
}
_MANY_VOID = "too many of its blocks were void"  # a case's reason begins so (harness/gate/latency_gate.cpp)
NOTE = (
    "A block is four fresh processes, two of the base and two of the change, in random order. Fresh blocks were "
    "measured after a first look had raised the suspicion, and they alone decide, so that one chance is not counted "
    "twice. A case that was called slower stays so for this base and this change; what is undecided or void is "
    "measured again by another run."
)


def verdict(comparison: Comparison) -> tuple[str, str]:
    """Its colour's class, and its symbol."""
    code = max((code if code in PRECEDENCE else 4 for code in comparison.exit_codes), key=PRECEDENCE.index)
    told = comparison.told
    if code == 0 and not comparison.cases and (told["left_out"] or not told["unchanged"]):
        return "blank", "○"
    return CLASS_OF_EXIT[code], {0: "✓", 1: "✗", 2: "≈", 3: "⊘", 4: "‼"}[code]


def headline(comparison: Comparison) -> str:
    """All of it in one sentence, the worst first, without symbol and full stop."""
    told = comparison.told
    parts = [_of_cases(comparison), *_unchanged(told), *_left_out(told), *_dispatch(told)]
    if not told["invalid"] and told["exit_code"] not in (0, *(OUTCOMES[case.outcome] for case in comparison.cases)):
        parts.append(f"exit code {told['exit_code']} by what the findings say")
    return "; ".join(parts)


def _of_cases(comparison):
    counts, total = comparison.counts, len(comparison.cases)
    if not total:
        told = comparison.told
        if told["invalid"]:
            return "no verdict: nothing was measured"
        is_same = told["unchanged"] and not told["left_out"]
        return "nothing was measured: same machine code" if is_same else "nothing was compared"
    worst, *others = counts
    rest = "".join(f", {counts[outcome]} {SAID[outcome]}" for outcome in others)
    if worst == "pass":
        return f"{'the one case is not' if total == 1 else f'none of {total} cases is'} slower than the base{rest}"
    verb = "are" if counts[worst] > 1 else "is"
    than = " than the base" if worst in ("regress", "improved") else ""
    return f"{counts[worst]} of {_many(total, 'case')} {verb} {SAID[worst]}{than}{rest}"


def _unchanged(told):
    count = len(told["unchanged"])
    return [f"{_many(count, 'kernel')} unchanged and not measured"] if count else []


def _left_out(told):
    return [f"{len(told['left_out'])} left out"] if told["left_out"] else []


def _dispatch(told):
    return [f"{_many(len(told['selections']), 'dispatch change')}"] if told["selections"] else []


def _many(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def unpinned(view: View) -> str:
    """What is said of verdicts from an environment that is not the pinned one; empty of others, and where nothing was
    measured."""
    state = view.run["pin"]["state"]
    if state == "pinned" or not view.comparison.cases:
        return ""
    return (
        f"The environment is {state}, and these verdicts are of it alone: assay env verify says in what it differs "
        "from its pin, assay env pin writes one."
    )


def grouped(cases) -> list:
    """Lists of cases, in their order: one disturbance of a machine, which makes all of a block void, is told once."""
    groups = {}
    for case in cases:
        groups.setdefault(reasons(case)[0] if case.outcome == "invalid" else case.id, []).append(case)
    return list(groups.values())


def reasons(case: ComparedCase) -> list:
    """(sentence, text) of each metric that did not pass, the worst first. `text` is the file's own, for where there is
    no number to tell, and empty otherwise."""
    worst = case.worst_pairs[0]
    if case.outcome == "failed":
        return [("The kernel failed.", worst["reason"])]
    if case.outcome == "invalid" and worst["reason"] and not worst["reason"].startswith(_MANY_VOID):
        return [("No verdict.", worst["reason"])]
    if case.outcome == "invalid":
        return [(_void_sentence(case), "" if case.void_reasons else worst["reason"])]
    return [_reason(pair) for pair in case.worst_pairs if pair["outcome"] not in ("pass", "not gated")]


def _reason(pair):
    subject = _SUBJECT[pair["metric"]]
    if not pair["blocks"] or pair["estimate"] is None:
        said = {"regress": "more", "improved": "fewer"} if pair["metric"] in FRACTIONS else {}
        return _sentence(f"{NAME[pair['metric']]}: {said.get(pair['outcome'], SAID[pair['outcome']])}"), pair["reason"]
    evidence = f"from {_many(pair['blocks'], 'fresh block' if pair['confirmed'] else 'block')}"
    margin = f", margin {_size(pair['metric'], pair['margin'], True)}" if pair["margin"] is not None else ""
    start = f"{subject} {moved(pair['metric'], pair['estimate'])} ({interval(pair)}){margin}, {evidence}"
    conclusion = _conclusion(pair)
    return _sentence(f"{start}: {conclusion}" if conclusion else start), "" if conclusion else pair["reason"]


def _conclusion(pair):
    """Empty where the numbers do not say why."""
    least = f"{_size(pair['metric'], pair['least'], True)}, the least that counts"
    outcome, upper, margin = pair["outcome"], pair["upper"], pair["margin"]
    if outcome == "regress" and pair["p_slower"] is not None:
        return f"beyond doubt more than {least} (p {pair['p_slower']:.1g})"
    if outcome == "improved" and pair["p_faster"] is not None:
        return f"beyond doubt more than {least} (p {pair['p_faster']:.1g})"
    if outcome == "inconclusive" and None not in (margin, pair["p_slower"]) and (upper is None or upper >= margin):
        most = "how much is not known" if upper is None else f"it may be as much as {moved(pair['metric'], upper)}"
        return f"{most}, too much to pass, but not beyond doubt more than {least} (p {pair['p_slower']:.1g})"
    return ""


def _void_sentence(case):
    start = f"no verdict: {case.voids} of its {case.blocks + case.voids} blocks were void"
    causes = Counter()
    for why, count in case.void_reasons.items():
        causes[why.split(":")[0]] += count
    told = [f"{count} because {_VOID[why][0]}" for why, count in causes.items() if why in _VOID]
    unknown = sum(count for why, count in causes.items() if why not in _VOID)
    told += [f"{unknown} for other reasons"] if unknown else []
    remedies = dict.fromkeys(_VOID[why][1] for why in causes if why in _VOID)
    advice = f". To get one, {'; '.join(remedies)}, and run it again" if remedies else ", run it again"
    return _sentence(start + (f", {', '.join(told)}" if told else "") + advice)


def _sentence(words):
    return f"{words[0].upper()}{words[1:]}."


def change_of(metric: str, delta: float) -> float:
    """In percent, of a fraction in percentage points: latency.json has logarithms of ratios, and fractions."""
    return 100 * (delta if metric in FRACTIONS else math.expm1(min(delta, 700.0)))


def moved(metric: str, delta: float) -> str:
    """ "4.8 % slower", "1.1 percentage points fewer"."""
    if abs(change_of(metric, delta)) < 0.005:
        return "not moved"
    return f"{_size(metric, delta)} {_direction(metric, delta)}"


def _direction(metric, delta):
    return ("more" if delta > 0 else "fewer") if metric in FRACTIONS else ("slower" if delta > 0 else "faster")


def _size(metric, delta, is_limit=False):
    """Of a limit no digits beyond those that somebody wrote."""
    amount = f"{abs(change_of(metric, delta)):.3g}" if is_limit else _digits(change_of(metric, delta))
    unit = "%" if metric not in FRACTIONS else "percentage point" if amount == "1" else "percentage points"
    return f"{amount} {unit}"


def _digits(change):
    amount = abs(change)
    return f"{amount:.2f}" if amount < 0.995 else f"{amount:.1f}" if amount < 99.95 else f"{amount:.0f}"


def interval(reading: dict) -> str:
    """ "95 % interval 4.1 to 5.6 %" of a reading with metric, low and high."""
    metric, low, high = reading["metric"], reading["low"], reading["high"]
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "too few blocks for an interval"
    if low < 0 < high:
        ends = (f"{_size(metric, end)} {_direction(metric, end)}" for end in (low, high))
        return f"95 % interval {' to '.join(ends)}"
    ends = sorted((low, high), key=abs)
    return f"95 % interval {_digits(change_of(metric, ends[0]))} to {_size(metric, ends[1])}"


def signed(metric: str, *deltas: float) -> str:
    """ "+4.81 %", "-0.50 to +0.25 points"."""
    amounts = " to ".join(f"{change_of(metric, delta):+.2f}" for delta in deltas)
    return f"{amounts} {'points' if metric in FRACTIONS else '%'}"


def limit(metric: str, delta: float | None) -> str:
    return "" if delta is None else _size(metric, delta, is_limit=True)
