"""ci/setup: a machine on which something cannot be installed is exit 4 and one line with its remedy, never the code of
the program that failed, which the gate would pass on as a verdict. The programs are stand-ins."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]

STAND_INS = {
    "dpkg-query": "printf installed\n",
    "id": "echo 0\n",
    "apt-get": "exit 0\n",
    "python3": """[ "$1 $2 $3" != "-I -m venv" ] || { mkdir -p .venv/bin && cp "$(dirname "$0")/pip" .venv/bin/python; }
""",
    # As .venv/bin/python: the wheels of .cuda, where it is asked for them
    "pip": """case $* in *--target*) ;; *) exit 0 ;; esac
mkdir -p .cuda/nvidia/cu13/lib .cuda/nvidia/cu13/include .cuda/nvidia/cudnn/lib .cuda/nvidia/cudnn/include
touch .cuda/nvidia/cu13/lib/libcudart.so.13 .cuda/nvidia/cudnn/lib/libcudnn.so.9 .cuda/nvidia/cudnn/include/cudnn.h
""",
}


@pytest.fixture
def tree(tmp_path):
    for name in ["setup", "common.sh"]:
        (tmp_path / "ci").mkdir(exist_ok=True)
        shutil.copy(CI / name, tmp_path / "ci" / name)
    (tmp_path / "ci/packages.txt").write_text("cmake\nninja-build\n")
    (tmp_path / "ci/requirements.txt").write_text("a==1\n")
    (tmp_path / "ci/cuda-requirements.txt").write_text("b==1\n")
    for name, script in STAND_INS.items():
        stand_in(tmp_path, name, script)
    return tmp_path


def stand_in(tree, name, script):
    program = tree / "programs" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)


def setup(tree, *arguments):
    programs = {"PATH": f"{tree / 'programs'}:{os.environ['PATH']}"}
    return subprocess.run(["ci/setup", *arguments], cwd=tree, env=os.environ | programs, capture_output=True, text=True)


def test_it_installs_once(tree):
    end = setup(tree, "--cuda")
    assert (end.returncode, end.stderr) == (0, "")
    toolkit = tree / ".cuda/nvidia/cu13"
    for name in ["lib64/libcudart.so", "lib/libcudnn.so", "include/cudnn.h"]:
        assert (toolkit / name).exists(), name
    assert setup(tree, "--cuda").stdout == "setup: nothing to do\n"


NONE_INSTALLED = ("dpkg-query", "exit 1\n")


@pytest.mark.parametrize(
    ("programs", "line"),
    [
        (
            [NONE_INSTALLED, ("apt-get", "exit 100\n")],
            "apt-get update failed; mend the network or the sources in /etc/apt, then run ci/setup again",
        ),
        (
            [NONE_INSTALLED, ("apt-get", '[ "$1" = update ] || exit 100\n')],
            "apt-get could not install cmake ninja-build; mend what it names above, then run ci/setup again",
        ),
        (
            [("python3", "exit 1\n")],
            "python3 could not make .venv; remove that folder, then run ci/setup again",
        ),
        (
            [("pip", "exit 1\n")],
            "pip could not install ci/requirements.txt into .venv; mend the network or the disk's space, then run "
            "ci/setup again",
        ),
        (
            [("pip", "case $* in *--target*) exit 1 ;; esac\n")],
            "pip could not install ci/cuda-requirements.txt into .cuda; mend the network or the disk's space, then run "
            "ci/setup again",
        ),
        (
            [("ln", "exit 1\n")],
            "the wheels of ci/cuda-requirements.txt do not make a toolkit; remove .cuda, then run ci/setup --cuda "
            "again",
        ),
    ],
)
def test_what_cannot_be_installed_is_told_with_its_remedy(tree, programs, line):
    for name, script in programs:
        stand_in(tree, name, script)
    end = setup(tree, "--cuda")
    assert end.returncode == 4
    assert end.stderr.splitlines()[-1] == f"setup: {line}"


@pytest.mark.parametrize("name", ["packages.txt", "requirements.txt", "cuda-requirements.txt"])
def test_a_list_that_is_gone_is_told(tree, name):
    assert setup(tree, "--cuda").returncode == 0
    (tree / "ci" / name).unlink()
    end = setup(tree, "--cuda")
    assert (end.returncode, end.stdout) == (4, "")
    assert end.stderr == f"setup: ci/{name} cannot be read; take it from the repository again\n"


def test_any_other_failure_is_exit_4_too(tree):
    stand_in(tree, "rm", "echo busy >&2\nexit 1\n")
    end = setup(tree, "--cuda")
    assert (end.returncode, end.stderr) == (4, "busy\n")
