"""A run as JUnit XML, for CI systems that show nothing else."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from tpustarter.checking.output.results_text import finding_line, summarize_result
from tpustarter.checking.results.headline import format_headline
from tpustarter.checking.results.results import Result, Run
from tpustarter.checking.results.verdict import find_verified_device, judge_run
from tpustarter.core import locations
from tpustarter.text.terminal import escape_text

_OURS = b'<testsuite name="tpustarter on '
"""The start of every report that this module writes, after the XML declaration."""
_HEAD_BYTES = 200


def write_report(run: Run, path: Path) -> None:
    """Write the run's report to a file.

    Raises:
        Problem: The file cannot be written.
    """
    _write(make_suite(run), path)


def write_placeholder(path: Path) -> None:
    """Write a placeholder report of an unfinished run, so that a kill leaves no earlier result.

    A file that is not a report of this program may have been named by mistake, so it is moved
    aside.
    Nothing is written to a pipe or device yet, because it can take only one document.

    Raises:
        Problem: The file cannot be written.
    """
    with locations.convert_output_errors(path):
        takes_file = path.is_file() or not path.exists()
        if path.is_file():
            _keep_what_is_not_ours(path.resolve())
    if takes_file:
        write_error("the run did not end", path)


def _keep_what_is_not_ours(path: Path) -> None:
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if head and _OURS not in head:
        locations.move_aside(path, f"{path.name}.old", why="is no JUnit file of tpustarter")


def write_error(what: str, path: Path) -> None:
    """Write a report with an error instead of results.

    Raises:
        Problem: The file cannot be written.
    """
    root = ET.Element(
        "testsuite", name="tpustarter on none", tests="1", failures="0", errors="1", skipped="0"
    )
    case = ET.SubElement(root, "testcase", classname="tpustarter", name="run")
    ET.SubElement(case, "error", type="error", message=escape_text(what))
    _write(root, path)


def _write(root: ET.Element, path: Path) -> None:
    locations.write_user_file(
        path, ET.tostring(root, encoding="utf-8", xml_declaration=True).decode()
    )


def make_suite(run: Run) -> ET.Element:
    """Return a run's results as a JUnit test suite.

    Its name contains the kind of device on which they were verified.
    """
    counts = run.count_statuses()
    root = ET.Element(
        "testsuite",
        name=f"tpustarter on {find_verified_device(run)}",
        tests=str(len(run.results)),
        failures=str(counts["fail"]),
        errors=str(counts["error"] + counts["notrun"]),
        skipped=str(counts["skip"]),
        time=f"{run.seconds:.3f}",
        timestamp=run.started,
    )
    properties = ET.SubElement(root, "properties")
    for name, value in (
        ("verified_on", find_verified_device(run)),
        ("verdict", judge_run(run)),
        ("headline", escape_text(format_headline(run))),
        ("python", escape_text(run.target.get("python", ""))),
    ):
        ET.SubElement(properties, "property", name=name, value=value)
    for result in run.results:
        root.append(_case(result))
    return root


def _case(result: Result) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=f"tpustarter.{result.framework}",
        name=result.id,
        time=f"{result.seconds:.3f}",
    )
    why = escape_text(": ".join(part for part in (result.reason, result.detail) if part))
    text = "\n".join(escape_text(finding_line(finding)) for finding in result.findings)
    if result.status == "fail":
        message = escape_text(
            summarize_result(result)
        )  # the claim alone would read as the opposite
        codes = [finding["code"] for finding in result.findings if finding["verdict"] == "fail"]
        ET.SubElement(case, "failure", type=",".join(codes), message=message).text = text
    elif result.status in ("error", "notrun"):
        kind = result.reason or result.status
        element = ET.SubElement(case, "error", type=kind, message=why)
        element.text = "\n".join(escape_text(line) for line in result.log.splitlines())
    elif result.status == "skip":
        ET.SubElement(case, "skipped", message=why)
    elif text:
        prefix = "warn\n" if result.status == "warn" else ""
        ET.SubElement(case, "system-out").text = prefix + text
    return case
