"""ci/test --cuda: everything is built with the CUDA compiler of .cuda, and no CUDA file is left out. No other build
takes that compiler where the machine has one. Setup, CMake and Ninja are stand-ins."""

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


def program(file, script=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}")
    file.chmod(0o755)


@pytest.fixture
def tree(tmp_path):
    for name in ["ci/test", "ci/common.sh", "ci/tally.py"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(CI.parent / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(CI.parent / ".venv")
    for name, script in STAND_INS.items():
        program(tmp_path / name, script)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    return tmp_path


def compile_cuda(tree, compiled, *arguments, **environment):
    commands = [{"directory": str(tree), "command": "nvcc", "file": str(tree / name)} for name in compiled]
    (tree / "compiled.json").write_text(json.dumps(commands, indent=0))
    programs = {"PATH": f"{tree / 'programs'}:{os.environ['PATH']}", **environment}
    return subprocess.run(
        ["ci/test", "--cuda", *arguments], cwd=tree, env=os.environ | programs, capture_output=True, text=True
    )


def test_everything_is_built_with_the_compiler_that_setup_installed(tree):
    program(tree / "programs/nvcc")
    end = compile_cuda(tree, FILES, CUDACXX="/another/nvcc")
    assert end.returncode == 0, end.stdout + end.stderr
    assert f"{tree}/.cuda/nvidia/cu13/bin/nvcc: cmake -S . -B build-cuda" in end.stdout
    assert "-DASSAY_CUDA=ON" in end.stdout


def test_a_file_that_is_left_out_fails_by_its_name(tree):
    end = compile_cuda(tree, FILES[:1])
    assert end.returncode == 1
    assert f"\nnot compiled: {FILES[1]}\n" in end.stdout


def test_no_cuda_file_at_all_is_a_failure(tree):
    for name in FILES:
        (tree / name).unlink()
    end = compile_cuda(tree, [])
    assert (end.returncode, end.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed, 0 skipped")


def test_a_git_that_refuses_to_list_is_a_failure(tree):
    program(tree / "programs/git", "echo 'fatal: detected dubious ownership in repository' >&2\nexit 128\n")
    end = compile_cuda(tree, FILES)
    assert (end.returncode, end.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed, 0 skipped")
    assert "\nfatal: detected dubious ownership in repository\n" in end.stdout


def test_code_that_does_not_compile_is_a_failure(tree):
    (tree / "broken").touch()
    end = compile_cuda(tree, FILES)
    assert end.returncode == 4
    assert end.stderr == "test: the build failed in build-cuda\n"


@pytest.mark.parametrize("other", [["--all"], ["--sanitize", "thread"]])
def test_it_goes_with_no_other_argument(tree, other):
    end = compile_cuda(tree, FILES, *other)
    assert (end.returncode, end.stderr) == (4, "test: --cuda runs nothing: it goes with no other argument\n")


ITS_OWN = ""  # CMake finds it


@pytest.mark.parametrize(
    ("nvcc", "environment", "compiler"),
    [
        (None, {}, "{tree}/.cuda/nvidia/cu13/bin/nvcc"),
        ("programs/nvcc", {}, ITS_OWN),
        ("toolkit/bin/nvcc", {"CUDA_PATH": "{tree}/toolkit"}, ITS_OWN),
        (None, {"CUDA_PATH": "{tree}/toolkit"}, "{tree}/.cuda/nvidia/cu13/bin/nvcc"),
        (None, {"CUDACXX": "/another/nvcc"}, "/another/nvcc"),
    ],
)
def test_other_builds_take_that_compiler_only_where_the_machine_has_none(tree, nvcc, environment, compiler):
    (tree / ".cuda").mkdir()
    (tree / ".cuda/assay-setup").touch()
    program(tree / "programs/cmake", 'echo "compiler: $CUDACXX"\n')
    if nvcc:
        program(tree / nvcc)
    for name in ["dirname", "nproc"]:  # and nothing else of this machine, which may have an nvcc
        (tree / "programs" / name).symlink_to(shutil.which(name))
    end = subprocess.run(
        [shutil.which("bash"), "-c", ". ci/common.sh && build build"],
        cwd=tree,
        env={"PATH": str(tree / "programs")} | {key: value.format(tree=tree) for key, value in environment.items()},
        capture_output=True,
        text=True,
    )
    assert (end.returncode, end.stdout) == (0, f"compiler: {compiler.format(tree=tree)}\n"), end.stderr
