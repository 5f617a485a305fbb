"""The seeded faults of harness/tests/mutants fit the kernels as they are, say what they are and name cases there are.
What catches them, `assay selftest` says."""

import argparse
import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "harness" / "tests" / "mutants"

_spec = importlib.util.spec_from_file_location("build_mutants", MUTANTS / "build.py")
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)
FAULTS = build.read_faults()


def fits(patch: str) -> bool:
    checked = subprocess.run(["git", "apply", "--check", "-"], cwd=ROOT, input=patch, capture_output=True, text=True)
    return checked.returncode == 0


def families() -> set[str]:
    table = (MUTANTS / "README.md").read_text().partition("## Families")[2]
    return set(re.findall(r"^\| ([a-z0-9-]+) \|", table, re.MULTILINE)) - {"family"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_its_kernel(fault):
    assert fits(fault.text)
    assert (ROOT / fault.source).exists()
    assert fault.family in families()
    op, _, kernel = fault.witness.split(":")[0].partition("/")
    assert fault.module == f"{op}_{kernel}"


def test_a_fault_of_a_kernel_that_has_changed_is_noticed():
    text = FAULTS[0].text
    removed = next(line for line in text.splitlines() if re.match(r"-(?!--)", line))
    assert not fits(text.replace(removed, removed + " // changed since"))


def test_no_two_faults_are_one():
    """The same lines changed in the same way for the same module."""
    changes = [(fault.module, re.sub(r"^[#@].*\n", "", fault.text, flags=re.MULTILINE)) for fault in FAULTS]
    assert len(set(changes)) == len(changes)


def test_the_corpus_is_as_large_as_the_readme_says():
    for target, least in (("cpu", 150), ("cuda", 100)):
        of_target = [fault for fault in FAULTS if fault.target == target]
        assert len(of_target) >= least
        precise = [fault for fault in of_target if fault.precision]
        assert len(precise) * 3 >= len(of_target)


def test_every_witness_is_a_case():
    """Each is a whole id: the program finds it, whichever kernels are built."""
    assay = ROOT / "build" / "bin" / "assay"
    if not assay.exists():
        pytest.skip("build/bin/assay is not built")
    cases = {re.sub(r"/[^:]*", "", fault.witness, count=1) for fault in FAULTS if fault.target == "cpu"}
    filters = [word for case in sorted(cases) for word in ("--filter", case)]
    listed = subprocess.run([assay, "list", "--cases", *filters], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr


@pytest.mark.parametrize(
    ("head", "lacks"),
    [
        ("# module: gemm_simd\n", "family"),
        ("# module: m\n# family: f\n# witness: w\n# killer: k\n--- a\n", "what is wrong"),
    ],
)
def test_a_head_that_lacks_something_is_one_line(tmp_path, head, lacks):
    patch = tmp_path / "cpu" / "a.patch"
    patch.parent.mkdir()
    patch.write_text(head)
    with pytest.raises(build.Problem, match=f"a.patch: its head lacks '# {lacks}"):
        build.read_fault(patch)


def test_a_flag_that_nobody_knows_is_one_line(tmp_path):
    patch = tmp_path / "cpu" / "a.patch"
    patch.parent.mkdir()
    patch.write_text("# module: m\n# family: f\n# witness: w\n# killer: k\n# needs: avx512v1\n# what\n--- a\n")
    with pytest.raises(build.Problem, match=r"a.patch: '# needs: avx512v1' is none of avx512vl"):
        build.read_fault(patch)


def test_a_sample_is_a_part_and_the_parts_are_the_whole():
    parts = [build.sampled(FAULTS, f"{part}/4") for part in range(1, 5)]
    assert sorted(fault.name for part in parts for fault in part) == sorted(fault.name for fault in FAULTS)
    with pytest.raises(build.Problem, match="part K of N"):
        build.sampled(FAULTS, "5/4")


@pytest.mark.parametrize(
    ("asked", "reasons"),
    [
        ({"sample": "2/5"}, ["cpu faults: not of this part, --sample 2/5", "cuda faults: not of this part"]),
        ({"target": "cpu"}, ["cuda faults: --target cpu"]),
        ({"target": "cpu", "sample": "2/5"}, ["cuda faults: --target cpu", "cpu faults: not of this part"]),
        ({"names": [FAULTS[0].name]}, ["cpu faults: not among those named", "cuda faults: not among those named"]),
        ({}, []),
    ],
)
def test_what_is_left_out_has_its_count_and_its_reason(asked, reasons):
    given = argparse.Namespace(**({"names": [], "target": None, "sample": None} | asked))
    faults, left_out = build.chosen(FAULTS, given, {"avx512vl"})
    on_cpu = sum(fault.target == "cpu" for fault in faults)
    *of_faults, of_sets = left_out
    assert re.match(f"{on_cpu} cpu faults compiled for HWY_SSE4 and HWY_AVX[23]: ", of_sets)
    for line, reason in zip(of_faults, reasons, strict=True):
        assert reason in line
    assert len(faults) + sum(int(line.split()[0]) for line in of_faults) == len(FAULTS)


def test_a_fault_that_this_processor_does_not_show_is_left_out_with_the_flag_it_lacks():
    given = argparse.Namespace(names=[], target="cpu", sample=None)
    everywhere, _ = build.chosen(FAULTS, given, {"avx512vl"})
    faults, left_out = build.chosen(FAULTS, given, {"avx2"})
    gone = [fault for fault in everywhere if fault not in faults]
    assert "gemm_openblas_alpha_zero_multiplies" in {fault.name for fault in gone}
    assert {fault.needs for fault in gone} == {"avx512vl"}
    assert f"{len(gone)} cpu faults: no faults on a processor without avx512vl" in left_out


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if re.search(r"^[-+].*_mm512_", f.text, re.MULTILINE)], ids=lambda f: f.name
)
def test_a_fault_in_code_for_one_instruction_set_says_so(fault):
    assert fault.needs == "avx512vl"


def test_a_processor_that_says_no_flags_is_one_line(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    with pytest.raises(build.Problem, match="cpuinfo: no line of flags"):
        build.processor_flags(tmp_path / "cpuinfo")
