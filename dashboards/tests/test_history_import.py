"""Runs into the history: what is kept of them, that importing again changes nothing, that a kill leaves a run whole or
as it was, and what is refused. On SQLite and on a PostgreSQL server."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from assay_dashboards.history.__main__ import main
from assay_dashboards.history.database import VERSION, Database, epoch, metadata, point, run, series, version
from sample_history import ENVIRONMENT, time_of, timed, write_night
from sample_latency import case_of, write_comparison
from sample_run import kernel_entry, latency_summary, record, write_run

DASHBOARDS = Path(__file__).parents[1]


def import_runs(url, *folders):
    return main(["import", f"--db={url}", *map(str, folders)])


def rows(url, table):
    with Database(url).reading() as connection:
        return [row._asdict() for row in connection.execute(select(table).order_by(*table.primary_key.columns))]


def contents(url):
    return {table.name: rows(url, table) for table in metadata.sorted_tables}


def points_by_series(url):
    names = {row["id"]: f"{row['kernel_id']} {row['metric']}" for row in rows(url, series)}
    return {names[row["series"]]: row for row in rows(url, point)}


def test_a_point_is_what_the_record_says(url, tmp_path, capsys):
    latencies = [
        latency_summary("warm", p50_us=1.5, p90_us=2.5, p99_us=1e-300, tail_mass=0.25),
        latency_summary("cold", p50_us=1 / 3),
    ]
    made = [record("gemm/simd:m=1", latency=latencies, module_hash="ab"), record("gemm/simd:m=2")]
    folder = write_run(tmp_path / "run", made, commit="0123abc", started="2025-03-01T01:00:00+02:00")
    assert import_runs(url, folder) == 0
    assert capsys.readouterr().out == f"{folder}: 2 points of 2 records\n"
    found = points_by_series(url)
    assert set(found) == {"gemm/simd:m=1 warm", "gemm/simd:m=1 cold"}
    warm = found["gemm/simd:m=1 warm"]
    assert (warm["p50_us"], warm["p90_us"], warm["p99_us"], warm["tail_mass"]) == (1.5, 2.5, 1e-300, 0.25)
    assert (warm["verdict"], warm["module_hash"], warm["reference_us"]) == ("pass", "ab", None)
    assert found["gemm/simd:m=1 cold"]["p50_us"] == 1 / 3
    (only,) = rows(url, run)
    assert (only["started"], only["commit"], only["records"]) == ("2025-02-28T23:00:00Z", "0123abc", 2)


def test_a_pinned_base_of_the_latency_gate_is_the_reference(url, tmp_path):
    made = [record(f"gemm/simd:m={m}", latency=[latency_summary("warm", p50_us=22.0)]) for m in (1, 2)]
    folder = write_run(tmp_path, made)
    read = {"blocks": 28, "estimate": math.log(1.1)}
    gated = case_of("gemm/simd:m=1 warm", [], pairs={"p50": read})
    earlier = read | {"reason": "called so by an earlier gate of this base and change"}
    of_earlier = case_of("gemm/simd:m=2 warm", [], ("regress", "pass", "pass", "pass"), pairs={"p50": earlier})
    write_comparison(folder, [gated, of_earlier], base="modules-1234")
    assert import_runs(url, folder) == 0
    assert [row["reference_us"] for row in rows(url, point)] == [None, None]
    assert import_runs(url, "--reference", folder) == 0
    found = points_by_series(url)
    assert found["gemm/simd:m=1 warm"]["reference_us"] == pytest.approx(20.0)
    assert found["gemm/simd:m=2 warm"]["reference_us"] is None
    assert json.loads(rows(url, epoch)[-1]["facts"])["reference"] == "modules-1234"
    assert import_runs(url, folder) == 0
    assert points_by_series(url) == found, "they are not dropped because nobody asks for them"
    write_comparison(folder, [], base="modules-1234")  # nothing was compared
    assert import_runs(url, "--reference", folder) == 0
    assert [row["reference_us"] for row in rows(url, point)] == [None, None]


def test_what_is_no_finite_number_is_null(url, tmp_path):
    odd = latency_summary(p50_us="nan", p90_us="inf", p99_us=2.0, tail_mass="nan")
    assert import_runs(url, write_run(tmp_path, [record(latency=[odd])])) == 0
    (only,) = rows(url, point)
    assert (only["p50_us"], only["p90_us"], only["p99_us"], only["tail_mass"]) == (None, None, 2.0, None)


def test_importing_again_changes_nothing(url, tmp_path, capsys):
    folders = [write_night(tmp_path / str(night), night, {"gemm/simd:m=1": 10 + night}) for night in range(3)]
    assert import_runs(url, *folders[:2]) == 0
    assert import_runs(url, folders[2]) == 0
    before = contents(url)
    capsys.readouterr()
    assert import_runs(url, *folders, folders[0]) == 0
    assert capsys.readouterr().out.count("is in the history already") == 4
    assert contents(url) == before
    folders[0].rename(tmp_path / "elsewhere")
    assert import_runs(url, tmp_path / "elsewhere") == 0
    assert contents(url) == before


def test_one_call_and_many_keep_the_same(url, tmp_path):
    folders = [write_night(tmp_path / str(night), night, {"gemm/simd:m=1": 10 + night}) for night in range(6)]
    other = f"sqlite:///{tmp_path / 'other.sqlite'}"
    assert import_runs(url, *folders) == 0
    for folder in folders:
        assert import_runs(other, folder) == 0
    assert contents(url) == contents(other)


def test_a_run_that_grew_takes_the_place_of_its_earlier_state(url, tmp_path, capsys):
    all_records = [timed(f"gemm/simd:m={m}", 5.0 + m) for m in range(4)]
    early = write_run(tmp_path / "early", all_records[:2], exit_code=None, finished="")
    late = write_run(tmp_path / "late", all_records)
    assert import_runs(url, early) == 0
    assert import_runs(url, late) == 0
    assert "4 points of 4 records, in place of its earlier state" in capsys.readouterr().out
    assert len(rows(url, run)) == 1
    assert len(rows(url, point)) == 4
    before = contents(url)
    assert import_runs(url, early) == 0, "a copy from before"
    assert "more records, 4 instead of 2; nothing changed" in capsys.readouterr().out
    assert contents(url) == before


def test_a_torn_line_is_not_there_yet(url, tmp_path):
    torn = write_run(tmp_path / "torn", [timed("gemm/simd:m=1", 5.0)], tail='{"schema":')
    whole = write_run(tmp_path / "whole", [timed("gemm/simd:m=1", 5.0)])
    assert import_runs(url, torn, whole) == 0
    assert len(rows(url, run)) == len(rows(url, point)) == 1


def test_two_runs_that_began_alike_are_two(url, tmp_path):
    folders = [write_night(tmp_path / name, 1, {"gemm/simd:m=1": value}) for name, value in (("a", 5.0), ("b", 5.1))]
    made = [timed("gemm/simd:m=1", 5.0)]
    for name, fact in (("c", "cpu.model"), ("d", "cpu.caches"), ("e", "gpu.uuid")):
        environment = ENVIRONMENT | {fact: "another"}
        folders.append(write_run(tmp_path / name, made, started=time_of(1), environment=environment))
    assert import_runs(url, *folders) == 0
    assert len(rows(url, run)) == 5


def test_a_run_without_a_record_leaves_nothing(url, tmp_path, capsys):
    folder = write_run(tmp_path / "run", [], exit_code=None, finished="", planned=2, tail='{"schema":')
    assert import_runs(url, folder) == 0
    assert f"{folder}: has no record yet, which is what tells it from other runs" in capsys.readouterr().out
    assert rows(url, run) == []
    assert import_runs(url, write_run(folder, [timed("gemm/simd:m=1", 5.0)], exit_code=None)) == 0
    assert len(rows(url, run)) == len(rows(url, point)) == 1


def as_of_schema_1(url):
    """What a program of schema 1 has left: identities of the beginning and the first record, epochs with fewer facts,
    and a run without a record."""
    nothing = {"content": "c", "records": 0, "started": time_of(9), "tier": "ci", "commit": ""}
    with Database(url).writing() as connection:
        connection.execute(insert(run).values(id=99, identity="nothing", **nothing))
        for row in connection.execute(select(run.c.id, run.c.started)).all():
            first = json.dumps(timed("gemm/simd:m=1", 10.0 + row.id - 1)) + "\n"
            identity = sha256(f'"started": "{row.started}"\n{first}'.encode()).hexdigest()
            connection.execute(update(run).where(run.c.id == row.id).values(identity=identity))
        for row in connection.execute(select(epoch)).all():
            facts = json.loads(row.facts)
            del facts["cpu.caches"], facts["cpu.cores"]
            connection.execute(update(epoch).where(epoch.c.id == row.id).values(key="old", facts=json.dumps(facts)))
        connection.execute(update(version).values(version=1))


def test_runs_of_an_earlier_schema_are_read_anew_and_kept_once(url, tmp_path, capsys):
    folders = [write_night(tmp_path / str(night), night, {"gemm/simd:m=1": 10.0 + night}) for night in range(3)]
    assert import_runs(url, *folders) == 0
    expected = {row["identity"] for row in rows(url, run)}
    as_of_schema_1(url)
    capsys.readouterr()
    assert import_runs(url, *folders[:2]) == 0
    assert capsys.readouterr().out.count("1 points of 1 records, in place of its earlier state") == 2
    assert import_runs(url, *folders[:2]) == 0
    assert capsys.readouterr().out.count("is in the history already") == 2
    kept = rows(url, run)
    assert [row["started"] for row in kept] == [time_of(night) for night in range(3)], "the ghost has gone"
    assert {row["identity"] for row in kept[:2]} < expected
    facts = {row["id"]: json.loads(row["facts"]) for row in rows(url, epoch)}
    assert ["cpu.cores" in facts[row["epoch"]] for row in sorted(rows(url, point), key=lambda row: row["run"])] == [
        True, True, False
    ]  # fmt: skip
    assert rows(url, version) == [{"version": VERSION}]


def test_another_device_is_another_series(url, tmp_path):
    def on(name, target="cpu", threads=2, **facts):
        made = [timed("gemm/simd:m=1", 5.0, target=target)]
        return write_run(tmp_path / name, made, environment=ENVIRONMENT | facts, threads=threads)

    gpu = {"gpu.model": "NVIDIA H200", "gpu.uuid": "GPU-1"}
    folders = [
        on("a"),
        on("b", threads=8),
        on("c", **{"cpu.model": "Other"}),
        on("d", **{"cpu.instruction_sets": "fma avx2"}),
        on("e", "cuda", **gpu),
        on("f", "cuda", **gpu, threads=8),
        on("g", "cuda", **gpu | {"gpu.uuid": "GPU-2"}),
        on("h", **gpu),
    ]
    assert import_runs(url, *folders) == 0
    expected = {
        ("cpu", "Example CPU", "fma avx2 avx512f; 2 threads"),
        ("cpu", "Example CPU", "fma avx2 avx512f; 8 threads"),
        ("cpu", "Other", "fma avx2 avx512f; 2 threads"),
        ("cpu", "Example CPU", "fma avx2; 2 threads"),
        ("cuda", "NVIDIA H200", "GPU-1"),
        ("cuda", "NVIDIA H200", "GPU-2"),
    }
    assert {(row["target"], row["device"], row["unit"]) for row in rows(url, series)} == expected


def test_an_epoch_is_what_the_kernel_depends_on(url, tmp_path):
    def library(name, build_id, *modules):
        return {"path": f"/usr/lib/{name}", "version": "1", "build_id": build_id, "modules": list(modules)}

    usual = [library("libblas.so", "b1", "gemm_simd.so"), library("libother.so", "o1", "x.so"), library("a.so", "a1")]
    own = library("gemm_simd.so", "m1", "gemm_simd.so")

    def epoch_of(name, libraries, own_build="m1", **facts):
        made = [timed("gemm/simd:m=1", float(len(name)))]
        libraries = [*libraries, own | {"build_id": own_build}]
        kernels = [kernel_entry(), kernel_entry("reduce", "x", module="x.so")]
        folder = write_run(tmp_path / name, made, libraries=libraries, kernels=kernels, environment=ENVIRONMENT | facts)
        assert import_runs(url, folder) == 0
        return rows(url, point)[-1]["epoch"]

    first = epoch_of("1", usual)
    assert epoch_of("22", usual, own_build="m2") == first, "the kernel itself is what is watched"
    assert epoch_of("333", [usual[0], library("libother.so", "o2", "x.so")]) == first, "another kernel's library"
    assert epoch_of("4444", usual, **{"telemetry.steal_percent": "3"}) == first, "no fact that lasts"
    others = {
        epoch_of("55555", [library("libblas.so", "b2", "gemm_simd.so")]),
        epoch_of("666666", usual, **{"build.compiler": "g++ 13"}),
        epoch_of("7777777", usual, **{"cpu.microcode": "0x2"}),
        epoch_of("88888888", usual, **{"cpu.family_model_stepping": "26 2 1"}),
        epoch_of("999999999", usual, **{"cpu.caches": "L1d 48K"}),
        epoch_of("1010101010", usual, **{"cpu.cores": "64"}),
    }
    assert len(others | {first}) == 7
    facts = {row["id"]: json.loads(row["facts"]) for row in rows(url, epoch)}[first]
    assert facts["library libblas.so"] == "1 b1"
    assert not any("gemm_simd" in name or "libother" in name or "telemetry" in name for name in facts)


def test_a_damaged_run_is_one_line_and_the_others_are_kept(url, tmp_path, capsys):
    good = [write_night(tmp_path / str(night), night, {"gemm/simd:m=1": 10 + night}) for night in range(2)]
    bad = write_night(tmp_path / "bad", 5, {"gemm/simd:m=1": 1.0})
    with (bad / "records.jsonl").open("a") as file:
        file.write("{}\n")
    assert import_runs(url, good[0], bad, tmp_path / "none", good[1]) == 4
    out, err = capsys.readouterr()
    assert [line.split(": ")[0] for line in out.splitlines()] == [str(folder) for folder in good]
    damaged, missing, last = err.splitlines()
    assert damaged == f"{bad / 'records.jsonl'}:2: 'schema' is missing"
    assert missing.startswith(f"{tmp_path / 'none' / 'run.json'}: cannot be read: No such file")
    assert last.startswith("2 of 4 runs could not be read; the others are in ")
    assert len(rows(url, run)) == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"started": "yesterday"}, "run.json: started: no time such as 2025-01-01T10:00:00Z"),
        ({"started": "2025-01-01T10:00:00"}, "run.json: started: no time such as"),
        ({"started": "0001-01-01T00:00:00+09:00"}, "run.json: started: no time such as"),
        ({"commit": 5}, "run.json: commit: not a string"),
    ],
)
def test_a_run_json_that_cannot_be_placed_is_refused(tmp_path, capsys, changes, says):
    folder = write_run(tmp_path / "run", [timed("gemm/simd:m=1", 1.0)], **changes)
    assert import_runs(f"sqlite:///{tmp_path / 'h.sqlite'}", folder) == 4
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([record(latency=[latency_summary(), latency_summary()])], "records.jsonl:1: latency: metric 'warm' twice"),
        ([timed("gemm/simd:m=\u202e", 1.0), timed("gemm/simd:m=\\u202e", 1.0)], "two cases look the same"),
        ([timed("gemm/simd:m=1", 1.0, verdict="fine")], "records.jsonl:1: verdict: 'fine' is not in run.json's table"),
    ],
)
def test_what_makes_no_point_is_refused(tmp_path, capsys, records, says):
    assert import_runs(f"sqlite:///{tmp_path / 'h.sqlite'}", write_run(tmp_path / "run", records)) == 4
    assert says in capsys.readouterr().err


HOSTILE = "'; DROP TABLE history_point; --\"<script>%s{0}\u202e\x00\ud800\n\\"


def test_hostile_texts_are_kept_as_text(url, tmp_path):
    long = "gemm/simd:m=" + "9" * 1_000_000
    texts = {"module_hash": HOSTILE, "target": HOSTILE, "op": HOSTILE, "kernel": HOSTILE}
    made = [
        record(f"gemm/{HOSTILE}:m=1", latency=[latency_summary(HOSTILE)], **texts),
        timed(long, 2.0, module_hash="h" * 100_000),
    ]
    environment = ENVIRONMENT | {"cpu.model": HOSTILE, "build.compiler": HOSTILE * 1000}
    libraries = [{"path": f"/{HOSTILE}.so", "version": HOSTILE, "build_id": HOSTILE, "modules": []}]
    asked = {"command": HOSTILE, "tier": HOSTILE, "filter": "", "shard": "", "argv": []}
    folder = write_run(
        tmp_path / "run", made, environment=environment, libraries=libraries, commit=HOSTILE, asked=asked
    )
    assert import_runs(url, folder) == 0
    shown = "'; DROP TABLE history_point; --\"<script>%s{0}\\u202e\\x00\\ud800\\n\\"
    first, second = rows(url, series)
    assert (first["kernel_id"], first["metric"], first["device"]) == (f"gemm/{shown}:m=1", shown, shown)
    assert second["kernel_id"] == long
    assert rows(url, point)[0]["module_hash"] == shown
    assert rows(url, run)[0]["commit"] == shown


# ---- kills and neighbours ----


def starting(url, *folders):
    command = [sys.executable, "-m", "assay_dashboards.history", "import", f"--db={url}", *map(str, folders)]
    environment = os.environ | {"PYTHONPATH": str(DASHBOARDS)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_kill_leaves_each_run_as_it_was_or_as_it_is(url, tmp_path):
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)
    generator = random.Random(seed)
    count = 100
    folders = []
    for night in range(60):
        values = {f"gemm/simd:m={m}": 10.0 + night for m in range(count)}
        folders.append(write_night(tmp_path / str(night), night, values))
    cut_short = 0
    for _ in range(3):
        importing = starting(url, *folders)
        told = [importing.stdout.readline() for _ in range(generator.randint(1, 10))]
        time.sleep(generator.uniform(0, 0.02))
        os.kill(importing.pid, signal.SIGKILL)
        told += importing.communicate()[0].splitlines()
        with Database(url).reading() as connection:
            kept = dict(connection.execute(select(run.c.started, run.c.id)).all())
            sizes = connection.execute(select(point.c.run, func.count()).group_by(point.c.run)).all()
        assert sorted(sizes) == [(one, count) for one in sorted(kept.values())]
        assert len(kept) >= len(told) - 1, "what was told is kept"
        assert sorted(kept) == [time_of(night) for night in range(len(kept))]
        cut_short += len(kept) < len(folders)
    assert cut_short > 0, "every import was done before it was killed"
    assert import_runs(url, *folders) == 0
    assert len(rows(url, point)) == len(folders) * count


def test_nothing_that_reads_outlives_a_killed_import(tmp_path):
    folders = [write_night(tmp_path / str(n), n, {f"gemm/simd:m={m}": 1.0 for m in range(400)}) for n in range(12)]
    importing = starting(f"sqlite:///{tmp_path / 'h.sqlite'}", *folders)
    importing.stdout.readline()
    children = Path(f"/proc/{importing.pid}/task/{importing.pid}/children").read_text().split()
    assert len(children) >= 2
    os.kill(importing.pid, signal.SIGKILL)
    importing.communicate()
    end = time.monotonic() + 20
    readers = [child for child in children if "resource_tracker" not in _command_of(child)]
    while any(_command_of(child) for child in readers):
        assert time.monotonic() < end, "a reader is still there"
        time.sleep(0.05)


def _command_of(pid):
    """Empty for a process that is gone, or only waits to be buried."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_two_imports_at_a_time_both_end_well(url, tmp_path):
    folders = [write_night(tmp_path / str(n), n, {f"gemm/simd:m={m}": 1.0 + n for m in range(50)}) for n in range(10)]
    both = [starting(url, *folders), starting(url, *reversed(folders))]
    ends = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert len(rows(url, run)) == 10
    assert len(rows(url, point)) == 500
