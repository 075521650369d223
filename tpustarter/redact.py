"""Takes secrets, names and home folders out of every text before it is shown or written."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote, quote_plus, unquote

from tpustarter import secret_shapes

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_MAYBE_PATH = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_ANY_VALUE = re.compile(r"SECRET|PASS", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
"""A figure such as that of MAX_TOKENS is no secret, unless its name says that it is a password."""
_SHORTEST_SECRET = 6
"""A shorter value is a word like `true`, and replacing it would hide facts, not secrets."""
_SHORTEST_LINE = 16
"""Of a secret of several lines, such as a private key: one that is shorter is no secret alone."""
_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT",
             "DEVSHELL_PROJECT_ID")  # fmt: skip
"""Variables whose value is the name of a Google Cloud project."""
_LOGIN = re.compile(r"://([^\s/:@]{0,200}):(\S{1,200})@[^\s@]{1,300}$")
"""User and password in an address that is the whole value of a variable, such as a proxy's."""

_NAMES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![\w-])",
         "[email]"),
        # A path such as ~/projects/llm is none of Google's.
        (r"(?<![\w/~.-])projects/(?!\[)[\w:.-]+", "projects/[project]"),
        (r"/projects/(?!\[)[\w:.-]+(?=/(?:zones|locations|regions|global|topics|secrets)\b)",
         "/projects/[project]"),
        (r"((?<![\w-])--project[= ]|[?&]project=)(?!\[)[\w:.-]+", r"\1[project]"),
    )
)  # fmt: skip


class Redactor:
    """Replaces what must not leave this machine; made once per run from the user's environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        replaced: dict[str, str] = {}
        for name, value in env.items():
            for secret in _secrets(name, value):
                if len(secret) >= _SHORTEST_SECRET:
                    replaced |= dict.fromkeys(_forms(secret), f"[${name}]")
            if name in _PROJECTS and len(value) >= _SHORTEST_SECRET:
                replaced[value] = "[project]"
        self._home = _home(env.get("HOME", ""))
        # Longest first: one secret may be the beginning of another.
        self._replaced = sorted(replaced.items(), key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """Return the text without secrets, addresses of people, and the home folder's name."""
        for secret, replacement in self._replaced:
            text = text.replace(secret, replacement)
        text = secret_shapes.hide(text)
        for pattern, replacement in _NAMES:
            text = pattern.sub(replacement, text)
        return self._home.sub("~", text) if self._home else text

    def value(self, value: Any) -> Any:
        """Return the same value with every text in it redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value


def _home(folder: str) -> re.Pattern[str] | None:
    """Return what finds the home folder, but not another one whose name begins the same."""
    name = folder.rstrip("/")
    return re.compile(rf"{re.escape(name)}(?![\w-])") if len(name) > 1 else None


def _secrets(name: str, value: str) -> Iterator[str]:
    """Yield what is secret of a variable: its value, or what has the shape of a secret in it."""
    # SSH_AUTH_SOCK and GOOGLE_APPLICATION_CREDENTIALS name files; an AWS key may start so.
    names = _MAYBE_PATH if value.startswith("/") else _SECRET_NAME
    if names.search(name) and (_ANY_VALUE.search(name) or not _NUMBER.fullmatch(value)):
        yield value
    yield from secret_shapes.found(value)
    if login := _LOGIN.search(value):
        yield from {login[0][3:].rpartition("@")[0], login[2], unquote(login[2])}


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it may stand in a text: quoted, encoded, joined, or one line of it."""
    yield secret
    quoted = _quoted(secret)
    yield from quoted
    yield from (form for inner in quoted for form in _quoted(inner))
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from _in_base64(secret.encode(errors="surrogateescape"))
    lines = [line.strip() for line in re.split(r"\\[nr]|[\n\r]", secret) if line.strip()]
    if len(lines) > 1:
        yield from (joint.join(lines) for joint in (" ", "", "\\n", "\n", "\r\n", "\\r\\n"))
    # The first and the last line of a key are those of any key: without them none is recognised.
    pieces = re.split(r"\\[nr]|[\n\r\"'\\]", secret)
    yield from (piece for piece in pieces if len(piece) >= _SHORTEST_LINE and "-----" not in piece)


def _quoted(text: str) -> set[str]:
    return {json.dumps(text)[1:-1], json.dumps(text), repr(text)[1:-1], repr(text),
            shlex.quote(text)}  # fmt: skip


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield what is left of a secret in base64 wherever it stands in what was encoded."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret).decode()
        # The first and the last characters hold bits of what stands beside it.
        inner = encoded[before + (before > 0) : -4 if encoded.endswith("=") else None]
        if len(inner) >= 2 * _SHORTEST_SECRET:
            yield from (inner, inner.replace("+", "-").replace("/", "_"))
