"""Reads a run's folder, strictly: what does not fit harness/record/record.schema.json is refused by file, line, field.

Unknown keys are ignored, so that newer minor versions are read; a newer major is refused. A torn last line, which a
killed run leaves, is left out and counted. A new field of a record: one line in the tables below.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from .plain import InputError, plain, plain_tree

SCHEMA_MAJOR = 1
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _text(value):
    if not isinstance(value, str):
        raise InputError("not a string")
    return value


def _word(value):
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", _text(value)):
        raise InputError("not a word of small letters, digits and hyphens")
    return value


def _integer(value):
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**64:
        raise InputError("not an integer of 64 bits")
    return value


def _count(value):
    if _integer(value) < 0:
        raise InputError("negative")
    return value


def _number(value):
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError('not a number, "nan", "inf" or "-inf"')
    return float(value)


def _flag(value):
    if not isinstance(value, bool):
        raise InputError("neither true nor false")
    return value


def _list_of(item):
    def read(value):
        if not isinstance(value, list):
            raise InputError("not an array")
        return [_at(f"[{i}]", item, element) for i, element in enumerate(value)]

    return read


def _map_of(item):
    def read(value):
        if not isinstance(value, dict):
            raise InputError("not an object")
        return {key: _at(f".{key}", item, element) for key, element in value.items()}

    return read


def _object(fields, **absent):
    """`absent` is what a key is taken for that an older writer does not know."""

    def read(value):
        if not isinstance(value, dict):
            raise InputError("not an object")
        value = absent | value
        missing = [key for key in fields if key not in value]
        if missing:
            raise InputError(f"'{missing[0]}' is missing")
        return {key: _at(f".{key}", item, value[key]) for key, item in fields.items()}

    return read


def _optional(item):
    return lambda value: None if value is None else item(value)


def _at(path, read, value):
    try:
        return read(value)
    except InputError as error:
        message = str(error)
        raise InputError(path + (message if message[0] in ".[" else f": {message}")) from None


_CHECK = _object({"check": _word, "outcome": _text, "verdict": _text, "detail": _text})
_ERROR = _object(
    {
        "tensor": _text,
        **dict.fromkeys(("elements", "exact", "rigorous", "weak", "vacuous", "no_evidence", "failures"), _count),
        **dict.fromkeys(("max_q", "rms_q", "mean_signed_q", "misrounded", "mean_signed_ulps"), _number),
        "worst_index": _integer,
        **dict.fromkeys(("worst_got", "worst_want", "worst_bound"), _number),
        "histogram": _list_of(_count),
    }
)
_LATENCY = _object(
    {
        "metric": _text,
        "samples": _count,
        **dict.fromkeys(
            ("p50_us", "p90_us", "p99_us", "mean_us", "tail_mass", "quantum_us", "batch"),
            _number,
        ),
        "coarse": _flag,
        "samples_file": _text,
        "involuntary_switches": _count,
    }
)
_RECORD = _object(
    {
        **dict.fromkeys(("kernel_id", "op", "kernel", "target", "owner", "module_hash", "verdict", "reason"), _text),
        "checks": _list_of(_CHECK),
        "errors": _list_of(_ERROR),
        "output_hash": _text,
        "truth_hash": _text,
        "selection": _map_of(_text),
        "workspace_bytes": _count,
        "resident_growth_bytes": _integer,
        "interruptions": _count,
        "latency": _list_of(_LATENCY),
        "seconds": _map_of(_number),
        "repro": _text,
    }
)
_CONTRACT = _object(
    {
        "owner": _text,
        "domain": _text,
        "promised": _list_of(_text),
        "arithmetic": _map_of(_integer),
        "workspace_limit": _count,
        "may_fall_back": lambda value: bool(value),
        "may_allocate": lambda value: bool(value),
    }
)
_RUN = _object(
    {
        "asked": _object({**dict.fromkeys(("command", "tier", "filter", "shard"), _text), "argv": _list_of(_text)}),
        "started": _text,
        "finished": _text,
        "planned": _count,
        "recorded": _count,
        "exit_code": _optional(_integer),
        "threads": _integer,
        "environment": _map_of(_text),
        "libraries": _list_of(_object(dict.fromkeys(("path", "version", "build_id"), _text))),
        "kernels": _list_of(
            _object(
                {
                    **dict.fromkeys(("op", "name", "target", "module", "module_hash", "platform"), _text),
                    "contract": _CONTRACT,
                }
            )
        ),
        "findings": _list_of(_object({"kind": _text, "text": _text})),
        "left_out": _list_of(_object({**dict.fromkeys(("kernel", "judged_by", "reason"), _text), "cases": _count})),
        "tables": _object(
            {
                "checks": _list_of(_object({"check": _word, "verdict": _word, "meaning": _text})),
                "verdicts": _list_of(_object({"verdict": _word, "exit_code": _integer, "meaning": _text})),
                "error_histogram_edges": _list_of(_number),
            }
        ),
    },
    left_out=[],
)
_FINGERPRINT = _object(
    {
        **dict.fromkeys(("op", "kernel", "target", "variant"), _text),
        "facts": _list_of(_object({"name": _text, "value": _text, "why": _text})),
        "baseline": _word,
        "changes": _list_of(_text),
        "seconds": _number,
    }
)
_INVARIANCES = _object(
    {
        "properties": _list_of(_word),
        "kernels": _list_of(
            _object(
                {
                    "kernel": _text,
                    "cells": _list_of(
                        _object({"word": _word, **dict.fromkeys(("promised", "observed", "varied", "broken"), _count)})
                    ),
                }
            )
        ),
    }
)
OUTCOMES = ("fail", "skipped", "no-baseline", "weak", "pass", "not-applicable")  # in the order they are shown
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


def _no_repeated_keys(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InputError("a key appears twice in one object")
    return value


def _finite(text):
    value = float(text)
    if math.isinf(value):
        raise InputError(f"the number {text[:20]} is out of range")
    return value


def _no_constant(text):
    raise InputError(f"{text} is not JSON")


def _document(data: bytes, read):
    """Parses one JSON document of this schema and reads it with `read`."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_repeated_keys,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except RecursionError:
        raise InputError("nested too deeply") from None
    except ValueError as error:  # JSON and UTF-8 errors both
        raise InputError(f"not JSON: {plain(str(error))[:200]}") from None
    major = _object({"schema": _object({"major": _integer})})(value)["schema"]["major"]
    if not 1 <= major <= SCHEMA_MAJOR:
        raise InputError(f"schema {major} cannot be read by this program ({SCHEMA_MAJOR}); use a newer assay")
    return plain_tree(read(value)), value


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}; is this a run's folder?") from None


def load(folder: Path) -> Loaded:
    """Reads run.json and records.jsonl. Raises InputError."""
    file = folder / "run.json"
    try:
        run, _ = _document(_bytes_of(file), _RUN)
    except InputError as error:
        message = str(error).lstrip(".")
        raise InputError(message if message.startswith(str(file)) else f"{file}: {message}") from None

    verdicts = {row["verdict"] for row in run["tables"]["verdicts"]}
    file = folder / "records.jsonl"
    *lines, torn = _bytes_of(file).split(b"\n")
    records, keys = [], set()
    for number, line in enumerate(lines, 1):
        try:
            record, raw = _document(line, _RECORD)
            if raw["kernel_id"] in keys:
                raise InputError(f"kernel_id: '{record['kernel_id']}' twice")
            keys.add(raw["kernel_id"])
            _check_words(record, verdicts)
            # The raw text: a path is looked up, not shown.
            for latency, source in zip(record["latency"], raw["latency"], strict=True):
                latency["samples_file"] = source["samples_file"]
        except InputError as error:
            raise InputError(f"{file}:{number}: {str(error).lstrip('.')}") from None
        records.append(record)
    notes = [("count", "records.jsonl ends in a torn line, which is left out")] if torn else []
    return Loaded(
        folder,
        run,
        records,
        notes,
        _fingerprints(folder / "fingerprints.jsonl"),
        _invariances(folder / "invariances.json"),
    )


def _fingerprints(file):
    fingerprints = []
    lines = _bytes_of(file).splitlines() if file.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            fingerprint, _ = _document(line, _FINGERPRINT)
            if fingerprint["baseline"] not in BASELINES:
                raise InputError(f"baseline: '{fingerprint['baseline']}' is not one of {', '.join(BASELINES)}")
        except InputError as error:
            raise InputError(f"{file}:{number}: {str(error).lstrip('.')}") from None
        fingerprints.append(fingerprint)
    return fingerprints


def _invariances(file):
    if not file.exists():
        return {"properties": [], "kernels": []}
    try:
        matrix, _ = _document(_bytes_of(file), _INVARIANCES)
        for row in matrix["kernels"]:
            if len(row["cells"]) != len(matrix["properties"]):
                raise InputError(f"kernels: '{row['kernel']}' has {len(row['cells'])} cells")
    except InputError as error:
        raise InputError(f"{file}: {str(error).lstrip('.')}") from None
    return matrix


def _check_words(record, verdicts):
    if record["verdict"] not in verdicts:
        raise InputError(f"verdict: '{record['verdict']}' is not in run.json's table")
    for i, check in enumerate(record["checks"]):
        if check["outcome"] not in OUTCOMES:
            raise InputError(f"checks[{i}].outcome: '{check['outcome']}' is not one of {', '.join(OUTCOMES)}")
