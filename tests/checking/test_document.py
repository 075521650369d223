"""The run as JSON: every document fits the published schema, and an error is one too."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
from hypothesis import given

from tests.support.runs import (
    HOST,
    result,
    results_strategy,
    run_of,
)
from tpustarter.checking.output import run_document
from tpustarter.checking.results.results import Result
from tpustarter.core.problem import ExitCode, Problem

SCHEMA = json.loads(resources.files("tpustarter.checking").joinpath("schema.json").read_text())


@given(results_strategy)
def test_every_document_fits_the_published_schema(results: list[Result]) -> None:
    """Any run gives a document the schema accepts, and its counts add up."""
    fields = json.loads(
        run_document.format_json_line(run_document.make_json_document(run_of(*results)))
    )
    jsonschema.Draft202012Validator(SCHEMA).validate(fields)

    assert sum(fields["counts"].values()) == len(fields["results"])


def test_schema_refuses_invalid_report() -> None:
    """A report without `verified_on`, and a skip without a reason, are refused."""
    fields = run_document.make_json_document(run_of(HOST, result("skip")))
    without = {key: value for key, value in fields.items() if key != "verified_on"}
    fields["results"][1]["reason"] = None
    validator = jsonschema.Draft202012Validator(SCHEMA)

    assert not validator.is_valid(without)
    assert not validator.is_valid(fields)


def test_error_is_json_document() -> None:
    """An error that prevents a report is a JSON document that fits the schema."""
    for error, code in ((Problem("no", hint="yes", code=ExitCode.USAGE), 2), (ValueError("x"), 70)):
        fields = run_document.error_fields(error)
        jsonschema.Draft202012Validator(SCHEMA).validate(fields)

        assert fields["exit_code"] == code
