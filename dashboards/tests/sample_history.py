"""Histories for tests and for looking at: python dashboards/tests/sample_history.py DIR writes run folders with one of
everything. Numbers come from a fixed seed; nothing here was measured."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sqlalchemy import insert

from assay_dashboards.history import database
from assay_dashboards.history.database import Database
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


def store(url, values, epochs=None, facts=None, references=None, **columns):
    """Puts series straight into the database. `values`: kernel id -> p50 of every night; `epochs`: the epoch of every
    night; `facts` of each epoch; `references`: like `values`. `columns` are to the series and points."""
    nights = max((len(one) for one in values.values()), default=0)
    epochs = epochs or [1] * nights
    facts = facts or {number: {"epoch": str(number)} for number in set(epochs)}
    of_series = {"metric": "warm", "target": "cpu", "device": "Example CPU", "unit": "fma; 2 threads"}
    of_point = {"verdict": "pass", "module_hash": "ab", "p90_us": None, "p99_us": None, "tail_mass": None}
    of_series |= {key: columns[key] for key in of_series.keys() & columns.keys()}
    of_point |= {key: columns[key] for key in of_point.keys() & columns.keys()}
    points = [
        {
            "series": number,
            "run": night + 1,
            "epoch": epochs[night],
            "p50_us": value,
            "reference_us": None if references is None else float(references[name][night]),
        }
        | of_point
        for number, (name, one) in enumerate(values.items(), 1)
        for night, value in enumerate(one.tolist())
    ]
    runs = [
        {"id": night + 1, "identity": f"{night}", "content": "", "records": len(values), "started": time_of(night)}
        | {"tier": "ci", "commit": columns.get("commit", f"{night:07x}")}
        for night in range(nights)
    ]
    with Database(url).writing() as connection:
        connection.execute(insert(database.run), runs)
        rows = [{"id": number, "key": f"{number}", "facts": json.dumps(one)} for number, one in facts.items()]
        connection.execute(insert(database.epoch), rows)
        rows = [{"id": i, "key": f"{i:x}", "kernel_id": name} | of_series for i, name in enumerate(values, 1)]
        connection.execute(insert(database.series), rows)
        connection.execute(insert(database.point), points)


if __name__ == "__main__":
    full_history(Path(sys.argv[1]))
