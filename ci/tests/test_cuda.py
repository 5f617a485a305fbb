"""ci/test --cuda: everything is built with the CUDA compiler of .cuda, and no CUDA file is left out. Setup, CMake and
Ninja are stand-ins."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]
FILES = ["harness/device/load.cu", "kernels/softmax/cudnn.cu"]

STAND_INS = {
    "ci/setup": '[ "$*" = --cuda ] && mkdir .cuda && touch .cuda/assay-setup\n',
    "programs/cmake": 'echo "$CUDACXX: cmake $*"\ncp compiled.json build-cuda/compile_commands.json\n',
    "programs/ninja": "[ ! -e broken ]\n",
}


@pytest.fixture
def tree(tmp_path):
    for name in ["ci/test", "ci/common.sh", "ci/tally.py"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(CI.parent / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(CI.parent / ".venv")
    for name, script in STAND_INS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n" + script)
        (tmp_path / name).chmod(0o755)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    return tmp_path


def compile_cuda(tree, compiled, *arguments):
    commands = [{"directory": str(tree), "command": "nvcc", "file": str(tree / name)} for name in compiled]
    (tree / "compiled.json").write_text(json.dumps(commands, indent=0))
    programs = {"PATH": f"{tree / 'programs'}:{os.environ['PATH']}", "CUDACXX": ""}
    return subprocess.run(
        ["ci/test", "--cuda", *arguments], cwd=tree, env=os.environ | programs, capture_output=True, text=True
    )


def test_everything_is_built_with_the_compiler_that_setup_installed(tree):
    end = compile_cuda(tree, FILES)
    assert end.returncode == 0, end.stdout + end.stderr
    assert f"{tree}/.cuda/nvidia/cu13/bin/nvcc: cmake -S . -B build-cuda" in end.stdout
    assert "-DASSAY_CUDA=ON" in end.stdout


def test_a_file_that_is_left_out_fails_by_its_name(tree):
    end = compile_cuda(tree, FILES[:1])
    assert end.returncode == 1
    assert f"\nnot compiled: {FILES[1]}\n" in end.stdout


def test_code_that_does_not_compile_is_a_failure(tree):
    (tree / "broken").touch()
    end = compile_cuda(tree, FILES)
    assert end.returncode == 4
    assert end.stderr == "test: the build failed in build-cuda\n"


@pytest.mark.parametrize("other", [["--all"], ["--sanitize", "thread"]])
def test_it_goes_with_no_other_argument(tree, other):
    end = compile_cuda(tree, FILES, *other)
    assert (end.returncode, end.stderr) == (4, "test: --cuda runs nothing: it goes with no other argument\n")
