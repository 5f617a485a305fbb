"""ci/test: a check or a test run that got no file to look at is a failure, whether there is none or git refused to list
them; what is left out is counted with its reason. The programs are stand-ins; git is one that refuses on demand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]
FILES = ["harness/main.cpp", "kernels/kernel.cpp", "kernels/tests/test_kernel.py"]
JUNIT = '<testsuite><testcase name=\\"a\\" status=\\"run\\"/></testsuite>'
PYTHON_TESTS = """import pytest
def test_it(): pass
@pytest.mark.slow
def test_long(): pass
@pytest.mark.statistical
def test_rates(): pass
"""
# The heading under which `assay selftest` lists faults that this machine cannot judge.
BEYOND = re.search(r'list\("(Beyond[^"]*)"', (CI.parent / "harness/gate/selftest_result.cpp").read_text())[1]

STAND_INS = {
    "ci/setup": "",
    "programs/cmake": "",
    "programs/ninja": "",
    "programs/g++": "",
    "programs/clang-format": "",
    "programs/shellcheck": "",
    "programs/ctest": f"""while [ "$1" != --output-junit ]; do
  [ "$1" != --show-only ] || {{ [ "$3" = "$NO_TEST_IS" ] && echo "Total Tests: 0" || echo "Total Tests: 2"; exit; }}
  shift
done
echo "{JUNIT}" >"$2"
exit "${{CTEST_CODE:-0}}"
""",
    "programs/git": f"""[ "$1" != "$GIT_REFUSES" ] || {{ echo "fatal: $1 refused" >&2 && exit 128; }}
exec {shutil.which("git")} "$@"
""",
    "build/bin/assay": f'printf "{BEYOND}:\\n- a: too large\\n\\nAlarms:\\n- none\\n"\n',
    "harness/tests/mutants/build.py": """import sys
print("skipped: 3 faults: of other parts")
open("parts", "a").write(sys.argv[-1] + "\\n")
""",
    ".venv/bin/ruff": "",
    ".venv/bin/clang-tidy": 'for file; do :; done\necho "$file" >>tidied\n',
    ".venv/bin/python": f'exec {sys.executable} "$@"\n',
}


def git(tree, *arguments):
    who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", tree, *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    """A repository whose last commit changes one of two C++ files."""
    for name in ["ci/test", "ci/common.sh", "ci/tally.py", "ci/pytest_labels.py", ".pytest.ini"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(CI.parent / name, tmp_path / name)
    for name, script in STAND_INS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n" + script)
        (tmp_path / name).chmod(0o755)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PYTHON_TESTS if name.endswith(".py") else "")
    (tmp_path / ".gitignore").write_text("/build/\n/programs/\n/.venv/\n/tidied\n/parts\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    (tmp_path / FILES[1]).write_text("int i;\n")
    git(tmp_path, "commit", "-qam", "two")
    return tmp_path


def run(tree, *arguments, refuse="", **environment):
    programs = {"PATH": f"{tree / 'programs'}:{os.environ['PATH']}", "GIT_REFUSES": refuse, "ASSAY_BASE": "HEAD~1"}
    return subprocess.run(
        ["ci/test", *arguments], cwd=tree, env=os.environ | programs | environment, capture_output=True, text=True
    )


def failed(tree, *arguments, **more):
    """The names that ci/test counts as failed."""
    end = run(tree, *arguments, **more)
    names = [line.split()[1] for line in end.stdout.splitlines() if line.startswith("failed: ")]
    assert end.returncode == (1 if names else 0), end.stdout + end.stderr
    return names


def tidied(tree):
    return sorted((tree / "tidied").read_text().split()) if (tree / "tidied").exists() else []


PYTEST = "build/test-results/pytest.xml"


@pytest.mark.parametrize(
    ("arguments", "files"),
    [([], FILES[1:2]), (["--all"], FILES[:2])],
)
def test_with_files_to_look_at_everything_passes(tree, arguments, files):
    assert failed(tree, *arguments) == []
    assert tidied(tree) == files


@pytest.mark.parametrize(
    ("command", "arguments", "names"),
    [
        ("ls-files", [], {"clang-format", "shellcheck", "clang-tidy", PYTEST}),
        ("ls-files", ["--all"], {"clang-format", "shellcheck", "clang-tidy", PYTEST}),
        ("grep", [], {"shellcheck"}),
        ("diff", [], {"clang-tidy"}),
    ],
)
def test_a_git_that_refuses_fails_what_asked_it(tree, command, arguments, names):
    assert set(failed(tree, *arguments, refuse=command)) == names


@pytest.mark.parametrize(
    ("removed", "names"),
    [
        (["harness", "kernels"], {"clang-format", "clang-tidy", "seeded-faults", PYTEST}),
        (["kernels/tests"], {PYTEST}),
    ],
)
def test_no_file_to_look_at_is_a_failure(tree, removed, names):
    git(tree, "rm", "-rq", *removed)
    assert set(failed(tree, "--all")) == names


def test_a_runner_that_fails_without_a_failed_test_is_a_failure(tree):
    assert failed(tree, CTEST_CODE="8") == ["ctest"]


def test_a_change_of_no_cpp_file_gives_clang_tidy_nothing_to_do(tree):
    git(tree, "commit", "-qm", "three", "--allow-empty")
    assert failed(tree) == []
    assert tidied(tree) == []


def test_every_commit_since_the_base_is_looked_at(tree):
    (tree / FILES[0]).write_text("int j;\n")
    git(tree, "commit", "-qam", "three")
    assert failed(tree, ASSAY_BASE="HEAD~2") == []
    assert tidied(tree) == FILES[:2]


def test_a_base_that_git_does_not_know_leaves_every_file_to_look_at(tree):
    assert failed(tree, ASSAY_BASE="0" * 40) == []
    assert tidied(tree) == FILES[:2]


NO_CUDA = "skipped: ctest (tests and kernels of CUDA: this build has none)"
NO_GPU = "skipped: ctest (2 tests labelled gpu: they need a GPU)"
LABELLED = ["test_long (labelled slow: --all runs it)", "test_rates (labelled statistical: --all runs it)"]
FAULTS = ["skipped: seeded-faults (3 faults: of other parts)", "skipped: seeded-faults (a: too large)"]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["--all"], [*FAULTS, NO_GPU, NO_CUDA]),
        (["--sanitize", "address"], [NO_GPU, "slow, statistical or network", NO_CUDA]),
        (["--sanitize", "thread"], ["2 tests not labelled threads", NO_CUDA]),
        (
            [],
            [
                *LABELLED,
                "clang-tidy (1 files in which git sees",
                *FAULTS,
                NO_GPU,
                "slow, statistical or network",
                NO_CUDA,
            ],
        ),
    ],
)
def test_what_is_left_out_is_counted_with_its_reason(tree, arguments, lines):
    end = run(tree, *arguments)
    skipped = [line for line in end.stdout.splitlines() if line.startswith("skipped: ")]
    assert [line for line, part in zip(skipped, lines, strict=True) if part not in line] == []
    assert end.stdout.endswith(f" passed, 0 failed, {len(lines)} skipped\n"), end.stdout + end.stderr


def test_what_there_is_none_of_is_not_left_out(tree):
    (tree / "build").mkdir(exist_ok=True)
    (tree / "build" / "CMakeCache.txt").write_text("ASSAY_CUDA:BOOL=ON\n")
    end = run(tree, "--all", NO_TEST_IS="gpu")
    assert "labelled gpu" not in end.stdout
    assert "CUDA" not in end.stdout


def test_another_commit_judges_another_part_of_the_faults_in_a_shallow_clone_too(tree):
    for number in range(6):
        git(tree, "commit", "-q", "--amend", "-m", f"{number}")  # the count of commits stays
        assert failed(tree) == []
    parts = (tree / "parts").read_text().split()
    assert len(parts) == 6
    assert len(set(parts)) > 1
    assert all(re.fullmatch(r"([1-9]|[1-3]\d|4[0-5])/45", part) for part in parts)


def test_without_git_it_counts_all_the_same(tree):
    shutil.rmtree(tree / ".git")
    end = run(tree)
    assert (end.returncode, end.stderr.count("syntax error")) == (1, 0), end.stdout + end.stderr
    assert re.search(r" passed, \d+ failed, \d+ skipped$", end.stdout.splitlines()[-1])
    assert "seeded-faults: passed" in end.stdout
    assert re.fullmatch(r"\d+/45\n", (tree / "parts").read_text())


def test_a_selftest_that_fails_is_a_failure_whatever_it_lists(tree):
    with (tree / "build/bin/assay").open("a") as program:
        program.write("exit 1\n")
    assert failed(tree) == ["seeded-faults"]


def test_sanitize_without_a_list_is_one_line(tree):
    end = subprocess.run(["ci/test", "--sanitize"], cwd=tree, capture_output=True, text=True)
    assert (end.returncode, end.stderr) == (4, "test: --sanitize needs a list such as address,undefined\n")
