"""A check of the user's credentials, which Google must accept before any other question is asked.

Reading them may start a program, and trying them queries Google, so both have a timeout.
"""

from __future__ import annotations

import importlib
import os
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.rest_client import GoogleAuth, UnansweredError
from tpustarter.cloud.doctor import project_findings
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer, ProjectFinding, ProjectQuestion
from tpustarter.core.redact import Redactor
from tpustarter.probe.finding import Hint

FIND_S = 5.0
"""Timeout for finding credentials, and again for trying them, in seconds."""
QUESTION = ProjectQuestion(
    "credentials",
    "there are credentials that Google accepts",
    "https://docs.cloud.google.com/docs/authentication/application-default-credentials",
    lambda _subject, _google: ProjectAnswer("ok", ""),
    lambda _: "gcloud auth application-default print-access-token",
)
LOG_IN = "gcloud auth application-default login"
_CLOCK = "reasonable timeframe"
"""Part of Google's error for a token issued in its past or future."""

_Answer = TypeVar("_Answer")


def make_anonymous_credentials() -> object:
    """Return empty credentials, for a loopback server."""
    from google.auth import credentials as google

    library: GoogleAuth = google
    return library.AnonymousCredentials()


def try_credentials(
    subject: DoctorTarget, find: Callable[[], object]
) -> tuple[object, ProjectFinding]:
    """Return the credentials, or None if they are unusable, and the finding about them."""
    # Imported outside the timeout, because it takes seconds on a busy machine.
    importlib.import_module("google.auth.transport.requests")
    try:
        found = _within_limit(find)
        _within_limit(lambda: _refresh(found))
    except CloudProblem as problem:
        what = problem.summary
        text = problem.failure.what if problem.failure else f"{what}: {problem.text}"
        text = " ".join(text.split()).rstrip(".")
        text = text if subject.show_names else subject.hide(Redactor(os.environ).redact_text(text))
        fix = Hint.of(problem.hint).command or LOG_IN
        return None, make_unusable_credentials_finding(text or "no credentials were found", fix)
    except UnansweredError as error:
        if error.reason != "credentials":
            return None, project_findings.make_unknown_finding(QUESTION, subject, error)
        text = subject.hide(str(error))
        if _CLOCK in error.text:
            text = f"the clock of this machine is wrong, so Google refused the token: {text}"
            return None, make_unusable_credentials_finding(text, "date -u; timedatectl status")
        return None, make_unusable_credentials_finding(text, LOG_IN)
    own = getattr(found, "quota_project_id", None)
    with_project = getattr(found, "with_quota_project", None)
    if own is None and with_project and not _email(found):  # a user's credentials name no project
        return with_project(subject.id), project_findings.make_finding(
            QUESTION, ProjectAnswer("ok", _describe_credentials(found, subject))
        )
    if own and own != subject.id:
        text = (
            f"{_describe_credentials(found, subject)}, but their quota project is another one, "
            "whose APIs and quota then count"
        )
        fix = f"gcloud auth application-default set-quota-project {subject.project_text}"
        return found, project_findings.make_finding(QUESTION, ProjectAnswer("warn", text, fix))
    return found, project_findings.make_finding(
        QUESTION, ProjectAnswer("ok", _describe_credentials(found, subject))
    )


def _refresh(found: GoogleAuth) -> None:
    from google.auth import exceptions
    from google.auth.transport import requests as transport

    library: object = transport
    try:
        found.refresh(library.Request())
    except exceptions.GoogleAuthError as error:
        raise rest_client.convert_exception(error, "oauth2.googleapis.com") from error


def _email(found: object) -> str | None:
    """Return a service account's address, or None for a user's credentials."""
    return getattr(found, "service_account_email", None)


def _describe_credentials(found: object, subject: DoctorTarget) -> str:
    email = _email(found)
    kind = "a service account" if email else "a user"
    named = f" ({email})" if email and subject.show_names else ""
    return f"Google accepts the credentials, which are those of {kind}{named}"


def make_unusable_credentials_finding(text: str, fix: str = LOG_IN) -> ProjectFinding:
    """Return the finding for unusable credentials."""
    return project_findings.make_finding(QUESTION, ProjectAnswer("fail", text, fix, "credentials"))


def _within_limit(do: Callable[[], _Answer]) -> _Answer:
    """Return a function's result; raises UnansweredError after `FIND_S`."""
    answers: queue.SimpleQueue[tuple[_Answer | None, Exception | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((do(), None))
        except Exception as error:  # noqa: BLE001  it is raised below
            answers.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        answer, error = answers.get(timeout=FIND_S)
    except queue.Empty:
        raise UnansweredError("silent", f"{FIND_S:g} s passed") from None
    if error:
        raise error
    return answer  # type: ignore[return-value]  it is what the function returned
