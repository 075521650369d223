"""A crash report, ready to paste into an issue: versions and traceback, no personal data."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
import traceback

from tpustarter.core import locations, origin
from tpustarter.core.problem import Problem
from tpustarter.core.redact import Redactor
from tpustarter.version import __version__


class ReportedCrash(Exception):  # noqa: N818  its report has been written already
    """Raised in place of a bug that has already been reported, to set the exit code."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(what)
        self.what = what
        self.where = where


def write_crash_report(error: BaseException) -> tuple[str, str]:
    """Write a crash report; return the error as text, and a sentence that names the report."""
    if isinstance(error, ReportedCrash):
        return error.what, error.where
    try:
        return _write(error)
    except Exception as broken:  # noqa: BLE001  neither message nor stack is shown unredacted
        names = f"{type(error).__name__}, and {type(broken).__name__} as it was written down"
        return names, "no report could be written: is this installation complete?"


def _write(error: BaseException) -> tuple[str, str]:
    redact = Redactor(os.environ)
    what = redact.redact_text(f"{type(error).__name__}: {error}")
    program = redact.redact_text(f"tpustarter {__version__} ({origin.find_origin()})")
    facts = f"{program}, Python {platform.python_version()}, {sys.platform}"
    trace = redact.redact_text("".join(traceback.format_exception(error)))
    body = f"## What happened\n\n`{what}`\n\n{facts}\n\n```\n{trace}```\n"
    where = "no report could be written"
    with contextlib.suppress(OSError, Problem):
        path = locations.claim_free_name(
            locations.make_state_folder() / time.strftime("bug-%Y%m%d-%H%M%S.md")
        )
        path.write_text(body, encoding="utf-8")
        locations.chown_to_caller(path)
        where = redact.redact_text(f"a report to paste into an issue is in `{path}`")
    return what, where
