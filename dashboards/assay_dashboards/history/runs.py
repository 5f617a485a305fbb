"""What of a run's folder goes into the history: its latencies, each with its series and its epoch."""

import contextlib
import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from ..fields import bytes_of
from ..latency import COMPARISON_FILE, EARLIER, read_comparison
from ..load import read_records, read_run
from ..plain import InputError

UNKNOWN = "unknown"  # as run.json says it
_KEYS = ("kernel_id", "op", "kernel", "target", "module_hash", "verdict", "latency")
# What tells a processor: a virtual machine hides its model.
_PROCESSOR = ("cpu.caches", "cpu.cores", "cpu.family_model_stepping", "cpu.model")
# Facts of run.json that a latency depends on; a change of one begins an epoch.
_FACTS = {
    "cpu": (
        "build.compiler",
        *_PROCESSOR,
        "cpu.governor",
        "cpu.microcode",
        "cpu.smt",
        "memory.huge_pages",
        "os.kernel",
    ),
    "cuda": (
        "build.compiler",
        *_PROCESSOR,
        "gpu.driver",
        "gpu.ecc",
        "gpu.gsp_firmware",
        "gpu.max_memory_clock",
        "gpu.max_sm_clock",
        "gpu.mig",
        "gpu.model",
        "gpu.power_limit",
        "gpu.vbios",
    ),
}
_TOLD_APART = re.compile(
    rb'"(?:%s)"\s*:\s*"[^"]*"' % b"|".join(re.escape(name).encode() for name in ("started", *_PROCESSOR, "gpu.uuid"))
)


@dataclass
class RunPoints:
    """A run as rows of the history's tables, where keys stand for ids."""

    identity: str  # the same for a run that has grown
    former: str  # its identity in schema 1
    content: str
    known_as: set[str]  # contents with which the history has all of it
    records: int
    started: str
    tier: str
    commit: str
    series: dict = field(default_factory=dict)  # key -> the other columns
    epochs: dict = field(default_factory=dict)  # likewise
    points: list = field(default_factory=list)  # {column: value}, series and epoch as keys


def identity_of(folder: Path, reference: bool) -> tuple[str, str, str, set[str], bytes, bytes]:
    """(identity, the one of schema 1, content, contents with which the history has all of it, run.json, records.jsonl):
    what is needed to know whether the run is in the history as it is now. A run only ever grows, so that its beginning,
    its machine and its first record tell it from another one that was asked the same, elsewhere, in the same second.
    What was imported with references has all that it has without. Raises InputError."""
    run, records = bytes_of(folder / "run.json"), bytes_of(folder / "records.jsonl")
    whole = records[: records.rfind(b"\n") + 1]  # without a torn last line
    told = sorted(_TOLD_APART.findall(run))
    first = whole[: whole.find(b"\n") + 1]
    identity = hashlib.sha256(b"\n".join([*told, first])).hexdigest()
    beginning = b"".join(fact for fact in told if fact.startswith(b'"started"'))
    former = hashlib.sha256(beginning + b"\n" + first).hexdigest()
    comparison = folder / COMPARISON_FILE
    alone = _hash_of([run, whole])
    compared = _hash_of([run, whole, bytes_of(comparison)]) if comparison.exists() else alone
    return identity, former, *((compared, {compared}) if reference else (alone, {alone, compared})), run, records


def _hash_of(parts):
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def read_points(folder: Path, reference: bool) -> RunPoints:
    """With `reference` relative to the base of the run's latency gate, where it has one. Raises InputError."""
    identity, former, content, known_as, run_json, records_jsonl = identity_of(folder, reference)
    run = read_run(folder, run_json)
    records, _ = read_records(folder, records_jsonl, run, _KEYS)
    begun, tier, commit = _started(folder, run), run["asked"]["tier"], run["commit"]
    found = RunPoints(identity, former, content, known_as, len(records), begun, tier, commit)
    base, slower = _against_base(folder) if reference else ({}, {})
    epochs, devices = {}, {}
    for place, record in enumerate(records, 1):
        if not record["latency"]:
            continue
        target, kernel = record["target"], (record["op"], record["kernel"])
        if kernel not in epochs:
            facts = json.dumps(_facts_of(run, target, kernel) | base, sort_keys=True)
            epochs[kernel] = _key_of(facts)
            found.epochs[epochs[kernel]] = {"facts": facts}
        if target not in devices:
            devices[target] = _device_of(run, target)
        metrics = set()
        for latency in record["latency"]:
            if latency["metric"] in metrics:
                raise InputError(f"{folder / 'records.jsonl'}:{place}: latency: metric '{latency['metric']}' twice")
            metrics.add(latency["metric"])
            case = f"{record['kernel_id']} {latency['metric']}"
            series = {"kernel_id": record["kernel_id"], "metric": latency["metric"], "target": target}
            series |= devices[target]
            key = _key_of(*series.values())
            found.series[key] = series
            found.points.append(
                {
                    "series": key,
                    "epoch": epochs[kernel],
                    **{column: _finite(latency[column]) for column in ("p50_us", "p90_us", "p99_us", "tail_mass")},
                    "reference_us": _finite(latency["p50_us"] / slower[case]) if case in slower else None,
                    "verdict": record["verdict"],
                    "module_hash": record["module_hash"],
                }
            )
    if len({point["series"] for point in found.points}) < len(found.points):
        raise InputError(f"{folder / 'records.jsonl'}: two cases look the same once what cannot be seen is shown")
    return found


def _against_base(folder):
    """The build that was the base of the run's latency gate, as a fact, and how many times as long as in it a case
    took (case and metric -> ratio), which cancels what the machine did to both. Nothing where there was none. Raises
    InputError."""
    comparison, _ = read_comparison(folder, "gate")
    if comparison is None:
        return {}, {}
    slower = {}
    for case in comparison.cases:
        pair = case.pairs["p50"]
        is_of_today = pair["blocks"] and not pair["reason"].startswith(EARLIER)
        if is_of_today and pair["estimate"] is not None:
            slower[case.id] = math.exp(pair["estimate"])
    return ({"reference": comparison.told["base"]} if slower else {}), slower


def _key_of(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()  # a text that was read holds no NUL


def _finite(value):
    return value if math.isfinite(value) else None


def _started(folder, run):
    """In UTC, to the second, so that texts sort as times do."""
    with contextlib.suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(run["started"])
        if time.tzinfo:
            return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    raise InputError(f"{folder / 'run.json'}: started: no time such as 2025-01-01T10:00:00Z")


def _device_of(run, target):
    facts = run["environment"]
    if target == "cuda":
        return {"device": facts.get("gpu.model", UNKNOWN), "unit": facts.get("gpu.uuid", UNKNOWN)}
    # Another number of threads is another measurement.
    sets = facts.get("cpu.instruction_sets", UNKNOWN)
    return {"device": facts.get("cpu.model", UNKNOWN), "unit": f"{sets}; {run['threads']} threads"}


def _facts_of(run, target, kernel):
    """Of the machine, and of the libraries in the processes of the kernel's module; without the module, whose change
    is what the history is watched for."""
    environment = run["environment"]
    facts = {name: environment.get(name, UNKNOWN) for name in _FACTS.get(target, _FACTS["cpu"])}
    modules = {entry["module"] for entry in run["kernels"]}
    own = next((entry["module"] for entry in run["kernels"] if (entry["op"], entry["name"]) == kernel), None)
    told = any(library["modules"] for library in run["libraries"])  # an older run does not tell whose they are
    libraries = {}
    for library in run["libraries"]:
        name = PurePosixPath(library["path"]).name
        if name not in modules and (own in library["modules"] or not told):
            libraries.setdefault(f"library {name}", set()).add(f"{library['version']} {library['build_id']}")
    return facts | {name: ", ".join(sorted(builds)) for name, builds in libraries.items()}
