"""The types of documents match the published schemas and the collected fields."""

from __future__ import annotations

import json
from functools import reduce
from importlib import resources
from typing import Any, get_args

import msgspec
import pytest

from tpustarter.checking.results import results, run_comparison
from tpustarter.rehearsal import result_fields
from tpustarter.report import report_document
from tpustarter.report.compare import report_comparison, suspicious_differences
from tpustarter.report.open import accepted_facts

REPORT = ("report", "schema.json", "properties")
COMPARISON = ("report", "comparison.schema.json", "properties")
CHECK = ("checking", "schema.json", "$defs")
REHEARSAL = ("rehearsal", "schema.json", "$defs")
CHANGES = (*CHECK, "comparison", "properties")
FIRST = (*REPORT, "first", "properties")
TYPES: dict[type, tuple[str | int, ...]] = {
    report_document.ReportDocument: REPORT[:2],
    report_document.ReportTriage: (*REPORT, "first"),
    report_document.StalePackage: (*FIRST, "stale", "items"),
    report_document.KnownMatch: (*FIRST, "known", "items"),
    report_document.FrameworkHang: (*FIRST, "hung", "items"),
    report_document.UnansweredSection: (*FIRST, "unanswered", "items"),
    report_document.ReportSection: (*REPORT, "sections", "items"),
    report_document.OpenedReportNotes: (*REPORT, "opened"),
    report_comparison.ReportComparison: COMPARISON[:2],
    report_comparison.ComparedReport: (*COMPARISON[:2], "$defs", "report"),
    report_comparison.MissingSection: (*COMPARISON, "unanswered", "items"),
    suspicious_differences.ReportDifference: (*COMPARISON, "differences", "items"),
    run_comparison.RunComparison: (*CHECK, "comparison"),
    run_comparison.ResultChange: (*CHANGES, "results", "items"),
    run_comparison.FigureChange: (*CHANGES, "figures", "items"),
    run_comparison.ValueChange: (*CHECK, "difference"),
    results.PublishedFinding: (*CHECK, "finding"),
    results.UsedDevices: (*CHECK, "ran_on", "oneOf", 1),
    result_fields.ProgramArray: (*REHEARSAL, "buffer"),
    result_fields.CollectiveOperation: (*REHEARSAL, "collective"),
    result_fields.MatrixProduct: (*REHEARSAL, "dot"),
    result_fields.ProgramWork: (*REHEARSAL, "work"),
    result_fields.MatrixWork: (*REHEARSAL, "matrix"),
    result_fields.LowerBound: (*REHEARSAL, "bound"),
    result_fields.PeakTime: (*REHEARSAL, "limit"),
    result_fields.DocumentedPeak: (*REHEARSAL, "peak"),
    result_fields.Utilization: (*REHEARSAL, "utilization"),
    result_fields.FittingSize: (*REHEARSAL, "fit"),
    result_fields.TriedSize: (*REHEARSAL, "tried"),
    result_fields.Donation: (*REHEARSAL, "donation"),
    result_fields.ComparedProgram: (*REHEARSAL, "compared"),
}
"""By type: the package, the file of the schema, and the place in it."""


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_type_has_published_fields(kind: type) -> None:
    """A field with another name would be missing in a document."""
    package, file, *place = TYPES[kind]
    text = resources.files(f"tpustarter.{package}").joinpath(str(file)).read_text()
    schema: dict[str, Any] = reduce(lambda part, key: part[key], place, json.loads(text))
    made = msgspec.json.schema(kind)

    assert schema["properties"].keys() == made["$defs"][kind.__name__]["properties"].keys()


def test_results_have_published_fields() -> None:
    """The three kinds of a result have together the fields of the schema, and need the same."""
    text = resources.files("tpustarter.rehearsal").joinpath("schema.json").read_text()
    schema = json.loads(text)["$defs"]["result"]
    kinds = get_args(result_fields.ResultFields)
    found = {name for kind in kinds for name in kind.__annotations__}
    of_all = set.intersection(*(set(kind.__required_keys__) for kind in kinds))
    compiled, too_big = (rule["then"]["required"] for rule in schema["allOf"])

    assert schema["properties"].keys() == found - {"key", "argument_names"}
    assert {*schema["required"]} == of_all
    assert {*compiled, *schema["required"]} == result_fields.CompiledProgram.__required_keys__
    assert {*too_big, *schema["required"]} == result_fields.OversizedProgram.__required_keys__


def test_every_fact_is_field_of_its_collector() -> None:
    """A fact with another name would always be missing."""
    allowed = {name: one.allowed.keys() for name, one in accepted_facts.list_collectors().items()}
    kinds = {one.name: one.type for one in msgspec.structs.fields(report_document.ReportFacts)}
    del kinds["frameworks"]
    kinds["jax"] = report_document.FrameworkFacts

    for section, kind in kinds.items():
        assert {one.encode_name for one in msgspec.structs.fields(kind)} <= allowed[section]
