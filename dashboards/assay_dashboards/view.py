"""What pages and files are made from: the run's records as pandas frames, and the few judgements a reader makes.

The words, their order of severity and their exit codes come from run.json's tables, so that this program has no copy.
"""

import re
from functools import cached_property

import pandas as pd

from .load import OUTCOMES, Loaded
from .plain import InputError, slug
from .samples import read_samples

PRECEDENCE = (0, 2, 3, 1, 4)  # of exit codes, mildest first: harness/record/verdict.cpp
CLASS_OF_EXIT = {0: "good", 1: "bad", 2: "unsure", 3: "unsure", 4: "bad"}
SYMBOL_OF_VERDICT = {
    "pass": "✓", "unsupported": "∅", "known": "⚑", "mistrusted": "?", "inconclusive": "≈", "invalid": "⊘",
    "error": "‼",
}  # fmt: skip
SYMBOL_OF_OUTCOME = {
    "pass": "✓", "fail": "✗", "weak": "≈", "no-baseline": "○", "not-applicable": "–", "skipped": "»",
}  # fmt: skip
_NOT_AVAILABLE = "not available on this machine: "  # so a reason begins: harness/record/record.h
HEADLINE = {0: "Pass", 1: "Fail", 2: "Inconclusive", 3: "Invalid", 4: "Error"}


def _unsigned_nan(text):
    """The sign of a NaN means nothing, and not every printf shows it."""
    return re.sub(r"(?<![\w-])-nan\b", "nan", text)


def _shown_detail(check):
    nothing = check["outcome"] == "not-applicable" and re.fullmatch(r"0( of 0)? [a-z]+", check["detail"])
    return "" if nothing else _unsigned_nan(check["detail"])


class View:
    def __init__(self, loaded: Loaded):
        self.folder = loaded.folder
        self.run = loaded.run
        tables = self.run["tables"]
        self.verdicts = {row["verdict"]: row | {"rank": rank} for rank, row in enumerate(tables["verdicts"])}
        self.checks = [row["check"] for row in tables["checks"]]
        self.meanings = {row["check"]: row["meaning"] for row in tables["checks"]}
        self.records = [self._with_place(i, record) for i, record in enumerate(loaded.records)]
        self._notes = loaded.notes
        self.fingerprints = [one | {"name": f"{one['op']}/{one['kernel']}"} for one in loaded.fingerprints]
        self.invariances = loaded.invariances
        self.comparison = loaded.comparison

    def _with_place(self, index, record):
        name = f"{record['op']}/{record['kernel']}"
        _, _, case = record["kernel_id"].partition(":")
        row = self.verdicts[record["verdict"]]
        checks = [check | {"detail": _shown_detail(check)} for check in record["checks"]]
        return record | {
            "reason": _unsigned_nan(record["reason"]),
            "checks": checks,
            "selection": {key: value for key, value in record["selection"].items() if value},
            "index": index,
            "name": name,
            "case": case or record["kernel_id"],
            "dtype": dict(field.partition("=")[::2] for field in case.split(",")).get("dtype", "any dtype"),
            "anchor": f"case-{index}",
            "page": f"kernel-{slug(name)}.html",
            "exit_code": row["exit_code"],
            "rank": row["rank"],
        }

    # ---- frames ----

    @cached_property
    def frame(self) -> pd.DataFrame:
        columns = ["index", "name", "op", "kernel", "case", "dtype", "verdict", "rank", "exit_code", "owner", "reason"]
        frame = pd.DataFrame([{c: record[c] for c in columns} for record in self.records], columns=columns)
        return frame.assign(seconds=[sum(record["seconds"].values()) for record in self.records])

    @cached_property
    def check_frame(self) -> pd.DataFrame:
        rows = [
            (record["index"], record["name"], check["check"], check["outcome"])
            for record in self.records
            for check in record["checks"]
        ]
        return pd.DataFrame(rows, columns=["index", "name", "check", "outcome"])

    @cached_property
    def latency_frame(self) -> pd.DataFrame:
        rows = [
            {"index": record["index"], "name": record["name"], "case": record["case"]} | latency
            for record in self.records
            for latency in record["latency"]
        ]
        columns = ["index", "name", "case", "metric", "samples", "p50_us", "p90_us", "p99_us", "mean_us", "tail_mass"]
        columns += ["quantum_us", "batch", "coarse", "samples_file", "involuntary_switches"]
        return pd.DataFrame(rows, columns=columns)

    # ---- judgements ----

    @cached_property
    def exit_code(self):
        """The run's exit code, never milder than its records and its comparison with the base, nor 0 for a run that is
        empty, cut or did not end."""
        codes = set(self.frame["exit_code"]) | (self.comparison.exit_codes if self.comparison else set())
        whole = self.run["exit_code"] is not None and self.records and not self.incomplete
        codes.add(self.run["exit_code"] if whole else 4)
        return max((code if code in PRECEDENCE else 4 for code in codes), key=PRECEDENCE.index)

    @cached_property
    def incomplete(self) -> str:
        """What is missing from a run that ended: what is not in the file may have failed. Empty where nothing is."""
        expected = max(self.run["planned"], self.run["recorded"])
        if self.run["exit_code"] is None or len(self.records) >= expected:
            return ""
        return f"incomplete: {len(self.records)} of {expected} records"

    @cached_property
    def target(self):
        """Of which device the judged kernels are, "cpu" or "cuda": a run has one. None where nothing was recorded."""
        return next((record["target"] for record in self.records), None)

    @cached_property
    def processor(self) -> str:
        """What the kernels ran on: the GPU's model where they are of target cuda, else the CPU's."""
        return self.run["environment"].get("gpu.model" if self.target == "cuda" else "cpu.model", "unknown")

    @cached_property
    def not_run(self) -> dict:
        """Another device's target -> names of the kernels that were built for it, none of which this run judged."""
        others = {}
        for kernel in self.run["kernels"] if self.target else []:
            if kernel["target"] != self.target:
                others.setdefault(kernel["target"], []).append(f"{kernel['op']}/{kernel['name']}")
        return others

    @cached_property
    def not_available(self) -> dict:
        """Kernel -> how many of its cases this machine cannot run, and what it lacks for the last of them."""
        lacking = {}
        for r in self.records:
            if r["verdict"] == "unsupported" and r["reason"].startswith(_NOT_AVAILABLE):
                name = f"{r['op']}/{r['kernel']}"
                lacking[name] = (lacking.get(name, (0,))[0] + 1, r["reason"].removeprefix(_NOT_AVAILABLE))
        return lacking

    @cached_property
    def headline(self) -> str:
        if self.run["exit_code"] is None:
            return "Unfinished"
        if self.records and self.incomplete:
            return f"Error, {self.incomplete}"
        return "Empty" if not self.records else HEADLINE[self.exit_code]

    @cached_property
    def pin(self) -> str:
        """Whether the run's environment was the pinned one."""
        pin = self.run["pin"]
        file = f"ci/pins/{pin['platform']}.toml"
        what = [line.partition(":")[0] for line in pin["differences"]]
        said = {
            "pinned": f"pinned, as {file} says",
            "mismatched": f"mismatched: differs from {file} in {', '.join(what)}",
            "unpinned": f"unpinned: there is no {file}",
            "unknown": "unknown: the run is older than pins",
        }[pin["state"]]
        return said + (f"; unknown then and now: {', '.join(pin['unknown'])}" if pin["unknown"] else "")

    @cached_property
    def findings(self) -> list:
        """run.json's findings, then what does not add up in the folder itself."""
        found = [(finding["kind"], finding["text"]) for finding in self.run["findings"]] + list(self._notes)
        counts = {self.run["planned"], self.run["recorded"], len(self.records)}
        if len(counts) > 1:
            text = f"{self.run['planned']} planned, {self.run['recorded']} recorded, {len(self.records)} in the file"
            found.append(("count", text))
        if self.run["exit_code"] is not None and self.exit_code != self.run["exit_code"]:
            said = self.run["exit_code"]
            found.append(("exit code", f"the run ended with {said}, what it holds asks for {self.exit_code}"))
        found += [("samples", f"{name}: {problem}") for name, problem in self.sample_problems]
        return found

    @cached_property
    def failures(self) -> list:
        """Records that keep the run from passing, the gravest first."""
        wanted = [record for record in self.records if record["exit_code"] != 0]
        return sorted(wanted, key=lambda r: (-PRECEDENCE.index(r["exit_code"]), -r["rank"], r["index"]))

    def failure_groups(self, name=None) -> list:
        """The failures, those of one kernel that say the same together: one fault of a kernel is told once."""
        groups = {}
        for record in self.failures:
            if name in (None, record["name"]):
                groups.setdefault((record["name"], record["verdict"], record["reason"]), []).append(record)
        return list(groups.values())

    def verdict_counts(self, name=None) -> dict:
        """Verdict -> count, the gravest first."""
        frame = self.frame if name is None else self.frame[self.frame["name"] == name]
        counts = frame["verdict"].value_counts().to_dict()
        return dict(sorted(counts.items(), key=lambda item: -self.verdicts[item[0]]["rank"]))

    @cached_property
    def kernels(self) -> list:
        """Names op/kernel of run.json and of the records, in that order."""
        listed = [f"{kernel['op']}/{kernel['name']}" for kernel in self.run["kernels"]]
        return list(dict.fromkeys(listed + [record["name"] for record in self.records]))

    def facts_of(self, name):
        """run.json's entry of a kernel, or None."""
        return next((k for k in self.run["kernels"] if f"{k['op']}/{k['name']}" == name), None)

    def records_of(self, name) -> list:
        return [record for record in self.records if record["name"] == name]

    @cached_property
    def _grid(self) -> dict:
        counts = self.check_frame.groupby(["name", "check", "outcome"]).size()
        return {key: int(count) for key, count in counts.items()}

    def outcome_counts(self, check, name=None) -> dict:
        """Outcome -> count of one check, for one kernel or all, in the order of OUTCOMES; none that is 0."""
        names = self.kernels if name is None else [name]
        counts = {o: sum(self._grid.get((n, check, o), 0) for n in names) for o in OUTCOMES}
        return {outcome: count for outcome, count in counts.items() if count}

    # ---- raw samples ----

    @cached_property
    def _samples(self):
        read, problems = {}, []
        for record in self.records:
            for latency in record["latency"]:
                try:
                    read[record["index"], latency["metric"]] = read_samples(self.folder, latency["samples_file"])
                except InputError as error:
                    problems.append((record["kernel_id"] + " " + latency["metric"], str(error)))
        return read, problems

    @property
    def sample_problems(self) -> list:
        return self._samples[1]

    def samples_of(self, record, metric):
        """Samples, or None where the file could not be read, which is a finding."""
        return self._samples[0].get((record["index"], metric))
