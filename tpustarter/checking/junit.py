"""The run as JUnit XML, for CI systems that show nothing else."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from tpustarter import locations
from tpustarter.checking.headline import headline
from tpustarter.checking.results import Result, Run
from tpustarter.checking.text import finding_line, summary
from tpustarter.checking.verdict import verdict, verified_on
from tpustarter.terminal import visible


def write(run: Run, path: Path) -> None:
    """Write the run to `path`; raises Problem when that cannot be done."""
    _write(suite(run), path)


def reserve(path: Path) -> None:
    """Say in the file that the run has not ended; raises Problem if it cannot be written.

    So no earlier answer stands there if this run is killed. A pipe or a device takes no more than
    one document: there nothing is tried yet.
    """
    if path.is_file() or not path.exists():
        write_error("the run did not end", path)


def write_error(what: str, path: Path) -> None:
    """Write to `path` why there is no result; raises Problem when that cannot be done."""
    root = ET.Element("testsuite", name="tpustarter on none", tests="1", failures="0", errors="1",
                      skipped="0")  # fmt: skip
    case = ET.SubElement(root, "testcase", classname="tpustarter", name="run")
    ET.SubElement(case, "error", type="error", message=visible(what))
    _write(root, path)


def _write(root: ET.Element, path: Path) -> None:
    locations.write(path, ET.tostring(root, encoding="utf-8", xml_declaration=True).decode())


def suite(run: Run) -> ET.Element:
    """Return the test suite; its name says where the claims were verified."""
    counts = run.counts()
    root = ET.Element(
        "testsuite",
        name=f"tpustarter on {verified_on(run)}",
        tests=str(len(run.results)),
        failures=str(counts["fail"]),
        errors=str(counts["error"] + counts["notrun"]),
        skipped=str(counts["skip"]),
        time=f"{run.seconds:.3f}",
        timestamp=run.started,
    )
    properties = ET.SubElement(root, "properties")
    for name, value in (
        ("verified_on", verified_on(run)),
        ("verdict", verdict(run)),
        ("headline", visible(headline(run))),
        ("python", visible(str(run.target.get("python", "")))),
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
    why = visible(": ".join(part for part in (result.reason, result.detail) if part))
    text = "\n".join(visible(finding_line(finding)) for finding in result.findings)
    if result.status == "fail":
        message = visible(summary(result))  # not the claim: alone it says the opposite
        codes = [finding["code"] for finding in result.findings if finding["verdict"] == "fail"]
        ET.SubElement(case, "failure", type=",".join(codes), message=message).text = text
    elif result.status in ("error", "notrun"):
        kind = result.reason or result.status
        element = ET.SubElement(case, "error", type=kind, message=why)
        element.text = "\n".join(visible(line) for line in result.log.splitlines())
    elif result.status == "skip":
        ET.SubElement(case, "skipped", message=why)
    elif text:
        prefix = "warn\n" if result.status == "warn" else ""
        ET.SubElement(case, "system-out").text = prefix + text
    return case
