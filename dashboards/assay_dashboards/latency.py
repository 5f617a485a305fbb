"""Reads what a comparison of latencies leaves in a run's folder: latency.json, its verdicts (written by
harness/gate/comparison.cpp), and blocks.jsonl, what was measured (harness/measure/blocks_file.h). Strictly, as load.py
reads a run.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from .fields import (
    VERSION,
    at_least,
    bytes_of,
    count,
    document,
    finite,
    flag,
    integer,
    json_value,
    list_of,
    number,
    object_of,
    one_of,
    optional,
    share,
    text,
)
from .plain import InputError, plain_tree

COMPARISON_FILE = "latency.json"
METRICS = ("p50", "p90", "tail", "stall")  # those that gate, in the order of latency.json
FRACTIONS = ("tail", "stall")  # of the launches; the others are quantiles
_STALLS_SINCE = 11  # minor version of the schema
_NO_STALLS = {
    "metric": "stall", "outcome": "not gated", "blocks": 0, "least": 0.0, "margin": None, "confirmed": False,
    "blind": False, "reason": "", "note": "not gated: the run is from before stalls were a metric",
    **dict.fromkeys(("estimate", "low", "high", "upper", "p_slower", "p_faster")),
}  # fmt: skip
# Outcome -> exit code, in the order of severity: harness/gate/latency_gate.h.
OUTCOMES = {"not gated": 0, "pass": 0, "improved": 0, "inconclusive": 2, "invalid": 3, "regress": 1, "failed": 1}
NO_COMPARISON = 4  # exit code of one that could not be made
SEVERITY = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}
_CHANGE_AT = {"ABBA": (1, 2), "BAAB": (0, 3)}  # places in time of the change's processes
_CONFIDENCE = 0.95
EARLIER = "called so by an earlier gate"  # a pair's reason begins so (harness/gate/latency_gate.cpp)


def _exit_code(value):
    if integer(value) not in (*OUTCOMES.values(), NO_COMPARISON):
        raise InputError(f"{value} is that of no outcome")
    return value


_PAIR = object_of(
    {
        "metric": one_of(*METRICS),
        "outcome": one_of(*OUTCOMES),
        "blocks": count,
        "least": at_least(0, finite),
        # Not finite, and so null: an end of an interval that so few blocks do not have.
        **dict.fromkeys(("estimate", "low", "high", "upper"), optional(finite)),
        **dict.fromkeys(("p_slower", "p_faster"), optional(share)),
        "margin": optional(at_least(0, finite)),
        **dict.fromkeys(("confirmed", "blind"), flag),
        **dict.fromkeys(("reason", "note"), text),
    }
)
_CASE = object_of(
    {
        **dict.fromkeys(("case", "class"), text),
        "outcome": one_of(*OUTCOMES),
        **dict.fromkeys(("blocks", "voids"), count),
        "pairs": list_of(_PAIR),
    }
)
_NOT_COMPARED = list_of(object_of(dict.fromkeys(("what", "why"), text)))
COMPARISON = object_of(
    {
        "schema": VERSION,
        **dict.fromkeys(("base", "change"), text),
        **dict.fromkeys(("unchanged", "left_out"), _NOT_COMPARED),
        "selections": list_of(object_of(dict.fromkeys(("kernel_id", "what"), text))),
        "cases": list_of(_CASE),
        "findings": list_of(object_of(dict.fromkeys(("kind", "text"), text))),
        "blocks": count,
        "seconds": at_least(0, finite),
        "seed": count,
        "invalid": text,  # why nothing was measured although it was asked for
        "exit_code": _exit_code,
    }
)


def _exactly(length, item):
    def read(value):
        if not isinstance(value, list) or len(value) != length:
            raise InputError(f"not an array of {length}")
        return list_of(item)(value)

    return read


def _durations(value):
    if not isinstance(value, list) or not all(type(one) is int and 0 <= one < 2**63 for one in value):
        raise InputError("not an array of durations")
    return np.array(value, dtype=np.int64)


_BLOCK = object_of(
    {
        "case": text,
        "block": count,
        "order": one_of(*_CHANGE_AT),
        "processes": _exactly(4, list_of(number)),
        "median_only": flag,
        "pooled_p99_us": _exactly(2, number),
        "void": optional(object_of({"why": text, "process": integer})),
        "nanoseconds": optional(_exactly(4, _durations)),
    },
    nanoseconds=None,
)


@dataclass
class Arm:
    """What the blocks of a case that count say of one arm. `microseconds`: of every launch; None where not kept."""

    p50_us: float
    p90_us: float
    p99_us: float
    tail: float
    stall: float
    microseconds: np.ndarray | None


@dataclass
class Reading:
    """A change of a logarithm over blocks and its interval, whose ends are infinite where so few blocks have none."""

    estimate: float
    low: float
    high: float
    blocks: int


class ComparedCase:
    """One case of a kernel in both arms, with the caches warm or cold."""

    def __init__(self, told, recorded):
        self.id, self.latency_class, self.outcome = told["case"], told["class"], told["outcome"]
        self.kernel_id, _, self.caches = self.id.rpartition(" ")
        self.blocks, self.voids = told["blocks"], told["voids"]
        self.pairs = {pair["metric"]: pair for pair in told["pairs"]}
        self.recorded = recorded

    @cached_property
    def counted(self) -> list:
        return [block for block in self.recorded if block["void"] is None]

    @cached_property
    def void_reasons(self) -> dict:
        """Why -> number of its blocks, the commonest first."""
        return dict(Counter(block["void"]["why"] for block in self.recorded if block["void"]).most_common())

    @cached_property
    def is_of_medians(self) -> bool:
        """Samples of batches, or coarse ones: a p90 or p99 of them is none of launches."""
        return any(block["median_only"] for block in self.counted)

    @cached_property
    def arms(self):
        """(base, change); None where no block counts."""
        return (self._arm(False), self._arm(True)) if self.counted else None

    def _arm(self, is_change):
        chosen = [(block, place) for block in self.counted for place in _places(block, is_change)]
        processes = np.array([block["processes"][place] for block, place in chosen], dtype=float)
        kept = all(block["nanoseconds"] for block in self.counted)
        return Arm(
            *(float(np.median(processes[:, column])) for column in (1, 2)),
            float(np.median([block["pooled_p99_us"][int(is_change)] for block in self.counted])),
            *(float(processes[:, column].mean()) for column in (4, 5)),
            np.concatenate([block["nanoseconds"][place] for block, place in chosen]) / 1e3 if kept else None,
        )

    @cached_property
    def p99(self):
        """Median over the blocks of the logarithm of change to base, which gates nothing; None where there is none."""
        if self.is_of_medians or not self.counted:
            return None
        p99 = np.array([block["pooled_p99_us"] for block in self.counted], dtype=float)
        ratios = np.sort(np.log(p99[:, 1] / p99[:, 0]))
        low, high = _median_interval(ratios)
        return Reading(float(np.median(ratios)), low, high, len(ratios))

    @property
    def worst_pairs(self) -> list:
        return sorted(self.pairs.values(), key=lambda pair: -SEVERITY[pair["outcome"]])

    @property
    def blind(self) -> dict:
        """Why -> metrics of which a change as small as the policy's margin may go unseen."""
        found = defaultdict(list)
        for metric, pair in self.pairs.items():
            if pair["blind"]:
                found[pair["note"]].append(metric)
        return dict(found)

    @property
    def shift(self) -> float:
        """The estimate that is largest in margins, by which cases of one outcome are ordered."""
        known = (p for p in self.pairs.values() if p["estimate"] is not None and p["margin"])
        return max((pair["estimate"] / pair["margin"] for pair in known), default=-math.inf)


def _places(block, is_change):
    inner = _CHANGE_AT[block["order"]]
    return [place for place in range(4) if (place in inner) == is_change]


def _median_interval(ascending):
    """Of the median, from order statistics: David and Nagaraja, "Order Statistics" (3rd edition, 2003), 7.1. Nothing is
    assumed of the distribution, and its confidence is 95 % or more."""
    n = len(ascending)
    beyond, below = 0, 0.0  # order statistics left out at each end, and the chance that the median is among them
    while 2 * (below + math.comb(n, beyond) / 2**n) <= 1 - _CONFIDENCE:
        below += math.comb(n, beyond) / 2**n
        beyond += 1
    return (float(ascending[beyond - 1]), float(ascending[n - beyond])) if beyond else (-math.inf, math.inf)


class Comparison:
    def __init__(self, told, blocks):
        """`blocks`: case -> its lines of blocks.jsonl."""
        self.told = told
        cases = [ComparedCase(case, blocks.get(case["case"], [])) for case in told["cases"]]
        self.cases = sorted(cases, key=lambda case: (-SEVERITY[case.outcome], -case.shift))  # worst first

    @cached_property
    def counts(self) -> dict:
        """Outcome -> number of cases, the worst first."""
        counts = Counter(case.outcome for case in self.cases)
        return {outcome: counts[outcome] for outcome in reversed(OUTCOMES) if counts[outcome]}

    @property
    def not_passing(self) -> list:
        return [case for case in self.cases if case.outcome != "pass"]

    @property
    def exit_codes(self) -> set:
        """What latency.json says, and what its cases ask for, which may be more."""
        return {self.told["exit_code"], *(OUTCOMES[case.outcome] for case in self.cases)}

    @cached_property
    def blind(self) -> dict:
        """Why -> class -> metrics: where a change as small as the policy's margin may go unseen. Of a class whose cases
        have margins of their own, the widest."""
        widest = {}
        for case in self.cases:
            for metric, pair in case.pairs.items():
                key = (case.latency_class, metric)
                if pair["blind"] and (key not in widest or (pair["margin"] or 0) > (widest[key]["margin"] or 0)):
                    widest[key] = pair
        found = {}
        for (latency_class, metric), pair in widest.items():
            found.setdefault(pair["note"], {}).setdefault(latency_class, []).append(metric)
        return found


def read_comparison(folder: Path, command: str) -> tuple[Comparison | None, list]:
    """The comparison of the run of that command, None of one without, and notes on it as of Loaded. Raises
    InputError."""
    file, blocks_file = folder / COMPARISON_FILE, folder / "blocks.jsonl"
    if not file.exists():
        # Those of a bench are there for themselves.
        began = blocks_file.exists() and command == "gate"
        said = "blocks.jsonl without latency.json: a comparison with the base did not end, and says nothing yet"
        return None, [("latency", said)] if began else []
    try:
        told, _ = document(bytes_of(file), COMPARISON)
        complete_comparison(told)
    except InputError as error:
        raise InputError(f"{file}: {str(error).lstrip('.')}") from None
    blocks, torn = _read_blocks(blocks_file, told) if blocks_file.exists() else ({}, False)
    comparison = Comparison(told, blocks)
    notes = [("count", "blocks.jsonl ends in a torn line, which is left out")] if torn else []
    return comparison, notes + _differences(comparison)


def complete_comparison(told):
    """Checks it, and adds what a run from before stalls were a metric lacks: that nothing is known of them."""
    if told["exit_code"] == NO_COMPARISON and not told["invalid"]:
        raise InputError(f"exit_code: {NO_COMPARISON} is that of no outcome")
    ids = set()
    for i, case in enumerate(told["cases"]):
        if case["case"] in ids:
            raise InputError(f"cases[{i}].case: '{case['case']}' twice")
        ids.add(case["case"])
        if _is_before_stalls(told) and len(case["pairs"]) == len(METRICS) - 1:
            case["pairs"].append(dict(_NO_STALLS))
        if tuple(pair["metric"] for pair in case["pairs"]) != METRICS:
            raise InputError(f"cases[{i}].pairs: not one each of {', '.join(METRICS)}")
        worst = max((pair["outcome"] for pair in case["pairs"]), key=SEVERITY.get)
        if case["outcome"] != worst:
            raise InputError(f"cases[{i}].outcome: '{case['outcome']}', but of its pairs the worst is '{worst}'")


def _is_before_stalls(told):
    return told["schema"]["minor"] < _STALLS_SINCE


def _read_blocks(file, told):
    ids = {case["case"] for case in told["cases"]}
    *lines, torn = bytes_of(file).split(b"\n")
    blocks, seen = defaultdict(list), set()
    for place, line in enumerate(lines, 1):
        try:
            block = plain_tree(_BLOCK(json_value(line)))
            if block["case"] not in ids:
                raise InputError(f"case: '{block['case']}' is no case of latency.json")
            if (block["case"], block["block"]) in seen:
                raise InputError(f"block: {block['block']} of this case twice")
            block["processes"] = [_process(one, i, _is_before_stalls(told)) for i, one in enumerate(block["processes"])]
            if block["void"] is None:
                _check_measured(block)
        except InputError as error:
            raise InputError(f"{file}:{place}: {str(error).lstrip('.')}") from None
        seen.add((block["case"], block["block"]))
        blocks[block["case"]].append(block)
    return blocks, bool(torn)


def _process(numbers, place, is_before_stalls):
    """samples, p50_us, p90_us, p99_us, tail and stall; the last is not a number where it was not kept."""
    if is_before_stalls and len(numbers) == 5:
        return [*numbers, math.nan]
    if len(numbers) != 6:
        raise InputError(f"processes[{place}]: not an array of 6")
    return numbers


def _check_measured(block):
    """Of a block that counts. A void one may have measured nothing."""
    for i, (samples, *quantiles, tail, stall) in enumerate(block["processes"]):
        if not (
            samples >= 1
            and all(0 < us < 1e15 for us in quantiles)
            and 0 <= tail <= 1
            and (0 <= stall <= tail or math.isnan(stall))
        ):
            raise InputError(f"processes[{i}]: not [samples, p50_us, p90_us, p99_us, tail, stall]")
    if not all(0 < us < 1e15 for us in block["pooled_p99_us"]):
        raise InputError("pooled_p99_us: holds something that is no duration")
    for i, nanoseconds in enumerate(block["nanoseconds"] or []):
        samples, p50_us, *_ = block["processes"][i]
        if len(nanoseconds) != samples or not math.isclose(np.median(nanoseconds) / 1e3, p50_us, rel_tol=1e-9):
            raise InputError(f"nanoseconds[{i}]: samples from which the block's processes do not follow")


def _differences(comparison):
    """Where the two files do not add up: what is drawn is then not what was judged."""
    notes = []
    for case in comparison.cases:
        counted = case.blocks + case.voids
        if len(case.recorded) != counted:
            said = f"{len(case.recorded)} blocks in blocks.jsonl, {counted} in latency.json: what is drawn differs"
            notes.append(("count", f"{case.id}: {said}"))
        elif _contradicts(case):
            notes.append(("latency", f"{case.id}: latency.json has a median that no blocks of blocks.jsonl give"))
    return notes


def _contradicts(case) -> bool:
    """An estimate lies among the differences of the blocks it is made from; an earlier gate's has blocks elsewhere."""
    pair = case.pairs["p50"]
    estimate = pair["estimate"]
    if not case.counted or not pair["blocks"] or estimate is None or pair["reason"].startswith(EARLIER):
        return False
    deltas = []
    for block in case.counted:
        p50 = np.log([process[1] for process in block["processes"]])
        deltas.append(p50[_places(block, True)].mean() - p50[_places(block, False)].mean())
    return not min(deltas) - 1e-9 <= estimate <= max(deltas) + 1e-9
