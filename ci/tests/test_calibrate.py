"""ci/calibrate.py: which blocks are kept, and that what is kept is still what was measured."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "dashboards" / "tests" / "data" / "written" / "blocks.jsonl"  # the C++ writer's


def calibrate(*arguments):
    program = [sys.executable, str(ROOT / "ci" / "calibrate.py"), *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def kept(*arguments):
    done = calibrate(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def recorded():
    return [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]


def test_what_is_kept_is_what_was_measured():
    before = {(one["case"], one["block"]): one for one in recorded()}
    blocks = kept(RECORDED)
    assert {(one["case"], one["block"]) for one in blocks} == set(before)
    for block in blocks:
        was = before[block["case"], block["block"]]
        assert {block[key] == was[key] for key in ("class", "order", "void", "median_only")} == {True}
        for process, earlier in zip(block["processes"], was["processes"], strict=True):
            assert process == pytest.approx(earlier, rel=1e-5)
        for metric, delta in block["deltas"].items():
            assert delta == was["deltas"][metric] == "nan" or delta == pytest.approx(was["deltas"][metric], abs=1e-5)


def test_stalls_that_nobody_kept_stay_unknown(tmp_path):
    block = recorded()[0]
    del block["nanoseconds"]
    for process in block["processes"]:
        process[5] = "nan"
    (tmp_path / "b.jsonl").write_text(json.dumps(block) + "\n")
    (made,) = kept(tmp_path / "b.jsonl")
    assert made["deltas"]["stall"] == "nan"
    assert made["deltas"]["tail"] == pytest.approx(block["deltas"]["tail"])
    assert [process[5] for process in made["processes"]] == ["nan"] * 4


def test_a_full_standard_output_is_exit_code_4():
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, str(ROOT / "ci" / "calibrate.py"), str(RECORDED)]
        end = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (end.returncode, end.stderr) == (4, "calibrate: [Errno 28] No space left on device\n")


def test_deltas_follow_from_what_is_kept(tmp_path):
    block = recorded()[0]
    del block["nanoseconds"]
    for place, process in enumerate(block["processes"]):
        process[1] *= 1 + 1e-7 * place
    (tmp_path / "b.jsonl").write_text(json.dumps(block) + "\n")
    (made,) = kept(tmp_path / "b.jsonl")
    p50 = [math.log(process[1]) for process in made["processes"]]
    change = (1, 2) if made["order"] == "ABBA" else (0, 3)
    expected = sum(p50[place] if place in change else -p50[place] for place in range(4)) / 2
    assert made["deltas"]["p50"] == pytest.approx(expected, abs=1e-12)


def test_samples_are_kept_of_the_second_half_of_one_case_a_class(tmp_path):
    one = recorded()[0]
    lines = [one | {"case": f"gemm/simd:m={m} warm", "block": number} for m in range(9) for number in range(4)]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    blocks = kept(tmp_path / "b.jsonl", "--cases", 3)
    assert len({block["case"] for block in blocks}) == 3
    assert len(blocks) == 12
    sampled = [(block["case"], block["block"]) for block in blocks if "nanoseconds" in block]
    assert len({case for case, _ in sampled}) == 1
    assert [number for _, number in sampled] == [2, 3]


def test_numbers_go_on_from_file_to_file():
    assert sorted({block["block"] for block in kept(RECORDED, RECORDED)}) == [0, 1, 2, 3]


@pytest.mark.parametrize("line", ["{", "[]", '{"class": "a"}', '{"class": "a", "case": "b", "block": "c"}'])
def test_what_is_no_block_is_one_line(tmp_path, line):
    (tmp_path / "b.jsonl").write_text(line + "\n")
    done = calibrate(tmp_path / "b.jsonl")
    assert done.returncode == 4
    assert done.stderr.startswith(f"calibrate: {tmp_path / 'b.jsonl'}:1: no block")
    assert done.stderr.count("\n") == 1
    assert calibrate(tmp_path / "none").returncode == 4
