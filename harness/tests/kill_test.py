"""Kills the coordinator, a judge or a worker with SIGKILL at random moments of a real run of one or three judges,
resumes it where needed, and demands that no recorded result is lost, changed or repeated, and no process left behind.

    kill_test.py BUILD_FOLDER [--moments N] [--seed S]
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VICTIMS = ("coordinator", "judge", "worker")
KERNELS = ("softmax/simd", "softmax/dispatch")


def tree(folder: Path) -> Path:
    """As far as judging needs one. Without what was observed: on a machine that has some, another build of a kernel,
    such as an instrumented one, would not be the approved one."""
    source = Path(__file__).parents[2]
    shutil.copytree(source / "ci" / "policy", folder / "ci" / "policy")
    shutil.copytree(source / "golden", folder / "golden", ignore=shutil.ignore_patterns("observed"))
    return folder


def smoke(build: Path, root: Path) -> list[str]:
    """Of these kernels' modules alone: others bring libraries of half a gigabyte, which each run reads."""
    arguments = ["--tier", "smoke", "--root", str(root)]
    for kernel in KERNELS:
        module = build / "modules" / f"{kernel.replace('/', '_')}.so"
        arguments += ["--module", str(module), "--filter", f"{kernel}:dtype=f32"]
    return arguments


def children(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return [int(c) for t in tasks for c in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def descendants(pid: int) -> list[int]:
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def left_behind(seen: set[int]) -> list[int]:
    """Those still there a while later."""
    deadline = time.monotonic() + 5
    while (left := [p for p in seen if alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def lines(run: Path) -> list[str]:
    """Whole lines only: a torn last one was never recorded."""
    try:
        text = (run / "records.jsonl").read_text()
    except FileNotFoundError:
        return []
    return text[: text.rfind("\n") + 1].splitlines()


def verdicts(run: Path) -> dict[str, str]:
    records = [json.loads(line) for line in lines(run)]
    found = {r["kernel_id"]: r["verdict"] for r in records}
    assert len(found) == len(records), f"{len(records) - len(found)} results are recorded twice"
    return found


def start(assay: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [str(assay), "check", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def kill(pid: int) -> bool:
    """False where it ended by itself just before."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def victim_pid(victim: str, coordinator: int, choose: random.Random) -> int | None:
    if victim == "coordinator":
        return coordinator
    judges = children(coordinator)
    if victim == "judge":
        return choose.choice(judges) if judges else None
    workers = [w for j in judges for w in children(j)]
    return choose.choice(workers) if workers else None


def one_kill(
    build: Path, root: Path, folder: Path, victim: str, moment: float, choose: random.Random, want: dict[str, str]
) -> bool:
    """True when the victim was there to be killed."""
    assay, run = build / "bin" / "assay", folder / "run"
    asked = [*smoke(build, root), "--jobs", str(choose.choice((1, 3)))]
    process = start(assay, *asked, "--out", str(run))
    time.sleep(moment)
    seen: set[int] = {process.pid, *descendants(process.pid)}
    pid = victim_pid(victim, process.pid, choose)
    before: list[str] = []
    hit = pid is not None and process.poll() is None and kill(pid)
    if hit and victim == "coordinator":
        process.wait()
        before = lines(run)
    if victim == "coordinator" and hit:
        resumed = start(assay, *asked, *(["--resume", str(run)] if run.exists() else ["--out", str(run)]))
        output, _ = resumed.communicate(timeout=120)
        code = resumed.returncode
    else:
        while process.poll() is None:
            seen.update(descendants(process.pid))
            time.sleep(0.02)
        output, _ = process.communicate(timeout=120)
        code = process.returncode
    assert code == 0, f"exit code {code}:\n{output}"
    after = lines(run)
    assert after[: len(before)] == before, "a recorded result was lost or changed"
    got = verdicts(run)
    assert got == want, {k: (want.get(k), got.get(k)) for k in want.keys() | got.keys() if want.get(k) != got.get(k)}
    left = left_behind(seen)
    assert not left, f"processes left behind: {left}"
    return hit


def one_detached(build: Path, folder: Path, victim: str) -> None:
    """A kernel has detached a process from everything when the victim dies; neither that nor any other survives."""
    named = folder / "detached"
    os.environ["DETACHED"] = str(named)
    module = str(build / "bad_modules" / "detach_and_hang.so")
    arguments = ["--module", module, "--filter", "reduce/bad:kind=max,n=7,dtype=f32", "--out", str(folder / "run")]
    process = start(build / "bin" / "assay", *arguments)
    deadline = time.monotonic() + 30
    while not (named.exists() and named.read_text().endswith("\n")):
        assert time.monotonic() < deadline and process.poll() is None, "the kernel was never launched"
        time.sleep(0.01)
    detached = int(named.read_text())
    assert alive(detached)
    seen = {detached, process.pid, *descendants(process.pid)}
    judges = children(process.pid)
    # Any of the workers may be the one that hangs.
    victims = {"coordinator": [process.pid], "judge": judges, "worker": [w for j in judges for w in children(j)]}[
        victim
    ]
    assert [kill(pid) for pid in victims].count(True) > 0
    output, _ = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if victim == "coordinator" else 0), output
    left = left_behind(seen)
    assert not left, f"processes left behind: {left}, detached was {detached}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--moments", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    choose = random.Random(asked.seed)
    print(f"seed {asked.seed}, {asked.moments} moments for each of {', '.join(VICTIMS)}", flush=True)
    assay = asked.build / "bin" / "assay"
    with tempfile.TemporaryDirectory() as name:
        root = tree(Path(name) / "root")
        folder = Path(name) / "undisturbed"
        folder.mkdir()
        began = time.monotonic()
        first = start(assay, *smoke(asked.build, root), "--out", str(folder / "run"))
        output, _ = first.communicate(timeout=120)
        assert first.returncode == 0, output
        length = time.monotonic() - began
        want = verdicts(folder / "run")
        print(f"undisturbed: {len(want)} records in {length:.2f} s", flush=True)
        for victim in VICTIMS:
            hits = tries = 0
            while hits < asked.moments:  # a moment at which the victim was not there proves nothing
                tries += 1
                assert tries <= 10 * asked.moments, f"{victim}: only {hits} of {tries - 1} moments met a running victim"
                folder = Path(name) / f"{victim}{tries}"
                folder.mkdir()
                hits += one_kill(asked.build, root, folder, victim, choose.uniform(0, length), choose, want)
            print(f"{victim}: {hits} kills in {tries} tries, nothing lost, repeated or left", flush=True)
            for i in range(asked.moments):
                folder = Path(name) / f"{victim}-detached{i}"
                folder.mkdir()
                one_detached(asked.build, folder, victim)
            print(f"{victim}: {asked.moments} kills while a kernel's process was detached, nothing left", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
