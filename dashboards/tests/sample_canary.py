"""canary.json for tests and for looking at: python dashboards/tests/sample_canary.py DIR writes one with something of
everything. Nothing here was measured."""

import json
import math
import sys
from collections import Counter
from pathlib import Path

from sample_run import SCHEMA

GEMM = "gemm/openblas:m=33,n=17,k=65,dtype=f32"


def case(kernel_id=GEMM, change="same", **changes):
    value = {
        "kernel_id": kernel_id, "pin": "pass", "candidate": "wrong" if change == "newly wrong" else "pass",
        "change": change, "moved": change == "moved", "pin_worst": 0.25, "candidate_worst": 0.26, "selection": "",
        "workspace_growth": 0,
    }  # fmt: skip
    return value | changes


def reason(asks="REJECT", kind="newly-wrong", what=GEMM, text="wrong (accuracy): c[5] got 2, want 1", **changes):
    value = {"asks": asks, "kind": kind, "kernel": what.partition(":")[0], "what": what, "text": text}
    return value | changes


def repro(what=GEMM):
    return {side: f"build/bin/assay repro '{what}' --library openblas={side}" for side in ("pin", "candidate")}


def side(version, build, **changes):
    files = [
        {
            "soname": "libopenblas.so.0",
            "path": f"/lib/{version}.so",
            "version": version,
            "build_id": build,
            "part": False,
        },
        {"soname": "libm.so.6", "path": "/lib/libm.so.6", "version": "6", "build_id": "cc", "part": False},
    ]
    value = {
        "library": "openblas", "version": version, "loader": "", "environment": {}, "expected": {}, "folders": [],
        "files": files, "packages": [{"name": f"deb libopenblas0 {version}", "sha256": "5e" * 32}],
    }  # fmt: skip
    loaded = [{key: one[key] for key in ("path", "version", "build_id")} for one in files]
    repro = f"build/bin/assay repro ID --library openblas={version}"
    return {"set": value | changes, "loaded": loaded, "tells": [], "repro": repro}


def pair(metric="p50", outcome="pass", estimate=0.0, width=0.01, blocks=4):
    return {
        "metric": metric, "outcome": outcome, "reason": "", "confirmed": False, "blocks": blocks, "estimate": estimate,
        "low": estimate - width, "high": estimate + width, "upper": estimate + width, "p_slower": 0.5, "p_faster": 0.5,
        "least": 0.002, "margin": 0.02, "blind": False, "note": "",
    }  # fmt: skip


def latency(*medians, **changes):
    """`medians`: (kernel id and metric, outcome, change of the median)."""
    untimed = ("p90", "tail", "stall")
    cases = [
        {
            "case": name, "class": "cpu/warm/below-50us", "outcome": outcome, "blocks": 4, "voids": 0,
            "pairs": [pair("p50", outcome, math.log1p(change)), *(pair(m, "not gated", blocks=0) for m in untimed)],
        }
        for name, outcome, change in medians
    ]  # fmt: skip
    value = {
        "schema": SCHEMA, "base": "5c1f0e9a7b", "change": "d40b8812fe", "unchanged": [], "left_out": [],
        "selections": [], "cases": cases, "findings": [], "blocks": 4, "seconds": 10.5, "seed": 17, "invalid": "",
        "exit_code": 1 if any(case["outcome"] == "regress" for case in cases) else 0,
    }  # fmt: skip
    return value | changes


def first_call(kernel_id=GEMM, ratio=1.1, **changes):
    value = {
        "kernel_id": kernel_id, "processes": 8, "pin_us": 100.0, "candidate_us": 100.0 * ratio, "ratio": ratio,
        "low": ratio - 0.1, "high": ratio + 0.1,
    }  # fmt: skip
    return value | changes


def _kernel(name, cases):
    return {
        "kernel": name, "planned": len(cases), "refused": 0, "cases": Counter(c["change"] for c in cases),
        "bits_moved": sum(c["moved"] for c in cases), "bits_compared": len(cases),
        "pin": {"worst": 0.25, "typical": 0.01}, "candidate": {"worst": 0.26, "typical": None},
        "selections": Counter(c["selection"] for c in cases if c["selection"]), "workspace_grew": 0,
    }  # fmt: skip


def canary_json(cases, reasons=(), **changes):
    """Its counts are those of `cases`, its verdict what `reasons` ask for."""
    order = ["REJECT", "INVALID", "HOLD", "PROMOTE"]
    verdict = min((r["asks"] for r in reasons), key=order.index, default="PROMOTE")
    names = dict.fromkeys(c["kernel_id"].partition(":")[0] for c in cases)
    value = {
        "schema": SCHEMA, "library": "openblas", "verdict": verdict,
        "exit_code": {"REJECT": 1, "INVALID": 3, "HOLD": 2, "PROMOTE": 0}[verdict],
        "asked": {"tier": "ci", "filters": [], "modules": [], "latency": True, "threads": 2},
        "started": "2025-01-01T10:00:00Z", "finished": "2025-01-01T10:10:00Z", "judged_seconds": 123.5,
        "pin": side("0.3.21", "aa"),
        "candidate": side("0.3.29", "bb"), "same_build": False, "out_of_time": False,
        "environment": {"cpu.model": "Example CPU"},
        "environment_label": {"platform": "avx2-t2-0a1b2c3d", "state": "pinned", "differences": [], "unknown": []},
        "reasons": list(reasons),
        "kernels": [_kernel(n, [c for c in cases if c["kernel_id"].startswith(n + ":")]) for n in names],
        "cases": cases, "first_calls": [], "why_no_latency": "", "latency": latency(),
    }  # fmt: skip
    return value | changes


def not_asked(cases, *filters, tier="ci", modules=()):
    """One of correctness alone."""
    asked = {"tier": tier, "filters": list(filters), "modules": list(modules), "latency": False, "threads": 1}
    return canary_json(cases, asked=asked, latency=None, why_no_latency="it was not asked for")


def invalid_canary(text="candidate: cannot be loaded: no file", **changes):
    """One of which nothing ran."""
    value = canary_json([], [reason("INVALID", "arms", "", text)]) | {
        "environment": None, "environment_label": None, "latency": None,
        "why_no_latency": "nothing ran, since the sides are not what was asked for",
    }  # fmt: skip
    value["asked"]["threads"] = None
    return value | changes


def full_canary(**changes):
    slow, dot = "gemm/openblas:m=1,n=128,k=896,dtype=f32", "blas_dot/openblas:n=7,dtype=f64"
    cases = [
        case(change="newly wrong"), case(slow, "moved", selection="isa: Haswell -> SkylakeX"), case(dot, "fixed"),
        case("blas_dot/openblas:n=8,dtype=f64"), case("blas_dot/openblas:n=9,dtype=f64", "as before"),
    ]  # fmt: skip
    reasons = [
        reason(repro=repro()), reason("REJECT", "slower", slow + " warm", "p50 +30.00 %", repro=repro(slow)),
        reason("HOLD", "arithmetic", "gemm/openblas:dtype=f32", "computes in another way: shape: a -> b"),
        reason("PROMOTE", "fixed", dot, "under the pin wrong (accuracy)"),
        reason("PROMOTE", "as-before", "blas_dot/openblas:n=9,dtype=f64", "wrong (accuracy): as ever"),
        reason("PROMOTE", "note", "", "1 quantiles and tails of 1 timed cases are not gated"),
    ]  # fmt: skip
    more = {
        "latency": latency(
            (slow + " warm", "regress", 0.3), (dot + " warm", "improved", -0.2),
            unchanged=[{"what": "gemm/simd", "why": "the same bytes and the same libraries in both arms"}],
            left_out=[{"what": GEMM, "why": "of the change: wrong"}],
            selections=[{"kernel_id": slow, "what": "isa: Haswell -> SkylakeX"}],
            findings=[{"kind": "voids", "text": "11 blocks were void by 'foreign' of the change's processes alone"}],
        ),
        "candidate": side(
            "0.3.29", "bb", folders=["/set"], environment={"OPENBLAS_CORETYPE": "Haswell"}, expected={"isa": "Haswell"}
        ),
        "first_calls": [first_call(slow), first_call(dot, 1.5, low=None, high=None)],
    }  # fmt: skip
    return canary_json(cases, reasons, **(more | changes))


def write_canary(folder: Path, value=None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "canary.json").write_text(json.dumps(value or full_canary()), "utf-8")
    return folder


if __name__ == "__main__":
    print(write_canary(Path(sys.argv[1])))
