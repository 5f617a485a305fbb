"""Calibration of the latency gate on a machine, kept in the repository: from blocks recorded with one build as both
arms, at most so many cases of each class, chosen by the hash of their names and not by what they measured.

    build/bin/assay bench --tier ci --blocks 300 --out RUN      # hours; --resume goes on with it
    python ci/calibrate.py RUN/blocks.jsonl... > ci/policy/latency/PLATFORM.jsonl

PLATFORM is that of the machine's pin, `build/bin/assay env verify` says which. Samples of single launches are kept of
one case of a class, and there of the second half of its blocks, into which known changes are replayed
(build/bin/latency_error_rates). Quantiles are rounded to six digits. Exit code 0, or 4 with one line.
"""

import argparse
import hashlib
import json
import math
import os
import sys
from collections import defaultdict
from pathlib import Path

_CHANGE_AT = {"ABBA": (1, 2), "BAAB": (0, 3)}  # places in time of the change's processes


def rounded(value):
    return float(f"{value:.6g}")


def deltas_of(block):
    """As harness/measure/block.cpp has them: change minus base."""
    said = {}
    weights = [0.5 if place in _CHANGE_AT[block["order"]] else -0.5 for place in range(4)]
    for metric, column in (("p50", 1), ("p90", 2), ("tail", 4), ("stall", 5)):
        values = [process[column] for process in block["processes"]]
        if "nan" in values or (block["median_only"] and metric != "p50"):
            said[metric] = "nan"
            continue
        logs = [math.log(value) for value in values] if metric in ("p50", "p90") else values
        said[metric] = sum(w * v for w, v in zip(weights, logs, strict=True))
    return said


def thinned(block, keep_samples):
    """A line of the calibration. With samples, quantiles are theirs to the last digit and are left as they are."""
    kept = {key: value for key, value in block.items() if keep_samples or key != "nanoseconds"}
    kept["conditions"] = [[*map(rounded, one[:3]), one[3]] for one in block["conditions"]]
    if "nanoseconds" not in kept and all(process[0] for process in block["processes"]):
        kept["processes"] = [[one[0], *map(rounded, one[1:4]), *one[4:]] for one in block["processes"]]
        kept["pooled_p99_us"] = [*map(rounded, block["pooled_p99_us"])]
        kept["deltas"] = deltas_of(kept)
    return kept


def read_blocks(files):
    """Lines by class and case; numbers go on from file to file. A torn last line is left out."""
    found, first = defaultdict(lambda: defaultdict(list)), 0
    for file in files:
        following = first
        lines = Path(file).read_text("utf-8").split("\n")[:-1]
        for place, line in enumerate(lines, 1):
            try:
                block = json.loads(line)
                block["block"] += first
                found[block["class"]][block["case"]].append(block)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{file}:{place}: no block ({error}); take the line out") from None
            following = max(following, block["block"] + 1)
        first = following
    return found


def calibration(found, cases):
    for latency_class in sorted(found):
        by_name = found[latency_class]
        names = sorted(by_name, key=lambda name: hashlib.sha256(name.encode()).digest())[:cases]
        for i, name in enumerate(names):
            blocks = sorted(by_name[name], key=lambda block: block["block"])
            for place, block in enumerate(blocks):
                yield thinned(block, i == 0 and place >= len(blocks) // 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("blocks", nargs="+", metavar="BLOCKS.jsonl")
    parser.add_argument("--cases", type=int, default=6, help="of a class (default: 6)")
    options = parser.parse_args()
    try:
        for block in calibration(read_blocks(options.blocks), options.cases):
            print(json.dumps(block, separators=(",", ":")))
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        print(f"calibrate: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is written at the end, which must not fail
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
