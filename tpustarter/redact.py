"""Takes secrets, names and home folders out of every text before it is shown or written.

A secret is known by the variable it is the value of, or by its shape: those that detect-secrets
maintains (the fork that Checkov keeps, `bc-detect-secrets`), and what is known here. Its patterns
alone are used: nothing is verified, so nothing is sent. Guesses by entropy or by a variable's name
are left out, for they take hashes, versions and figures for secrets. Every search is bounded.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast
from urllib.parse import quote, quote_plus, unquote

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
_PROJECT = "[project]"
_LOGIN = re.compile(r"://([^\s/:@]{0,200}):(\S{1,200})@[^\s@]{1,300}$")
"""User and password in an address that is the whole value of a variable, such as a proxy's."""

_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![\w-])"
)
_ID = r"(?=[a-z0-9-]*[\d-])[a-z][a-z0-9-]{4,28}[a-z0-9](?![\w-])"
"""The id of a project in a sentence: one that has the shape of no common English word."""
_PROJECT_NAMES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # A path such as ~/projects/llm is none of Google's.
        (r"(?<![\w/~.-])projects/(?!\[)[\w:.-]+", "projects/[project]"),
        (r"/projects/(?!\[)[\w:.-]+(?=/(?:zones|locations|regions|global|topics|secrets)\b)",
         "/projects/[project]"),
        (rf"(?<![\w/~.-])((?i:project)[ #]{{1,2}}['\"`]?){_ID}", r"\1[project]"),
        (r"((?<![\w-])--project[= ]|[?&]project=)(?!\[)[\w:.-]+", r"\1[project]"),
    )
)  # fmt: skip

_HIDDEN = r"(?:secret|passw(?:or)?d|passphrase)"
_KEY = r"(?:token(?!s|i[sz])|api[_-]?key|access[_-]?key|private[_-]?key)"
_VALUE = r"[^\s'\",;\\]{4,}"
_NOT_A_FIGURE = r"(?![-+]?\d[\d.,_]{0,40}(?:e[-+]?\d{1,3})?(?![\w.]))(?!token\[|[!\[])"
"""A number is none, nor a type of HLO or MLIR, as in `%t = token[] after-all()`."""
_QUOTE = r"\\{0,3}['\"]?"
_GIVEN = rf"[\w-]{{0,64}}{_QUOTE}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE}"

_OWN = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(-----END [A-Z ]*-----|$)",
         "[key]"),
        (r"\bya29\.[\w.-]+", "[token]"),  # Google OAuth access tokens
        (r"\bAIza[\w-]{30,}", "[key]"),
        (r"\bGOCSPX-[\w-]{20,}", "[secret]"),
        (r"\bhf_[A-Za-z0-9]{16,}", "[token]"),
        (r"\bgh[pousr]_[A-Za-z0-9]{20,}", "[token]"),
        (r"\bgithub_pat_\w{20,}", "[token]"),
        (r"\bgl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[\w-]{16,}", "[token]"),
        (r"\bnpm_[A-Za-z0-9]{20,}", "[token]"),
        (r"\bpypi-[\w-]{20,}", "[token]"),
        (r"\bxox[abeoprs]-[\w-]{10,}", "[token]"),
        (r"(?<![\w-])sk-[\w-]{16,}", "[token]"),
        (r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", "[key]"),
        (r"(?<![\w-])AKCp[A-Za-z0-9]{10,}", "[token]"),  # Artifactory
        (r"(?<!\d)\d{8,10}:AA[\w-]{33}(?![\w-])", "[token]"),  # a Telegram bot
        (r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*", "[token]"),
        (r"(\w{2,20}://)[^\s/@'\"]{1,400}@", r"\1[login]@"),
        (r"(?i)\b(bearer) (?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{8,}", r"\1 [token]"),
        (rf"(?i)\b(authorization{_QUOTE}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE}\w{{2,20}}) [\w.~+/=-]{{4,}}",
         r"\1 [token]"),
        (rf"(?i)({_HIDDEN}{_GIVEN}){_VALUE}", r"\1[secret]"),
        (rf"(?i)({_KEY}{_GIVEN}){_NOT_A_FIGURE}{_VALUE}", r"\1[secret]"),
        (rf"(?i)(?<![\w-])(--?[\w-]{{0,32}}{_HIDDEN}[\w-]{{0,32}}\s{{1,4}})(?!-){_VALUE}",
         r"\1[secret]"),
        (rf"(?i)(?<![\w-])(--?[\w-]{{0,32}}{_KEY}[\w-]{{0,32}}\s{{1,4}})(?!-){_NOT_A_FIGURE}{_VALUE}",
         r"\1[secret]"),
    )
)  # fmt: skip
"""Pattern and replacement. No run stands before a word: a long line must not take for ever."""

_LEFT_OUT = ("ArtifactoryDetector", "BasicAuthDetector", "IPPublicDetector", "JwtTokenDetector",
             "PrivateKeyDetector")  # fmt: skip
"""Detectors of which `_OWN` has the shape, in a form that takes bounded time; the address of a
machine is no secret."""
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_+-]{16,}")
_WINDOW, _OVERLAP = 1024, 512
"""Characters searched at once, and how many of them again: no token is longer than the second."""


class Redactor:
    """Replaces what must not leave this machine; made once per run from the user's environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        replaced: dict[str, str] = {}
        for name, value in env.items():
            for secret in _secrets(name, value):
                if len(secret) >= _SHORTEST_SECRET:
                    replaced |= dict.fromkeys(_forms(secret), f"[${name}]")
            if name in _PROJECTS and len(value) >= _SHORTEST_SECRET:
                replaced[value] = _PROJECT
        self._home = _home(env.get("HOME", ""))
        # Longest first: one secret may be the beginning of another.
        self._replaced = sorted(replaced.items(), key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """Return the text without secrets, addresses of people, projects, the home's name."""
        return self._redacted(text, keep_projects=False)

    def command(self, text: str) -> str:
        """Return what the user is to type here: as `text`, but with the project that it is for.

        It is for the user's own terminal alone, since without the project it can't be pasted.
        """
        return self._redacted(text, keep_projects=True)

    def _redacted(self, text: str, *, keep_projects: bool) -> str:
        for secret, replacement in self._replaced:
            if not (keep_projects and replacement == _PROJECT):
                text = text.replace(secret, replacement)
        text = _EMAIL.sub("[email]", _without_shapes(text))
        for pattern, replacement in () if keep_projects else _PROJECT_NAMES:
            text = pattern.sub(replacement, text)
        return self._home.sub("~", text) if self._home else text

    def secrets(self, text: str) -> str:
        """Return the text without secrets alone: names and projects stay, for pseudonyms."""
        for secret, replacement in self._replaced:
            if replacement != _PROJECT:
                text = text.replace(secret, replacement)
        return _without_shapes(text)

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
    yield from _shaped(value)
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


def _without_shapes(text: str) -> str:
    """Return a text in which a word in brackets stands for whatever has the shape of a secret."""
    for pattern, replacement in _OWN:
        text = pattern.sub(replacement, text)
    for start, end in reversed(_merged(sorted(_spans(text)))):
        text = f"{text[:start]}[token]{text[end:]}"
    return text


def _shaped(text: str) -> Iterator[str]:
    """Yield what has a shape of `_OWN` and is a secret as a whole, such as a token or a key."""
    for pattern, replacement in _OWN:
        if "\\" not in replacement:
            yield from (match[0] for match in pattern.finditer(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the maintained patterns match; they are loaded where something may."""
    for start in range(0, len(text), _WINDOW):
        end = start + _WINDOW + _OVERLAP
        words = (match[0] for match in _LIKE_A_TOKEN.finditer(text, start, end))
        if any(re.search(r"\d", word) and re.search(r"[A-Za-z]", word) for word in words):
            for pattern in _maintained():
                matches = pattern.finditer(text, start, end)
                yield from (_span(match) for match in matches if _begins_a_word(match))


def _begins_a_word(match: re.Match[str]) -> bool:
    """Tell whether a match is more than the end of a longer word, such as a program in base64."""
    before = match.string[max(0, match.start() - 1) : match.start()]
    return not (before + match[0][:1]).isalnum() or not before


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Return where the secret itself is: the longest group, unless that is but a prefix."""
    longest = max(range(match.re.groups + 1), key=lambda n: len(match[n] or "") if n else 0)
    start, end = match.span(longest if len(match[longest]) >= 10 else 0)
    inner = match.string[start:end]
    return start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@cache
def _maintained() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of detect-secrets; loading them takes a third of a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # requests, which it imports, judges other versions aloud
        base: Any = import_module("detect_secrets.plugins.base")
        util: Any = import_module("detect_secrets.core.plugins.util")
    detectors = util.get_mapping_from_secret_type_to_class().values()
    return tuple(
        pattern
        for detector in detectors
        if issubclass(detector, base.RegexBasedDetector) and detector.__name__ not in _LEFT_OUT
        for pattern in detector().denylist
    )
