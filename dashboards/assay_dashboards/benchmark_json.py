"""benchmark.json: the latencies in Google Benchmark's format, so that its tools (compare.py and others) read them.

One aggregate a (case, metric): the median as real_time. cpu_time is required by the format and not measured: 0. Where
it was compared with the base, `against_base` has the verdict and by what fraction its median moved.
"""

import json
import math

from .view import View


def benchmark_json(view: View) -> str:
    environment = view.run["environment"]
    cores = environment.get("cpu.cores", "")
    context = {
        "date": view.run["started"],
        "executable": "assay",
        "num_cpus": int(cores) if cores.isdecimal() and len(cores) < 9 else 0,
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": environment.get("cpu.governor") not in (None, "unknown", "performance"),
        "caches": [],
        "library_build_type": "release",
        "assay_environment": environment,
        "assay_pin": view.run["pin"],
    }
    entries = []
    compared = {case.id: case for case in view.comparison.cases} if view.comparison else {}
    for row in view.latency_frame.to_dict("records"):
        name = f"{row['name']}:{row['case']}/{row['metric']}"
        entries.append(
            {
                "name": f"{name}_median",
                "run_name": name,
                "run_type": "aggregate",
                "aggregate_name": "median",
                "aggregate_unit": "time",
                "repetitions": 1,
                "threads": view.run["threads"],
                "iterations": int(row["samples"]),
                "real_time": _finite(row["p50_us"]),
                "cpu_time": 0.0,
                "time_unit": "us",
                "mean_us": _finite(row["mean_us"]),
                "p90_us": _finite(row["p90_us"]),
                "p99_us": _finite(row["p99_us"]),
                "tail_mass": _finite(row["tail_mass"]),
                "batch": _finite(row["batch"]),
                "coarse": bool(row["coarse"]),
            }
        )
        case = compared.get(f"{view.records[row['index']]['kernel_id']} {row['metric']}")
        if case:
            entries[-1]["against_base"] = {"outcome": case.outcome, "median": _fraction(case.pairs["p50"])}
    return json.dumps({"context": context, "benchmarks": entries}, indent=1, allow_nan=False) + "\n"


def _fraction(pair):
    """None where nothing was read."""
    return math.expm1(pair["estimate"]) if pair["blocks"] and pair["estimate"] is not None else None


def _finite(value):
    return float(value) if math.isfinite(value) else None
