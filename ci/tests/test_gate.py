"""ci/gate: whose harness judges. CMake, Ninja and the program are stand-ins that say what they were asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]

STAND_INS = {
    "cmake": 'echo "cmake $*"\n',
    "ninja": """[ "$1" = -C ] || exit 9
mkdir -p "$2/bin"
printf '#!/bin/sh\\necho "ran $0 $*"\\n' >"$2/bin/assay"
chmod +x "$2/bin/assay"
echo "ninja $*"
""",
}


def write(tree, files):
    for name, text in files.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def git(tree, *arguments):
    who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", tree, *who, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def tree(tmp_path):
    """A repository with one commit, and the stand-ins first in PATH."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in STAND_INS.items():
        (programs / name).write_text("#!/bin/sh\n" + script)
        (programs / name).chmod(0o755)
    made = tmp_path / "tree"
    (made / "ci").mkdir(parents=True)
    for name in ("gate", "common.sh"):
        shutil.copy(CI / name, made / "ci" / name)
    (made / "ci/setup").write_text("#!/bin/sh\n")
    (made / "ci/setup").chmod(0o755)
    write(
        made,
        {
            "harness/core/include/assay/abi.h": "#define ASSAY_ABI_VERSION 1u\n",
            "harness/check/accuracy.cpp": "strict\n",
            "harness/tests/a_test.cpp": "one\n",
            "harness/README.md": "one\n",
            "reference/CMakeLists.txt": "assay_op(gemm)\nassay_op(softmax)\n",
            "kernels/gemm/simd.cpp": "one\n",
            ".gitignore": "build*/\n",
        },
    )
    git(made, "init", "-q")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "base")
    return made


def gate(tree, *arguments):
    path = f"{tree.parent / 'programs'}:{os.environ['PATH']}"
    return subprocess.run(
        ["ci/gate", *arguments], cwd=tree, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )


def ran(tree, *arguments):
    """The line of the program that judged."""
    end = gate(tree, *arguments)
    assert end.returncode == 0, end.stderr
    lines = [line for line in end.stdout.splitlines() if line.startswith("ran ")]
    assert len(lines) == 1, end.stdout
    return lines[0].replace(f"ran {tree}/", "ran ")


BASE = "build-base/source"


def by_base(tree, base=None):
    base = base or tree / BASE
    return f"ran build-base/build/bin/assay gate --tier ci --base {base} --root {tree} --modules {tree}/build/modules"


def by_itself(tree, *more):
    return " ".join(["ran build/bin/assay gate --tier ci", *more, f"--base {tree / BASE}"])


def test_without_a_base_it_judges_itself(tree):
    assert ran(tree, "smoke", "--no-report") == "ran build/bin/assay gate --tier smoke --no-report"


@pytest.mark.parametrize("file", ["kernels/gemm/simd.cpp", "harness/tests/a_test.cpp", "harness/README.md"])
def test_a_change_of_what_does_not_judge_needs_no_other_harness(tree, file):
    write(tree, {file: "two\n"})
    assert ran(tree, "--base-ref", "HEAD") == by_itself(tree)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("harness/check/accuracy.cpp", "lax\n"),
        ("harness/check/new.cpp", "new\n"),
        ("reference/gemm/cases.cpp", "fewer\n"),
    ],
)
def test_an_edited_harness_does_not_judge_its_own_change(tree, file, text):
    write(tree, {file: text})
    assert ran(tree, "--base-ref", "HEAD") == by_base(tree)
    assert (tree / BASE / "harness/check/accuracy.cpp").read_text() == "strict\n"
    assert ran(tree, "--base-ref=HEAD") == by_base(tree)


def test_a_removed_file_of_the_harness_counts(tree):
    (tree / "harness/check/accuracy.cpp").unlink()
    assert ran(tree, "--base-ref", "HEAD") == by_base(tree)


def test_a_checkout_will_do_as_base(tree, tmp_path):
    shutil.copytree(tree, tmp_path / "other")
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    assert ran(tree, "--base", "../other") == by_base(tree, tmp_path / "other")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("harness/core/include/assay/abi.h", "#define ASSAY_ABI_VERSION 2u\n"),
        ("reference/CMakeLists.txt", "assay_op(gemm)\nassay_op(softmax)\nassay_op(conv)\n"),
        ("reference/CMakeLists.txt", "assay_op(gemm)\n"),
    ],
)
def test_a_base_that_does_not_understand_the_change_cannot_judge_it(tree, file, text):
    write(tree, {file: text, "harness/check/accuracy.cpp": "lax\n"})
    assert ran(tree, "--base-ref", "HEAD") == by_itself(tree)


def test_approved_findings_put_the_trees_own_harness_in_force(tree):
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    assert ran(tree, "--approve-findings", "--base-ref", "HEAD") == by_itself(tree, "--approve-findings")


def test_the_base_is_unpacked_once_and_again_for_another_commit(tree):
    ran(tree, "--base-ref", "HEAD")
    kept = tree / BASE / "harness/check/accuracy.cpp"
    before = kept.stat().st_mtime_ns
    ran(tree, "--base-ref", "HEAD")
    assert kept.stat().st_mtime_ns == before
    write(tree, {"harness/check/accuracy.cpp": "stricter\n"})
    git(tree, "commit", "-qam", "next")
    ran(tree, "--base-ref", "HEAD")
    assert kept.read_text() == "stricter\n"


@pytest.mark.parametrize("ref", ["no-such-ref", "--output=/tmp/x"])
def test_a_ref_that_is_none_is_one_line(tree, ref):
    end = gate(tree, "--base-ref", ref)
    assert end.returncode == 4
    assert end.stderr == f"gate: --base-ref {ref}: git does not know it\n"


def test_a_base_that_does_not_build_is_no_verdict(tree):
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    ninja = tree.parent / "programs/ninja"
    ninja.write_text('#!/bin/sh\ncase $2 in build-base/*) exit 1 ;; esac\nexec "$0".real "$@"\n')
    (ninja.parent / "ninja.real").write_text("#!/bin/sh\n" + STAND_INS["ninja"])
    (ninja.parent / "ninja.real").chmod(0o755)
    end = gate(tree, "--base-ref", "HEAD")
    assert end.returncode == 4
    assert "ran " not in end.stdout
    assert "the build of the base failed" in end.stderr
