"""ci/arm: trees built at one path. They are projects of two modules; CMake, Ninja, git and the compiler are real."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(arm LANGUAGES C)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules)
set(CMAKE_SHARED_LIBRARY_PREFIX "")
add_library(one MODULE one.c)
add_library(two MODULE two.c)
set_target_properties(one two PROPERTIES PREFIX "")
file(WRITE ${CMAKE_BINARY_DIR}/asked "${ASSAY_TESTS} ${ASSAY_CUDA} ${ASSAY_LINE_INFO}")
"""
ONE = "const char *one(void) { return __FILE__; }\n"
TWO = "int two(int x) { return 2 * x; }\n"


@pytest.fixture
def place(tmp_path):
    """A tree whose ci/ is ours, and an environment of its own."""
    harness = tmp_path / "harness/ci"
    harness.mkdir(parents=True)
    for name in ("arm", "common.sh"):
        shutil.copy(CI / name, harness / name)
    return tmp_path


def tree(place, name, one=ONE, two=TWO, project=PROJECT):
    made = place / name
    made.mkdir()
    (made / "CMakeLists.txt").write_text(project)
    (made / "one.c").write_text(one)
    (made / "two.c").write_text(two)
    (made / ".gitignore").write_text("/left-out\n")
    (made / "left-out").write_text("of this machine alone")
    return made


def arm(place, *arguments, **environment):
    return subprocess.run(
        [place / "harness/ci/arm", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ASSAY_ARMS": str(place / "arms")} | environment,
    )


def built(place, made, device="cpu", **environment):
    """The arm's folder, and what is said of it."""
    end = arm(place, made, device, place / "out", **environment)
    assert end.returncode == 0, end.stdout + end.stderr
    said, folder = end.stdout.splitlines()[-2:]
    return Path(folder), said


def module(folder, name="one"):
    return (folder / f"{name}.so").read_bytes()


def refused(end, text):
    assert end.returncode == 4
    assert text in end.stderr.splitlines()[-1]


def test_without_a_home_it_asks_for_a_folder(place):
    unset = [f"--unset={name}" for name in ("HOME", "XDG_CACHE_HOME", "ASSAY_ARMS")]
    command = ["env", *unset, place / "harness/ci/arm", tree(place, "base"), "cpu", place / "out"]
    end = subprocess.run(command, capture_output=True, text=True)
    assert (end.returncode, end.stderr) == (4, "arm: HOME is not set; set it, or ASSAY_ARMS to a folder\n")


def test_trees_of_the_same_files_are_one_module_wherever_they_lie(place):
    first, second = tree(place, "somewhere"), tree(place, "elsewhere")
    folder, said = built(place, first)
    assert said.endswith("2 modules")
    assert built(place, second) == (folder, "arm: is built already")
    assert sorted(os.listdir(folder)) == ["one.so", "two.so"]
    assert b"somewhere" not in module(folder)  # __FILE__ tells the path


def test_a_change_is_in_the_module_it_touches_alone(place):
    before, _ = built(place, tree(place, "base"))
    after, _ = built(place, tree(place, "change", two=TWO.replace("2 * x", "3 * x")))
    assert before != after
    assert module(before) == module(after)
    assert module(before, "two") != module(after, "two")


def test_an_arm_stays_what_it_is_whatever_is_built_after_it(place):
    base = tree(place, "base")
    folder, _ = built(place, base)
    was = module(folder, "two")
    (base / "two.c").write_text(TWO.replace("2 * x", "3 * x"))
    assert built(place, base)[0] != folder
    assert module(folder, "two") == was


def test_what_is_built_otherwise_is_another_arm(place):
    base = tree(place, "base")
    plain, _ = built(place, base)
    other, said = built(place, base, CFLAGS="-DOTHER -O3")
    assert plain != other
    assert said.endswith("2 modules")
    flags = (place / "arms/build-cpu/CMakeCache.txt").read_text()
    assert "CMAKE_C_FLAGS:STRING=-DOTHER -O3" in flags  # the folder was configured anew


def test_a_default_is_its_own_trees_and_not_the_last_ones(place):
    project = PROJECT + 'set(HALF 2 CACHE STRING "")\ntarget_compile_definitions(two PRIVATE HALF=${HALF})\n'
    halved = "int two(int x) { return x / HALF; }\n"
    before, _ = built(place, tree(place, "base", two=halved, project=project))
    after, _ = built(place, tree(place, "change", two=halved, project=project.replace("HALF 2", "HALF 3")))
    assert module(before) == module(after)
    assert module(before, "two") != module(after, "two")


def test_arms_that_nobody_asks_for_are_removed(place):
    week_and_more = time.time() - 8.5 * 86400
    base = tree(place, "base")
    old, _ = built(place, base)
    asked, _ = built(place, base, CFLAGS="-DASKED")
    for folder in (old, asked):
        os.utime(folder, (week_and_more, week_and_more))
    built(place, base, CFLAGS="-DASKED")
    built(place, tree(place, "change", two=TWO + "int three;\n"))
    assert asked.exists()
    assert not old.exists()


def test_what_is_built_with_may_lie_elsewhere(place):
    base = tree(place, "base", project=PROJECT.replace("${ASSAY_TESTS}", "${ASSAY_VENV}"))
    (place / "venv").mkdir()
    built(place, base, ASSAY_VENV=str(place / "venv"))
    assert (place / "arms/build-cpu/asked").read_text() == f"{place}/venv OFF OFF"


def test_what_a_second_tree_does_not_change_is_not_built_again(place):
    built(place, tree(place, "base"))
    before = (place / "arms/build-cpu/modules/one.so").stat().st_mtime_ns
    built(place, tree(place, "change", two=TWO + "int three;\n"))
    assert (place / "arms/build-cpu/modules/one.so").stat().st_mtime_ns == before


def test_a_tree_that_is_built_is_left_alone(place):
    base = tree(place, "base")
    folder, _ = built(place, base)
    assert built(place, base) == (folder, "arm: is built already")
    shutil.rmtree(folder)
    assert "2 modules" in built(place, base)[1]
    assert folder.exists()


def test_files_that_only_the_tree_before_had_are_gone(place):
    with_more = tree(place, "base")
    (with_more / "more.h").write_text("#define MORE\n")
    built(place, with_more)
    asks = TWO + '#if __has_include("more.h")\n#error more\n#endif\n'
    built(place, tree(place, "change", two=asks))


def test_what_git_ignores_is_no_part_of_a_tree(place):
    built(place, tree(place, "base"))
    assert not (place / "arms/source/left-out").exists()


@pytest.mark.parametrize(("device", "asked"), [("cpu", "OFF OFF OFF"), ("cuda", "OFF ON OFF")])
def test_kernels_alone_are_built_for_the_device_and_without_line_numbers(place, device, asked):
    built(place, tree(place, "base"), device)
    assert (place / f"arms/build-{device}/asked").read_text() == asked


def test_the_users_git_has_no_say(place):
    hostile = place / "gitconfig"
    hostile.write_text("[core]\n\tautocrlf = true\n\thooksPath = /nowhere\n")
    base = tree(place, "base")
    end = arm(place, base, "cpu", place / "a", GIT_CONFIG_GLOBAL=str(hostile), GIT_DIR="/nowhere", GIT_WORK_TREE="/no")
    assert end.returncode == 0, end.stderr
    assert (place / "arms/source/one.c").read_text() == ONE


def test_a_tree_that_does_not_build_is_one_line_and_leaves_no_arm(place):
    end = arm(place, tree(place, "base", one="int one(void) { return }\n"), "cpu", place / "a")
    refused(end, "do not build")
    assert os.listdir(place / "a") == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["one"], "usage: ci/arm TREE DEVICE OUT"),
        (["no/such", "cpu", "out"], "no/such: there is no such folder"),
        (["empty", "cpu", "out"], "has no CMakeLists.txt"),
        (["base", "tpu", "out"], "tpu: is no device"),
    ],
)
def test_an_error_of_use_is_one_line(place, arguments, text):
    (place / "empty").mkdir()
    tree(place, "base")
    paths = [place / one if one in ("empty", "base") else one for one in arguments]
    refused(arm(place, *paths), text)


def test_a_tree_without_modules_is_refused(place):
    bare = PROJECT.split("add_library")[0]
    refused(arm(place, tree(place, "base", project=bare), "cpu", place / "a"), "builds no kernel modules")
