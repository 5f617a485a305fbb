"""ci/gate: whose harness judges, and on which devices. CMake, Ninja and the program are stand-ins that say what they
were asked, and so are the machine and its nvidia-smi."""

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
cp "$(dirname "$0")/assay" "$2/bin/assay"
echo "ninja $*"
""",
    "assay": """if [ "$1" = list ]; then
  [ "${*#list }" = "${FILTERED:-}" ] || exit 9
  for device in $LISTED; do printf '  softmax/k  %s  k.so\\n    :cols  %s\\n' "$device" cpu; done
  [ -n "$LISTED" ] || exit 4
  exit "${LIST_CODE:-0}"
fi
echo "ran $0 $*"
case "$*" in
  *' --device cuda'*) device=cuda code=${CODE_ON_CUDA:-0} ;;
  *) device=cpu code=${CODE_ON_CPU:-0} ;;
esac
[ "$device" = "${NO_RUN_ON:-}" ] || { mkdir -p runs && ln -sfn "$device" runs/latest; }
exit "$code"
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
            "kernels/CMakeLists.txt": "macro(assay_kernel op file)\nendmacro()\nassay_kernel(gemm simd.cpp)\n",
            "harness/tests/CMakeLists.txt": "assay_test(a)\n",
            "CMakeLists.txt": "project(p)\n",
            ".gitignore": "build*/\n",
        },
    )
    git(made, "init", "-q")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "base")
    return made


def gate(tree, *arguments, **environment):
    """On a machine with the devices of the folder `machine` beside the tree: those that a test has put there."""
    stand_ins = {
        "PATH": f"{tree.parent / 'programs'}:{os.environ['PATH']}",
        "ASSAY_MACHINE": str(tree.parent / "machine"),
    }
    return subprocess.run(
        ["ci/gate", *arguments], cwd=tree, env=os.environ | stand_ins | environment, capture_output=True, text=True
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
    assert ran(tree, "--base", "HEAD") == by_itself(tree)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("harness/check/accuracy.cpp", "lax\n"),
        ("harness/check/new.cpp", "new\n"),
        ("reference/gemm/cases.cpp", "fewer\n"),
        ("reference/gemm/tests/lax.cu", "new\n"),
        ("harness/check/tests/lax.cu", "new\n"),
    ],
)
def test_an_edited_harness_does_not_judge_its_own_change(tree, file, text):
    write(tree, {file: text})
    assert ran(tree, "--base", "HEAD") == by_base(tree)
    assert (tree / BASE / "harness/check/accuracy.cpp").read_text() == "strict\n"
    assert ran(tree, "--base=HEAD") == by_base(tree)


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("CMakeLists.txt", "add_compile_options(-ffast-math)\n"),
        ("kernels/CMakeLists.txt", "target_compile_options(assay_check PRIVATE -ffast-math)\n"),
        ("kernels/CMakeLists.txt", 'assay_kernel(gemm more.cpp LIBS "x\n'),
        ("kernels/CMakeLists.txt", "#[[\n"),
        ("kernels/flags.cmake", "add_compile_options(-ffast-math)\n"),
        ("harness/tests/CMakeLists.txt", "target_compile_options(assay_check PRIVATE -ffast-math)\n"),
    ],
)
def test_what_says_how_the_harness_is_compiled_does_not_judge_its_own_change(tree, file, more):
    before = (tree / file).read_text() if (tree / file).exists() else ""
    write(tree, {file: before + more})
    assert ran(tree, "--base", "HEAD") == by_base(tree)


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("kernels/CMakeLists.txt", "\n# Ours.\n  assay_kernel(softmax plain.cpp LIBS PkgConfig::HWY)\n"),
        ("harness/tests/CMakeLists.txt", "assay_test(b LABELS slow LIBS assay_gate)\n"),
    ],
)
def test_a_line_that_registers_a_kernel_or_a_test_needs_no_other_harness(tree, file, more):
    write(tree, {file: (tree / file).read_text() + more})
    assert ran(tree, "--base", "HEAD") == by_itself(tree)


def test_a_folder_with_the_name_of_a_ref_is_not_taken_for_the_base(tree):
    git(tree, "branch", "base")
    shutil.copytree(tree, tree / "base", ignore=shutil.ignore_patterns(".git", "base"))
    end = gate(tree, "--base", "base")
    assert (end.returncode, end.stdout) == (4, "")
    assert end.stderr == "gate: --base base: is a folder and a git ref; say ./base or refs/heads/base\n"
    assert ran(tree, "--base", "./base").endswith(f"--base {tree}/base")
    assert ran(tree, "--base", "refs/heads/base") == by_itself(tree)


def test_a_removed_file_of_the_harness_counts(tree):
    (tree / "harness/check/accuracy.cpp").unlink()
    assert ran(tree, "--base", "HEAD") == by_base(tree)


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
    assert ran(tree, "--base", "HEAD") == by_itself(tree)


def test_approved_findings_put_the_trees_own_harness_in_force(tree):
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    assert ran(tree, "--approve-findings", "--base", "HEAD") == by_itself(tree, "--approve-findings")


def test_the_base_is_unpacked_once_and_again_for_another_commit(tree):
    ran(tree, "--base", "HEAD")
    kept = tree / BASE / "harness/check/accuracy.cpp"
    before = kept.stat().st_mtime_ns
    ran(tree, "--base", "HEAD")
    assert kept.stat().st_mtime_ns == before
    write(tree, {"harness/check/accuracy.cpp": "stricter\n"})
    os.environ["GIT_COMMITTER_DATE"] = "2001-01-01T00:00:00"
    try:
        git(tree, "commit", "-qam", "next")
    finally:
        del os.environ["GIT_COMMITTER_DATE"]
    ran(tree, "--base", "HEAD")
    assert kept.read_text() == "stricter\n"
    assert kept.stat().st_mtime_ns > before, "what was built of the other commit is older than its sources"


def test_a_build_of_another_base_is_not_gone_on_with(tree):
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    build = tree / "build-base/build"
    for home, stays in ((tree / BASE, True), (tree / "elsewhere", False)):
        write(tree, {build / "CMakeCache.txt": f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n", build / "built": ""})
        ran(tree, "--base", "HEAD")
        assert (build / "built").exists() == stays
        assert not (build / "CMakeCache.txt").exists()  # CMake is a stand-in: what an earlier base has put there


@pytest.mark.parametrize("file", [".venv/assay-setup", ".cuda/nvidia/cu13/bin/nvcc", "build-base/build/libfast.so"])
def test_a_commit_does_not_bring_what_is_built_with(tree, file):
    write(tree, {file: ""})
    assert ran(tree) == "ran build/bin/assay gate --tier ci"
    git(tree, "add", "-f", file)
    end = gate(tree)
    assert (end.returncode, end.stdout) == (4, "")
    assert end.stderr == (
        f"gate: {file}: is tracked by git, where builds and installed packages lie; git rm --cached it\n"
    )


def test_modules_and_root_that_are_given_are_those_of_the_base_too(tree):
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    given = ["--modules", "elsewhere", "--root", "there"]
    expected = f"ran build-base/build/bin/assay gate --tier ci {' '.join(given)} --base {tree / BASE}"
    assert ran(tree, *given, "--base", "HEAD") == expected


@pytest.mark.parametrize("ref", ["no-such-ref", "--output=/tmp/x"])
def test_a_ref_that_is_none_is_one_line(tree, ref):
    end = gate(tree, "--base", ref)
    assert end.returncode == 4
    assert end.stderr == f"gate: --base {ref}: there is no such folder, and git does not know it\n"


def test_a_base_that_does_not_build_is_no_verdict(tree):
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    ninja = tree.parent / "programs/ninja"
    ninja.write_text('#!/bin/sh\ncase $2 in build-base/*) exit 1 ;; esac\nexec "$0".real "$@"\n')
    (ninja.parent / "ninja.real").write_text("#!/bin/sh\n" + STAND_INS["ninja"])
    (ninja.parent / "ninja.real").chmod(0o755)
    end = gate(tree, "--base", "HEAD")
    assert end.returncode == 4
    assert "ran " not in end.stdout
    assert "the build of the base failed" in end.stderr


def test_a_base_that_cannot_be_unpacked_is_no_verdict(tree):
    (tree / "build-base").write_text("not a folder\n")
    end = gate(tree, "--base", "HEAD")
    assert end.returncode == 4
    assert "ran " not in end.stdout


def judged_on(end):
    """The devices that runs were asked for, in their order; "" for a run that was not told."""
    lines = [line for line in end.stdout.splitlines() if line.startswith("ran ")]
    return [line.split(" --device ")[1].split()[0] if " --device " in line else "" for line in lines]


def nvidia_smi(tree, script):
    program = tree.parent / "programs/nvidia-smi"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)


SEES_ONE = "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'\n"
SEES_NONE = "echo 'No devices were found'\nexit 6\n"
WARNS = "echo 'WARNING: infoROM is corrupted at gpu 0000:01:00.0'\n"
FAILS = "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'\nexit 9\n"
H200 = {"0000:01:00.0": ("0x10de", "0x030200")}
ITS_SOUND = {"0000:01:00.1": ("0x10de", "0x040300")}
ANOTHER_MAKERS = {"0000:02:00.0": ("0x1234", "0x030000")}


def machine(tree, files=(), pci=None):
    write(tree.parent / "machine", {file: "" for file in files})
    for address, (vendor, kind) in (pci or {}).items():
        folder = f"sys/bus/pci/devices/{address}"
        write(tree.parent / "machine", {f"{folder}/vendor": f"{vendor}\n", f"{folder}/class": f"{kind}\n"})


@pytest.mark.parametrize(
    ("files", "smi", "pci"),
    [
        (["dev/nvidia0"], None, {}),
        (["dev/nvidia3"], None, {}),  # a container that was given the fourth
        (["dev/nvidia0"], FAILS, H200),
        ([], SEES_ONE, {}),
        ([], SEES_ONE * 100_000, {}),  # more than a pipe holds
        ([], WARNS + SEES_ONE, {}),
        ([], FAILS, ITS_SOUND | ANOTHER_MAKERS | H200),  # a broken driver
        ([], SEES_NONE, H200),
    ],
)
def test_where_there_is_a_gpu_both_devices_are_judged(tree, files, smi, pci):
    machine(tree, files, pci)
    if smi is not None:
        nvidia_smi(tree, smi)
    end = gate(tree, "smoke", "--no-report")
    assert end.returncode == 0, end.stderr
    assert judged_on(end) == ["cpu", "cuda"]
    assert [line.split("assay ")[1] for line in end.stdout.splitlines() if line.startswith("ran ")] == [
        f"gate --tier smoke --device {device} --no-report" for device in ("cpu", "cuda")
    ]


@pytest.mark.parametrize(
    ("files", "smi", "pci"),
    [
        ([], None, {}),
        (["dev/nvidiactl", "dev/nvidia-uvm"], None, {}),  # of a driver that has no GPU
        ([], FAILS, {}),
        ([], SEES_NONE, ITS_SOUND | ANOTHER_MAKERS),
        ([], "echo 'Failed to initialize NVML: GPU access blocked by the operating system'\nexit 17\n", {}),  # WSL
    ],
)
def test_where_there_is_none_the_cpu_alone_is_judged(tree, files, smi, pci):
    machine(tree, files, pci)
    nvidia_smi(tree, smi or "exit 127\n")
    end = gate(tree)
    assert (end.returncode, end.stderr) == (0, "")
    assert judged_on(end) == [""]


def test_a_gpu_without_a_driver_is_told_in_one_line(tree):
    machine(tree, pci=H200)
    for folder in os.environ["PATH"].split(":"):
        if (Path(folder) / "nvidia-smi").exists():
            pytest.skip("this machine has an nvidia-smi")
    end = gate(tree)
    assert judged_on(end) == [""]
    assert end.stderr.endswith("/0000:01:00.0 is an NVIDIA GPU without a driver: CUDA kernels are not run\n")
    assert end.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("listed", "devices"),
    [("cuda", ["cuda"]), ("cpu cpu", ["cpu"]), ("cpu cuda", ["cpu", "cuda"]), ("", ["cpu", "cuda"])],
)
@pytest.mark.parametrize("filters", [["--filter", "softmax/k", "gemm/*"], ["--filter=softmax/k", "--filter", "gemm/*"]])
def test_a_filter_for_one_device_gets_one_run(tree, filters, listed, devices):
    machine(tree, ["dev/nvidia0"])
    end = gate(tree, "smoke", "--no-report", *filters, "--threads", "2", FILTERED=" ".join(filters), LISTED=listed)
    assert (end.returncode, judged_on(end)) == (0, devices), end.stderr
    assert ("alone" in end.stdout) == (len(devices) == 1)


def test_a_filter_for_one_device_gets_one_run_of_the_bases_harness_too(tree):
    machine(tree, ["dev/nvidia0"])
    write(tree, {"harness/check/accuracy.cpp": "lax\n"})
    end = gate(tree, "--base", "HEAD", "--filter", "gemm/simd", FILTERED="--filter gemm/simd", LISTED="cpu")
    assert (end.returncode, judged_on(end)) == (0, ["cpu"]), end.stderr
    assert "ran build-base/build/bin/assay" in end.stdout


def test_a_filter_where_a_module_is_broken_gets_both_runs(tree):
    machine(tree, ["dev/nvidia0"])
    end = gate(tree, "--filter", "gemm/*", FILTERED="--filter gemm/*", LISTED="cpu", LIST_CODE="4")
    assert (end.returncode, judged_on(end), end.stderr) == (0, ["cpu", "cuda"], "")


def test_a_filter_of_foreign_modules_gets_both_runs(tree):
    machine(tree, ["dev/nvidia0"])
    end = gate(tree, "--module", "their.so", "--filter", "softmax/k", FILTERED="never asked")
    assert (end.returncode, judged_on(end)) == (0, ["cpu", "cuda"]), end.stderr


GRAVENESS = [0, 2, 3, 1, 4]


@pytest.mark.parametrize("on_cpu", GRAVENESS)
@pytest.mark.parametrize("on_cuda", GRAVENESS)
def test_the_graver_of_both_codes_is_the_gates(tree, on_cpu, on_cuda):
    machine(tree, ["dev/nvidia0"])
    end = gate(tree, CODE_ON_CPU=str(on_cpu), CODE_ON_CUDA=str(on_cuda))
    assert judged_on(end) == ["cpu", "cuda"]
    assert end.returncode == max(on_cpu, on_cuda, key=GRAVENESS.index)
    graver = "cpu" if GRAVENESS.index(on_cpu) > GRAVENESS.index(on_cuda) else "cuda"
    assert os.readlink(tree / "runs/latest") == graver


def keep_an_older_run(tree):
    (tree / "runs").mkdir()
    (tree / "runs/latest").symlink_to("older")


def latest(tree):
    link = tree / "runs/latest"
    return os.readlink(link) if link.is_symlink() else None


@pytest.mark.parametrize("on_cuda", GRAVENESS[:-1])
def test_a_cpu_run_that_ends_before_it_has_a_folder_leaves_no_link(tree, on_cuda):
    machine(tree, ["dev/nvidia0"])
    keep_an_older_run(tree)
    end = gate(tree, CODE_ON_CPU="4", NO_RUN_ON="cpu", CODE_ON_CUDA=str(on_cuda))
    assert (judged_on(end), end.returncode) == (["cpu", "cuda"], 4)
    assert latest(tree) is None


@pytest.mark.parametrize("on_cpu", GRAVENESS)
def test_a_cuda_run_that_ends_before_it_has_a_folder_leaves_no_link(tree, on_cpu):
    machine(tree, ["dev/nvidia0"])
    keep_an_older_run(tree)
    end = gate(tree, CODE_ON_CPU=str(on_cpu), CODE_ON_CUDA="4", NO_RUN_ON="cuda")
    assert (judged_on(end), end.returncode) == (["cpu", "cuda"], 4)
    assert latest(tree) is None


def test_the_only_run_leaves_no_link_either_where_it_has_no_folder(tree):
    keep_an_older_run(tree)
    end = gate(tree, CODE_ON_CPU="4", NO_RUN_ON="cpu")
    assert (judged_on(end), end.returncode) == ([""], 4)
    assert latest(tree) is None


def test_a_build_that_fails_leaves_no_link(tree):
    keep_an_older_run(tree)
    (tree.parent / "programs/ninja").write_text("#!/bin/sh\nexit 1\n")
    assert gate(tree).returncode == 4
    assert latest(tree) is None


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--base", "no/such"], "--base no/such: there is no such folder, and git does not know it"),
        (["--base"], "--base needs a folder or a git ref"),
    ],
)
def test_an_error_of_use_is_one_line_and_no_verdict(tree, arguments, line):
    end = gate(tree, *arguments)
    assert (end.returncode, end.stdout, end.stderr) == (4, "", f"gate: {line}\n")


def test_an_interrupted_run_is_the_last(tree):
    machine(tree, ["dev/nvidia0"])
    end = gate(tree, CODE_ON_CPU="130")
    assert judged_on(end) == ["cpu"]
    assert end.returncode == 130


@pytest.mark.parametrize("arguments", [("--device", "cuda"), ("--device=cpu",), ("--out", "x"), ("--resume", "x")])
def test_arguments_for_one_run_get_one(tree, arguments):
    machine(tree, ["dev/nvidia0"])
    assert ran(tree, *arguments) == f"ran build/bin/assay gate --tier ci {' '.join(arguments)}"


def test_the_run_to_resume_may_be_the_latest(tree):
    keep_an_older_run(tree)
    gate(tree, "--resume", "runs/latest", CODE_ON_CPU="4", NO_RUN_ON="cpu")
    assert latest(tree) == "older"
