#!/usr/bin/env python3
"""PyTorch's times beside those of cuda_ratios, on the same machine and the same shapes.

    cuda_ratios --tsv ours.tsv && torch_ratios.py ours.tsv [--compile] [--filter TEXT]

Timed as cuda_ratios does: events around one call, the level-2 cache emptied before, medians. `eager` is the expression
a model would write, one kernel a step; `compiled` the same through torch.compile, which fuses it. A ratio is PyTorch's
time over ours: above 1, ours is faster. To add an op: one function in OPS.
"""

import argparse
import pathlib
import statistics
import sys

import torch
import torch.nn.functional as F

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def draw(f, *shape):
    return torch.randn(*shape, device="cuda", dtype=TYPES[f["dtype"]])


def softmax(f):
    x = draw(f, int(f["rows"]), int(f["cols"]))
    if "mask" not in f:
        return lambda x: torch.softmax(x, -1), (x,)
    scale = float(f["scale"])
    mask = torch.where(torch.rand_like(x) < 0.3, float("-inf"), 0.0).to(x.dtype)
    return lambda x, mask: torch.softmax(x * scale + mask, -1), (x, mask)


def layernorm_residual(f):
    rows, cols = int(f["rows"]), int(f["cols"])
    tensors = (draw(f, rows, cols), draw(f, rows, cols), draw(f, cols), draw(f, cols))
    return lambda x, residual, gamma, beta: F.layer_norm(x + residual, (cols,), gamma, beta, 1e-5), tensors


def reduce(f):
    x = draw(f, int(f.get("outer", 1)), int(f["n"]), int(f.get("inner", 1)))
    if f["kind"] == "sum":
        return lambda x: torch.sum(x, 1), (x,)
    return lambda x: torch.amax(x, 1), (x,)


def bias_gelu(f):
    approximate = "tanh" if f["form"] == "tanh" else "none"
    tensors = (draw(f, int(f["rows"]), int(f["cols"])), draw(f, int(f["cols"])))
    return lambda x, bias: F.gelu(x + bias, approximate=approximate), tensors


def gemm(f):
    m, n, k = (int(f[name]) for name in "mnk")
    a = draw(f, k, m).t() if f.get("ta") == "t" else draw(f, m, k)
    b = draw(f, n, k).t() if f.get("tb") == "t" else draw(f, k, n)
    return torch.matmul, (a, b)


OPS = {
    "softmax": softmax,
    "layernorm_residual": layernorm_residual,
    "reduce": reduce,
    "bias_gelu": bias_gelu,
    "gemm": gemm,
}


def milliseconds(function, tensors, flush, rounds):
    times = []
    for round_ in range(-2, rounds):
        flush.sum()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = function(*tensors)
        end.record()
        end.synchronize()
        del result
        if round_ >= 0:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="what cuda_ratios --tsv wrote")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too, which takes seconds a case")
    parser.add_argument("--filter", default="", help="only cases whose id contains this")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.ones(2 * cache // 4, device="cuda", dtype=torch.float32)
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}; time of PyTorch / time of ours")
    print(f"{'case':<82} {'ours ms':>8} {'speed':>14} {'of rival':>9} {'eager':>7} {'compiled':>8}")
    selected = 0
    for line in pathlib.Path(options.table).read_text(encoding="utf-8").splitlines():
        case_id, ours, speed, unit, rival, _, ratio = line.split("\t")
        name, _, fields = case_id.partition(":")
        if options.filter not in case_id:
            continue
        selected += 1
        op, field = name.split("/")[0], dict(field.split("=") for field in fields.split(","))
        if op not in OPS or field.get("dtype") not in TYPES:
            print(f"{case_id:<82} not timed: no expression of PyTorch's for it here", flush=True)
            continue
        torch.compiler.reset()
        function, tensors = OPS[op](field)
        eager = milliseconds(function, tensors, flush, options.rounds) / float(ours)
        compiled = ""
        if options.compile:
            fused = torch.compile(function, dynamic=False)
            compiled = f"{milliseconds(fused, tensors, flush, options.rounds) / float(ours):8.3f}"
        print(
            f"{case_id:<82} {float(ours):8.3f} {float(speed):8.1f} {unit:<5} {float(ratio):5.3f} {rival[:6]:<6}"
            f" {eager:5.3f} {compiled:>8}",
            flush=True,
        )
        del tensors
        torch.cuda.empty_cache()
    if selected == 0:
        sys.exit(f"torch_ratios.py: no case of {options.table} matches --filter '{options.filter}'")


if __name__ == "__main__":
    main()
