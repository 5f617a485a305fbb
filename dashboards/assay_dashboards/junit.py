"""junit.xml: one test suite a kernel, one test case a record.

Failures are records whose verdict makes the run exit 1, errors those of 4. What is neither a pass nor a failure
(unsupported, known, inconclusive, ...) is `skipped` with its reason: JUnit has no other word for it.
"""

from xml.etree import ElementTree as xml

from .view import View


def junit(view: View) -> bytes:
    root = xml.Element("testsuites", name="assay", tests=str(len(view.records)))
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
