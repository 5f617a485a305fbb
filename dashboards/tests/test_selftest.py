"""The page of a selftest: what it says of seeded faults, what it refuses, and that nothing in it can act."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from assay_dashboards.__main__ import main
from assay_dashboards.plain import InputError
from assay_dashboards.selftest import Selftest, read_selftest
from sample_report import Page
from sample_run import record, write_run
from sample_selftest import fault, full_selftest, selftest_json, write_selftest
from test_report import HOSTILE

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "harness/gate/selftest.schema.json").read_text("utf-8"))
WRITTEN = Path(__file__).parent / "data" / "written" / "selftest.json"  # kept by harness/tests/selftest_result_test.cpp
KEPT = sorted((ROOT / "dashboards/runs").glob("selftest-*.json"))


def schema_errors(value):
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(value)]


def page_of(folder, *arguments):
    assert main([str(folder), *map(str, arguments)]) == 0
    return (folder / "report" / "index.html").read_text("utf-8")


def said(page):
    return re.sub(r"\s+", " ", Page(page).said)


def refusal(*given):
    with pytest.raises(InputError) as caught:
        read_selftest(*given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("file", [WRITTEN, *KEPT], ids=lambda file: file.stem)
def test_what_the_program_wrote_fits_the_schema_and_is_read(file):
    assert schema_errors(json.loads(file.read_text("utf-8"))) == []
    assert read_selftest(file).told["faults"]


def test_the_schema_asks_for_every_field_that_is_written(tmp_path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    written = json.loads(WRITTEN.read_text("utf-8"))
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"]) == set(written)
    parts = {"fault": written["faults"][0], "row": written["all"], "check": written["checks"]["accuracy"]}
    for name, value in parts.items():
        assert set(SCHEMA["$defs"][name]["required"]) == set(SCHEMA["$defs"][name]["properties"]) == set(value)
    full = full_selftest(tmp_path) / "selftest.json"
    assert schema_errors(json.loads(full.read_text("utf-8"))) == []


def test_how_many_of_how_many_stand_first(tmp_path):
    text = said(page_of(full_selftest(tmp_path)))
    order = ["✗ 96 of 99 seeded faults killed", "killed by the ci tier", "97.0 %", "killed, of those of precision",
             "killed by the smoke tier", "false alarms", "at most 0.0003 a case", "Which check kills what",
             "Survivors (3)", "Beyond this machine", "Every fault"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "gemm/simd:m=7: wrong, y[3]" in text


def test_survivors_that_nobody_explained_come_first(tmp_path):
    text = said(page_of(full_selftest(tmp_path)))
    text = text[text.index("Survivors (3)") : text.index("Beyond this machine")]
    assert text.index("gemm_simd_unseen") < text.index("gemm_simd_by_witness") < text.index("gemm_simd_none")
    assert text.count("nobody said why") == 2
    assert "Survives because the order of the sums is free" in text
    assert "caught there by guards" in text


def test_all_killed_is_said_as_such(tmp_path):
    text = said(page_of(write_selftest(tmp_path)))
    assert "✓ 1 of 1 seeded faults killed" in text
    assert "✓ target 99 %" in text
    assert "Survivors" not in text
    assert "✗" not in text


def test_a_rate_below_its_target_is_bad_and_never_rounds_to_all(tmp_path):
    faults = [fault(str(i), ("accuracy",) if i else ()) for i in range(3000)]
    text = said(page_of(write_selftest(tmp_path, faults)))
    assert "2,999 of 3,000 99.9 %" in text
    faults = [fault(str(i), ("accuracy",) if i else ()) for i in range(3)]
    assert "✗ target 99 %" in said(page_of(write_selftest(tmp_path, faults)))


def test_of_a_sample_no_target_is_said_to_be_met_or_missed(tmp_path):
    text = said(page_of(write_selftest(tmp_path, whole=False)))
    assert "a sample: the target, 99 %, is for all faults" in text
    assert "✓ target" not in text


def test_what_was_not_asked_is_not_called_good(tmp_path):
    text = said(page_of(write_selftest(tmp_path, innocent_cases=0, alarm_rate_at_most=1.0)))
    assert "nothing is known" in text
    assert "at most" not in text


def test_what_went_wrong_is_listed(tmp_path):
    text = said(page_of(write_selftest(tmp_path, exit_code=4, not_judged={"a": "exit 4"}, bad_controls=["gemm: b"])))
    assert "✗ 1 of 1 seeded faults killed, 1 not judged" in text
    assert "Not judged (1) a : exit 4" in text
    assert "that failed (1) gemm: b" in text


def test_checks_are_told_by_what_they_add():
    faults = [fault("a", ("x", "y")), fault("b", ("x",)), fault("c", ("x", "z")), fault("d", ("y",)), fault("e", ())]
    selftest = Selftest(selftest_json(faults))
    assert [(row["check"], row["kills"], row["alone"], row["adds"]) for row in selftest.checks] == [
        ("x", 3, 1, 3), ("y", 2, 1, 1), ("z", 1, 0, 0)
    ]  # fmt: skip
    assert sum(row["adds"] for row in selftest.checks) == len(selftest.killed) == 4
    assert "accuracy" in selftest.idle_checks
    ((name, row, cells, before),) = selftest.families
    assert (name, row["killed"], cells["x"], cells["z"], before) == ("dropped-tail", 4, 3, 1, None)


def test_an_earlier_selftest_stands_beside_the_last(tmp_path):
    first = [fault("a"), fault("b", ()), fault("t", (), family="tf32")]
    write_selftest(tmp_path / "first", first)
    last = write_selftest(tmp_path / "last", [fault("a"), fault("b"), fault("n", family="new")])
    for given in (tmp_path / "first", tmp_path / "first" / "selftest.json"):
        text = said(page_of(last, "--before", given))
        assert "before: 1 of 3, 33.3 %" in text
        assert "dropped-tail 2 of 2 1 of 2" in text
        assert "new 1 of 1 –" in text, "a family that was not there before"
    assert "before: " not in said(page_of(last))


def test_an_earlier_selftest_of_another_environment_is_said_to_be_one(tmp_path):
    then = {"cpu.model": "Older CPU", "cpu.cores": "2", "os.kernel": "6.1", "telemetry.steal_percent": "1"}
    now = {"cpu.model": "Example CPU", "cpu.cores": "2", "build.compiler": "g++", "telemetry.steal_percent": "2"}
    write_selftest(tmp_path / "first", environment=then, libraries={"libm": "version 6 (build-id aa)", "libx": "1"})
    last = write_selftest(tmp_path / "last", environment=now, libraries={"libm": "version 6 (build-id ab)"})
    assert read_selftest(last, tmp_path / "first").changes == [
        "cpu.model: Older CPU before, Example CPU now",
        "not known before: build.compiler",
        "not known now: os.kernel",
        "libm: version 6 (build-id aa) before, version 6 (build-id ab) now",
    ]
    heading = "The earlier selftest was of another environment"
    text = said(page_of(last, "--before", tmp_path / "first"))
    assert f"{heading} (4) cpu.model: Older CPU before, Example CPU now" in text
    assert read_selftest(last, last).changes == []
    assert heading not in said(page_of(last, "--before", last))
    assert heading not in said(page_of(last))
    old = json.loads((tmp_path / "first" / "selftest.json").read_text("utf-8"))
    del old["libraries"]  # nobody kept them
    old["environment"] = now
    (tmp_path / "first" / "selftest.json").write_text(json.dumps(old), "utf-8")
    assert read_selftest(last, tmp_path / "first").changes == ["libraries: not known before"]


def test_what_does_not_compare_is_refused(tmp_path):
    write_selftest(tmp_path / "first", tier="smoke")
    says = refusal(write_selftest(tmp_path / "last"), tmp_path / "first")
    assert says.startswith(str(tmp_path / "first" / "selftest.json") + ": a selftest of device cpu and tier smoke")


def test_a_runs_page_shows_the_selftest_it_is_given(tmp_path):
    run = write_run(tmp_path / "run", [record()])
    full_selftest(tmp_path / "selftest")
    text = said(page_of(run, "--selftest", tmp_path / "selftest"))
    assert "What the checks are worth" in text
    assert "✗ 96 of 99 seeded faults killed" in text
    assert "gemm_simd_unseen" in text
    assert "seeded faults" not in said(page_of(run))


def test_hostile_text_stays_text(tmp_path):
    bad = fault(HOSTILE, (HOSTILE,), family=HOSTILE, kernel=HOSTILE, witness=HOSTILE, what=HOSTILE, first=HOSTILE)
    survivor = fault(HOSTILE + "2", (), survives=HOSTILE, witness_checks=[HOSTILE], family=HOSTILE)
    folder = write_selftest(
        tmp_path,
        [bad, survivor],
        finished=HOSTILE,
        environment={HOSTILE: HOSTILE, "cpu.model": HOSTILE},
        libraries={HOSTILE: HOSTILE},
        not_judged={HOSTILE: HOSTILE},
        beyond_this_machine={HOSTILE: HOSTILE},
        shortfalls=[HOSTILE],
        bad_controls=[HOSTILE],
        alarms=[HOSTILE],
    )
    run = write_run(tmp_path / "run", [record()])
    for text in (page_of(folder, "--before", folder), page_of(run, "--selftest", folder)):
        page = Page(text)
        assert page.problems == []
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert "&lt;script&gt;alert(1)" in text
        assert "\u202e" not in text


def damaged(change):
    document = selftest_json([fault("a"), fault("b", ("accuracy", "fresh")), fault("c", (), family="tf32")])
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.pop("alarm_rate_at_most"), "'alarm_rate_at_most' is missing"),
        (lambda d: d.pop("schema"), "'schema' is missing"),
        (lambda d: d.update(schema={"major": 2}), "schema 2 cannot be read by this program (1); use a newer assay"),
        (lambda d: d["faults"][1].pop("survives"), "faults[1]: 'survives' is missing"),
        (lambda d: d["faults"][0].update(checks="accuracy"), "faults[0].checks: not an array"),
        (lambda d: d["all"].update(killed="2"), "all.killed: not an integer of 64 bits"),
        (lambda d: d["targets"].update(killed=99), "targets.killed: not between 0 and 1"),
        (lambda d: d.update(alarm_rate_at_most="nan"), "alarm_rate_at_most: not between 0 and 1"),
        (lambda d: d.update(device="<b>"), "device: not a word"),
        (lambda d: d["all"].update(killed=3), "all.killed: 3, but its faults are 2"),
        (lambda d: d["precision"].update(faults=2), "precision.faults: 2, but its faults are 1"),
        (lambda d: d["families"].pop("tf32"), "families.tf32.faults: None, but its faults are 1"),
        (lambda d: d["families"]["tf32"].update(witness_only=1), "families.tf32.witness_only: 1, but its faults are 0"),
        (lambda d: d["checks"]["fresh"].update(alone=1), "checks.fresh.alone: 1, but its faults are 0"),
        (lambda d: d["checks"].pop("fresh"), "checks.fresh.kills: None, but its faults are 1"),
    ],
)
def test_what_does_not_fit_is_one_line_that_names_the_field(tmp_path, change, says, capsys):
    file = tmp_path / "selftest.json"
    file.write_text(json.dumps(damaged(change)), "utf-8")
    assert refusal(tmp_path).startswith(f"{file}: {says}")
    assert main([str(tmp_path)]) == 4
    assert capsys.readouterr().err.count("\n") == 1


def test_wrong_use_is_one_line(tmp_path, capsys):
    selftest, run = write_selftest(tmp_path / "selftest"), write_run(tmp_path / "run", [record()])
    for arguments, says in (
        ([run, "--before", selftest], "--before: no selftest to set it beside; give --selftest"),
        ([selftest, "--selftest", selftest], "is a selftest itself"),
        (
            [run, "--selftest", tmp_path / "none"],
            "none: cannot be read: No such file or directory; is this a selftest's",
        ),
        ([run, "--selftest", run], "selftest.json: cannot be read"),
    ):
        assert main(list(map(str, arguments))) == 4
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1
