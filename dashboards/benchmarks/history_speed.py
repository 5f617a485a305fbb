"""How fast a history of many records is imported and shown: python dashboards/benchmarks/history_speed.py [--runs 1000]
[--records 1000] [--folder DIR]. Makes runs of records as long as real ones (nothing in them was measured), imports them
into SQLite, writes the page over all of them, and prints seconds, beside those that parsing the same lines as JSON
takes in this process: machines differ, the ratio says more."""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np

from assay_dashboards.history.__main__ import main as history
from sample_history import ENVIRONMENT, time_of, timed
from sample_run import kernel_entry, write_run

_NAME, _P50 = "gemm/simd:m=1234567,n=64,k=64,dtype=f32", 40.015625


def make_runs(folder: Path, runs, records):
    """One night a run, of the same kernel-cases. Returns the folders and the bytes of all records."""
    generator = np.random.default_rng(5)
    line = json.dumps(timed(_NAME, _P50)) + "\n"
    made, size = [], 0
    for night in range(runs):
        run = write_run(
            folder / f"night-{night:04}", [], started=time_of(night), environment=ENVIRONMENT,
            kernels=[kernel_entry()], planned=records, recorded=records,
        )  # fmt: skip
        p50 = 40 * np.exp(generator.normal(0, 0.006, records))
        text = "".join(
            line.replace("m=1234567", f"m={i + 1}").replace(str(_P50), f"{p50[i]:.6f}") for i in range(records)
        )
        (run / "records.jsonl").write_text(text, "utf-8")
        made.append(run)
        size += len(text)
    return made, size


def seconds_of(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def parse(folders):
    for folder in folders:
        with (folder / "records.jsonl").open("rb") as lines:
            for line in lines:
                json.loads(line)


def measure(folder: Path, runs, records):
    folders, size = make_runs(folder / "runs", runs, records)
    database = f"--db=sqlite:///{folder / 'h.sqlite'}"

    def run_history(*arguments):
        if history([*arguments, database]) != 0:
            raise SystemExit("the history was not made")

    print(f"{runs * records} records in {runs} runs, {size / runs / records:.0f} bytes each", flush=True)
    parsing = seconds_of(lambda: parse(folders))
    with contextlib.redirect_stdout(io.StringIO()):  # a line a run
        importing = seconds_of(lambda: run_history("import", *map(str, folders)))
        showing = seconds_of(lambda: run_history("show", f"--out={folder / 'page'}"))
    print(f"import {importing:.1f} s, {importing / parsing:.2f} of parsing the lines in one process ({parsing:.1f} s)")
    print(f"page   {showing:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where the runs go, and stay (default: a temporary one)")
    options = parser.parse_args()
    if options.folder:
        measure(options.folder, options.runs, options.records)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), options.runs, options.records)


if __name__ == "__main__":
    main()
