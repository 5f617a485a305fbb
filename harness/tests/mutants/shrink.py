#!/usr/bin/env python3
"""Shrinks the witness of each seeded fault with `assay shrink` and says how small it gets, how long that takes, and
whether the file it writes shows the failure.

    shrink.py [--build FOLDER] [--faults FOLDER] [--target cpu|cuda] [--sample K/N] [--seconds S] [--jobs N] [NAME...]

A line a fault, then what should hold of 90 % of them: at most 64 output elements, in S seconds at most. The file is
built and run against the fault, where it should exit 1, and against the module without it, where it should exit 0.
build.py makes the faults, and --sample is of all of a target's, as its. Exit 1 where less than 90 % meet both.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from build import HERE, SUFFIX, Problem, read_faults, sampled

MOST_ELEMENTS, LEAST_SHARE = 64, 0.9
COMPILER = {"cpu": "c++", "cuda": "nvcc"}


class Named:
    """A fault of faults.json."""

    def __init__(self, fields: dict):
        self.name, self.module, self.witness = fields["name"], fields["module"], fields["witness"]


def with_libraries(build: Path) -> dict[str, str]:
    """The environment in which a module of the build finds its libraries, where Assay's workers do."""
    listed = build / "library_path.txt"
    folders = listed.read_text().split() if listed.exists() else []
    before = os.environ.get("LD_LIBRARY_PATH")
    return os.environ | {"LD_LIBRARY_PATH": ":".join([*folders, *([before] if before else [])])}


def exit_of(program: Path, module: Path, environment: dict[str, str]) -> int | str:
    try:
        done = subprocess.run([program, module], capture_output=True, timeout=60, check=False, env=environment)
        return done.returncode
    except subprocess.TimeoutExpired:
        return "timeout"


def shown_by(bundle: Path, target: str, fault: Path, control: Path, environment: dict[str, str]) -> str:
    """What the bundle's file says of the fault and of the module without it, or why it says nothing."""
    program, source = bundle / "repro", bundle / f"repro.{SUFFIX[target]}"
    built = subprocess.run(
        [COMPILER[target], "-std=c++20", source, "-ldl", "-o", program], capture_output=True, text=True, check=False
    )
    if built.returncode:
        return f"{source.name} does not compile"
    return f"exit {exit_of(program, fault, environment)}, {exit_of(program, control, environment)}"


def shrink(build: Path, faults: Path, fault: Named, target: str, seconds: float, out: Path) -> dict:
    module = faults / f"{fault.name}.so"
    assay = build / "bin" / "assay"
    command = [assay, "shrink", fault.witness, "--module", module, "--seconds", str(seconds), "--json", "--out", out]
    command += ["--device", target]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if not done.stdout:  # the exit code is that of the failure it has shrunk
        line = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return {"problem": f"exit {done.returncode}: {line}"}
    told = json.loads(done.stdout)
    if told["bundle"]:
        control = faults / f"{fault.module}.so"
        told["shown"] = told["not_shown"] or shown_by(out, target, module, control, with_libraries(build))
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
    parser.add_argument("--target", choices=SUFFIX, default="cpu")
    parser.add_argument("--sample", help="K/N: part K of N alone")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="so many at once, which take each other's time")
    asked = parser.parse_args(arguments)
    folder = asked.faults or asked.build / "mutants"
    try:
        listed = json.loads((folder / "faults.json").read_text())["faults"]
    except (OSError, ValueError, KeyError) as error:
        raise Problem(f"{folder}/faults.json: {error}; build.py --target {asked.target} makes it") from None
    faults = [Named(one) for one in listed if one["target"] == asked.target]
    if asked.sample:
        of_part = {
            one.name for one in sampled([one for one in read_faults() if one.target == asked.target], asked.sample)
        }
        faults = [fault for fault in faults if fault.name in of_part]
    if asked.names:
        faults = [fault for fault in faults if fault.name in asked.names]
    if not faults:
        raise Problem(f"{folder}/faults.json: none of the {asked.target} faults asked for")
    small = quick = both = judged = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(asked.jobs) as pool:

        def shrunk(fault):
            return shrink(asked.build, folder, fault, asked.target, asked.seconds, Path(scratch) / fault.name)

        for fault, told in zip(faults, pool.map(shrunk, faults), strict=True):
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
