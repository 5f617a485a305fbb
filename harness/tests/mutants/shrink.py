#!/usr/bin/env python3
"""Shrinks the witness of each seeded fault with `assay shrink` and says how small it gets, how long that takes, and
whether the file it writes shows the failure.

    shrink.py [--build FOLDER] [--faults FOLDER] [--sample K/N] [--seconds S] [NAME...]

A line a fault, then what should hold of 90 % of them: at most 64 output elements, in S seconds at most. The file is
built and run against the fault, where it should exit 1, and against the module without it, where it should exit 0.
CPU faults alone: build.py makes them. Exit 1 where less than 90 % meet both.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from build import HERE, Problem, sampled

MOST_ELEMENTS, LEAST_SHARE = 64, 0.9


class Named:
    """A fault of faults.json."""

    def __init__(self, fields: dict):
        self.name, self.module, self.witness = fields["name"], fields["module"], fields["witness"]


def exit_of(program: Path, module: Path) -> int | str:
    try:
        return subprocess.run([program, module], capture_output=True, timeout=60, check=False).returncode
    except subprocess.TimeoutExpired:
        return "timeout"


def shown_by(bundle: Path, fault: Path, control: Path) -> str:
    """What the bundle's file says of the fault and of the module without it, or why it says nothing."""
    program = bundle / "repro"
    built = subprocess.run(
        ["c++", "-std=c++20", bundle / "repro.cpp", "-ldl", "-o", program], capture_output=True, text=True, check=False
    )
    if built.returncode:
        return "repro.cpp does not compile"
    return f"exit {exit_of(program, fault)}, {exit_of(program, control)}"


def shrink(assay: Path, faults: Path, fault: Named, seconds: float, out: Path) -> dict:
    module = faults / f"{fault.name}.so"
    command = [assay, "shrink", fault.witness, "--module", module, "--seconds", str(seconds), "--json", "--out", out]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if not done.stdout:  # the exit code is that of the failure it has shrunk
        line = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return {"problem": f"exit {done.returncode}: {line}"}
    told = json.loads(done.stdout)
    if told["bundle"]:
        told["shown"] = told["not_shown"] or shown_by(out, module, faults / f"{fault.module}.so")
    else:
        told["shown"] = told["no_bundle"]
    return told


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=Path, default=HERE.parents[2] / "build")
    parser.add_argument("--faults", type=Path, help="default: BUILD/mutants")
    parser.add_argument("--sample", default="1/1")
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args(arguments)
    folder = asked.faults or asked.build / "mutants"
    try:
        listed = json.loads((folder / "faults.json").read_text())["faults"]
    except (OSError, ValueError, KeyError) as error:
        raise Problem(f"{folder}/faults.json: {error}; build.py --target cpu makes it") from None
    faults = sampled([Named(one) for one in listed if one["target"] == "cpu"], asked.sample)
    if asked.names:
        faults = [fault for fault in faults if fault.name in asked.names]
    if not faults:
        raise Problem(f"{folder}/faults.json: none of the CPU faults asked for")
    small = quick = both = judged = 0
    with tempfile.TemporaryDirectory() as scratch:
        for fault in faults:
            told = shrink(asked.build / "bin" / "assay", folder, fault, asked.seconds, Path(scratch) / fault.name)
            if "problem" in told:
                print(f"{fault.name}\t{told['problem']}", flush=True)
                continue
            is_small, is_quick = told["output_elements"] <= MOST_ELEMENTS, told["seconds"] <= asked.seconds
            judged, small, quick, both = judged + 1, small + is_small, quick + is_quick, both + (is_small and is_quick)
            print(
                f"{fault.name}\t{told['output_elements']} elements\t{told['seconds']:.1f} s\t{told['verdict']}\t"
                f"{told['shown']}\t{told['kernel_id']}",
                flush=True,
            )
    if judged == 0:
        raise Problem("no fault could be shrunk")
    print(f"at most {MOST_ELEMENTS} output elements: {share(small, judged)}")
    print(f"in at most {asked.seconds:g} s: {share(quick, judged)}; both: {share(both, judged)}")
    print(f"not shrunk, for the reasons above: {len(faults) - judged}")
    return 0 if both >= LEAST_SHARE * judged else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        sys.exit(f"shrink.py: {problem}")
