"""Run folders for tests and for looking at: python dashboards/tests/sample_run.py DIR writes one with something of
everything. Numbers come from a fixed seed; nothing here was measured."""

import json
import random
import struct
import sys
from pathlib import Path

CHECKS = [
    ("contract", "contract"), ("launch", "crashed"), ("fallback", "fallback"), ("unwritten", "memory"),
    ("guards", "memory"), ("inputs", "memory"), ("growth", "memory"), ("accuracy", "wrong"), ("fresh", "wrong"),
    ("same-run", "nondeterministic"), ("same-restart", "nondeterministic"), ("same-threads", "nondeterministic"),
    ("same-alignment", "nondeterministic"), ("sensitivity", "wrong"), ("row-independence", "wrong"),
    ("scaling", "wrong"), ("trust", "mistrusted"), ("truth", "error"), ("golden-bits", "changed"),
    ("statistical", "changed"),
]  # fmt: skip
VERDICTS = [
    ("pass", 0), ("unsupported", 0), ("known", 0), ("mistrusted", 2), ("inconclusive", 2), ("invalid", 3),
    ("changed", 1), ("fallback", 1), ("contract", 1), ("nondeterministic", 1), ("memory", 1), ("wrong", 1),
    ("timeout", 1), ("crashed", 1), ("error", 4),
]  # fmt: skip
EDGES = [0.0] + [2.0**e for e in range(-12, 7)]
SCHEMA = {"major": 1, "minor": 1}


def error_summary(generator=None, **changes):
    generator = generator or random.Random(1)
    histogram = [0] * (len(EDGES) + 1)
    for _ in range(400):
        histogram[min(13, max(1, round(generator.gauss(8, 1.6))))] += 1
    value = {
        "tensor": "y", "elements": 400, "exact": 0, "rigorous": 400, "weak": 0, "vacuous": 0, "no_evidence": 0,
        "failures": 0, "max_q": 0.31, "rms_q": 0.02, "mean_signed_q": 0.001, "misrounded": 0.1,
        "mean_signed_ulps": 0.01, "worst_index": 17, "worst_got": 1.5, "worst_want": 1.25, "worst_bound": 0.5,
        "histogram": histogram,
    }  # fmt: skip
    return value | changes


def latency_summary(metric="warm", samples_file="samples/a.bin", **changes):
    value = {
        "metric": metric, "samples": 200, "p50_us": 120.5, "p90_us": 131.0, "p99_us": 160.0, "mean_us": 122.0,
        "tail_mass": 0.03, "quantum_us": 0.03, "batch": 1.0, "coarse": False, "samples_file": samples_file,
        "involuntary_switches": 2,
        "sm_mhz": 0,
        "sm_mhz_low": 0,
    }  # fmt: skip
    return value | changes


def record(kernel_id="gemm/simd:m=8,n=8,k=8,dtype=f32", verdict="pass", failed=None, detail="", **changes):
    """A whole record; `failed` names the check that fails it."""
    name, _, _ = kernel_id.partition(":")
    op, _, kernel = name.partition("/")
    checks = []
    for check, meaning in CHECKS:
        outcome = "no-baseline" if check in ("golden-bits", "statistical") else "pass"
        if verdict == "unsupported" and check != "contract":
            outcome = "not-applicable"
        if check == failed:
            outcome = "fail"
        checks.append({"check": check, "outcome": outcome, "verdict": meaning, "detail": detail * (check == failed)})
    value = {
        "schema": SCHEMA, "kernel_id": kernel_id, "op": op, "kernel": kernel, "target": "cpu", "owner": "kernels",
        "module_hash": "9f2c51aa03b7d4e1", "verdict": verdict,
        "reason": f"{failed}: {detail}" if failed else "", "checks": checks,
        "errors": [error_summary()], "seeds": [], "output_hash": "aa", "truth_hash": "bb", "worst_input": "",
        "selection": {"algorithm": "blocked", "isa": "avx2"}, "workspace_bytes": 0, "resident_growth_bytes": 0,
        "interruptions": 0, "late_libraries": [], "latency": [],
        "seconds": {"fill": 0.001, "oracle": 0.004, "launch": 0.002, "check": 0.003},
        "repro": f"assay repro '{kernel_id}'",
    }  # fmt: skip
    return value | changes


def kernel_entry(op="gemm", name="simd", **changes):
    arithmetic = {
        "accumulator": 3, "depth_divisor": 8, "depth_constant": 4, "split_k": 1, "partial_type": 0, "exp_kind": 0,
        "rescales_online": 0, "flushes_subnormals": 0, "intermediate": 0,
        "tensor_terms": 0, "tensor_fraction": 0, "tensor_precision": 0,
        "tensor_promotion": 0,
    }  # fmt: skip
    contract = {
        "interface_version": 1, "owner": "kernels", "domain": "dtype in f32 f64; k <= 65536", "promises": 3,
        "promised": ["same-run", "same-restart"], "arithmetic": arithmetic, "nan_policy": 0, "workspace_limit": 1 << 20,
        "alignment": 0, "may_fall_back": False, "may_allocate": False,
    }  # fmt: skip
    value = {"op": op, "name": name, "target": "cpu", "module": f"{op}_{name}.so", "module_hash": "9f2c51aa03b7d4e1"}
    return value | {"contract": contract, "platform": "avx512-t2-0a1b2c3d"} | changes


def run_json(records, **changes):
    codes = {dict(VERDICTS)[r["verdict"]] for r in records if r["verdict"] in dict(VERDICTS)}
    value = {
        "schema": SCHEMA,
        "asked": {"command": "gate", "tier": "smoke", "filter": "", "shard": "", "argv": ["assay", "gate"]},
        "started": "2025-01-01T10:00:00Z", "finished": "2025-01-01T10:00:42Z",
        "planned": len(records), "recorded": len(records),
        "exit_code": max(codes, key=(0, 2, 3, 1, 4).index, default=4), "threads": 2,
        "environment": {
            "build.compiler": "g++ 12.2.0", "cpu.cores": "2", "cpu.governor": "unknown",
            "cpu.instruction_sets": "fma avx2 avx512f", "cpu.model": "Example CPU", "os.kernel": "6.1.0",
        },
        "libraries": [
            {"path": "/usr/lib/libopenblas.so.0", "version": "0.3.21", "build_id": "0badcafe", "modules": ["gemm.so"]},
        ],
        "kernels": [kernel_entry()], "findings": [],
        "pin": {"platform": "avx512-t2-0a1b2c3d", "state": "pinned", "differences": [], "unknown": []},
        "tables": {
            "checks": [{"check": c, "verdict": v, "meaning": f"what {c} asks"} for c, v in CHECKS],
            "verdicts": [{"verdict": v, "exit_code": e, "meaning": f"what {v} means"} for v, e in VERDICTS],
            "error_histogram_edges": EDGES,
        },
    }  # fmt: skip
    return value | changes


def samples_bytes(nanoseconds, batch=1, label=b"gemm/simd:m=8 warm"):
    return (
        struct.pack("<8sIIQQ", b"ASSAYSMP", 1, len(label), len(nanoseconds), batch)
        + label
        + struct.pack(f"<{len(nanoseconds)}q", *nanoseconds)
    )


def write_run(folder: Path, records, samples=None, tail="", **changes) -> Path:
    """`samples`: file name -> nanoseconds or bytes. `tail` goes behind the last line. `changes` are to run.json."""
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run_json(records, **changes)), "utf-8")
    lines = "".join(json.dumps(r) + "\n" for r in records)
    (folder / "records.jsonl").write_text(lines + tail, "utf-8")
    for name, content in (samples or {}).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else samples_bytes(content))
    return folder


def full_run(folder: Path) -> Path:
    """Six ops, three kernels each, failures of several kinds, latencies with a tail."""
    generator = random.Random(7)
    records, samples = [], {}
    ops = ("gemm", "softmax", "layernorm_residual", "reduce", "bias_gelu", "gemm_int8")
    kernels = [(op, kernel) for op in ops for kernel in ("simd", "onednn", "dispatch")]
    for op, kernel in kernels:
        for i in range(22):
            m, n = generator.choice((1, 7, 31, 64, 127)), generator.choice((1, 16, 33, 129))
            dtype = generator.choice(("f32", "f64", "bf16")) if op != "gemm_int8" else "i8"
            made = record(f"{op}/{kernel}:m={m},n={n},dtype={dtype},seed={i + 1}", owner=f"{op}-team")
            made["errors"] = [error_summary(generator, max_q=generator.random())]
            if kernel == "onednn" and dtype == "f64":
                made = record(made["kernel_id"], "unsupported", reason="dtype f64 is not in f32 bf16", errors=[])
            if kernel == "dispatch":
                made["selection"] = {"chosen": "simd", "candidate.onednn": "m < 16", "reason": "fewest refusals"}
                if i % 5 == 0:
                    made["selection"] |= {"fallback": "onednn", "fallback_reason": "rows are not contiguous"}
            if i in (3, 9) and kernel != "dispatch":
                made["latency"] = []
                for metric, base in (("warm", 80_000), ("cold", 130_000)):
                    name = f"samples/{len(samples)}.bin"
                    values = [round(base * generator.lognormvariate(0, 0.03)) for _ in range(240)]
                    values += [round(base * generator.uniform(1.3, 3)) for _ in range(10)]
                    samples[name] = values
                    made["latency"].append(
                        latency_summary(metric, name, p50_us=base / 1e3, p90_us=base / 960, p99_us=base / 400)
                    )
            records.append(made)
    bad = "y[1023]: got 3.25, want 3.0625, allowed 3.06249 .. 3.06251"
    records[5] = record(records[5]["kernel_id"], "wrong", "accuracy", bad, owner="gemm-team")
    records[30] = record(
        records[30]["kernel_id"], "memory", "guards", "1 byte before y was written", owner="gemm-team", errors=[]
    )
    records[70] = record(records[70]["kernel_id"], "nondeterministic", "same-threads", "y[7] differs with 1 thread")
    records[101] = record(records[101]["kernel_id"], "crashed", "launch", "killed by signal 11 (SIGSEGV)", errors=[])
    records[150] = record(records[150]["kernel_id"], "mistrusted", "trust", "97 % of y is zero")
    return write_run(
        folder,
        records,
        samples,
        kernels=[kernel_entry(op, kernel) for op, kernel in kernels],
        findings=[
            {"kind": "policy", "text": "ci/policy.toml is edited: 2 lines changed"},
            {"kind": "removed", "text": "kernel reduce/naive is gone"},
        ],
    )


if __name__ == "__main__":
    full_run(Path(sys.argv[1]))
