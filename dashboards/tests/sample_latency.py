"""Comparisons of latencies for tests and for looking at: python dashboards/tests/sample_latency.py DIR writes a run
with one that has something of everything. Samples are drawn from a fixed seed, and what latency.json says of them is
computed from them as the gate does it; nothing here was measured."""

import json
import sys
from pathlib import Path

import numpy as np
from scipy import stats

from sample_run import kernel_entry, latency_summary, record, write_run

METRICS = ("p50", "p90", "tail", "stall")
LEAST = {"p50": np.log1p(0.003), "p90": np.log1p(0.005), "tail": 0.002, "stall": 0.002}
MARGIN = {"p50": np.log1p(0.02), "p90": np.log1p(0.03), "tail": 0.01, "stall": 0.01}
CLASS = "cpu/warm/below-500us"


def launches(generator, median_us=120.0, slower=0.0, stalls=0.0, count=100):
    """Nanoseconds of one process: a process has a level of its own, and now and then a launch stalls."""
    level = median_us * (1 + slower) * generator.lognormal(0, 0.002)
    values = level * generator.lognormal(0, 0.01, count)
    values *= np.where(generator.random(count) < 0.005 + stalls, generator.uniform(1.4, 1.6, count), 1)
    return [int(value) for value in np.rint(1e3 * values)]


def process_of(nanoseconds):
    us = np.array(nanoseconds) / 1e3
    p50, p90, p99 = np.quantile(us, (0.5, 0.9, 0.99))
    return [len(us), p50, p90, p99, *(float(np.mean(us > times * p50)) for times in (1.05, 1.4))]


def block(case, number, samples, order="ABBA", void=None, median_only=False, **changes):
    """`samples`: nanoseconds of the four processes, in time."""
    arms = [[samples[i] for i in places] for places in (((0, 3), (1, 2)) if order == "ABBA" else ((1, 2), (0, 3)))]
    value = {
        "class": CLASS, "case": case, "block": number, "order": order,
        "processes": [process_of(one) for one in samples], "median_only": median_only,
        "pooled_p99_us": [float(np.quantile(np.concatenate(arm) / 1e3, 0.99)) for arm in arms],
        "void": void,
    }  # fmt: skip
    value["deltas"] = dict(zip(METRICS, deltas(value), strict=True))
    if not median_only:
        value["nanoseconds"] = samples
    return value | changes


def blocks_of(case, generator, count, voids=(), base=None, change=None, **more):
    """`voids`: (why, place in time) of blocks in front of those that count."""
    made = []
    for number in range(len(voids) + count):
        order = "ABBA" if generator.random() < 0.5 else "BAAB"
        of_change = [(place in (1, 2)) == (order == "ABBA") for place in range(4)]
        samples = [launches(generator, **((change if is_change else base) or {})) for is_change in of_change]
        void = {"why": voids[number][0], "process": voids[number][1]} if number < len(voids) else None
        made.append(block(case, number, samples, order, void, **more))
    return made


def deltas(of_block):
    change = (1, 2) if of_block["order"] == "ABBA" else (0, 3)
    weights = np.array([0.5 if place in change else -0.5 for place in range(4)])
    processes = np.array(of_block["processes"], dtype=float)
    return [
        float(weights @ np.log(processes[:, 1])),
        float("nan") if of_block["median_only"] else float(weights @ np.log(processes[:, 2])),
        *(float("nan") if of_block["median_only"] else float(weights @ processes[:, column]) for column in (4, 5)),
    ]


def reading(values, least):
    """Hodges and Lehmann's estimate and the bounds of signed ranks, by the normal approximation of W."""
    n = len(values)
    averages = np.sort([(values[i] + values[j]) / 2 for i in range(n) for j in range(i, n)])

    def bound(confidence):
        z = stats.norm.ppf(confidence)
        left_out = int(n * (n + 1) / 4 - z * np.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        return (averages[left_out - 1], averages[-left_out]) if left_out > 0 else (None, None)

    low, high = bound(0.975)
    return {
        "blocks": n, "estimate": float(np.median(averages)), "low": low, "high": high, "upper": bound(0.95)[1],
        "p_slower": float(stats.wilcoxon(np.array(values) - least, alternative="greater").pvalue),
        "p_faster": float(stats.wilcoxon(np.array(values) + least, alternative="less").pvalue),
    }  # fmt: skip


def pair(metric="p50", outcome="pass", values=None, confirmed=False, **changes):
    """`values`: deltas of the blocks that it was read from; None: it was not read."""
    read = reading(values, LEAST[metric]) if values is not None else {
        "blocks": 0, "estimate": 0.0, "low": 0.0, "high": 0.0, "upper": 0.0, "p_slower": 1.0, "p_faster": 1.0
    }  # fmt: skip
    value = {
        "metric": metric, "outcome": outcome, "reason": "", "confirmed": confirmed, **read, "least": LEAST[metric],
        "margin": MARGIN[metric], "blind": False, "note": "",
    }  # fmt: skip
    return value | changes


def case_of(case, blocks, outcomes=("pass",) * 4, fresh=0, pairs=None, **changes):
    """A case of latency.json. `fresh`: so many of its blocks, the last, confirmed it; `pairs`: metric -> changes."""
    counted = [one for one in blocks if one["void"] is None]
    chosen = counted[-fresh:] if fresh else counted
    made = []
    for i, (metric, outcome) in enumerate(zip(METRICS, outcomes, strict=True)):
        values = [deltas(one)[i] for one in chosen]
        read = values if outcome != "not gated" and len(values) > 1 else None
        made.append(pair(metric, outcome, read, bool(fresh), **((pairs or {}).get(metric) or {})))
    order = ("not gated", "pass", "improved", "inconclusive", "invalid", "regress", "failed")
    value = {
        "case": case, "class": CLASS, "outcome": max(outcomes, key=order.index), "blocks": len(counted),
        "voids": len(blocks) - len(counted), "pairs": made,
    }  # fmt: skip
    return value | changes


def of_each(**changes):
    """The same changes to the pair of each metric."""
    return dict.fromkeys(METRICS, changes)


def latency_json(cases, **changes):
    codes = {"not gated": 0, "pass": 0, "improved": 0, "inconclusive": 2, "invalid": 3, "regress": 1, "failed": 1}
    value = {
        "schema": {"major": 1, "minor": 11}, "base": "5c1f0e9a7b", "change": "d40b8812fe", "unchanged": [],
        "left_out": [], "selections": [],
        "cases": cases, "findings": [], "blocks": 28, "seconds": 61.5, "seed": 17, "invalid": "",
        "exit_code": max((codes[case["outcome"]] for case in cases), key=(0, 2, 3, 1).index, default=0),
    }  # fmt: skip
    return value | changes


def write_comparison(folder: Path, cases, blocks=(), tail="", **changes) -> Path:
    """Beside what write_run() made. `tail` goes behind the last line of blocks.jsonl, which None leaves out."""
    (folder / "latency.json").write_text(json.dumps(latency_json(cases, **changes)), "utf-8")
    if blocks is not None:
        lines = [json.dumps(one).replace(": NaN", ': "nan"') + "\n" for one in blocks]
        (folder / "blocks.jsonl").write_text("".join(lines) + tail, "utf-8")
    return folder


def full_comparison(folder: Path, passing=12) -> Path:
    """A case of each outcome, stalls, a blind class, batches, and many that pass."""
    generator = np.random.default_rng(11)
    cases, blocks = [], []

    def add(name, outcomes, count, fresh=0, pairs=None, of=None, **more):
        made = blocks_of(name, generator, count, **more)
        blocks.extend(made)
        cases.append(case_of(name, made, outcomes, fresh, pairs, **(of or {})))

    undecided = {"p50": {"estimate": 0.012, "low": -0.004, "high": 0.028, "upper": 0.025, "p_slower": 0.08}}
    for name, outcomes, pairs, change in (
        ("gemm/simd:m=64,n=64,k=64,dtype=f32 warm", ("regress", "regress", "pass", "pass"), None, {"slower": 0.05}),
        ("softmax/simd:rows=64,cols=1000,dtype=f32 warm", ("pass", "pass", *("regress",) * 2), None, {"stalls": 0.02}),
        ("reduce/simd:rows=9,cols=900,dtype=f64 cold", ("inconclusive", *("pass",) * 3), undecided, {"slower": 0.012}),
        ("gemm/simd:m=512,n=512,k=512,dtype=f64 warm", (*("improved",) * 2, "pass", "pass"), None, {"slower": -0.08}),
    ):
        add(name, outcomes, 28, 24, pairs, change=change)
    why = "too many of its blocks were void, 5 were not: foreign (3) sentinel (2)"
    add("reduce/simd:rows=4,cols=4,dtype=f64 warm", ("invalid",) * 4, 5, 0, of_each(reason=why),
        voids=[("foreign", 1), ("foreign", 2), ("foreign", 0), ("sentinel", 1), ("sentinel", 3)])  # fmt: skip
    noisy = {"blind": True, "margin": 0.0421, "note": "too noisy to see +2.00 % of p50: the margin is +4.30 %"}
    none = {"note": "not gated: its samples are of batches, coarse, or too few, or its calibration has none of this"}
    of_batches = {"p50": noisy, "p90": none, "tail": none, "stall": none}
    short = {"median_us": 1.5}
    add("bias_gelu/simd:rows=1,cols=64,dtype=f32 warm", ("pass", *("not gated",) * 3), 4, 0, of_batches,
        {"class": "cpu/warm/batched"}, median_only=True, base=short, change=short)  # fmt: skip
    for i in range(passing):
        add(f"layernorm_residual/simd:rows={i + 1},cols=768,dtype=f32 warm", ("pass",) * 4, 4)
    names = [case["case"].rpartition(" ")[0] for case in cases]
    records = [
        record(name, owner="kernels@example.org", latency=[latency_summary()]) for name in dict.fromkeys(names)
    ]  # fmt: skip
    kernels = dict.fromkeys(tuple(name.partition(":")[0].split("/")) for name in names)
    write_run(
        folder,
        records,
        samples={"samples/a.bin": [120_000, 121_000, 133_000]},
        kernels=[kernel_entry(*kernel) for kernel in kernels],
        findings=[{"kind": "policy", "text": "ci/policy/policy.toml is edited: 1 line added, 1 removed"}],
        exit_code=1,
    )
    return write_comparison(
        folder,
        cases,
        blocks,
        unchanged=[{"what": "gemm/openblas", "why": "the same bytes and the same libraries in both arms"}],
        left_out=[{"what": "gemm/simd:m=8,n=8,k=8,dtype=f32", "why": "is wrong: no latency of it counts"}],
        selections=[{"kernel_id": names[0], "what": "algorithm: blocked -> naive, workspace: 0 -> 4096"}],
        findings=[{"kind": "voids", "text": "11 blocks were void by 'foreign' of the change's processes alone and 0 of "
                                            "the base's (p 0.001): one of them may cause it"}],
    )  # fmt: skip


if __name__ == "__main__":
    full_comparison(Path(sys.argv[1]))
