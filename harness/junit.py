"""A comparison as JUnit XML, which every CI server shows: a test case a job, a failure where it is worse."""

from __future__ import annotations

from xml.etree import ElementTree

from harness.compare import Comparison, JobChange, Verdict


def as_junit(comparison: Comparison) -> str:
    suite = ElementTree.Element(
        "testsuite",
        name="kilobench compare",
        tests=str(len(comparison.jobs)),
        failures=str(len(comparison.regressions)),
        errors="0",
        skipped=str(sum(not job.row.ok and job.verdict is Verdict.SAME for job in comparison.jobs)),
    )
    for job in comparison.jobs:
        suite.append(_case(job))
    ElementTree.SubElement(suite, "system-out").text = "\n".join(comparison.notes)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(job: JobChange) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=f"{job.row.board}.{job.row.dataset}", name=job.name)
    if job.verdict is Verdict.REGRESSION:
        worse = [change for change in job.changes if change.verdict is Verdict.REGRESSION]
        lines = [job.note] if job.note else [change.sentence for change in worse]
        failure = ElementTree.SubElement(case, "failure", type="regression", message="; ".join(lines))
        failure.text = "\n".join([change.sentence for change in job.changes] or lines)
    elif not job.row.ok and job.verdict is Verdict.SAME:
        ElementTree.SubElement(case, "skipped", message=job.note)
    return case
