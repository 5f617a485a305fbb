"""Histories for tests and for looking at: python dashboards/tests/sample_history.py DIR writes run folders with one of
everything. Numbers come from a fixed seed; nothing here was measured."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from sample_run import kernel_entry, latency_summary, record, run_json, write_run

ENVIRONMENT = run_json([])["environment"]


def time_of(night):
    return (datetime(2025, 1, 1, 10, tzinfo=UTC) + timedelta(days=night)).strftime("%Y-%m-%dT%H:%M:%SZ")


def timed(kernel_id, microseconds, metric="warm", **changes):
    """A record with one latency."""
    summary = latency_summary(
        metric, p50_us=microseconds, p90_us=1.1 * microseconds, p99_us=1.3 * microseconds, mean_us=microseconds
    )
    return record(kernel_id, latency=[summary], **changes)


def write_night(folder: Path, night, values, compiler="g++ 12.2.0", **changes) -> Path:
    """A run of that night; `values`: kernel id -> p50 in microseconds."""
    records = [timed(kernel_id, float(value)) for kernel_id, value in values.items()]
    environment = ENVIRONMENT | {"build.compiler": compiler}
    return write_run(folder, records, started=time_of(night), environment=environment, **changes)


def full_history(folder: Path, nights=90) -> list[Path]:
    """A series that got slower, one faster, one that moved with the compiler alone, steady ones, and a new one."""
    generator = np.random.default_rng(3)
    noise = generator.normal(0, 0.006, (nights, 16))
    runs = []
    for night in range(nights):
        level = {f"gemm/simd:m={m},n=64,k=64,dtype=f32": 40.0 + m for m in range(8, 18)}
        level["gemm/simd:m=8,n=64,k=64,dtype=f32"] *= 1.05 if night >= 60 else 1
        level["gemm/simd:m=9,n=64,k=64,dtype=f32"] *= 0.96 if night >= 75 else 1
        level["gemm/simd:m=10,n=64,k=64,dtype=f32"] *= 1.08 if night >= 40 else 1
        if night >= nights - 5:
            level["gemm/simd:m=99,n=64,k=64,dtype=f32"] = 7.0
        values = {name: value * np.exp(noise[night, i]) for i, (name, value) in enumerate(level.items())}
        compiler = "g++ 12.2.0" if night < 40 else "g++ 13.1.0"
        runs.append(write_night(folder / f"night-{night:03}", night, values, compiler, kernels=[kernel_entry()]))
    return runs


if __name__ == "__main__":
    full_history(Path(sys.argv[1]))
