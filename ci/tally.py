"""Adds up test results and prints the last line of ci/test: "N passed, N failed, N skipped".

Reads JUnit XML (ctest, pytest) and checks.tsv (name, outcome, reason). Failures and skips are named with their reasons.
A file that is missing or unreadable, or one without a test, is a failure: a runner that died must not look like
success. So is a skip without a reason.
Exits 0 only when something passed and nothing failed.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

# CTest writes a test that asked to be skipped and one that could not be started alike, but for the message. Why it
# asked stands in its output, in GoogleTest's form, or after "skipped: " where a test only counts what is left out.
SKIP_MESSAGES = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION_MATCHED")
SKIPPED_BECAUSE = re.compile(r"^(?:\S+:\d+: Skipped\n|skipped: )(.+)$", re.MULTILINE)


def junit_outcomes(path):
    """(name, outcome, reason) of each test case."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, group = case.get("name", ""), case.get("classname", "")
        if group and group != name:  # CTest writes the name twice
            name = f"{group}.{name}"
        bad = case.find("failure")
        bad = case.find("error") if bad is None else bad
        skipped = case.find("skipped")
        status = case.get("status")  # CTest's own; pytest has none
        if bad is not None or status == "fail":
            yield name, "failed", bad.get("message", "") if bad is not None else ""
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


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        for name, outcome, reason in outcomes(Path(path)):
            counts[outcome] += 1
            if outcome != "passed":
                print(f"{outcome}: {name}" + (f" ({reason.splitlines()[0]})" if reason else ""))
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 0 if counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
