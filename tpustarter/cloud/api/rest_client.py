"""A client for Google's documented REST methods, with the user's own credentials and timeouts.

A failed call raises `UnansweredError` with the reason as a sentence, so that callers never guess.
The token is sent only to Google's hosts: redirects are not followed, and the loopback server that
replaces Google's in tests gets none.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from typing import Any, Literal, TypeVar

import msgspec

from tpustarter.cloud.api import loopback_server

ENDPOINT = "TPUSTARTER_REST_ENDPOINT"
"""Variable with the host and port of the loopback server that replaces Google's in tests."""
CALL_S = 8.0
"""Timeout for a call, and for each read of its response, in seconds."""
MOST_PAGES = 50

BILLING = "cloudbilling.googleapis.com"
COMPUTE = "compute.googleapis.com"
MONITORING = "monitoring.googleapis.com"
RESOURCES = "cloudresourcemanager.googleapis.com"
SERVICES = "serviceusage.googleapis.com"
TPU = "tpu.googleapis.com"
TITLES = {
    BILLING: "the Cloud Billing API",
    COMPUTE: "the Compute Engine API",
    MONITORING: "the Cloud Monitoring API",
    RESOURCES: "the Cloud Resource Manager API",
    SERVICES: "the Service Usage API",
    TPU: "the Cloud TPU API",
}

Reason = Literal[
    "credentials",
    "denied",
    "garbled",
    "invalid",
    "missing",
    "network",
    "not-tried",
    "off",
    "rate",
    "server",
    "silent",
]
"""Reasons why a call has no usable response."""

_STATUS: dict[int, Reason] = {
    400: "invalid",
    401: "credentials",
    403: "denied",
    404: "missing",
    429: "rate",
}
_WORDS: dict[Reason, str] = {
    "credentials": "Google did not accept the credentials",
    "denied": "Google refuses to tell",
    "invalid": "Google did not take the question",
    "missing": "Google knows no such thing",
    "rate": "too many questions were asked in one minute",
    "server": "Google's service failed",
    "garbled": "the answer is not what Google documents",
    "silent": "there was no answer in time",
    "network": "Google cannot be reached",
}
_BY_REASON: dict[str, Reason] = {
    "SERVICE_DISABLED": "off",
    "ACCESS_TOKEN_EXPIRED": "credentials",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": "credentials",
    "CREDENTIALS_MISSING": "credentials",
    "RATE_LIMIT_EXCEEDED": "rate",
}
"""`google.rpc.ErrorInfo` reasons that are more specific than the HTTP status.

Source: https://github.com/googleapis/googleapis/blob/master/google/api/error_reason.proto (read
2026-11)."""

Answer = TypeVar("Answer")
GoogleAuth = Any
"""A module or object of google-auth, which is untyped."""


class _ErrorReason(msgspec.Struct):
    reason: str = ""


class _GoogleError(msgspec.Struct):
    message: str = ""
    details: list[_ErrorReason] = []
    errors: list[_ErrorReason] = []
    """The older format, which Compute Engine uses."""


class _Refusal(msgspec.Struct):
    error: _GoogleError = msgspec.field(default_factory=_GoogleError)


class UnansweredError(Exception):
    """A call without a usable response, with the reason as a sentence and Google's own text."""

    def __init__(
        self,
        reason: Reason,
        text: str = "",
        *,
        service: str = "",
        status: int = 0,
        error_reasons: tuple[str, ...] = (),
    ) -> None:
        self.reason: Reason = reason
        self.status = status
        """HTTP status; 0 without a response."""
        self.error_reasons = error_reasons
        """Google's own reasons, such as `quotaExceeded`."""
        self.service = service
        """The API that was called, such as `compute.googleapis.com`."""
        self.text = text
        """Google's own text, or a description of the network failure."""
        what = _WORDS.get(reason, "it is not known")
        if reason == "off":
            what = f"{TITLES.get(service, service)} is not enabled"
        elif text:
            number = f" ({status})" if status else ""
            what += f"{number}: {' '.join(text.split()).rstrip('.')[:300]}"
        super().__init__(what)


def find_rest_test_server() -> str | None:
    """Return the test server's address from TPUSTARTER_REST_ENDPOINT, or None if it is unset.

    Raises:
        Problem: It is not a loopback address with a port.
    """
    return loopback_server.read_test_server(ENDPOINT)


class RestClient:
    """A client for Google's REST services; raises UnansweredError for a failed call."""

    def __init__(
        self,
        credentials: object,
        *,
        address: str | None = None,
        call_s: float = CALL_S,
        total_s: float = 15.0,
    ) -> None:
        self._credentials = credentials
        self._address = address
        """A server on this machine; None for Google's own."""
        self._call_s = call_s
        self._ends_at = time.monotonic() + total_s
        self._sessions = threading.local()
        self._listed: dict[tuple[str, str], list[object]] = {}
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def get(self, service: str, path: str, kind: type[Answer], **query: object) -> Answer:
        """Return the response to a GET of `https://SERVICE/PATH`."""
        return _typed(self._ask("GET", service, path, query, None), kind, service)

    def post(self, service: str, path: str, kind: type[Answer], body: dict[str, object]) -> Answer:
        """Return the response to a POST, for Google API methods that only read."""
        return _typed(self._ask("POST", service, path, {}, body), kind, service)

    def send(
        self,
        method: Literal["POST", "DELETE"],
        service: str,
        path: str,
        kind: type[Answer],
        body: dict[str, object] | None = None,
    ) -> Answer:
        """Send a change and return the response; a change is never retried."""
        return _typed(self._ask_once(method, service, path, {}, body), kind, service)

    def pages(
        self, service: str, path: str, field: str, kind: type[Answer], **query: object
    ) -> list[Answer]:
        """Return all pages' rows of a listing, which is fetched once for all callers."""
        with self._locks[path]:
            if (path, field) not in self._listed:
                self._listed[path, field] = self._all_pages(service, path, field, query)
            return _typed(self._listed[path, field], list[kind], service, field)

    def _all_pages(
        self, service: str, path: str, field: str, query: dict[str, object]
    ) -> list[object]:
        found: list[object] = []
        token = ""
        for _ in range(MOST_PAGES):
            more = {"pageToken": token} if token else {}
            answer = self._ask("GET", service, path, {**query, **more}, None)
            found += _typed(answer.get(field, []), list[object], service, field)
            token = str(answer.get("nextPageToken") or "")
            if not token:
                return found
        raise UnansweredError("garbled", f"more than {MOST_PAGES} pages", service=service)

    def _ask(
        self, method: str, service: str, path: str, query: dict[str, object], body: object
    ) -> dict[str, object]:
        """Send a request, and retry it once if the service fails."""
        try:
            return self._ask_once(method, service, path, query, body)
        except UnansweredError as error:
            if error.reason != "server":
                raise
        return self._ask_once(method, service, path, query, body)

    def _ask_once(
        self, method: str, service: str, path: str, query: dict[str, object], body: object
    ) -> dict[str, object]:
        import requests
        from google.auth import exceptions as auth

        left_s = min(self._call_s, self._ends_at - time.monotonic())
        if left_s <= 0:
            raise UnansweredError("silent", "the time for all questions was over", service=service)
        base = f"http://{self._address}/{service}" if self._address else f"https://{service}"
        try:
            answer = self._session().request(
                method,
                f"{base}/{path}",
                params=query or None,
                json=body,
                timeout=left_s,
                allow_redirects=False,
            )
        except (requests.RequestException, auth.GoogleAuthError, OSError) as error:
            raise convert_exception(error, service) from error
        return _content(answer.status_code, answer.content, service)

    def _session(self) -> GoogleAuth:
        """Return this thread's session, because sessions cannot be shared between threads."""
        session = getattr(self._sessions, "session", None)
        if session is None:
            from google.auth.transport import requests as transport

            requests_of_google: GoogleAuth = transport
            session = requests_of_google.AuthorizedSession(
                self._credentials, refresh_status_codes=(), refresh_timeout=self._call_s
            )
            session.auth = _without_netrc
            session.trust_env = self._address is None  # no proxy for a server on loopback
            self._sessions.session = session
        return session


def _without_netrc(request: object) -> object:
    """Return a request unchanged, so that no entry in ~/.netrc replaces the token."""
    return request


def _content(status: int, body: bytes, service: str) -> dict[str, object]:
    if status == 200 or 300 <= status < 400:
        try:
            if status == 200:
                return msgspec.json.decode(body, type=dict[str, object])
        except (msgspec.MsgspecError, RecursionError):
            pass
        kind = "a web page" if body.lstrip()[:1] == b"<" else "no complete JSON"
        text = f"{kind}, as a proxy or a sign-in page sends"
        raise UnansweredError("garbled", text, service=service, status=status)
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.MsgspecError, RecursionError):
        error = _GoogleError()
    reason = _STATUS.get(status, "server" if status >= 500 else "invalid")
    for detail in error.details:
        reason = _BY_REASON.get(detail.reason, reason)
    if any(row.reason == "accessNotConfigured" for row in error.errors):
        reason = "off"
    text = error.message or "no reason given"
    reasons = tuple(row.reason for row in (*error.details, *error.errors) if row.reason)
    raise UnansweredError(reason, text, service=service, status=status, error_reasons=reasons)


def _typed(value: object, kind: type[Answer], service: str, field: str = "") -> Answer:
    try:
        return msgspec.convert(value, kind, strict=False)  # Google sends large numbers as strings
    except msgspec.ValidationError as error:
        text = f"`{field}`: {error}" if field else str(error)
        raise UnansweredError("garbled", text, service=service) from error


def convert_exception(error: Exception, service: str) -> UnansweredError:
    """Return the UnansweredError for a failed call, without any proxy address."""
    import requests
    from google.auth import exceptions as auth

    if isinstance(error, auth.RefreshError):
        return UnansweredError("credentials", str(error.args[0] if error.args else error))
    text = str(error)
    if isinstance(error, requests.Timeout) or "timed out" in text.lower():
        return UnansweredError("silent", service=service)
    if isinstance(error, requests.exceptions.ProxyError) or "ProxyError" in text:
        names = [
            name
            for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
            if os.environ.get(name)
        ]
        where = f" that {names[0]} names" if names else ""
        return UnansweredError("network", f"the proxy{where} does not answer", service=service)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        is_clock = "not yet valid" in text or "expired" in text
        cause = (
            "the clock of this machine may be wrong" if is_clock else "a proxy may be in between"
        )
        text = f"its certificate was not accepted; {cause}"
        return UnansweredError("network", text, service=service)
    if "NameResolution" in text or "getaddrinfo" in text:
        return UnansweredError("network", f"the name {service} is not resolved", service=service)
    return UnansweredError("network", "the connection failed", service=service)
