"""Adds up test results and prints the last line of ci/test: "N passed, N failed, N skipped".

Reads JUnit XML (ctest, pytest) and checks.tsv (name, outcome, reason). Skips are named with their reasons, then
failures with what the test said: of a run on another machine its log is all that is left.
A file that is missing or unreadable, or one without a test, is a failure: a runner that died must not look like
success. So is a skip without a reason.
Exits 0 only when something passed and nothing failed.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

# CTest writes a test that asked to be skipped and one that could not be started alike, but for the message. Why it
# asked stands in its output, in GoogleTest's form, or after "skipped: " where a test only counts what is left out.
SKIP_MESSAGES = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION_MATCHED")
# From the first assertion of GoogleTest that failed on, or else the end.
SAID_LINES = 40
FAILED_BECAUSE = re.compile(r"^\S+:\d+: Failure$.*", re.MULTILINE | re.DOTALL)
SKIPPED_BECAUSE = re.compile(r"^(?:\S+:\d+: Skipped\n|skipped: )(.+)$", re.MULTILINE)


def said_by(case, bad):
    """What a failed test's runner kept of it, its first assertion that failed before all."""
    message = bad.get("message", "").partition("\n")[0] if bad is not None else ""
    output = case.findtext("system-out", "").strip()
    if first := FAILED_BECAUSE.search(output):
        lines = first.group().splitlines()[:SAID_LINES]
    else:
        trace = (bad.text or "").strip() if bad is not None else ""
        lines = (trace or output).splitlines()[-SAID_LINES:]
    return "\n".join([message, *lines])


def junit_outcomes(path):
    """(name, outcome, reason) of each test case; the first line of a reason is short and may be empty."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, group = case.get("name", ""), case.get("classname", "")
        if group and group != name:  # CTest writes the name twice
            name = f"{group}.{name}"
        bad = case.find("failure")
        bad = case.find("error") if bad is None else bad
        skipped = case.find("skipped")
        status = case.get("status")  # CTest's own; pytest has none
        if bad is not None or status == "fail":
            yield name, "failed", said_by(case, bad)
        elif status == "disabled":
            yield name, "failed", "disabled without a reason"
        elif skipped is not None or status == "notrun":
            reason = skipped.get("message", "") if skipped is not None else ""
            asked = status is None or reason.startswith(SKIP_MESSAGES)
            if reason.startswith(SKIP_MESSAGES):
                said = SKIPPED_BECAUSE.search(case.findtext("system-out", ""))
                reason = said.group(1) if said else ""
            if asked and not reason:
                asked, reason = False, "skipped without a reason"
            yield name, "skipped" if asked else "failed", reason
        else:
            yield name, "passed", ""


def tsv_outcomes(path):
    for line in path.read_text().splitlines():
        name, outcome, *said = line.split("\t")
        reason = " ".join(said).strip()
        if outcome == "skipped" and not reason:
            outcome, reason = "failed", "skipped without a reason"
        yield name, outcome, reason


def outcomes(path):
    try:
        found = list(tsv_outcomes(path) if path.suffix == ".tsv" else junit_outcomes(path))
    except (OSError, ElementTree.ParseError, ValueError) as error:
        return [(str(path), "failed", f"unreadable result: {error}")]
    return found or [(str(path), "failed", "no test ran")]


def tell(name, outcome, reason):
    first, *said = reason.splitlines() or [""]
    print(f"{outcome}: {name}" + (f" ({first})" if first else ""))
    for line in said:
        print(f"  | {line}")  # so that no server takes it for a command


def main(paths):
    found = [outcome for path in paths for outcome in outcomes(Path(path))]
    for wanted in ("skipped", "failed"):
        for name, outcome, reason in found:
            if outcome == wanted:
                tell(name, outcome, reason)
    counts = Counter(outcome for _, outcome, _ in found)
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")))
    return 0 if counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
