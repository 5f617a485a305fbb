"""selftest.json for tests and for looking at: python dashboards/tests/sample_selftest.py DIR writes one with something
of everything. Nothing here was measured."""

import json
import sys
from pathlib import Path

from sample_run import CHECKS, SCHEMA

PRECISION = ("tf32", "rounding")


def fault(name="gemm_simd_tail", checks=("accuracy",), **changes):
    value = {
        "name": name, "family": "dropped-tail", "kernel": "gemm/simd", "witness": "gemm/simd:m=33,n=29,k=47,dtype=f32",
        "what": "the last odd k is left out", "precision": False, "survives": "", "checks": list(checks),
        "witness_checks": [], "cases": 3 if checks else 0, "first": "gemm/simd:m=1,n=1,k=1" if checks else "",
        "in_smoke": bool(checks), "without_goldens": bool(set(checks) - {"golden-bits", "statistical"}),
    }  # fmt: skip
    value |= changes
    return value | {"precision": value["family"] in PRECISION}


def _row(faults):
    return {
        "faults": len(faults),
        "killed": sum(bool(f["checks"]) for f in faults),
        "in_smoke": sum(f["in_smoke"] for f in faults),
        "without_goldens": sum(f["without_goldens"] for f in faults),
        "witness_only": sum(bool(f["witness_checks"]) for f in faults),
    }


def _check_row(check, faults):
    killed = [f for f in faults if check in f["checks"]]
    return {
        "kills": len(killed),
        "alone": sum(f["checks"] == [check] for f in killed),
        "precision": sum(f["precision"] for f in killed),
    }


def selftest_json(faults, **changes):
    """Its rows are the sums of `faults`."""
    checks = dict.fromkeys([check for check, _ in CHECKS] + [c for f in faults for c in f["checks"]])
    value = {
        "schema": SCHEMA, "device": "cpu", "tier": "ci", "finished": "2025-01-01T10:00:00Z",
        "environment": {"cpu.model": "Example CPU"}, "libraries": {"libm": "version 6 (build-id ab)"},
        "whole": True, "smoke_first": False, "exit_code": 0,
        "targets": {"killed": 0.99, "precision": 0.95, "in_smoke": 0.9}, "shortfalls": [],
        "all": _row(faults), "precision": _row([f for f in faults if f["precision"]]),
        "families": {n: _row([f for f in faults if f["family"] == n]) for n in {f["family"] for f in faults}},
        "checks": {check: _check_row(check, faults) for check in checks}, "faults": faults, "not_judged": {},
        "beyond_this_machine": {}, "bad_controls": [], "innocent_cases": 10000, "alarms": [],
        "alarm_rate_at_most": 0.0003,
    }  # fmt: skip
    return value | changes


def write_selftest(folder: Path, faults=None, **changes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    document = selftest_json([fault()] if faults is None else faults, **changes)
    (folder / "selftest.json").write_text(json.dumps(document), "utf-8")
    return folder


def full_selftest(folder: Path) -> Path:
    """Twelve families, most of whose faults are killed; survivors of each kind."""
    killers = [("accuracy",), ("accuracy", "fresh"), ("golden-bits",), ("unwritten", "guards", "same-run"), ("launch",)]
    families = ["dropped-tail", "tf32", "rounding", *(f"family-{i}" for i in range(9))]
    faults = [
        fault(f"gemm_simd_fault_{i}", killers[i % len(killers)], family=families[i % len(families)], in_smoke=i % 9 > 0)
        for i in range(96)
    ]
    faults += [
        fault("gemm_simd_unseen", (), what="only a large k shows it"),
        fault("gemm_simd_none", (), family="tf32", survives="the order of the sums is free, and this is another"),
        fault("gemm_simd_by_witness", (), witness_checks=["guards"], first="gemm/simd:m=33,n=29,k=47,dtype=f32"),
    ]
    return write_selftest(
        folder,
        faults,
        exit_code=1,
        shortfalls=["killed: 96 of 99 (97.0 %), of which 99 % should be"],
        alarms=["gemm/simd:m=7: wrong, y[3]"],
        beyond_this_machine={"gemm_simd_index_32_bits": "needs 54272 MiB"},
    )


if __name__ == "__main__":
    full_selftest(Path(sys.argv[1]))
