"""junit.xml: one test suite a kernel, one test case a record; one more suite of latencies compared with the base's.

Failures are records whose verdict makes the run exit 1, errors those of 4. What is neither a pass nor a failure
(unsupported, known, inconclusive, ...) is `skipped` with its reason: JUnit has no other word for it.
"""

from xml.etree import ElementTree as xml

from .latency import NO_COMPARISON, OUTCOMES
from .latency_words import SAID, headline, reasons
from .view import View

AGAINST_BASE = "latency against the base"


def junit(view: View) -> bytes:
    root = xml.Element("testsuites", name="assay")
    for name in view.kernels:
        records = view.records_of(name)
        suite = xml.SubElement(root, "testsuite", name=name, timestamp=view.run["started"].removesuffix("Z"))
        counts = dict.fromkeys(("failure", "error", "skipped", "pass"), 0)
        for record in records:
            counts[_add_case(suite, record)] += 1
        suite.set("tests", str(len(records)))
        suite.set("failures", str(counts["failure"]))
        suite.set("errors", str(counts["error"]))
        suite.set("skipped", str(counts["skipped"]))
        suite.set("time", f"{sum(sum(r['seconds'].values()) for r in records):.3f}")
    compared = _add_comparison(root, view) if view.comparison else 0
    if view.exit_code == 4 and root.find(".//error") is None:
        _add_unfinished(root, view)
        compared += 1
    root.set("tests", str(len(view.records) + compared))
    xml.indent(root)
    return xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _add_case(suite, record) -> str:
    case = xml.SubElement(
        suite,
        "testcase",
        classname=record["name"].replace("/", "."),
        name=record["case"],
        time=f"{sum(record['seconds'].values()):.3f}",
    )
    if record["verdict"] == "pass":
        return "pass"
    if record["exit_code"] in (1, 4):
        kind = "failure" if record["exit_code"] == 1 else "error"
        element = xml.SubElement(case, kind, type=record["verdict"], message=record["reason"])
        lines = [f"owner: {record['owner']}", f"repro: {record['repro']}"]
        lines += [f"{c['check']}: {c['detail']}" for c in record["checks"] if c["outcome"] == "fail"]
        element.text = "\n".join(lines)
        return kind
    xml.SubElement(case, "skipped", message=f"{record['verdict']}: {record['reason']}")
    return "skipped"


def _add_unfinished(root, view):
    """What no record tells: a run that did not end, lacks some or could not use a module."""
    suite = xml.SubElement(root, "testsuite", name="the run", tests="1", errors="1", failures="0", skipped="0")
    case = xml.SubElement(suite, "testcase", classname="run", name="ended")
    told = "; ".join(f"{kind}: {text}" for kind, text in view.findings)
    xml.SubElement(case, "error", type="error", message=f"{view.headline}{': ' if told else ''}{told}")


def _add_comparison(root, view) -> int:
    """Returns how many test cases it added."""
    comparison = view.comparison
    suite = xml.SubElement(root, "testsuite", name=AGAINST_BASE, timestamp=view.run["started"].removesuffix("Z"))
    counts = dict.fromkeys(("error", "failure", "skipped", "pass"), 0)
    for case in comparison.cases:
        name, _, rest = case.id.partition(":")
        element = xml.SubElement(suite, "testcase", classname=name.replace("/", "."), name=rest or name)
        kind = {0: "pass", 1: "failure"}.get(OUTCOMES[case.outcome], "skipped")
        counts[kind] += 1
        said = " ".join(" ".join(filter(None, told)) for told in reasons(case))
        if kind == "failure":
            xml.SubElement(element, "failure", type="slower", message=said)
        elif kind == "skipped":
            xml.SubElement(element, "skipped", message=f"{SAID[case.outcome]}: {said}")
    if 1 in comparison.exit_codes and not counts["failure"]:  # for a case that is not among these: the findings name it
        element = xml.SubElement(suite, "testcase", classname="comparison", name="findings")
        xml.SubElement(element, "failure", type="slower", message=headline(comparison))
        counts["failure"] += 1
    if NO_COMPARISON in comparison.exit_codes:
        element = xml.SubElement(suite, "testcase", classname="comparison", name="begins")
        xml.SubElement(element, "error", type="error", message=comparison.told["invalid"])
        counts["error"] += 1
    suite.set("tests", str(sum(counts.values())))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    suite.set("time", f"{comparison.told['seconds']:.3f}")
    return sum(counts.values())
