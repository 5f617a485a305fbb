"""Reads a run's folder, strictly: what does not fit harness/record/record.schema.json is refused by file, line, field.

Unknown keys are ignored, so that newer minor versions are read; a newer major is refused. A torn last line, which a
killed run leaves, is left out and counted. A new field of a record: one line in the tables below.
"""

from dataclasses import dataclass
from pathlib import Path

from .fields import (
    bytes_of,
    count,
    document,
    flag,
    integer,
    list_of,
    map_of,
    number,
    object_of,
    optional,
    text,
    word,
)
from .latency import Comparison, read_comparison
from .plain import InputError


def _exit_code(value):
    if integer(value) not in range(5):
        raise InputError("not an exit code: 0 to 4")
    return value


_CHECK = object_of({"check": word, "outcome": text, "verdict": text, "detail": text})
_ERROR = object_of(
    {
        "tensor": text,
        **dict.fromkeys(("elements", "exact", "rigorous", "weak", "vacuous", "no_evidence", "failures"), count),
        **dict.fromkeys(("max_q", "rms_q", "mean_signed_q", "misrounded", "mean_signed_ulps"), number),
        "worst_index": integer,
        **dict.fromkeys(("worst_got", "worst_want", "worst_bound"), number),
        "histogram": list_of(count),
    }
)
_LATENCY = object_of(
    {
        "metric": text,
        "samples": count,
        **dict.fromkeys(
            ("p50_us", "p90_us", "p99_us", "mean_us", "tail_mass", "quantum_us", "batch"),
            number,
        ),
        "coarse": flag,
        "samples_file": text,
        "involuntary_switches": count,
    }
)
_RECORD = {
    **dict.fromkeys(("kernel_id", "op", "kernel", "target", "owner", "module_hash", "verdict", "reason"), text),
    "checks": list_of(_CHECK),
    "errors": list_of(_ERROR),
    "output_hash": text,
    "truth_hash": text,
    "selection": map_of(text),
    "workspace_bytes": count,
    "resident_growth_bytes": integer,
    "interruptions": count,
    "latency": list_of(_LATENCY),
    "seconds": map_of(number),
    "repro": text,
}
_CONTRACT = object_of(
    {
        "owner": text,
        "domain": text,
        "promised": list_of(text),
        "arithmetic": map_of(integer),
        "workspace_limit": count,
        "may_fall_back": lambda value: bool(value),
        "may_allocate": lambda value: bool(value),
    }
)
_RUN = object_of(
    {
        "asked": object_of({**dict.fromkeys(("command", "tier", "filter", "shard"), text), "argv": list_of(text)}),
        "commit": text,
        "started": text,
        "finished": text,
        "planned": count,
        "recorded": count,
        "exit_code": optional(integer),
        "threads": integer,
        "environment": map_of(text),
        "libraries": list_of(
            object_of(
                {**dict.fromkeys(("path", "version", "build_id", "sha256"), text), "modules": list_of(text)},
                modules=[],
                sha256="",
            )
        ),
        "kernels": list_of(
            object_of(
                {
                    **dict.fromkeys(("op", "name", "target", "module", "module_hash", "platform"), text),
                    "contract": _CONTRACT,
                }
            )
        ),
        "findings": list_of(object_of({"kind": text, "text": text})),
        "left_out": list_of(object_of({**dict.fromkeys(("kernel", "judged_by", "reason"), text), "cases": count})),
        "pin": object_of({"platform": text, "state": word, **dict.fromkeys(("differences", "unknown"), list_of(text))}),
        "tables": object_of(
            {
                "checks": list_of(object_of({"check": word, "verdict": word, "meaning": text})),
                "verdicts": list_of(object_of({"verdict": word, "exit_code": _exit_code, "meaning": text})),
                "error_histogram_edges": list_of(number),
            }
        ),
    },
    left_out=[],
    pin={"platform": "", "state": "unknown", "differences": [], "unknown": []},
    commit="",
)
_FINGERPRINT = object_of(
    {
        **dict.fromkeys(("op", "kernel", "target", "variant"), text),
        "facts": list_of(object_of({"name": text, "value": text, "why": text})),
        "baseline": word,
        "changes": list_of(text),
        "seconds": number,
    }
)
_INVARIANCES = object_of(
    {
        "properties": list_of(word),
        "kernels": list_of(
            object_of(
                {
                    "kernel": text,
                    "cells": list_of(
                        object_of({"word": word, **dict.fromkeys(("promised", "observed", "varied", "broken"), count)})
                    ),
                }
            )
        ),
    }
)
OUTCOMES = ("fail", "skipped", "no-baseline", "weak", "pass", "not-applicable")  # in the order they are shown
PIN_STATES = ("pinned", "mismatched", "unpinned", "unknown")  # unknown: of a run from before there were pins
BASELINES = ("changed", "no-baseline", "same")


@dataclass
class Loaded:
    """A run as it lies on disk: run.json, the records in their order, and what the reader noticed."""

    folder: Path
    run: dict
    records: list
    notes: list  # (kind, text), in the form of run.json's findings
    fingerprints: list  # of its kernels, in their order; empty where the run took none
    invariances: dict  # properties, and a row of cells a kernel; without kernels where the run has none
    comparison: Comparison | None = None  # of latencies with the base's, where the run made one


def load(folder: Path) -> Loaded:
    """Reads all of a run. Raises InputError."""
    run = read_run(folder, bytes_of(folder / "run.json"))
    records, torn = read_records(folder, bytes_of(folder / "records.jsonl"), run)
    notes = [("count", "records.jsonl ends in a torn line, which is left out")] if torn else []
    comparison, more = read_comparison(folder, run["asked"]["command"])
    return Loaded(
        folder,
        run,
        records,
        notes + more,
        _fingerprints(folder / "fingerprints.jsonl"),
        _invariances(folder / "invariances.json"),
        comparison,
    )


def read_run(folder: Path, content: bytes) -> dict:
    """`content` is that of the folder's run.json. Raises InputError."""
    try:
        run = document(content, _RUN)[0]
        if run["pin"]["state"] not in PIN_STATES:
            raise InputError(f"pin.state: '{run['pin']['state']}' is not one of {', '.join(PIN_STATES)}")
    except InputError as error:
        raise InputError(f"{folder / 'run.json'}: {str(error).lstrip('.')}") from None
    return run


def read_records(folder: Path, content: bytes, run: dict, keys=tuple(_RECORD)) -> tuple[list, bool]:
    """`content` is that of the folder's records.jsonl. Returns its records, with these keys, and whether a torn line
    was left out at its end. Raises InputError."""
    read = object_of({key: _RECORD[key] for key in keys})
    verdicts = {row["verdict"] for row in run["tables"]["verdicts"]}
    *lines, torn = content.split(b"\n")
    records, ids = [], set()
    for place, line in enumerate(lines, 1):
        try:
            record, raw = document(line, read)
            if raw["kernel_id"] in ids:
                raise InputError(f"kernel_id: '{record['kernel_id']}' twice")
            ids.add(raw["kernel_id"])
            _check_words(record, verdicts)
            # The raw text: a path is looked up, not shown.
            for latency, source in zip(record["latency"], raw["latency"], strict=True):
                latency["samples_file"] = source["samples_file"]
        except InputError as error:
            raise InputError(f"{folder / 'records.jsonl'}:{place}: {str(error).lstrip('.')}") from None
        records.append(record)
    return records, bool(torn)


def _fingerprints(file):
    fingerprints = []
    lines = bytes_of(file).splitlines() if file.exists() else []
    for place, line in enumerate(lines, 1):
        try:
            fingerprint, _ = document(line, _FINGERPRINT)
            if fingerprint["baseline"] not in BASELINES:
                raise InputError(f"baseline: '{fingerprint['baseline']}' is not one of {', '.join(BASELINES)}")
        except InputError as error:
            raise InputError(f"{file}:{place}: {str(error).lstrip('.')}") from None
        fingerprints.append(fingerprint)
    return fingerprints


def _invariances(file):
    if not file.exists():
        return {"properties": [], "kernels": []}
    try:
        matrix, _ = document(bytes_of(file), _INVARIANCES)
        for row in matrix["kernels"]:
            if len(row["cells"]) != len(matrix["properties"]):
                raise InputError(f"kernels: '{row['kernel']}' has {len(row['cells'])} cells")
    except InputError as error:
        raise InputError(f"{file}: {str(error).lstrip('.')}") from None
    return matrix


def _check_words(record, verdicts):
    if record["verdict"] not in verdicts:
        raise InputError(f"verdict: '{record['verdict']}' is not in run.json's table")
    for i, check in enumerate(record.get("checks", ())):
        if check["outcome"] not in OUTCOMES:
            raise InputError(f"checks[{i}].outcome: '{check['outcome']}' is not one of {', '.join(OUTCOMES)}")
