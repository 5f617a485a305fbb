#!/usr/bin/env python3
"""What the latency gate answers on this machine, gate after gate, each with a ledger of its own: of one build as both
arms, or of a module with a delay built in against itself (delayed.cpp).

    live_gates.py --out FOLDER [--gates 10] [--build build] [--device cpu] [--threads N]
                  [--tier smoke] [--filter FILTER]... [--module MODULE --delay SHARE,TIMES]

MODULE is one of the build's, such as softmax_simd; SHARE of its launches then take TIMES as long. A line for each gate,
then a row of the table in harness/README.md. What is in FOLDER is not asked again. Exit code 0, or 4 with one line.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

EXITS = {0: "passed", 1: "called", 2: "undecided", 3: "invalid"}


class Problem(Exception):
    """One line for the user."""


def arms(given, folder):
    """Folders of modules, base and change."""
    modules = given.build / "modules"
    base, change = folder / "base", folder / "change"
    if given.module is None:
        for arm in (base, change):  # files of its own, as the arms of two trees are
            shutil.copytree(modules, arm)
        return base, change
    module = modules / f"{given.module}.so"
    delayed = given.build / "delayed" / f"delayed_{given.device}.so"
    for needed in (module, delayed):
        if not needed.exists():
            raise Problem(f"{needed} is not there; ninja -C {given.build}")
    for arm, (share, times) in ((base, ("0", "1")), (change, given.delay.split(","))):
        arm.mkdir(exist_ok=True)
        shutil.copy(delayed, arm / "delayed.so")
        (arm / "delayed.txt").write_text(f"{module.resolve()}\n{share}\n{times}\n")
    return base, change


def ask(given, number):
    """The gate's latency.json."""
    folder = given.out / f"gate-{number:03}"
    if not (folder / "run" / "latency.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        base, change = arms(given, folder)
        command = [
            given.build / "bin" / "assay",
            "gate",
            "--device",
            given.device,
            "--threads",
            str(given.threads),
            "--tier",
            given.tier,
            "--no-report",
            "--no-skip",
            "--unpinned",
        ]
        command += ["--modules", change, "--base-modules", base, "--ledgers", folder / "ledgers"]
        command += ["--out", folder / "run"] + [word for one in given.filter for word in ("--filter", one)]
        done = subprocess.run(command, capture_output=True, text=True)
        (folder / "output.txt").write_text(done.stdout + done.stderr)
        if not (folder / "run" / "latency.json").exists():
            raise Problem(f"{folder}/output.txt: no latencies were compared")
    return json.loads((folder / "run" / "latency.json").read_text())


def pairs(latency, outcome):
    return [
        f"{case['case']} {pair['metric']}"
        for case in latency["cases"]
        for pair in case["pairs"]
        if pair["outcome"] == outcome
    ]


def row(given, gates):
    ends = Counter(EXITS.get(gate["exit_code"], "?") for gate in gates)
    cases = sum(len(gate["cases"]) for gate in gates)
    blocks = sum(case["blocks"] + case["voids"] for gate in gates for case in gate["cases"])
    seconds = sum(gate["seconds"] for gate in gates)
    what = f"`{given.module}`, {given.delay}" if given.module else "nothing"
    counted = ", ".join(f"{ends[end]} {end}" for end in EXITS.values())
    per_gate = f"{cases / len(gates):.0f} | {blocks / cases:.1f} | {seconds / len(gates):.0f} | {seconds / cases:.1f}"
    return f"| {what} | {len(gates)} | {counted} | {per_gate} |"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gates", type=int, default=10)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tier", default="smoke")
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--module")
    parser.add_argument("--delay")
    given = parser.parse_args(arguments)
    if (given.module is None) != (given.delay is None):
        raise Problem("--module and --delay are given together")
    gates = []
    for number in range(given.gates):
        gates.append(ask(given, number))
        last = gates[-1]
        named = {outcome: pairs(last, outcome) for outcome in ("regress", "inconclusive", "invalid")}
        found = "; ".join(f"{outcome}: {', '.join(of)}" for outcome, of in named.items() if of)
        said = f"exit {last['exit_code']}, {last['blocks']} blocks, {last['seconds']:.0f} s"
        print(f"{number}: {said}  {found}", flush=True)
    print("| change | gates | | cases | blocks a case | seconds a gate | seconds a case |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(row(given, gates))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        print(f"live_gates: {problem}", file=sys.stderr)
        sys.exit(4)
