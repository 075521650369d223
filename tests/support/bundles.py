"""Opened reports: the sample of schema 1, and assertions that hold for every shown report."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.places import TESTS
from tpustarter.core.problem import Problem
from tpustarter.report.compare import report_comparison, report_comparison_text
from tpustarter.report.forms import bundle, issue_trackers
from tpustarter.report.open import opened_report

SCHEMA = json.loads(resources.files("tpustarter.report").joinpath("schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SAMPLES = TESTS / "samples/reports"
HANGS = SAMPLES / "hangs"
DOCUMENT: dict[str, Any] = json.loads((HANGS / "report.json").read_text())
GOOD_HOST = opened_report.open_report(SAMPLES / "good")
FILES = {one.name: one.read_bytes() for one in sorted(HANGS.iterdir())}
GIB = 1 << 30
EVIL = "\x1b]0;x\x07\x1b[31m<script>`*\u202etxt.exe\u2066"


def written(folder: Path, document: Any) -> Path:
    """Write a report.json; a text is written unchanged."""
    file = folder / "report.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    """Write an archive as `report` does."""
    file = folder / "report.tar.gz"
    file.write_bytes(bundle.make_archive("tpustarter-report", files))
    return file


def refused(path: Path) -> Problem:
    """Open a file that is not a report, and return the error."""
    with pytest.raises(Problem) as caught:
        opened_report.open_report(path)
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    return caught.value


def sound(document: dict[str, Any]) -> str:
    """Assert that a document can be shown in every form, and is harmless; return its text."""
    VALIDATOR.validate(document)
    shown = ""
    for tracker in issue_trackers.TRACKERS:
        one = copy.deepcopy(document)
        one["first"]["tracker"] = tracker.id
        shown = opened_report.render_report(one, 1 << 30)
        assert all(line.isprintable() for line in shown.split("\n"))
    json.dumps(document, allow_nan=False)
    for pair in ((document, document), (GOOD_HOST, document), (document, GOOD_HOST)):
        told = report_comparison_text.render_comparison(report_comparison.compare_reports(*pair))
        assert all(line.isprintable() for line in told.split("\n"))
    return shown
