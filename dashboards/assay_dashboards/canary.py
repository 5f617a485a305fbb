"""Reads canary.json, strictly (harness/gate/canary.schema.json), and counts what its page shows: the verdict on the
candidate of a library, its reasons, and what changed of each kernel and shape."""

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from .fields import (
    VERSION,
    at_least,
    bytes_of,
    count,
    document,
    finite,
    flag,
    integer,
    list_of,
    map_of,
    object_of,
    one_of,
    optional,
    refuse_unknown,
    text,
)
from .latency import COMPARISON, complete_comparison
from .plain import InputError, plain, plain_tree

FILE = "canary.json"
MINOR = 11  # of the schema: what keys a newer one adds is not known here, and ignored
# Verdict -> exit code, the class of its colour and its symbol: the gravest first.
VERDICTS = {
    "REJECT": (1, "bad", "✗"), "INVALID": (3, "unsure", "⊘"), "HOLD": (2, "unsure", "≈"), "PROMOTE": (0, "good", "✓"),
}  # fmt: skip
CHANGES = {
    "newly wrong": "bad", "undecided": "unsure", "as before": "weak", "fixed": "good", "taken": "good",
    "moved": "blank", "same": "none",
}  # fmt: skip

# Kind of a reason -> how the page calls it.
KINDS = {
    "arms": "the sides were not what was asked", "newly-wrong": "newly wrong", "refused": "newly refused",
    "worse": "fails in more elements", "approved-bits": "not the approved bits",
    "arithmetic": "other arithmetic", "statistics": "other error statistics", "unknown": "not known",
    "coverage": "judged less", "slower": "slower", "tail": "more slow launches", "voids": "disturbed",
    "first-call": "longer first call", "as-before": "fails as before", "fixed": "fixed", "note": "note",
}  # fmt: skip
# Of a record: no table of them comes with a canary.
RECORD_VERDICTS = (
    "pass", "unsupported", "known", "mistrusted", "inconclusive", "invalid", "changed", "fallback", "contract",
    "nondeterministic", "memory", "wrong", "timeout", "crashed", "error",
)  # fmt: skip
NOT_JUDGED = "none"  # of a case without a record

_KERNEL_ID = re.compile(r"[^/:]+/[^/:]+:")
_verdict = one_of(*VERDICTS)
_change = one_of(*CHANGES)
_some = at_least(1, count)
_case_verdict = one_of(*RECORD_VERDICTS, NOT_JUDGED)
_error = optional(at_least(0, finite))


def _kernel_id(value):
    if not _KERNEL_ID.match(text(value)):
        raise InputError("not op/kernel:fields")
    return value


def _positive(value):
    if finite(value) <= 0:
        raise InputError("not above 0")
    return finite(value)


def _cases_by_change(value):
    read = map_of(_some)(value)
    unknown = [key for key in read if key not in CHANGES]
    if unknown:
        raise InputError(f"'{plain(unknown[0])}' is not one of {', '.join(CHANGES)}")
    return read


_ABSENT = object()
_BOTH = object_of(dict.fromkeys(("pin", "candidate"), text))


def _repro(value):
    """None where there is none, which null does not say."""
    return None if value is _ABSENT else _BOTH(value)


_SIDE = object_of(
    {
        "set": object_of(
            {
                **dict.fromkeys(("library", "version", "loader"), text),
                "folders": list_of(text),
                **dict.fromkeys(("environment", "expected"), map_of(text)),
                "files": list_of(
                    object_of({**dict.fromkeys(("soname", "path", "version", "build_id"), text), "part": flag})
                ),
                "packages": list_of(object_of(dict.fromkeys(("name", "sha256"), text))),
            }
        ),
        "loaded": list_of(object_of(dict.fromkeys(("path", "version", "build_id"), text))),
        "tells": list_of(text),
        "repro": text,
    },
    tells=[],
)
_ERRORS = object_of(dict.fromkeys(("worst", "typical"), _error))
_KERNEL = object_of(
    {
        "kernel": text,
        "planned": _some,
        **dict.fromkeys(("refused", "bits_moved", "bits_compared", "workspace_grew"), count),
        "cases": _cases_by_change,
        **dict.fromkeys(("pin", "candidate"), _ERRORS),
        "selections": map_of(_some),
    }
)
_CASE = object_of(
    {
        "kernel_id": _kernel_id,
        **dict.fromkeys(("pin", "candidate"), _case_verdict),
        "selection": text,
        "change": _change,
        "moved": flag,
        **dict.fromkeys(("pin_worst", "candidate_worst"), _error),
        "workspace_growth": integer,
    }
)
_FIRST_CALL = object_of(
    {
        "kernel_id": _kernel_id,
        "processes": _some,
        **dict.fromkeys(("pin_us", "candidate_us"), at_least(0, finite)),
        **dict.fromkeys(("ratio", "low", "high"), optional(_positive)),
    }
)
_CANARY = object_of(
    {
        "schema": VERSION,
        "library": text,
        "verdict": _verdict,
        "exit_code": integer,
        "asked": object_of(
            {
                "tier": one_of("smoke", "ci", "nightly"),
                **dict.fromkeys(("filters", "modules"), list_of(text)),
                "latency": flag,
                "threads": optional(_some),
            }
        ),
        **dict.fromkeys(("started", "finished"), text),
        "judged_seconds": at_least(0, finite),
        **dict.fromkeys(("pin", "candidate"), _SIDE),
        **dict.fromkeys(("same_build", "out_of_time"), flag),
        "environment": optional(map_of(text)),
        "environment_label": optional(
            object_of(
                {
                    "platform": text,
                    "state": one_of("pinned", "mismatched", "unpinned"),
                    **dict.fromkeys(("differences", "unknown"), list_of(text)),
                }
            )
        ),
        "reasons": list_of(
            object_of(
                {
                    "asks": _verdict,
                    "kind": one_of(*KINDS),
                    **dict.fromkeys(("kernel", "what", "text"), text),
                    "repro": _repro,
                },
                repro=_ABSENT,
            )
        ),
        "kernels": list_of(_KERNEL),
        "cases": list_of(_CASE),
        "first_calls": list_of(_FIRST_CALL),
        "why_no_latency": text,
        "latency": optional(COMPARISON),
    }
)


@dataclass
class Canary:
    """A canary as its file tells it."""

    told: dict

    @property
    def grave(self) -> list:
        """Reasons that ask for more than PROMOTE, one a kernel, kind and text, with how many there are of it: (first,
        others)."""
        groups = defaultdict(list)
        for reason in self.told["reasons"]:
            if reason["asks"] != "PROMOTE":
                key = (reason["asks"], reason["kind"], reason["kernel"], reason["what"] and reason["text"][:40])
                groups[key].append(reason)
        return [(group[0], group[1:]) for group in groups.values()]

    @property
    def known(self) -> list:
        """The others: (kind, reasons)."""
        groups = defaultdict(list)
        for reason in self.told["reasons"]:
            if reason["asks"] == "PROMOTE":
                groups[reason["kind"]].append(reason)
        return list(groups.items())

    @property
    def changes(self) -> Counter:
        return Counter(case["change"] for case in self.told["cases"])

    @property
    def bits(self) -> tuple[int, int]:
        """Moved, compared."""
        kernels = self.told["kernels"]
        return sum(k["bits_moved"] for k in kernels), sum(k["bits_compared"] for k in kernels)

    def strangers(self, side: str) -> list:
        """What a side had loaded under a name of its set's files, and is another file or build. What came late has a
        name and no path."""
        own = {(file["path"], file["build_id"]) for file in self.told[side]["set"]["files"]}
        builds = {build for _, build in own}
        return [
            one
            for one in self.told[side]["loaded"]
            if (one["path"], one["build_id"]) not in own and ("/" in one["path"] or one["build_id"] not in builds)
        ]

    def medians(self, kernel_id: str) -> list:
        """(metric, outcome, ratio, low, high) of each timed metric of a case; None where it is not known."""
        return self._medians.get(kernel_id, [])

    @property
    def _medians(self) -> dict:
        found = defaultdict(list)
        for case in (self.told["latency"] or {"cases": []})["cases"]:
            kernel_id, _, metric = case["case"].rpartition(" ")
            for pair in case["pairs"]:
                if pair["metric"] == "p50":
                    bounds = [_ratio(pair[key]) if pair["blocks"] else None for key in ("estimate", "low", "high")]
                    found[kernel_id].append((metric, pair["outcome"], *bounds))
        return found

    @property
    def rows(self) -> list:
        """Of each kernel: what the file says, its slowest and fastest median, and its longest first call, both as the
        candidate's to the pin's."""
        medians, first_calls = self._medians, defaultdict(list)
        for call in self.told["first_calls"]:
            first_calls[_kernel(call["kernel_id"])].append(call)
        by_kernel = defaultdict(list)
        for kernel_id, timed in medians.items():
            by_kernel[_kernel(kernel_id)] += [one for one in timed if one[2] is not None]
        rows = []
        for kernel in self.told["kernels"]:
            timed = sorted(by_kernel[kernel["kernel"]], key=lambda one: one[2])
            calls = sorted(first_calls[kernel["kernel"]], key=lambda call: call["ratio"] or 0)
            rows.append(
                kernel
                | {
                    "slowest": timed[-1] if timed else None,
                    "fastest": timed[0] if timed else None,
                    "first_call": calls[-1] if calls else None,
                }
            )
        return rows

    @property
    def shapes(self) -> list:
        """Cases that are not the same, or were timed, the gravest first."""
        medians = self._medians
        calls = {call["kernel_id"]: call for call in self.told["first_calls"]}
        order = list(CHANGES)
        shapes = [
            case | {"medians": medians.get(case["kernel_id"], []), "first_call": calls.get(case["kernel_id"])}
            for case in self.told["cases"]
            if case["change"] != "same" or case["kernel_id"] in medians
        ]
        return sorted(shapes, key=lambda case: order.index(case["change"]))


def _kernel(kernel_id):
    return kernel_id.partition(":")[0]


def _ratio(delta):
    return None if delta is None else math.exp(min(delta, 700.0))


def read_canary(folder: Path) -> Canary:
    """Raises InputError."""
    file = folder / FILE
    try:
        told, value = document(bytes_of(file, "canary"), _CANARY)
        if told["schema"]["minor"] <= MINOR:
            refuse_unknown(plain_tree(value), told)
        _check(told)
    except InputError as error:
        message = str(error).lstrip(".")
        raise InputError(message if message.startswith(str(file)) else f"{file}: {message}") from None
    return Canary(told)


def _check(told):
    """A verdict that is milder than its reasons, or counts that are not those of the cases, are not what was found."""
    if told["exit_code"] != VERDICTS[told["verdict"]][0]:
        raise InputError(f"exit_code: {told['exit_code']} is not that of {told['verdict']}")
    if told["latency"]:
        try:
            complete_comparison(told["latency"])
        except InputError as error:
            raise InputError(f"latency.{error}") from None
    order = list(VERDICTS)
    gravest = min((order.index(reason["asks"]) for reason in told["reasons"]), default=len(order) - 1)
    arms = any(reason["kind"] == "arms" and reason["asks"] == "INVALID" for reason in told["reasons"])
    expected = "INVALID" if arms else order[gravest]
    if told["verdict"] != expected:
        raise InputError(f"verdict: {told['verdict']}, but its reasons ask for {expected}")
    _check_latency(told)
    _check_counts(told)


def _check_latency(told):
    if told["latency"] and not told["asked"]["latency"]:
        raise InputError("asked.latency: false, and there is latency")
    if not told["latency"] and not told["why_no_latency"]:
        raise InputError("why_no_latency: empty, and there is no latency")


def _check_counts(told):
    counted = defaultdict(Counter)
    for i, case in enumerate(told["cases"]):
        counted[_kernel(case["kernel_id"])][case["change"]] += 1
        if NOT_JUDGED in (case["pin"], case["candidate"]) and case["change"] != "undecided":
            raise InputError(f"cases[{i}].change: {case['change']} of a case that was not judged on both sides")
    names = [kernel["kernel"] for kernel in told["kernels"]]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"kernels[{i}].kernel: {name} twice")
    for i, case in enumerate(told["cases"]):
        if _kernel(case["kernel_id"]) not in names:
            raise InputError(f"cases[{i}].kernel_id: {_kernel(case['kernel_id'])} is not in kernels")
    for kernel in told["kernels"]:
        name, cases, planned = kernel["kernel"], counted[kernel["kernel"]], kernel["planned"]
        if sum(cases.values()) != planned:
            raise InputError(f"kernels: {name} has {planned} cases planned, and {sum(cases.values())}")
        if kernel["refused"] + sum(kernel["cases"].values()) != planned:
            judged = sum(kernel["cases"].values())
            raise InputError(
                f"kernels: {name} has {planned} cases planned, and {kernel['refused']} refused with {judged} judged"
            )
        if any(cases[change] != kernel["cases"].get(change, 0) for change in CHANGES if change != "same"):
            raise InputError(f"kernels: {name}: its counts are not those of its cases")
