"""The faults in harness/tests/mutants fit the kernels as they are. Whether they are caught, `run` there asks a GPU."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "harness" / "tests" / "mutants"
PATCHES = sorted((MUTANTS / "cuda").glob("*.patch"))


def fits(patch: str) -> bool:
    checked = subprocess.run(["git", "apply", "--check", "-"], cwd=ROOT, input=patch, capture_output=True, text=True)
    return checked.returncode == 0


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_a_fault_fits_its_kernel(patch):
    text = patch.read_text()
    op, _, stem = re.match(r"# module: (\S+)\n", text)[1].rpartition("_")
    assert (ROOT / "kernels" / op / f"{stem}.cu").exists()
    assert fits(text)


def test_a_fault_of_a_kernel_that_has_changed_is_noticed():
    text = PATCHES[0].read_text()
    removed = next(line for line in text.splitlines() if re.match(r"-(?!--)", line))
    assert not fits(text.replace(removed, removed + " // changed since"))


def test_every_fault_is_run():
    run = re.findall(r"^mutant (\w+) ", (MUTANTS / "run").read_text(), re.MULTILINE)
    assert sorted(run) == [path.stem for path in PATCHES]
