"""What the history shows: candidates in their place and never as alarms, epochs, what is not watched and why, and that
nothing of a record can act in the page."""

import contextlib
import re
import sqlite3

import numpy as np
import pytest
from sqlalchemy import update

from assay_dashboards.history import database, watch
from assay_dashboards.history.__main__ import main
from assay_dashboards.history.database import Database
from assay_dashboards.history.edivisive import SHORTEST
from sample_history import full_history, store, time_of
from sample_report import Page
from sample_run import record, write_run


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'h.sqlite'}"


def noisy(levels, seed=1, noise=0.005):
    levels = np.asarray(levels, dtype=float)
    return levels * np.exp(np.random.default_rng(seed).normal(0, noise, len(levels)))


def steady(count, nights, seed=1):
    """Series without a change."""
    return {f"gemm/simd:m={i}": noisy(np.full(nights, 10.0 + i), seed=(seed, i)) for i in range(count)}


def step(nights, at, change, level=20.0):
    return np.where(np.arange(nights) < at, level, level * (1 + change))


def watched(url):
    with Database(url).reading() as connection:
        history = watch.read_history(connection)
    watch.watch(history)
    return {one.kernel_id: one for one in history.series}


def shown(url, capsys, tmp_path, *arguments):
    """(what is printed, the page)"""
    capsys.readouterr()
    assert main(["show", f"--db={url}", f"--out={tmp_path / 'page'}", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[-1] == str(tmp_path / "page" / "history.html")
    return out, (tmp_path / "page" / "history.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE history_epoch SET facts = '{'", "Expecting property name"),
        ("UPDATE history_point SET p50_us = 'abc'", "could not convert string to float"),
        ("DELETE FROM history_run WHERE id = 2", "points of run 2, of which nothing else is told"),
        ("DELETE FROM history_run WHERE id = 1", "points of run 1, of which nothing else is told"),
    ],
)
def test_damage_is_told_in_one_line(tmp_path, capsys, damage, says):
    file = tmp_path / "h.sqlite"
    assert main(["import", f"--db=sqlite:///{file}", *map(str, full_history(tmp_path / "runs"))]) == 0
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute(damage)
        connection.commit()
    capsys.readouterr()
    assert main(["show", f"--db=sqlite:///{file}", f"--out={tmp_path / 'page'}"]) == 4
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"{file}: is damaged: " in err
    assert says in err


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """URL of a history of imported runs with something of everything."""
    folder = tmp_path_factory.mktemp("history")
    url = f"sqlite:///{folder / 'h.sqlite'}"
    assert main(["import", f"--db={url}", *map(str, full_history(folder / "runs"))]) == 0
    return url


def test_changes_of_imported_runs_are_candidates_in_their_place(full):
    found = watched(full)
    slower, faster, with_compiler, new = (found[f"gemm/simd:m={m},n=64,k=64,dtype=f32"] for m in (8, 9, 10, 99))
    assert [one for one in found.values() if one.candidates] == [slower, faster]
    for one, night, change in ((slower, 60, 0.05), (faster, 75, -0.04)):
        (candidate,) = one.candidates
        assert candidate.position == pytest.approx(night, abs=2)
        assert candidate.relative == pytest.approx(change, abs=0.01)
    assert with_compiler.breaks == [40]
    assert (with_compiler.state, new.state) == ("no candidate", "too short")


def test_a_candidate_is_told_with_its_pair_and_is_no_alarm(full, capsys, tmp_path):
    out, page = shown(full, capsys, tmp_path)
    assert re.search(r"^ +\+5\.\d %  +\de-\d\d  2025-03-0[123]  gemm/simd:m=8,", out, re.MULTILINE)
    assert "a candidate is to be confirmed by the A/B gate on its pair: assay gate --base REF" in out
    assert "11 series: 2 with a candidate, 8 with none, 1 too short to watch" in out
    said = " ".join(Page(page).said.split())
    assert "≈ candidates in 2 series" in said
    assert said.count("To be confirmed by the A/B gate on this pair") == 2
    assert said.count("assay gate --base REF") == 2, "the runs name no commit"
    assert "not cancelled for the machine" in said
    assert "build.compiler g++ 12.2.0 → g++ 13.1.0" in said
    assert "▲ +5." in said
    assert "▼ -3." in said or "▼ -4." in said
    assert not re.search("regress|alarm[^:]*:|✗", said.replace("It is no alarm: the A/B gate", ""), re.IGNORECASE)


@pytest.mark.parametrize(
    ("commit", "base", "of"),
    [
        ("0123456789abcdef", "0123456789abcdef", ", of 0123456789abcdef"),
        ("0123456789abcdef-dirty", "REF", ", of 0123456789abcdef-dirty"),
        ("$(reboot)", "REF", ""),
        ("", "REF", ""),
        ("--exec=x", "REF", ""),
        ("-dirty", "REF", ""),
    ],
)
def test_the_command_names_a_commit_and_nothing_else(url, capsys, tmp_path, commit, base, of):
    store(url, {"gemm/simd:m=1": noisy(step(80, 40, 0.1))}, commit=commit)
    _, page = shown(url, capsys, tmp_path)
    assert f"on this pair{of}: <code>assay gate --base {base}</code>" in page


def test_whether_the_kernels_code_is_another_is_told(url, capsys, tmp_path):
    store(url, {"gemm/simd:m=1": noisy(step(80, 40, 0.1))})
    assert "Code of the kernel: the same" in shown(url, capsys, tmp_path)[1]
    (candidate,) = watched(url)["gemm/simd:m=1"].candidates
    with Database(url).writing() as connection:
        after = update(database.point).where(database.point.c.run > candidate.position)
        connection.execute(after.values(module_hash="cd"))
    assert "Code of the kernel: another" in shown(url, capsys, tmp_path)[1]


def test_a_reference_cancels_what_the_machine_does_to_both(url, capsys, tmp_path):
    machine = noisy(step(100, 50, 0.08), noise=0.02)  # slower from a night on, and noisy, whatever runs
    own = step(100, 70, 0.03, level=1.5)
    values = {"gemm/simd:m=1": machine * noisy(np.ones(100), 2, 0.003), "gemm/simd:m=2": machine * own}
    references = {"gemm/simd:m=1": machine, "gemm/simd:m=2": machine}
    store(url, values, references=references)
    found = watched(url)
    assert found["gemm/simd:m=1"].state == "no candidate"
    (candidate,) = found["gemm/simd:m=2"].candidates
    assert candidate.position == pytest.approx(70, abs=2)
    assert candidate.relative == pytest.approx(0.03, abs=0.001)
    _, page = shown(url, capsys, tmp_path)
    assert "relative to the reference build of the same session" in page
    assert "not cancelled for the machine" not in page
    assert "of the reference" in page


def test_the_same_machine_without_a_reference_is_a_candidate(url):
    """That the test above can fail."""
    store(url, {"gemm/simd:m=1": noisy(step(100, 50, 0.08), noise=0.02)})
    assert watched(url)["gemm/simd:m=1"].state == "candidate"


def test_points_with_and_without_a_reference_are_never_compared(url):
    values = {"gemm/simd:m=1": noisy(np.full(80, 30.0))}
    store(url, values, references={"gemm/simd:m=1": np.where(np.arange(80) < 40, 0, 10.0)})
    one = watched(url)["gemm/simd:m=1"]
    assert one.breaks == [40]
    assert one.state == "no candidate"


def test_points_of_one_epoch_are_compared_whatever_lies_between_them(url):
    """Nights that take turns on two machines."""
    store(url, {"gemm/simd:m=1": noisy(step(120, 60, 0.3))}, epochs=[1, 2] * 60)
    one = watched(url)["gemm/simd:m=1"]
    assert one.state == "candidate"
    assert [candidate.position for candidate in one.candidates] == [pytest.approx(60, abs=4), pytest.approx(61, abs=4)]
    assert all(candidate.relative == pytest.approx(0.3, abs=0.02) for candidate in one.candidates)


def test_a_change_is_told_between_the_points_that_may_be_compared(url, capsys, tmp_path):
    epochs = [1] * 60 + [2] * 60 + [1] * 60
    store(url, {"gemm/simd:m=1": noisy(step(180, 120, 0.3))}, epochs=epochs)
    (candidate,) = watched(url)["gemm/simd:m=1"].candidates
    assert (candidate.last, candidate.position) == (59, 120)
    _, page = shown(url, capsys, tmp_path)
    assert f"assay gate --base {59:07x}" in page


def test_what_is_measured_now_is_not_watched_while_it_is_short(url):
    store(url, {"gemm/simd:m=1": noisy(np.full(80, 30.0))}, epochs=[1] * 60 + [2] * 20)
    assert watched(url)["gemm/simd:m=1"].state == "too short"


def test_epochs_are_watched_apart_and_all_their_chances_count(url):
    epochs = [1] * 60 + [2] * 60
    values = noisy(step(120, 60, 0.2) * step(120, 90, 0.1, level=1.0))
    store(url, {"gemm/simd:m=1": values}, epochs=epochs)
    one = watched(url)["gemm/simd:m=1"]
    (candidate,) = one.candidates
    assert candidate.position == pytest.approx(90, abs=2)
    assert candidate.relative == pytest.approx(0.1, abs=0.02)
    assert candidate.p >= 2e-6, "two epochs, two chances"


def test_an_epoch_too_short_is_not_watched_and_a_point_makes_it_long_enough(tmp_path):
    states = []
    for nights in (SHORTEST - 1, SHORTEST):
        url = f"sqlite:///{tmp_path / str(nights)}"
        store(url, steady(1, nights))
        states.append(watched(url)["gemm/simd:m=0"].state)
    assert states == ["too short", "no candidate"]


def test_what_the_latest_epoch_is_too_short_to_show_is_not_called_good(url, capsys, tmp_path):
    values = {"gemm/simd:m=1": noisy(np.r_[np.full(60, 5.0), np.full(SHORTEST - 1, 15.0)])}
    store(url, values, epochs=[1] * 60 + [2] * (SHORTEST - 1))
    assert (watched(url)["gemm/simd:m=1"].state, watched(url)["gemm/simd:m=1"].p) == ("too short", None)
    _, page = shown(url, capsys, tmp_path)
    assert "nothing watched yet" in page
    assert "no candidate" not in page


@pytest.mark.parametrize("columns", [{"device": "unknown"}, {"unit": "unknown"}, {"unit": "unknown; 2 threads"}])
def test_devices_that_cannot_be_told_apart_are_not_watched(url, capsys, tmp_path, columns):
    store(url, {"gemm/simd:m=1": noisy(step(80, 40, 0.1))}, **columns)
    assert watched(url)["gemm/simd:m=1"].state == "device unknown"
    out, _ = shown(url, capsys, tmp_path)
    assert "1 of an unknown device, not watched" in out


def test_where_nothing_is_watched_nothing_is_called_good(url, capsys, tmp_path):
    store(url, steady(2, SHORTEST - 1))
    _, page = shown(url, capsys, tmp_path)
    assert '<span class="badge banner blank" id="headline">○ nothing watched yet</span>' in page
    assert "no candidate" not in page
    assert page.count('data-label="p"></td>') == 2


def test_a_series_that_is_not_watched_has_no_p(full, capsys, tmp_path):
    assert watched(full)["gemm/simd:m=99,n=64,k=64,dtype=f32"].p is None
    _, page = shown(full, capsys, tmp_path)
    told = re.findall('data-label="p">(.*?)</td>', page)
    assert [p for p in told if not p] == [""] == told[-1:], "the others are nearer to a change"


def test_a_history_without_latencies_says_so(url, capsys, tmp_path):
    runs = [write_run(tmp_path / str(night), [record()], started=time_of(night)) for night in range(2)]
    assert main(["import", f"--db={url}", *map(str, runs)]) == 0
    capsys.readouterr()
    assert main(["show", f"--db={url}", f"--out={tmp_path / 'page'}"]) == 4
    assert capsys.readouterr().err.endswith("h.sqlite: no latencies in 2 runs; import runs that timed cases\n")


def test_a_history_of_times_that_are_none_is_shown(url, capsys, tmp_path):
    store(url, {"gemm/simd:m=1": np.zeros(60)})
    out, page = shown(url, capsys, tmp_path)
    assert "1 too short to watch" in out
    assert "nothing watched yet" in page


def test_a_fact_that_was_not_kept_is_not_called_none(url, capsys, tmp_path):
    facts = {1: {"cpu.model": "x"}, 2: {"cpu.model": "x", "cpu.cores": "2", "library a.so": "1"}}
    store(url, {"gemm/simd:m=1": noisy(np.full(80, 5.0))}, epochs=[1] * 40 + [2] * 40, facts=facts)
    _, page = shown(url, capsys, tmp_path)
    assert "cpu.cores not kept → 2; library a.so none → 1" in page


def test_a_change_too_small_for_the_gate_to_confirm_is_none(url):
    store(url, {f"gemm/simd:m={c}": noisy(step(100, 50, c / 1000), noise=0.0003) for c in (2, 4)})
    found = watched(url)
    assert found["gemm/simd:m=2"].state == "no candidate"
    assert found["gemm/simd:m=4"].state == "candidate"


def test_what_was_not_measured_is_no_point(url, capsys, tmp_path):
    values = noisy(np.full(60, 10.0))
    values[[3, 4]] = 0.0, -5.0
    store(url, {"gemm/simd:m=1": values, "gemm/simd:m=2": np.zeros(60)})
    found = watched(url)
    assert len(found["gemm/simd:m=1"].values) == 58
    assert found["gemm/simd:m=2"].state == "too short"
    shown(url, capsys, tmp_path)


def test_points_are_in_the_order_of_their_runs_time(tmp_path):
    url = f"sqlite:///{tmp_path / 'h.sqlite'}"
    store(url, {"gemm/simd:m=1": np.arange(60) + 1.0})
    with Database(url).writing() as connection:
        for night in range(60):
            where = update(database.run).where(database.run.c.id == night + 1)
            connection.execute(where.values(started=time_of(59 - night)))
    assert watched(url)["gemm/simd:m=1"].values.tolist() == list(range(60, 0, -1))


def test_of_many_series_without_a_change_few_nights_show_a_candidate(tmp_path):
    nights = []
    for seed in range(6):
        url = f"sqlite:///{tmp_path / str(seed)}"
        store(url, steady(150, 40, seed))
        nights.append(sum(bool(one.candidates) for one in watched(url).values()))
    assert sum(count > 0 for count in nights) <= 1


def test_among_many_series_those_that_changed_are_found(url):
    values = steady(300, 60)
    changed = {f"softmax/simd:cols={i}": noisy(step(60, 40, 0.05), seed=i) for i in range(6)}
    store(url, values | changed)
    found = {name for name, one in watched(url).items() if one.candidates}
    assert found == set(changed)


def test_a_filter_shows_less_and_changes_no_judgement(full, capsys, tmp_path):
    _, page = shown(full, capsys, tmp_path, "--kernel", "*m=9,*")
    assert page.count("<figure") == 1
    assert 'candidate</span> <b class="mono">gemm/simd:m=9,' in page
    assert '1 of <span class="mono">*m=9,*</span>' in page
    out, _ = shown(full, capsys, tmp_path, "--kernel", "gemm/*")
    assert "11 series: 2 with" in out
    assert main(["show", f"--db={full}", "--kernel", "softmax/*", f"--out={tmp_path}"]) == 4
    assert "--kernel softmax/*: matches none of 11 series in sqlite:///" in capsys.readouterr().err


def test_the_page_of_many_series_stays_small_and_says_what_it_leaves_out(url, capsys, tmp_path):
    values = steady(2400, 3) | {f"gemm/mma:m={i}": one for i, one in enumerate(steady(20, SHORTEST).values())}
    values |= {f"softmax/simd:cols={i}": noisy(step(60, 30, 0.05), seed=i) for i in range(60)}
    store(url, values)
    out, page = shown(url, capsys, tmp_path)
    said = " ".join(Page(page).said.split())
    count = int(re.search(r"candidates in (\d+) series", said)[1])
    assert 50 <= count <= 61
    assert "and 4" in out
    assert "more in the page" in out
    assert "The 40 largest are drawn; assay history show --kernel GLOB draws others." in said
    assert "480 are left out here" in said
    assert page.count("<figure") == 50
    assert page.count("<tr data-text") == 2000
    assert len(page) < 3_000_000


def test_a_long_series_is_drawn_with_its_extremes(url, capsys, tmp_path):
    values = noisy(np.full(1500, 100.0))
    values[700] = 333.0
    store(url, {"gemm/simd:m=1": values})
    _, page = shown(url, capsys, tmp_path)
    assert ">333<" in page
    assert len(page) < 60_000


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}`|@all\\u202e&amp;"


def test_hostile_texts_stay_text(url, capsys, tmp_path):
    facts = {1: {HOSTILE: HOSTILE, "library x": HOSTILE}, 2: {HOSTILE: "x" * 10_000, "library y": HOSTILE}}
    columns = {"metric": HOSTILE, "device": HOSTILE, "unit": HOSTILE, "module_hash": HOSTILE, "commit": HOSTILE}
    values = {f"gemm/{HOSTILE}:m=1": noisy(step(90, 60, 0.1)), "gemm/simd:m=" + "9" * 1_000_000: noisy(np.ones(90))}
    store(url, values, epochs=[1] * 30 + [2] * 60, facts=facts, **columns)
    out, page = shown(url, capsys, tmp_path)
    parsed = Page(page)
    assert parsed.problems == []
    assert parsed.tags.count("script") == 1
    assert "img" not in parsed.tags
    assert "alert(1)" in parsed.said
    assert len(page) < 200_000
    assert max(map(len, out.splitlines())) < 400
