"""What the reader accepts and refuses, against the schema and against lines that the C++ writer made."""

import json
import math
from pathlib import Path

import jsonschema
import pytest

from assay_dashboards.__main__ import main
from assay_dashboards.load import OUTCOMES, load
from assay_dashboards.plain import InputError
from sample_run import error_summary, full_run, latency_summary, record, run_json, write_run

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "harness/record/record.schema.json").read_text("utf-8"))
WRITTEN = Path(__file__).parent / "data" / "written"  # harness/tests/record_test.cpp keeps it as the writer writes


def schema_errors(value):
    return [e.message for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(value)]


def refusal(folder):
    with pytest.raises(InputError) as caught:
        load(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_lines_of_the_writer_fit_the_schema_and_are_read():
    lines = (WRITTEN / "records.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 2
    for line in lines:
        assert schema_errors(json.loads(line)) == []
    loaded = load(WRITTEN)
    assert math.isnan(loaded.records[1]["errors"][0]["max_q"])
    assert loaded.records[1]["errors"][0]["worst_got"] == -math.inf
    assert loaded.records[1]["latency"][0]["p50_us"] == 12.5
    assert loaded.run["exit_code"] == 1
    assert loaded.run["kernels"][0]["contract"]["promised"] == ["same-run", "same-threads"]


def test_words_of_the_schema_are_those_of_the_writer_and_of_this_reader():
    tables = json.loads((WRITTEN / "run.json").read_text("utf-8"))["tables"]
    assert SCHEMA["$defs"]["verdict"]["enum"] == [row["verdict"] for row in tables["verdicts"]]
    assert sorted(SCHEMA["$defs"]["outcome"]["enum"]) == sorted(OUTCOMES)


def test_every_field_of_the_schema_is_written():
    line = json.loads((WRITTEN / "records.jsonl").read_text("utf-8").splitlines()[1])
    assert set(line) == set(SCHEMA["properties"]) == set(SCHEMA["required"])
    for key, name in {"checks": "check_result", "errors": "error_summary", "seeds": "seed_statistics",
                      "latency": "latency_summary"}.items():  # fmt: skip
        definition = SCHEMA["$defs"][name]
        where_there_is_one = {"of_case"} & set(definition["properties"])
        assert set(line[key][0]) == set(definition["properties"]) == set(definition["required"]) | where_there_is_one


def test_sample_records_fit_the_schema(tmp_path):
    full_run(tmp_path)
    for line in (tmp_path / "records.jsonl").read_text("utf-8").splitlines():
        assert schema_errors(json.loads(line)) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda r: r.pop("repro"), "'repro' is missing"),
        (lambda r: r.update(op=3), "op: not a string"),
        (lambda r: r.update(workspace_bytes=-1), "workspace_bytes: negative"),
        (lambda r: r.update(workspace_bytes=True), "workspace_bytes: not an integer"),
        (lambda r: r.update(workspace_bytes=2**64), "workspace_bytes: not an integer of 64 bits"),
        (lambda r: r.update(verdict="passed"), "verdict: 'passed' is not in run.json's table"),
        (lambda r: r["checks"][2].update(outcome="ok"), "checks[2].outcome: 'ok' is not one of"),
        (lambda r: r["checks"][0].update(check="<b>"), "checks[0].check: not a word"),
        (lambda r: r.update(errors=[error_summary(max_q="big")]), "errors[0].max_q: not a number"),
        (lambda r: r.update(errors=[error_summary(histogram=[1, -1])]), "errors[0].histogram[1]: negative"),
        (lambda r: r.update(latency=[latency_summary(p50_us=None)]), "latency[0].p50_us: not a number"),
        (lambda r: r.update(selection=["a"]), "selection: not an object"),
        (lambda r: r.update(schema={"major": 2, "minor": 0}), "schema 2 cannot be read"),
        (lambda r: r.update(schema=1), "schema: not an object"),
    ],
)
def test_bad_records_are_refused_by_file_line_and_field(tmp_path, damage, says):
    good, bad = record(), record("gemm/simd:m=9")
    damage(bad)
    write_run(tmp_path, [good, bad])
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path / 'records.jsonl'}:2: ")
    assert says in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("garbage", "not JSON"),
        ("", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":NaN}', "NaN is not JSON"),
        ('{"a":1e999}', "out of range"),
        ('{"a":' + "9" * 5000 + "}", "not JSON"),
        ('{"verdict":"wrong","verdict":"pass"}', "twice in one object"),
        ("3", "not an object"),
    ],
)
def test_hostile_lines_are_refused(tmp_path, line, says):
    write_run(tmp_path, [record()], tail=line + "\n")
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path / 'records.jsonl'}:2: ")
    assert says in message


def test_bytes_that_are_not_utf8_are_refused(tmp_path):
    write_run(tmp_path, [record()])
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'{"op":"\xff"}\n')
    assert "records.jsonl:2: not JSON" in refusal(tmp_path)


def test_the_same_key_twice_is_refused(tmp_path):
    write_run(tmp_path, [record(), record()])
    assert "records.jsonl:2: kernel_id: 'gemm/simd:m=8" in refusal(tmp_path)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(("hidden", "shown"), [("\x7f", "\\x7f"), ("\u202e", "\\u202e"), ("\x00", "\\x00")])
def test_what_cannot_be_seen_is_shown_however_it_is_written(tmp_path, hidden, shown, ascii_only):
    line = json.dumps(record(reason=f"a{hidden}b"), ensure_ascii=ascii_only)
    write_run(tmp_path, [], tail=line + "\n")
    assert load(tmp_path).records[0]["reason"] == f"a{shown}b"


def test_a_torn_last_line_is_left_out_and_said(tmp_path):
    write_run(tmp_path, [record()], tail='{"schema":{"maj')
    loaded = load(tmp_path)
    assert len(loaded.records) == 1
    assert "torn" in loaded.notes[0][1]


def test_a_newer_run_is_refused_and_a_newer_minor_is_read(tmp_path):
    write_run(tmp_path, [record(later=1, schema={"major": 1, "minor": 9})], later=2)
    assert len(load(tmp_path).records) == 1
    write_run(tmp_path, [record()], schema={"major": 2, "minor": 0})
    assert refusal(tmp_path).startswith(f"{tmp_path / 'run.json'}: schema 2 cannot be read")


def test_bad_run_json_names_the_key(tmp_path):
    write_run(tmp_path, [record()])
    value = run_json([record()])
    value["kernels"][0]["contract"]["arithmetic"]["split_k"] = "one"
    (tmp_path / "run.json").write_text(json.dumps(value), "utf-8")
    assert "run.json: kernels[0].contract.arithmetic.split_k: not an integer" in refusal(tmp_path)


def test_a_pin_is_in_a_state_that_there_is(tmp_path):
    pin = {"platform": "x", "state": "pined", "differences": [], "unknown": []}
    write_run(tmp_path, [record()], pin=pin)
    assert "run.json: pin.state: 'pined' is not one of pinned, mismatched" in refusal(tmp_path)
    write_run(tmp_path, [record()], pin=pin | {"state": "pinned", "differences": "none"})
    assert "run.json: pin.differences: not an array" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["run.json", "records.jsonl"])
def test_the_command_says_one_line_and_4(tmp_path, capsys, name):
    write_run(tmp_path, [record()])
    (tmp_path / name).unlink()
    assert main([str(tmp_path)]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert str(tmp_path / name) in err


def test_the_command_says_4_to_unknown_flags_and_unwritable_places(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--outt", "x"])
    assert caught.value.code == 4
    write_run(tmp_path, [record()])
    (tmp_path / "file").write_text("x")
    assert main([str(tmp_path), "--out", str(tmp_path / "file" / "report")]) == 4
    assert "make it writable" in capsys.readouterr().err
