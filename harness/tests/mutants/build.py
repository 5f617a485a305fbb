#!/usr/bin/env python3
"""Makes a module OUT/NAME.so of each seeded fault {cpu,cuda}/NAME.patch, and OUT/MODULE.so of each module that one
spoils, unspoilt but made the same way: the control. OUT/faults.json lists them for `assay selftest`.

    build.py [--build FOLDER] [--out FOLDER] [--target cpu|cuda] [--sample K/N] [--jobs N] [NAME...]

The command lines are FOLDER's; kernels and patches are the tree's. What is up to date is left. CPU kernels are compiled
for the best instruction set of this machine alone, CUDA kernels for sm_90a. A fault that does not compile is an error.
What is left out has a line "skipped: " with the count and the reason, which ci/test counts.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SUFFIX = {"cpu": "cpp", "cuda": "cu"}
PRECISION = {"accumulator-width", "tf32", "fast-math", "half-workspace", "low-precision-epilogue", "rounding"}
FIELDS = ("module", "family", "witness", "killer")
NEEDS = ("avx512vl",)


class Problem(Exception):
    """One line for the user."""


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    target: str
    module: str  # OP_STEM
    family: str
    witness: str  # a kernel id in which it shows
    killer: str  # the checks of which one should see it
    what: str  # one line
    text: str  # the patch
    survives: str = ""  # why no case of the ci tier sees it; empty: one should
    needs: str = (
        ""  # of NEEDS: the flag, of /proc/cpuinfo, of the processors on which its answer differs; empty: on all
    )

    @property
    def precision(self) -> bool:
        """Whether it changes how exactly the kernel computes, and nothing else."""
        return self.family in PRECISION

    @property
    def source(self) -> str:
        """OP and STEM both may have underscores: of the ways to part them, the one that is a kernel."""
        parts = self.module.split("_")
        for at in range(1, len(parts)):
            source = f"kernels/{'_'.join(parts[:at])}/{'_'.join(parts[at:])}.{SUFFIX[self.target]}"
            if (ROOT / source).exists():
                return source
        raise Problem(f"{self.name}: module '{self.module}' is of no kernel of target {self.target}")


def read_fault(path: Path) -> Fault:
    """The head of a patch is lines '# FIELD: VALUE', then lines '# text' that say what is wrong with it."""
    text = path.read_text()
    fields, what = {}, []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        named = re.fullmatch(r"# (\w+): (.+)", line)
        if named and named[1] in (*FIELDS, "survives", "needs"):
            fields[named[1]] = named[2]
        else:
            what.append(line.removeprefix("#").strip())
    missing = [field for field in FIELDS if field not in fields]
    if missing or not what:
        raise Problem(f"{path}: its head lacks '# {(missing or ['what is wrong'])[0]}: ...'")
    if "needs" in fields and fields["needs"] not in NEEDS:  # a misspelt one would leave it out everywhere
        raise Problem(f"{path}: '# needs: {fields['needs']}' is none of {', '.join(NEEDS)}")
    return Fault(path.stem, path.parent.name, **fields, what=" ".join(what), text=text)


def read_faults(folder: Path = HERE) -> list[Fault]:
    faults = [read_fault(path) for target in SUFFIX for path in sorted((folder / target).glob("*.patch"))]
    names = [fault.name for fault in faults]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Problem(f"two faults of one name: {', '.join(sorted(twice))}")
    return faults


def sampled(faults: list[Fault], sample: str) -> list[Fault]:
    """Part K of N: faults are dealt out by a hash of their names, so that each part has of every family."""
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", sample) or int(sample.split("/")[0]) > int(sample.split("/")[1]):
        raise Problem(f"--sample {sample}: it is K/N, part K of N")
    part, parts = map(int, sample.split("/"))
    ordered = sorted(faults, key=lambda fault: hashlib.sha256(fault.name.encode()).digest())
    return sorted(ordered[part - 1 :: parts], key=lambda fault: fault.name)


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> set[str]:
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo.read_text(), re.MULTILINE)
    if not flags:
        raise Problem(f"{cpuinfo}: no line of flags: it is of no x86-64 processor")
    return set(flags[1].split())


def instruction_sets_left_out() -> list[str]:
    """Highway's names of all but this machine's best: kernels/common/targets.h."""
    return ["HWY_SSE4", "HWY_AVX2" if "avx512vl" in processor_flags() else "HWY_AVX3"]


class Builder:
    """Compiles and links by the command lines of a build folder."""

    def __init__(self, build: Path, out: Path):
        commands = build / "compile_commands.json"
        if not commands.exists():
            raise Problem(
                f"{build} is no build folder; make one: cmake -S {ROOT} -B {build} -G Ninja && ninja -C {build}"
            )
        self.build, self.out = build, out
        self.compile = {entry["file"]: entry["command"] for entry in json.loads(commands.read_text())}
        self.kernels = hashlib.sha256()
        for path in sorted((ROOT / "kernels").rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu", ".cuh"}:
                self.kernels.update(path.read_bytes())

    def make(self, name: str, fault: Fault, text: str) -> str:
        """OUT/NAME.so of the fault's module with `text` applied. What went wrong, or nothing."""
        try:
            compile_line = self.compile[str(ROOT / fault.source)]
        except KeyError:
            return f"{name}: {self.build} does not compile {fault.source}"
        digest = self.kernels.copy()
        digest.update((text + compile_line).encode())
        stamp, module = self.out / f"{name}.stamp", self.out / f"{name}.so"
        if module.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
            return ""
        with tempfile.TemporaryDirectory() as folder:
            failure = self._make(name, fault, text, compile_line, Path(folder), module)
        if not failure:
            stamp.write_text(digest.hexdigest())
        return failure

    def _make(self, name: str, fault: Fault, text: str, compile_line: str, work: Path, module: Path) -> str:
        shutil.copytree(ROOT / "kernels", work / "kernels")
        if text:
            patched = _run(["patch", "-s", "-p1", "-d", str(work)], text)
            if patched:
                return f"{name}: does not fit {fault.source}: {patched}"
        kernel = work / "kernel.o"
        words = [word.replace(f"{ROOT}/kernels", f"{work}/kernels") for word in shlex.split(compile_line)]
        words[words.index("-o") + 1] = str(kernel)
        if fault.target == "cuda":
            words = [word for word in words if not word.startswith(("--generate-code", "-arch"))]
            words.insert(-4, "--generate-code=arch=compute_90a,code=sm_90a")
        else:
            words.insert(-4, f"-DASSAY_DISABLED_TARGETS={'|'.join(instruction_sets_left_out())}")
        compiled = _run(words)
        if compiled:
            return f"{name}: does not compile\n{compiled}"
        linked = _run(self._link_line(fault, kernel, module))
        return f"{name}: does not link\n{linked}" if linked else ""

    def _link_line(self, fault: Fault, kernel: Path, module: Path) -> list[str]:
        listed = subprocess.run(
            ["ninja", "-C", str(self.build), "-t", "commands", f"module_{fault.module}"], capture_output=True, text=True
        ).stdout
        line = next(line for line in listed.splitlines() if f"-o modules/{fault.module}.so" in line)
        words = []
        for word in shlex.split(line.split("&&")[1]):
            if word.startswith("-Wl,--dependency-file"):  # newer CMake's, of the module that stays
                continue
            own_object = word.endswith(".o") and "_table" not in word
            words.append(str(kernel) if own_object else str(self.build / word) if word.endswith(".o") else word)
        words[words.index("-o") + 1] = str(module)
        return words


def _run(words: list[str], text: str | None = None) -> str:
    """Empty, or why it failed."""
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip() or f"exit {done.returncode}"


def manifest(faults: list[Fault]) -> list[dict]:
    fields = ("name", "target", *FIELDS, "what", "precision", "survives")
    return [{field: getattr(fault, field) for field in fields} for fault in faults]


def chosen(faults: list[Fault], given: argparse.Namespace, flags: set[str]) -> tuple[list[Fault], list[str]]:
    """Those asked for that are faults on a processor of these flags, and for what is left out a line each: how much it
    is and why."""
    left_out = []

    def keep(kept: list[Fault], why: str) -> list[Fault]:
        for target in SUFFIX:
            count = sum(fault.target == target and fault not in kept for fault in faults)
            if count:
                left_out.append(f"{count} {target} faults: {why}")
        return kept

    if given.names:
        faults = keep([fault for fault in faults if fault.name in given.names], "not among those named")
    if given.target:
        faults = keep([fault for fault in faults if fault.target == given.target], f"--target {given.target}")
    if given.sample:
        faults = keep(sampled(faults, given.sample), f"not of this part, --sample {given.sample}")
    for flag in sorted({fault.needs for fault in faults} - flags - {""}):
        faults = keep([fault for fault in faults if fault.needs != flag], f"no faults on a processor without {flag}")
    on_cpu = sum(fault.target == "cpu" for fault in faults)
    if on_cpu:
        sets = " and ".join(instruction_sets_left_out())
        left_out.append(f"{on_cpu} cpu faults compiled for {sets}: this machine's best instruction set alone is judged")
    return faults, left_out


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--out", type=Path, help="default: BUILD/mutants")
    parser.add_argument("--target", choices=SUFFIX)
    parser.add_argument("--sample", help="K/N: part K of N alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(arguments)
    faults = read_faults()
    unknown = set(given.names) - {fault.name for fault in faults}
    if unknown:
        raise Problem(f"there is no fault {', '.join(sorted(unknown))}")
    faults, left_out = chosen(faults, given, processor_flags())
    out = (given.out or given.build / "mutants").resolve()
    out.mkdir(parents=True, exist_ok=True)
    builder = Builder(given.build.resolve(), out)
    controls = {fault.module: fault for fault in reversed(faults)}
    jobs = [(module, fault, "") for module, fault in controls.items()]
    jobs += [(fault.name, fault, fault.text) for fault in faults]
    failed = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for done, failure in enumerate(pool.map(lambda job: builder.make(*job), jobs), 1):
            if failure:
                failed += 1
                print(failure, file=sys.stderr)
            print(f"\r{done}/{len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    whole = {fault.name for fault in read_faults() if fault.target in {one.target for one in faults}}
    listed = {"whole": whole == {fault.name for fault in faults}, "faults": manifest(faults)}
    (out / "faults.json").write_text(json.dumps(listed, indent=1) + "\n")
    for line in left_out:
        print(f"skipped: {line}")
    print(f"{len(faults)} faults and {len(controls)} controls in {out}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        print(f"build.py: {problem}", file=sys.stderr)
        sys.exit(4)
