"""Reports saved for comparison: written atomically, validated when read, limited in number.

A report may come from another machine or program. Any defect in it is a `Problem`, raised before a
check runs.
"""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import msgspec

from tpustarter.checking.results.results import SCHEMA, Run
from tpustarter.core import locations, state
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import escape_text

LAST = "last"
"""The name for the newest report saved with `--save`."""
MOST = 50
"""Maximum number of reports, about 100 kilobytes each; the oldest are deleted first."""
_HINT = "`tpustarter check --save` keeps a report, and `--compare last` reads the newest one"
_LONGEST_NAME = 60
_DEFECT = re.compile(r"(?:field `(?P<missing>\w+)`)?(?: - at `\$\.?(?P<place>.*)`)?$")
"""The end of a msgspec error: the missing field and its path in the document."""


class SavedFinding(msgspec.Struct):
    """A finding of an earlier run, with untrusted fields."""

    code: object = None
    entity: object = None
    name: object = None
    found: object = None
    unit: object = None


class SavedResult(msgspec.Struct):
    """A result of an earlier run."""

    id: str
    status: str
    findings: list[SavedFinding]


class SavedTarget(msgspec.Struct):
    """The target of an earlier run."""

    frameworks: dict[str, object]
    env: dict[str, object]
    python: object = None
    python_version: object = None
    platform: object = None
    kind: object = None
    devices: object = None
    virtual: object = None
    settings: object = None


class SavedReport(msgspec.Struct):
    """The fields of a saved run that are used in comparisons."""

    target: SavedTarget
    tool: dict[str, object]
    host: dict[str, object]
    selection: dict[str, object]
    results: list[SavedResult]
    started: object = None
    verdict: object = None
    verified_on: object = None


def save_report(run: Run, document: dict[str, object]) -> Path:
    """Save a report atomically in the state folder.

    Raises:
        Problem: It cannot be saved.
    """
    timestamp = re.sub(r"[^0-9T]", "", run.started.partition("+")[0]).replace("T", "-")
    kind = re.sub(r"[^a-z0-9]+", "-", run.target.get("kind", "").lower()).strip("-")[:40]
    name = f"saved-{timestamp}-{kind or 'unknown'}"
    if state.prepare_state_path(name).exists():  # two runs in the same second
        name += f"-{time.time_ns()}"
    state.save_state(name, document)
    paths = list_reports()
    for path in paths[: max(0, len(paths) - MOST)]:
        with contextlib.suppress(OSError):
            path.unlink()
    return state.prepare_state_path(name)


def list_reports() -> list[Path]:
    """Return the saved reports, sorted by the time in their names, oldest first.

    A report from the future was saved with a wrong clock, and counts as the oldest.
    """
    tomorrow = time.strftime("saved-%Y%m%d-%H%M%S", time.gmtime(time.time() + 86400))
    paths = locations.state_folder_path().glob("saved-*.json")
    return sorted(paths, key=lambda path: (path.stem <= tomorrow, path.stem))


def read_report(name: str) -> tuple[str, SavedReport]:
    """Read a report and return it with its file name; `last` is the newest saved one.

    Raises:
        Problem: There is no such file, or it is not a valid report.
    """
    path = Path(name)
    if name == LAST:
        paths = list_reports()
        if not paths:
            raise Problem("no report has been saved yet", hint=_HINT, code=ExitCode.USAGE)
        path = paths[-1]
    shown_path = escape_text(str(path))
    try:
        fields = state.parse_json(locations.read_text(path, state.MAX_BYTES))
    except FileNotFoundError:
        what = f"there is no file `{shown_path}` to compare with"
        raise Problem(what, hint=_HINT, code=ExitCode.USAGE) from None
    except OSError as error:
        raise _unusable(shown_path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _unusable(shown_path, "it is not JSON") from error
    if defect := _defect(fields):
        raise _unusable(shown_path, defect)
    try:
        return escape_text(path.name)[:_LONGEST_NAME], parse_saved_report(as_object(fields))
    except ValueError as error:
        raise _unusable(shown_path, str(error)) from error


def parse_saved_report(document: dict[str, object]) -> SavedReport:
    """Convert a run's document to types.

    Raises:
        ValueError: The document is malformed.
    """
    try:
        return msgspec.convert(document, SavedReport)
    except msgspec.ValidationError as error:
        match = _DEFECT.search(str(error))
        place = ".".join(filter(None, match.group("place", "missing"))) if match else ""
        result = re.match(r"results\[\d+\]", place)
        defect = f"`{result[0]}` is not a result" if result else f"`{place}` is missing"
        raise ValueError(defect) from error
    except UnicodeEncodeError as error:
        raise ValueError("a name in it is no text") from error


def _unusable(shown_path: str, why: str) -> Problem:
    hint = "give a file that `tpustarter check --json` printed or `tpustarter check --save` saved"
    return Problem(f"cannot compare with `{shown_path}`: {why}", hint=hint)


def _defect(fields: object) -> str | None:
    schema = as_object(fields).get("schema")
    if schema != SCHEMA:
        shown_schema = f"`{escape_text(schema)[:40]}`" if isinstance(schema, str) else "no schema"
        kind, _, major = SCHEMA.rpartition("/")
        parts = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
        newer = parts[0] == kind and parts[2].isdecimal() and len(parts[2]) < 9
        if newer and int(parts[2]) > int(major):
            return f"found {shown_schema}, which a newer tpustarter made, expected `{SCHEMA}`"
        return f"found {shown_schema}, expected `{SCHEMA}`"
    return "it describes an error, not a run" if "error" in as_object(fields) else None
