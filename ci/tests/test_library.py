"""ci/library: versions and files of libraries from suites and PyPI. apt and pip are stand-ins, but for tests labelled
network; dpkg-deb, the compiler and the loader are real."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]

# What the stand-ins have: suite "new" holds libtiny0 1.2+x-1, "old" 1.0-1, and "none" is no suite.
APT_GET = """echo "apt-get $*" >>"$LOG"
[ -z "${OFFLINE:-}" ] || { echo 'E: no network'; exit 100; }
case "$* $(cat "$(dirname "$APT_CONFIG")/sources.list")" in
*update*none*) echo 'E: no Release file' >&2; exit 100 ;;
*download*libtiny0=1.2+x-1*) cp "$PACKAGE" libtiny0_1.2+x-1_amd64.deb ;;
*download*) echo 'E: not found' >&2; exit 100 ;;
esac
"""
INDEXTARGETS = """if [ "$1" = indextargets ]; then
  . /etc/os-release
  echo "http://mirror.example/debian/ $VERSION_CODENAME"
  exit
fi
"""
APT_CACHE = """case "$2 $(cat "$(dirname "$APT_CONFIG")/sources.list")" in
"libtiny0 "*" new main") echo ' libtiny0 | 1.2+x-1 | http://mirror.example/debian new/main amd64 Packages' ;;
"libtiny0 "*" old main") echo ' libtiny0 | 1.0-1 | http://mirror.example/debian old/main amd64 Packages' ;;
esac
"""
PIP = """echo "pip $*" >>"$LOG"
[ -z "${OFFLINE:-}" ] || { echo 'ERROR: no network'; exit 1; }
case "$*" in
*"index versions"*tiny) printf 'tiny (2.1)\\nAvailable versions: 2.1, 2.0\\n' ;;
*download*tiny==2.1) while [ "$1" != --dest ]; do shift; done; cp "$WHEEL" "$2/tiny-2.1-py3-none-any.whl" ;;
*) echo 'ERROR: No matching distribution found'; exit 1 ;;
esac
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "ci").mkdir()
    for name in ["library", "common.sh"]:
        shutil.copy(CI / name, tmp_path / "ci" / name)
    stand_in(tmp_path / "programs/apt-get", INDEXTARGETS + APT_GET)
    stand_in(tmp_path / "programs/apt-cache", APT_CACHE)
    stand_in(tmp_path / ".venv/bin/python", PIP)
    build = tmp_path / "package"
    (build / "DEBIAN").mkdir(parents=True)
    (build / "DEBIAN/control").write_text(
        "Package: libtiny0\nVersion: 1.2+x-1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n"
    )
    (build / "usr/lib").mkdir(parents=True)
    (build / "usr/lib/libtiny.so.0").write_text("of the package")
    subprocess.run(["dpkg-deb", "-b", build, tmp_path / "libtiny0.deb"], check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / "tiny.whl", "w") as wheel:
        wheel.writestr("tiny/lib/libtiny.so", "of the wheel")
    return tmp_path


def stand_in(program, script):
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)


def a_day_passes(tree):
    for told in [*tree.glob("kept here/apt/*/updated"), *tree.glob("kept here/wheel/*.versions")]:
        os.utime(told, (told.stat().st_atime - 86400, told.stat().st_mtime - 86400))


def library(tree, *arguments, **environment):
    added = {
        "PATH": f"{tree / 'programs'}:{os.environ['PATH']}",
        "ASSAY_LIBRARIES": str(tree / "kept here"),
        "LOG": str(tree / "log"),
        "PACKAGE": str(tree / "libtiny0.deb"),
        "WHEEL": str(tree / "tiny.whl"),
    }
    return subprocess.run(
        [tree / "ci/library", *map(str, arguments)],
        env=os.environ | added | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def answer(tree, *arguments, **environment):
    end = library(tree, *arguments, **environment)
    assert (end.returncode, end.stderr) == (0, ""), end.stderr
    return end.stdout.splitlines()


def refused(tree, text, *arguments, **environment):
    end = library(tree, *arguments, **environment)
    assert end.returncode == 4
    assert text in end.stderr.splitlines()[-1]
    assert not list((tree / "kept here").glob("work.*"))


def test_without_a_home_it_asks_for_a_folder(tree):
    unset = [f"--unset={name}" for name in ("HOME", "XDG_CACHE_HOME", "ASSAY_LIBRARIES")]
    end = subprocess.run(["env", *unset, tree / "ci/library", "where"], capture_output=True, text=True)
    assert (end.returncode, end.stdout) == (4, "")
    assert end.stderr == "library: HOME is not set; set it, or ASSAY_LIBRARIES to a folder\n"
    assert answer(tree, "where", HOME="") == [str(tree / "kept here")]


def test_versions_are_what_each_suite_has(tree):
    assert answer(tree, "versions", "debian", "libtiny0", "old", "new") == ["old 1.0-1", "new 1.2+x-1"]
    sources = (tree / "kept here/apt/new/sources.list").read_text()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    assert sources == f"deb [signed-by={keyring}] http://mirror.example/debian/ new main\n"


def test_versions_are_those_of_before_without_a_network_which_is_said(tree):
    answer(tree, "versions", "debian", "libtiny0", "new")
    a_day_passes(tree)
    notes, *versions = answer(tree, "versions", "debian", "libtiny0", "new", OFFLINE="1")
    assert notes.startswith("note: suite new cannot be reached; its versions are those of ")
    assert versions == ["new 1.2+x-1"]
    refused(tree, "suite old cannot be read from the mirror", "versions", "debian", "libtiny0", "old", OFFLINE="1")


def test_what_was_asked_some_minutes_ago_is_not_asked_again(tree):
    for _ in range(2):
        assert answer(tree, "versions", "debian", "libtiny0", "new") == ["new 1.2+x-1"]
        assert answer(tree, "versions", "wheel", "tiny") == ["PyPI 2.1", "PyPI 2.0"]
    log = (tree / "log").read_text()
    assert (log.count("apt-get update"), log.count("index versions")) == (1, 1)
    a_day_passes(tree)
    answer(tree, "versions", "debian", "libtiny0", "new")
    assert (tree / "log").read_text().count("apt-get update") == 2


def test_a_package_is_unpacked_once_and_kept_with_its_checksum(tree):
    checksum = hashlib.sha256((tree / "libtiny0.deb").read_bytes()).hexdigest()
    folder = tree / "kept here/debian/libtiny0_1.2+x-1"
    expected = [f"deb libtiny0 1.2+x-1 {checksum} {folder}"]
    assert answer(tree, "fetch", "debian", "new", "libtiny0=1.2+x-1") == expected
    assert (folder / "usr/lib/libtiny.so.0").read_text() == "of the package"
    assert answer(tree, "fetch", "debian", "new", "libtiny0=1.2+x-1", OFFLINE="1") == expected
    assert (tree / "log").read_text().count("download") == 1
    assert answer(tree, "fetch", "debian", "new", "libtiny0") == expected  # the suite's


def test_what_a_suite_has_no_more_is_told_as_kept(tree):
    answer(tree, "fetch", "debian", "new", "libtiny0=1.2+x-1")
    assert answer(tree, "versions", "debian", "libtiny0", "old") == ["old 1.0-1", "kept 1.2+x-1"]


def test_a_wheel_is_unpacked_once_and_kept_with_its_checksum(tree):
    assert answer(tree, "versions", "wheel", "tiny") == ["PyPI 2.1", "PyPI 2.0"]
    checksum = hashlib.sha256((tree / "tiny.whl").read_bytes()).hexdigest()
    folder = tree / "kept here/wheel/tiny-2.1"
    assert answer(tree, "fetch", "wheel", "tiny", "2.1") == [f"wheel tiny 2.1 {checksum} {folder}"]
    assert (folder / "tiny/lib/libtiny.so").read_text() == "of the wheel"
    answer(tree, "fetch", "wheel", "tiny", "2.1", OFFLINE="1")
    a_day_passes(tree)
    note, *versions = answer(tree, "versions", "wheel", "tiny", OFFLINE="1")
    assert note.startswith("note: PyPI cannot be reached")
    assert versions == ["PyPI 2.1", "PyPI 2.0"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "usage"),
        (["fetch"], "usage"),
        (["fetch", "cargo", "a", "b"], "usage"),
        (["versions", "wheel", "a", "b"], "usage"),
        (["versions", "debian", "libtiny0", "none"], "suite none cannot be read"),
        (["versions", "debian", "../x", "new"], "'../x' is no name of a package"),
        (["versions", "debian", "libtiny0", "a b"], "'a b' is no name of a suite"),
        (["versions", "debian", "libtiny0", "-o"], "'-o' is no name of a suite"),
        (["versions", "wheel", "x;y"], "'x;y' is no name of a project"),
        (["versions", "wheel", "unknown"], "PyPI does not tell the versions of unknown"),
        (["fetch", "debian", "new", "libtiny0=9"], "suite new gives no libtiny0 9"),
        (["fetch", "debian", "new", "libtiny0=$(x)"], "is no name of a version"),
        (["fetch", "debian", "new", "libabsent"], "suite new has no package libabsent"),
        (["fetch", "wheel", "tiny", "9"], "PyPI gives no wheel of tiny 9"),
        (["shim", "p_", "l.so", "/no/such/file", "out"], "there is no such file"),
    ],
)
def test_what_is_not_to_be_had_is_one_line(tree, arguments, text):
    refused(tree, text, *arguments)


def test_a_package_that_cannot_be_unpacked_leaves_nothing(tree):
    (tree / "libtiny0.deb").write_text("torn")
    refused(tree, "cannot be unpacked", "fetch", "debian", "new", "libtiny0=1.2+x-1")
    assert not (tree / "kept here/debian").exists()


def test_a_folder_that_was_torn_is_made_again(tree):
    folder = tree / "kept here/debian/libtiny0_1.2+x-1"
    folder.mkdir(parents=True)
    (tree / "kept here/work.torn").mkdir()
    answer(tree, "fetch", "debian", "new", "libtiny0=1.2+x-1")
    assert (folder / "usr/lib/libtiny.so.0").exists()
    assert not (tree / "kept here/work.torn").exists()


def test_a_machine_without_a_mirror_of_its_suite_is_told(tree):
    stand_in(tree / "programs/apt-get", "exit 0\n")
    refused(tree, "name no mirror of its own suite", "versions", "debian", "libtiny0", "new")


def test_a_shim_forwards_each_function(tree):
    source = tree / "tiny.c"
    source.write_text("int my_twice(int x) { return 2 * x; }\nint my_variable = 3;\nint other(void) { return 1; }\n")
    real = tree / "libreal.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libreal.so", source, "-o", real], check=True)
    assert answer(tree, "shim", "my_", "libtiny.so.0", real, tree / "libtiny.so.0") == []
    ctypes.CDLL(real, mode=ctypes.RTLD_GLOBAL)
    assert ctypes.CDLL(tree / "libtiny.so.0").twice(21) == 42
    names = subprocess.run(["nm", "-D", "--defined-only", tree / "libtiny.so.0"], capture_output=True, text=True)
    assert [line.split()[2] for line in names.stdout.splitlines()] == ["twice"]
    refused(tree, "exports no function whose name begins with no_", "shim", "no_", "l.so", real, tree / "out")


@pytest.mark.network
def test_the_suites_that_recipes_name_are_signed_by_the_installed_keyring(tmp_path):
    environment = os.environ | {"ASSAY_LIBRARIES": str(tmp_path)}
    command = [CI / "library", "versions", "debian", "libopenblas0-pthread", "bullseye", "bookworm", "trixie", "sid"]
    end = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert end.returncode == 0, end.stderr
    assert [line.split()[0] for line in end.stdout.splitlines()] == ["bullseye", "bookworm", "trixie", "sid"]
