"""ci/arm: trees built at one path. They are projects of two modules; CMake, Ninja, git and the compiler are real."""

import os
import shutil
import subprocess
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


def built(place, made, out, device="cpu"):
    end = arm(place, made, device, place / out)
    assert end.returncode == 0, end.stdout + end.stderr
    return end.stdout.splitlines()[-1]


def module(place, out, name="one"):
    return (place / out / f"modules/{name}.so").read_bytes()


def refused(end, text):
    assert end.returncode == 4
    assert text in end.stderr.splitlines()[-1]


def test_trees_of_the_same_files_are_one_module_wherever_they_lie(place):
    first, second = tree(place, "somewhere"), tree(place, "elsewhere")
    assert built(place, first, "a").endswith("2 modules")
    built(place, second, "b")
    assert module(place, "a") == module(place, "b")
    assert (place / "a/tree").read_text() == (place / "b/tree").read_text()
    assert b"somewhere" not in module(place, "a")  # __FILE__ tells the path


def test_a_change_is_in_the_module_it_touches_alone(place):
    built(place, tree(place, "base"), "a")
    built(place, tree(place, "change", two=TWO.replace("2 * x", "3 * x")), "b")
    assert module(place, "a") == module(place, "b")
    assert module(place, "a", "two") != module(place, "b", "two")
    assert (place / "a/tree").read_text() != (place / "b/tree").read_text()


def test_what_a_second_tree_does_not_change_is_not_built_again(place):
    built(place, tree(place, "base"), "a")
    before = (place / "arms/build-cpu/modules/one.so").stat().st_mtime_ns
    built(place, tree(place, "change", two=TWO + "int three;\n"), "b")
    assert (place / "arms/build-cpu/modules/one.so").stat().st_mtime_ns == before


def test_a_tree_that_is_built_is_left_alone(place):
    base = tree(place, "base")
    built(place, base, "a")
    assert "is built already" in built(place, base, "a")
    shutil.rmtree(place / "a/modules")
    assert "2 modules" in built(place, base, "a")


def test_files_that_only_the_tree_before_had_are_gone(place):
    with_more = tree(place, "base")
    (with_more / "more.h").write_text("#define MORE\n")
    built(place, with_more, "a")
    asks = TWO + '#if __has_include("more.h")\n#error more\n#endif\n'
    built(place, tree(place, "change", two=asks), "b")


def test_what_git_ignores_is_no_part_of_a_tree(place):
    base = tree(place, "base")
    built(place, base, "a")
    assert not (place / "arms/source/left-out").exists()


@pytest.mark.parametrize(("device", "asked"), [("cpu", "OFF OFF OFF"), ("cuda", "OFF ON OFF")])
def test_kernels_alone_are_built_for_the_device_and_without_line_numbers(place, device, asked):
    built(place, tree(place, "base"), "a", device)
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
    assert not (place / "a/modules").exists()
    assert not (place / "a/tree").exists()


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
