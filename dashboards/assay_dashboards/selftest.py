"""Reads selftest.json, strictly (harness/gate/selftest.schema.json), and counts what the report shows of it: which
seeded faults the checks caught, which survived, and how often a kernel without a fault was blamed."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .fields import bytes_of, count, document, flag, integer, list_of, map_of, object_of, share, text, word
from .plain import InputError

FILE = "selftest.json"


_ROW = object_of(dict.fromkeys(("faults", "killed", "in_smoke", "without_goldens", "witness_only"), count))
_FAULT = object_of(
    {
        **dict.fromkeys(("name", "family", "kernel", "witness", "what", "survives", "first"), text),
        **dict.fromkeys(("checks", "witness_checks"), list_of(text)),
        **dict.fromkeys(("precision", "in_smoke", "without_goldens"), flag),
        "cases": count,
    }
)
_SELFTEST = object_of(
    {
        **dict.fromkeys(("device", "tier"), word),
        "finished": text,
        **dict.fromkeys(("environment", "libraries"), map_of(text)),
        **dict.fromkeys(("whole", "smoke_first"), flag),
        "exit_code": integer,
        "targets": object_of(dict.fromkeys(("killed", "precision", "in_smoke"), share)),
        **dict.fromkeys(("shortfalls", "bad_controls", "alarms"), list_of(text)),
        **dict.fromkeys(("all", "precision"), _ROW),
        "families": map_of(_ROW),
        "checks": map_of(object_of(dict.fromkeys(("kills", "alone", "precision"), count))),
        "faults": list_of(_FAULT),
        **dict.fromkeys(("not_judged", "beyond_this_machine"), map_of(text)),
        "innocent_cases": count,
        "alarm_rate_at_most": share,
    },
    libraries={},
)


@dataclass
class Selftest:
    """A selftest, and an earlier one of the same device and tier to set beside it, or None."""

    told: dict
    before: dict | None = None

    @property
    def killed(self) -> list:
        return [fault for fault in self.told["faults"] if fault["checks"]]

    @property
    def survivors(self) -> list:
        """Those that nobody explained first."""
        return sorted((f for f in self.told["faults"] if not f["checks"]), key=lambda f: bool(f["survives"]))

    @property
    def families(self) -> list:
        """(name, row, check -> faults it kills, row of the earlier selftest or None), the most survivors first."""
        kills = Counter((fault["family"], check) for fault in self.killed for check in fault["checks"])
        earlier = self.before["families"] if self.before else {}
        rows = sorted(self.told["families"].items(), key=lambda item: (item[1]["killed"] - item[1]["faults"], item[0]))
        checks = self.told["checks"]
        return [(name, row, {c: kills[name, c] for c in checks}, earlier.get(name)) for name, row in rows]

    @property
    def checks(self) -> list:
        """Checks that kill, each with `adds`: faults that none of those before it in the list kills. The next is
        always the one that adds the most, then the one that kills the most."""
        left, rest, rows = self.killed, {c: r for c, r in self.told["checks"].items() if r["kills"]}, []
        while rest:
            adds = {check: sum(check in fault["checks"] for fault in left) for check in rest}
            best = max(rest, key=lambda check: (adds[check], rest[check]["kills"]))
            rows.append({"check": best, "adds": adds[best], **rest.pop(best)})
            left = [fault for fault in left if best not in fault["checks"]]
        return rows

    @property
    def idle_checks(self) -> list:
        """Checks that killed nothing."""
        return [check for check, row in self.told["checks"].items() if not row["kills"]]

    @property
    def changes(self) -> list:
        """In what the earlier selftest's environment was another, a line each; empty without one."""
        if not self.before:
            return []
        lines = []
        for part in ("environment", "libraries"):
            then, now = self.before[part], self.told[part]
            both = sorted(key for key in then.keys() & now.keys() if not key.startswith("telemetry."))
            lines += [f"{key}: {then[key]} before, {now[key]} now" for key in both if then[key] != now[key]]
            for when, known, other in (("before", then, now), ("now", now, then)):
                unknown = sorted(key for key in other.keys() - known.keys() if not key.startswith("telemetry."))
                if not known:
                    lines.append(f"{part}: not known {when}")
                elif unknown and part == "environment":
                    lines.append(f"not known {when}: {', '.join(unknown)}")
        return lines

    @property
    def processor(self) -> str:
        return self.told["environment"].get("gpu.model" if self.told["device"] == "cuda" else "cpu.model", "unknown")


def read_selftest(given: Path, before: Path | None = None) -> Selftest:
    """`given` and `before`: a folder with selftest.json, or such a file. Raises InputError."""
    selftest = Selftest(_read(given), _read(before) if before else None)
    if selftest.before:
        asked, earlier = ([told[key] for key in ("device", "tier")] for told in (selftest.told, selftest.before))
        if asked != earlier:
            raise InputError(
                f"{_file(before)}: a selftest of device {earlier[0]} and tier {earlier[1]}, which does not compare "
                f"with one of device {asked[0]} and tier {asked[1]}; give another"
            )
    return selftest


def _file(given):
    return given / FILE if given.is_dir() else given


def _read(given):
    file = _file(given)
    try:
        told, _ = document(bytes_of(file, "selftest"), _SELFTEST)
        _check_sums(told)
    except InputError as error:
        message = str(error).lstrip(".")
        raise InputError(message if message.startswith(str(file)) else f"{file}: {message}") from None
    return told


def _check_sums(told):
    """The rows are the sums of the faults, or one of both is not what was found."""
    faults = told["faults"]
    rows = {
        "all": (told["all"], faults),
        "precision": (told["precision"], [fault for fault in faults if fault["precision"]]),
    }
    for family in sorted(set(told["families"]) | {fault["family"] for fault in faults}):
        of_family = [fault for fault in faults if fault["family"] == family]
        rows[f"families.{family}"] = (told["families"].get(family, {}), of_family)
    for name, (row, counted) in rows.items():
        sums = {
            "faults": len(counted),
            "killed": sum(bool(fault["checks"]) for fault in counted),
            "in_smoke": sum(fault["in_smoke"] for fault in counted),
            "without_goldens": sum(fault["without_goldens"] for fault in counted),
            "witness_only": sum(bool(fault["witness_checks"]) for fault in counted),
        }
        wrong = next((key for key in sums if row.get(key) != sums[key]), None)
        if wrong:
            raise InputError(f"{name}.{wrong}: {row.get(wrong)}, but its faults are {sums[wrong]}")
    kills = Counter(check for fault in faults for check in fault["checks"])
    alone = Counter(fault["checks"][0] for fault in faults if len(fault["checks"]) == 1)
    of_precision = Counter(check for fault in faults if fault["precision"] for check in fault["checks"])
    for check in sorted(set(kills) | set(told["checks"])):
        row = told["checks"].get(check, {})
        for key, sums in (("kills", kills), ("alone", alone), ("precision", of_precision)):
            if row.get(key) != sums[check]:
                raise InputError(f"checks.{check}.{key}: {row.get(key)}, but its faults are {sums[check]}")
