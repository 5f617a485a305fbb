"""The page of a canary: the verdict and its reasons first, what it refuses, and that nothing in it can act."""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest

from assay_dashboards.__main__ import main
from assay_dashboards.canary import CHANGES, KINDS, MINOR, RECORD_VERDICTS, VERDICTS, read_canary
from assay_dashboards.latency import METRICS, OUTCOMES
from assay_dashboards.plain import InputError
from sample_canary import (
    GEMM,
    canary_json,
    case,
    first_call,
    full_canary,
    invalid_canary,
    latency,
    not_asked,
    reason,
    side,
    write_canary,
)
from sample_report import Page
from sample_run import record, write_run
from test_report import HOSTILE

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "harness/gate/canary.schema.json").read_text("utf-8"))
RECORD_SCHEMA = json.loads((ROOT / "harness/record/record.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
WRITTEN = Path(__file__).parent / "data" / "written"  # kept by harness/tests/canary_report_test.cpp


def page_of(folder):
    assert main([str(folder)]) == 0
    return (folder / "report" / "index.html").read_text("utf-8")


def said(page):
    return re.sub(r"\s+", " ", Page(page).said)


def refusal(folder):
    with pytest.raises(InputError) as caught:
        read_canary(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_the_program_wrote_is_read():
    canary = read_canary(WRITTEN)
    assert canary.told["verdict"] == "REJECT"
    assert [shape["change"] for shape in canary.shapes] == ["newly wrong", "undecided", "moved"]
    assert canary.rows[0]["slowest"][2] == pytest.approx(1.3)


def unclocked():
    return first_call() | {"pin_us": 0.0, "ratio": None, "low": None, "high": None}


def fits(value):
    return VALIDATOR.is_valid(value)


def test_what_the_program_wrote_and_the_samples_fit_the_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    written = json.loads((WRITTEN / "canary.json").read_text("utf-8"))
    untold = canary_json([case(change="undecided", candidate="none")], first_calls=[unclocked()])
    for value in (written, full_canary(), canary_json([case()]), not_asked([case()]), invalid_canary(), untold):
        assert [error.message for error in VALIDATOR.iter_errors(value)] == []


def test_words_of_the_schema_are_those_of_the_record_and_of_this_reader():
    words = {name: part["enum"] for name, part in SCHEMA["$defs"].items() if "enum" in part}
    assert words["record_verdict"] == RECORD_SCHEMA["$defs"]["verdict"]["enum"] == list(RECORD_VERDICTS)
    assert words["verdict"] == list(VERDICTS)
    assert words["change"] == list(CHANGES)
    assert words["outcome"] == list(OUTCOMES)
    assert SCHEMA["$defs"]["reason"]["properties"]["kind"]["enum"] == list(KINDS)
    assert SCHEMA["$defs"]["pair"]["properties"]["metric"]["enum"] == list(METRICS)


def objects_of(part, name="canary"):
    """Of a schema: (name, properties, those required) of every object with fields, each of which is strict."""
    if isinstance(part, list):
        for i, one in enumerate(part):
            yield from objects_of(one, f"{name}[{i}]")
    elif isinstance(part, dict):
        if "properties" in part and part.get("type") == "object":
            assert part["additionalProperties"] is False, name
            yield name, set(part["properties"]), set(part["required"])
        for key, one in part.items():
            yield from objects_of(one, f"{name}.{key}")


def test_every_field_is_asked_for_but_lines_that_replay_a_reason_and_what_older_ones_lack():
    objects = {name: (fields, required) for name, fields, required in objects_of(SCHEMA)}
    optional = {name: fields - required for name, (fields, required) in objects.items() if fields != required}
    assert optional == {"canary.$defs.reason": {"repro"}, "canary.$defs.side": {"tells"}}
    written = json.loads((WRITTEN / "canary.json").read_text("utf-8"))
    assert objects["canary"][0] == set(written) == set(full_canary())


def places_of(value, path=()):
    yield path
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places_of(one, (*path, key))


def changed(document, path, change):
    """A copy in which `change` was done to what holds the last key of `path`."""
    value = copy.deepcopy(document)
    change(reached(value, path[:-1]), path[-1])
    return value


def reached(value, path):
    for key in path:
        value = value[key]
    return value


def shown(path):
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def hostile_variants(document):
    """(value, what a refusal of it names) of a document in which one thing is other than it was."""
    wrong = (None, True, "nan", -1, 1.5, [])
    for path in places_of(document):
        if not path:
            continue
        for one in wrong:
            yield changed(document, path, lambda holder, key, one=one: holder.__setitem__(key, one)), shown(path)
        if isinstance(path[-1], str):
            missing = ": ".join(filter(None, (shown(path[:-1]), f"'{path[-1]}' is missing")))
            yield changed(document, path, lambda holder, key: holder.pop(key)), missing
        if isinstance(path[-1], str) and path[-1] == next(iter(reached(document, path[:-1]))):  # once of each object
            yield changed(document, path, lambda holder, _: holder.update({"more\n": 1})), "more\\n"


def test_whatever_the_schema_refuses_the_reader_refuses_by_file_and_field(tmp_path):
    seen = set()
    small = json.loads(json.dumps(full_canary()))  # in which no two places are one object
    for part in (small, small["latency"]):  # one of each is enough
        part["cases"] = part["cases"][:1]
    small["kernels"], small["reasons"] = small["kernels"][:1], small["reasons"][:1]
    small["kernels"][0] |= {"planned": 1, "cases": {"newly wrong": 1}}
    for one in ("pin", "candidate"):
        small[one]["set"]["files"], small[one]["loaded"] = small[one]["set"]["files"][:1], small[one]["loaded"][:1]
    read_canary(write_canary(tmp_path, small))
    for value, names in hostile_variants(small):
        if fits(value):
            continue
        said_so = refusal(write_canary(tmp_path, value))
        names = names if not names.startswith("schema.major") else "schema"  # which comes before all others
        assert said_so.startswith(f"{tmp_path / 'canary.json'}: "), said_so
        assert names in said_so, said_so
        seen.add(names)
    for one in (
        "'out_of_time' is missing",
        "cases[0]: 'moved' is missing",
        "more\\n",
        "latency.cases[0].pairs[0].p_slower",
        "candidate.set.expected",
        "reasons[0].repro",
        "kernels[0].cases.newly wrong",
        "first_calls[0].processes",
        "environment_label.state",
    ):
        assert one in seen


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "PASS"),
        (("cases", 0, "pin"), "fine"),
        (("cases", 0, "kernel_id"), "gemm"),
        (("kernels", 0, "cases"), {"gone": 1}),
        (("kernels", 0, "cases"), {"same": 0}),
        (("kernels", 0, "bits_moved"), -1),
        (("latency", "cases", 0, "pairs", 0, "outcome"), "slower"),
        (("latency", "cases", 0, "pairs"), []),
        (("latency", "exit_code"), 5),
        (("latency", "schema"), {"major": 2, "minor": 0}),
        (("first_calls", 0, "pin_us"), -1),
        (("first_calls", 0, "ratio"), 0),
        (("asked", "threads"), 0),
        (("reasons", 0, "kind"), "others"),
        (("asked", "tier"), "all"),
    ],
)
def test_words_and_numbers_that_cannot_be_fit_neither(tmp_path, path, value):
    told = changed(full_canary(), path, lambda holder, key: holder.__setitem__(key, value))
    assert not fits(told)
    assert shown(path) in refusal(write_canary(tmp_path, told))


def test_what_a_newer_minor_schema_adds_is_ignored(tmp_path):
    assert json.loads((WRITTEN / "canary.json").read_text("utf-8"))["schema"]["minor"] == MINOR
    newer = full_canary(schema={"major": 1, "minor": MINOR + 1}, more=1)
    assert "more" not in read_canary(write_canary(tmp_path, newer)).told
    assert "canary.json: 'more' is unknown" in refusal(write_canary(tmp_path, full_canary(more=1)))
    told = canary_json([case(more=1)])
    assert "canary.json: cases[0]: 'more' is unknown" in refusal(write_canary(tmp_path, told))


def test_the_verdict_and_its_reasons_come_first(tmp_path):
    text = said(page_of(write_canary(tmp_path)))
    assert "✗ REJECT exit code 1" in text
    order = ["newly wrong gemm/openblas", "slower gemm/openblas", "other arithmetic gemm/openblas", "Kernels"]
    places = [text.index(what, text.index("Reasons")) for what in order]
    assert places == sorted(places)
    assert "tier ci, 2 threads, the whole corpus" in text
    assert "0.3.21 → 0.3.29" in text


@pytest.mark.parametrize(
    ("reasons", "symbol"),
    [
        ([], "✓ PROMOTE"),
        ([reason("HOLD", "unknown")], "≈ HOLD"),
        ([reason("INVALID", "voids")], "⊘ INVALID"),
        ([reason("PROMOTE", "fixed"), reason("HOLD", "worse"), reason("REJECT")], "✗ REJECT"),
    ],
)
def test_each_verdict_is_said_by_word_and_symbol(tmp_path, reasons, symbol):
    assert symbol in said(page_of(write_canary(tmp_path, canary_json([case()], reasons))))


def test_a_reason_has_the_lines_that_replay_it_on_both_sides(tmp_path):
    text = said(page_of(write_canary(tmp_path)))
    for version in ("pin", "candidate"):
        assert f"build/bin/assay repro '{GEMM}' --library openblas={version}" in text
    assert "build/bin/assay repro ID --library openblas=0.3.29" in text


def test_kernels_show_errors_latency_and_first_calls(tmp_path):
    text = said(page_of(write_canary(tmp_path)))
    assert "0.25 → 0.26" in text
    assert "0.01 → none" in text
    assert "+30.0 % +28.7 % to +31.3 %" in text
    assert "-20.0 %" in text
    assert re.search(r"×1\.50 (?!\d)", text), "no interval"
    assert "×1.10 1.00 to 1.20" in text
    assert "isa: Haswell -> SkylakeX" in text


def test_cases_that_are_the_same_and_were_not_timed_are_left_out_of_the_shapes(tmp_path):
    canary = read_canary(write_canary(tmp_path))
    assert [shape["change"] for shape in canary.shapes] == ["newly wrong", "as before", "fixed", "moved"]
    timed = canary_json([case()], latency=latency((GEMM + " warm", "pass", 0.0)), first_calls=[first_call()])
    assert len(read_canary(write_canary(tmp_path, timed)).shapes) == 1


def test_reasons_of_one_kind_and_kernel_share_a_card(tmp_path):
    reasons = [reason(what=f"gemm/openblas:m={m}", text="wrong (accuracy): " + "x" * 60 + str(m)) for m in range(40)]
    text = said(page_of(write_canary(tmp_path, canary_json([case()], reasons))))
    assert "and 39 more" in text
    assert text.count("✗ REJECT newly wrong") == 1


def test_what_was_not_asked_is_said(tmp_path):
    told = not_asked([case()], "gemm/openblas", tier="smoke", modules=["mine.so"])
    text = said(page_of(write_canary(tmp_path, told)))
    assert "tier smoke, 1 threads, gemm/openblas alone, modules mine.so, correctness alone" in text
    assert "latency not known: it was not asked for" in text
    text = said(page_of(write_canary(tmp_path, canary_json([case()], latency=latency(), out_of_time=True))))
    assert "ended when the time was up" in text


def test_the_same_build_is_said(tmp_path):
    text = said(page_of(write_canary(tmp_path, canary_json([case()], same_build=True))))
    assert "Pin and candidate are the same build, loaded from two paths." in text


def test_libraries_are_told_by_build_and_package(tmp_path):
    asked = side("0.3.29", "bb", environment={"OPENBLAS_CORETYPE": "Haswell"}, loader="/set/ld.so")
    text = said(page_of(write_canary(tmp_path, canary_json([case()], candidate=asked))))
    for what in ("aa", "bb", "5e" * 32, "OPENBLAS_CORETYPE=Haswell", "set/ld.so", "1 more files", "/lib/0.3.21.so"):
        assert what in text
    assert "and not its own" not in text


def test_what_no_pin_tells_of_the_environment_is_told(tmp_path):
    told = canary_json([case()])
    assert "unknown: " not in said(page_of(write_canary(tmp_path / "without", told)))
    told["environment_label"]["unknown"] = ["libz (version 1, which the pin does not list)"]
    text = said(page_of(write_canary(tmp_path / "with", told)))
    assert "unknown: libz (version 1, which the pin does not list)" in text


def test_a_file_that_came_in_the_place_of_another_is_told(tmp_path):
    told = invalid_canary("candidate: libopenblas.so.0: /lib/0.3.21.so was loaded")
    told["candidate"]["loaded"] = told["pin"]["loaded"] + [
        {"path": "/lib/copy.so", "version": "", "build_id": "bb"},
        {"path": "libopenblas.so.0", "version": "", "build_id": "bb"},
    ]
    text = said(page_of(write_canary(tmp_path, told)))
    others = "/lib/0.3.21.so 0.3.21, build-id aa /lib/copy.so , build-id bb pin, package"
    assert "Loaded under the candidate, and not its own " + others in text
    assert "under the pin, and not its own" not in text


def test_one_of_which_nothing_ran_has_a_page_that_says_what_is_not_known(tmp_path):
    told = invalid_canary()
    told["pin"]["set"]["files"] = []
    text = said(page_of(write_canary(tmp_path, told)))
    for what in (
        "candidate: cannot be loaded: no file",
        "threads not known, the whole corpus, with latency",
        "latency not known: nothing ran",
        "environment not known, since nothing ran",
    ):
        assert what in text
    assert "unpinned" not in text


def test_a_case_that_one_side_has_no_record_of_was_not_judged(tmp_path):
    why = reason("HOLD", "unknown", text="not judged under the candidate: there is no record of it")
    text = said(page_of(write_canary(tmp_path, canary_json([case(change="undecided", candidate="none")], [why]))))
    assert "undecided pass not judged" in text


def test_a_first_call_that_no_clock_saw_is_not_known(tmp_path):
    told = canary_json([case()], latency=latency((GEMM + " warm", "pass", 0.0)), first_calls=[unclocked()])
    assert "×" not in said(page_of(write_canary(tmp_path, told)))
    assert "+0.0 % -1.0 % to +1.0 % not known" in said(page_of(tmp_path))


def test_a_folder_is_shown_with_the_version_that_the_library_tells(tmp_path):
    told = full_canary()
    told["pin"]["tells"] = ["0.3.21"]
    told["candidate"]["tells"] = ["0.3.29", "0.3.30"]
    told["candidate"]["set"]["version"] = "/opt/new/lib"
    page = page_of(write_canary(tmp_path, told))
    title = f"openblas {told['pin']['set']['version']} → /opt/new/lib (tells 0.3.29, 0.3.30)"
    assert title in said(page)
    assert f"<title>REJECT: {title}" in page
    del told["candidate"]["tells"]  # as earlier canaries lack it
    assert f"{told['pin']['set']['version']} → /opt/new/lib ✗" in said(page_of(write_canary(tmp_path, told)))


def test_hostile_text_stays_text(tmp_path):
    told = full_canary(library=HOSTILE)
    told["pin"]["tells"] = told["candidate"]["tells"] = [HOSTILE]
    for one in told["reasons"]:
        one["text"] = one["what"] = one["kernel"] = HOSTILE
    told["candidate"]["set"]["version"] = told["candidate"]["repro"] = HOSTILE
    told["environment"][HOSTILE] = HOSTILE
    told["cases"][1]["selection"] = told["latency"]["cases"][0]["pairs"][0]["note"] = HOSTILE
    told["asked"]["filters"] = [HOSTILE]
    page = Page(page_of(write_canary(tmp_path, told)))
    assert page.problems == []
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert "{{7*7}}" in page.said
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "PASS"}, "verdict: 'PASS' is not one of REJECT, "),
        ({"verdict": "PROMOTE", "exit_code": 0}, "verdict: PROMOTE, but its reasons ask for REJECT"),
        ({"exit_code": 0}, "exit_code: 0 is not that of REJECT"),
        ({"cases": [case(change="newly wrong")]}, "kernels: gemm/openblas has 2 cases planned, and 1"),
        ({"cases": [case(change="gone")]}, "cases[0].change: 'gone' is not one of newly wrong, "),
        ({"schema": {"major": 9, "minor": 0}}, "schema 9 cannot be read by this program"),
        ({"latency": {}}, "latency: 'schema' is missing"),
        ({"latency": latency((GEMM + " warm", "pass", 0.0)) | {"more": 1}}, "latency: 'more' is unknown"),
        ({"latency": latency(*[(GEMM + " warm", "pass", 0.0)] * 2)}, f"latency.cases[1].case: '{GEMM} warm' twice"),
        ({"cases": [case("gemm/other:m=3")]}, "cases[0].kernel_id: gemm/other is not in kernels"),
        ({"kernels": full_canary()["kernels"] * 2}, "kernels[2].kernel: gemm/openblas twice"),
        (
            {"cases": [case(candidate="none")]},
            "cases[0].change: same of a case that was not judged on both sides",
        ),
        ({"asked": not_asked([])["asked"]}, "asked.latency: false, and there is latency"),
        ({"latency": None}, "why_no_latency: empty, and there is no latency"),
        ({"kernels": 3}, "kernels: not an array"),
        ({"judged_seconds": 10**400}, "judged_seconds: out of range"),
        ({"environment": {"a\nb": 3}}, "environment.a\\nb: not a string"),
    ],
)
def test_what_does_not_fit_is_one_line_that_names_the_field(tmp_path, change, says):
    said_so = refusal(write_canary(tmp_path, full_canary() | change))
    assert says in said_so
    assert "canary.json" in said_so


@pytest.mark.parametrize("change", [{"refused": 1}, {"cases": {"newly wrong": 1}}, {"cases": {"same": 1}}])
def test_what_is_refused_and_what_is_judged_make_up_what_was_planned(tmp_path, change):
    told = canary_json([case(), case(change="newly wrong")], [reason()])
    read_canary(write_canary(tmp_path, told))
    told["kernels"][0] |= change
    refused, judged = told["kernels"][0]["refused"], sum(told["kernels"][0]["cases"].values())
    says = f"kernels: gemm/openblas has 2 cases planned, and {refused} refused with {judged} judged"
    assert says in refusal(write_canary(tmp_path, told))


def test_arms_that_are_not_as_asked_outweigh_what_fails(tmp_path):
    told = full_canary(verdict="INVALID", exit_code=3)
    told["reasons"].insert(0, reason("INVALID", "arms", "", "candidate: loads the pin's file"))
    assert "⊘ INVALID" in said(page_of(write_canary(tmp_path, told)))


def test_wrong_use_is_one_line(tmp_path, capsys):
    folder = write_canary(tmp_path / "canary")
    assert main([str(folder), "--selftest", str(tmp_path)]) == 4
    assert "is a canary, beside which no selftest is shown" in capsys.readouterr().err


def test_a_runs_folder_is_a_run(tmp_path):
    folder = write_run(tmp_path, [record()])
    write_canary(folder)
    assert "REJECT" not in said(page_of(folder))
