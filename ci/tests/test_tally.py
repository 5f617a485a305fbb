"""The tally counts every way a test can end, and never calls nothing a success."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("tally", Path(__file__).resolve().parents[1] / "tally.py")
tally = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tally)

CTEST = """<testsuite>
  <testcase name="good" classname="good" status="run"/>
  <testcase name="bad" classname="bad" status="fail"><failure message=""/>
    <system-out>[ RUN      ] bad
tests/bad.cpp:7: Failure
Expected equality of these values:
::error::1</system-out>
  </testcase>
  <testcase name="asked" classname="asked" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] asked
tests/asked.cpp:34: Skipped
the sanitizer owns malloc
[  SKIPPED ] asked (0 ms)</system-out>
  </testcase>
  <testcase name="silent" classname="silent" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] silent
tests/silent.cpp:7: Skipped

[  SKIPPED ] silent (0 ms)</system-out>
  </testcase>
  <testcase name="left_out" classname="left_out" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>skipped: it takes minutes to compile</system-out>
  </testcase>
  <testcase name="lost" classname="lost" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="off" classname="off" status="disabled"/>
</testsuite>"""
PYTEST = """<testsuites><testsuite>
  <testcase classname="t" name="good"/>
  <testcase classname="t" name="bad"><failure message="assert 1 == 2">trace</failure></testcase>
  <testcase classname="t" name="broken"><error message="fixture"/></testcase>
  <testcase classname="t" name="skipped"><skipped message="no browser"/></testcase>
</testsuite></testsuites>"""


def run(tmp_path, capsys, *files):
    paths = []
    for number, (name, text) in enumerate(files):
        paths.append(tmp_path / f"{number}{name}")
        paths[-1].write_text(text)
    code = tally.main([str(path) for path in paths])
    return code, capsys.readouterr().out.splitlines()


def test_counts_and_names(tmp_path, capsys):
    code, lines = run(tmp_path, capsys, ("ctest.xml", CTEST), ("pytest.xml", PYTEST), ("checks.tsv", "ruff\tfailed\n"))
    assert code == 1
    assert lines[-1] == "2 passed, 7 failed, 3 skipped"
    assert "skipped: asked (the sanitizer owns malloc)" in lines
    assert "skipped: left_out (it takes minutes to compile)" in lines
    assert "failed: silent (skipped without a reason)" in lines
    assert "failed: off (disabled without a reason)" in lines
    assert "failed: lost (Unable to find executable)" in lines
    assert "skipped: t.skipped (no browser)" in lines
    assert "failed: ruff" in lines
    of_bad = lines.index("failed: bad")
    assert lines[of_bad + 1 : of_bad + 4] == [
        "  | tests/bad.cpp:7: Failure",
        "  | Expected equality of these values:",
        "  | ::error::1",
    ]
    assert "  | trace" in lines
    assert "failed: t.bad (assert 1 == 2)" in lines
    outcomes = [line.partition(":")[0] for line in lines[:-1] if not line.startswith("  | ")]
    assert outcomes == ["skipped"] * 3 + ["failed"] * 7, "what matters is last"


# A program that crashed has no assertion, and one that loops says one again and again.
@pytest.mark.parametrize(
    ("output", "first", "last"),
    [
        ("\n".join(f"line {i}" for i in range(100)), "line 60", "line 99"),
        ("start\n" + "\n".join(f"a.cpp:{i}: Failure" for i in range(100)), "a.cpp:0: Failure", "a.cpp:39: Failure"),
    ],
)
def test_what_a_failed_test_said_is_cut(tmp_path, capsys, output, first, last):
    text = f'<testsuite><testcase name="x" status="fail"><system-out>{output}</system-out></testcase></testsuite>'
    _, lines = run(tmp_path, capsys, ("ctest.xml", text))
    assert lines[0] == "failed: x"
    assert (lines[1], lines[-2]) == (f"  | {first}", f"  | {last}")


def test_passes_only_when_all_pass(tmp_path, capsys):
    code, lines = run(tmp_path, capsys, ("checks.tsv", "ruff\tpassed\nshellcheck\tpassed\n"))
    assert (code, lines) == (0, ["2 passed, 0 failed, 0 skipped"])


@pytest.mark.parametrize("text", ["", "<testsuite/>", "<testsuite"])
def test_no_result_is_a_failure(tmp_path, capsys, text):
    code, lines = run(tmp_path, capsys, ("ctest.xml", text), ("checks.tsv", "ruff\tpassed\n"))
    assert code == 1
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_missing_file_is_a_failure(capsys):
    assert tally.main(["no/such.xml"]) == 1


def test_skips_alone_are_no_success(tmp_path, capsys):
    code, lines = run(tmp_path, capsys, ("checks.tsv", "ctest\tskipped\t3 tests labelled gpu: no GPU\n"))
    assert (code, lines[-1]) == (1, "0 passed, 0 failed, 1 skipped")


@pytest.mark.parametrize("line", ["ctest\tskipped", "ctest\tskipped\t", "ctest\tskipped\t "])
def test_a_check_skipped_without_a_reason_is_a_failure(tmp_path, capsys, line):
    code, lines = run(tmp_path, capsys, ("checks.tsv", f"ruff\tpassed\n{line}\n"))
    assert code == 1
    assert lines == ["failed: ctest (skipped without a reason)", "1 passed, 1 failed, 0 skipped"]


def test_a_skipped_check_is_counted_with_its_reason(tmp_path, capsys):
    code, lines = run(tmp_path, capsys, ("checks.tsv", "faults\tpassed\nfaults\tskipped\t3 faults: too large\n"))
    assert (code, lines) == (0, ["skipped: faults (3 faults: too large)", "1 passed, 0 failed, 1 skipped"])
