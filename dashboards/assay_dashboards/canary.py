"""Reads canary.json, strictly (harness/gate/canary_report.h), and counts what its page shows: the verdict on the
candidate of a library, its reasons, and what changed of each kernel and shape."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from .fields import bytes_of, count, document, flag, integer, list_of, map_of, number, object_of, optional, text
from .plain import InputError

FILE = "canary.json"
# Verdict -> exit code, the class of its colour and its symbol: the gravest first.
VERDICTS = {
    "REJECT": (1, "bad", "✗"), "INVALID": (3, "unsure", "⊘"), "HOLD": (2, "unsure", "≈"), "PROMOTE": (0, "good", "✓"),
}  # fmt: skip
CHANGES = {
    "newly wrong": "bad", "undecided": "unsure", "as before": "weak", "fixed": "good", "taken": "good",
    "moved": "blank", "same": "none",
}  # fmt: skip

_number = optional(number)


def _verdict(value):
    if text(value) not in VERDICTS:
        raise InputError(f"none of {', '.join(VERDICTS)}")
    return value


def _change(value):
    if text(value) not in CHANGES:
        raise InputError(f"none of {', '.join(CHANGES)}")
    return value


_BOTH = object_of(dict.fromkeys(("pin", "candidate"), text))
_SIDE = object_of(
    {
        "set": object_of(
            {
                **dict.fromkeys(("library", "version", "loader"), text),
                "environment": map_of(text),
                "files": list_of(object_of(dict.fromkeys(("soname", "path", "version", "build_id"), text))),
                "packages": list_of(object_of(dict.fromkeys(("name", "sha256"), text))),
            }
        ),
        "repro": text,
    }
)
_ERRORS = object_of(dict.fromkeys(("worst", "typical"), _number))
_KERNEL = object_of(
    {
        "kernel": text,
        **dict.fromkeys(("planned", "refused", "bits_moved", "bits_compared", "workspace_grew"), count),
        "cases": map_of(count),
        **dict.fromkeys(("pin", "candidate"), _ERRORS),
        "selections": map_of(count),
    }
)
_CASE = object_of(
    {
        **dict.fromkeys(("kernel_id", "pin", "candidate", "selection"), text),
        "change": _change,
        "moved": flag,
        **dict.fromkeys(("pin_worst", "candidate_worst"), _number),
        "workspace_growth": integer,
    }
)
_PAIR = object_of(
    {
        **dict.fromkeys(("metric", "outcome"), text),
        "blocks": count,
        **dict.fromkeys(("estimate", "low", "high", "margin"), _number),
    }
)
_LATENCY = object_of(
    {
        "cases": list_of(object_of({"case": text, "outcome": text, "pairs": list_of(_PAIR)})),
        "blocks": count,
        "seconds": number,
        "invalid": text,
    }
)
_FIRST_CALL = object_of(
    {
        "kernel_id": text,
        "processes": count,
        **dict.fromkeys(("pin_us", "candidate_us", "ratio"), number),
        **dict.fromkeys(("low", "high"), _number),
    }
)
_CANARY = object_of(
    {
        "library": text,
        "verdict": _verdict,
        "exit_code": integer,
        "asked": object_of({"tier": text, "filters": list_of(text), "latency": flag, "threads": count}),
        **dict.fromkeys(("started", "finished"), text),
        "judged_seconds": number,
        **dict.fromkeys(("pin", "candidate"), _SIDE),
        **dict.fromkeys(("same_build", "out_of_time"), flag),
        "environment": map_of(text),
        "environment_label": object_of({"platform": text, "state": text, "differences": list_of(text)}),
        "reasons": list_of(
            object_of(
                {
                    "asks": _verdict,
                    **dict.fromkeys(("kind", "kernel", "what", "text"), text),
                    "repro": optional(_BOTH),
                },
                repro=None,
            )
        ),
        "kernels": list_of(_KERNEL),
        "cases": list_of(_CASE),
        "first_calls": list_of(_FIRST_CALL),
        "latency": optional(_LATENCY),
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
            calls = sorted(first_calls[kernel["kernel"]], key=lambda call: call["ratio"])
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
        told, _ = document(bytes_of(file, "canary"), _CANARY)
        _check(told)
    except InputError as error:
        message = str(error).lstrip(".")
        raise InputError(message if message.startswith(str(file)) else f"{file}: {message}") from None
    return Canary(told)


def _check(told):
    """A verdict that is milder than its reasons, or counts that are not those of the cases, are not what was found."""
    if told["exit_code"] != VERDICTS[told["verdict"]][0]:
        raise InputError(f"exit_code: {told['exit_code']} is not that of {told['verdict']}")
    order = list(VERDICTS)
    gravest = min((order.index(reason["asks"]) for reason in told["reasons"]), default=len(order) - 1)
    arms = any(reason["kind"] == "arms" and reason["asks"] == "INVALID" for reason in told["reasons"])
    expected = "INVALID" if arms else order[gravest]
    if told["verdict"] != expected:
        raise InputError(f"verdict: {told['verdict']}, but its reasons ask for {expected}")
    counted = defaultdict(Counter)
    for case in told["cases"]:
        counted[_kernel(case["kernel_id"])][case["change"]] += 1
    for kernel in told["kernels"]:
        cases = counted[kernel["kernel"]]
        if sum(cases.values()) != kernel["planned"]:
            raise InputError(
                f"kernels: {kernel['kernel']} has {kernel['planned']} cases planned, and {sum(cases.values())}"
            )
        if any(cases[change] != kernel["cases"].get(change, 0) for change in CHANGES if change != "same"):
            raise InputError(f"kernels: {kernel['kernel']}: its counts are not those of its cases")
