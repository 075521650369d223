"""Prints the message for each of the 44 real errors: `python -m tests.cloud.show_failures`.

Each is met as in the tests: sent by the server of the tests, or raised by google.auth.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter

from tests.cloud.real_errors import MET, meet, short_folder
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.core.redact import Redactor

_PLACES = {
    "list": "answer to a listing",
    "get": "answer to a look at one node",
    "create": "answer to a creation",
    "delete": "answer to a deletion",
    "operation": "error of an operation",
    "failed": "`failed_data` of a request",
    "text": "text of gcloud or ssh",
    "no-adc": "raised by google.auth",
    "reauth": "raised by google.auth, through gRPC",
}


def table() -> list[str]:
    """Return the lines of a Markdown table, a row per error."""
    lines = ["| id | met as | what the user sees | exit code |", "|---|---|---|---|"]
    for row in api_errors.read_known_cloud_failures():
        met = MET[row.id]
        with short_folder() as folder:
            problem = meet(row, folder)
        if problem.failure is not row:
            sys.exit(f"`{row.id}` is not recognised")
        code = "" if met.code is None else f", gRPC {met.code}"
        seen = "<br>".join(map(_cell, _seen(problem)))
        lines.append(f"| {row.id} | {_PLACES[met.how]}{code} | {seen} | {problem.code} |")
    return lines


def _seen(problem: CloudProblem) -> list[str]:
    """Return the lines that say what is wrong and what to do, without Google's own words."""
    lines = Redactor(os.environ).redact_text(str(problem)).split("\n")  # as the program's end does
    return [line for line in lines if line.startswith(("error:", "hint:", "read:"))]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as state:
        os.environ["TPUSTARTER_HOME"] = state
        print("\n".join(table()))
    places = Counter(_PLACES[met.how] for met in MET.values())
    print(f"\n{len(MET)} errors: " + ", ".join(f"{count} {name}" for name, count in places.items()))
