"""Takes secrets, names and home folders out of every text before it is shown or written."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_MAYBE_PATH = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_SHORTEST_SECRET = 6
"""A shorter value is a word like `true`, and replacing it would hide facts, not secrets."""
_SHORTEST_LINE = 16
"""Of a secret of several lines, such as a private key: one that is shorter is no secret alone."""
_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT",
             "DEVSHELL_PROJECT_ID")  # fmt: skip
"""Variables whose value is the name of a Google Cloud project."""

_WORD = r"(?:secret|token|passw(?:or)?d|api[_-]?key|access[_-]?key)"

_PATTERNS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bya29\.[\w.-]+", "[token]"),  # Google OAuth access tokens
        (r"\bhf_[A-Za-z0-9]{16,}", "[token]"),
        (r"\bgh[pousr]_[A-Za-z0-9]{20,}", "[token]"),
        (r"\bgithub_pat_\w{20,}", "[token]"),
        (r"\bglpat-[\w-]{16,}", "[token]"),
        (r"\bnpm_[A-Za-z0-9]{20,}", "[token]"),
        (r"\bpypi-[\w-]{20,}", "[token]"),
        (r"\bxox[abeoprs]-[\w-]{10,}", "[token]"),
        (r"(?<![\w-])sk-[\w-]{16,}", "[token]"),
        (r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", "[key]"),
        # User and password in an address: bounded, as all that may stand in a long line.
        (r"(\w{2,20}://)[^\s/@:'\"]{1,200}:[^\s/@'\"]{1,200}@", r"\1[login]@"),
        (r"\bAIza[\w-]{30,}", "[key]"),
        (r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*", "[token]"),
        (r"(?i)\b(bearer|basic) [\w.~+/=-]{8,}", r"\1 [token]"),
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*KEY-----|$)", "[key]"),
        # Bounded, and without a run before the word: a long line must not take for ever.
        (rf"(?i)({_WORD}[\w-]{{0,64}}['\"]?\s{{0,4}}[=:]\s{{0,4}}['\"]?)[^\s'\",;]{{4,}}",
         r"\1[secret]"),
        (rf"(?i)(?<![\w-])(--?[\w-]{{0,32}}{_WORD}[\w-]{{0,32}}\s{{1,4}})(?!-)[^\s'\",;]{{4,}}",
         r"\1[secret]"),
        (r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{0,190}\w", "[email]"),
        (r"\bprojects/[\w:.-]+", "projects/[project]"),
    )
)  # fmt: skip


class Redactor:
    """Replaces what must not leave this machine; made once per run from the user's environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        replaced: dict[str, str] = {}
        for name, value in env.items():
            # SSH_AUTH_SOCK and GOOGLE_APPLICATION_CREDENTIALS name files; an AWS key may start so.
            names = _MAYBE_PATH if value.startswith("/") else _SECRET_NAME
            if names.search(name) and len(value) >= _SHORTEST_SECRET:
                replaced |= dict.fromkeys(_forms(value), f"[${name}]")
            elif name in _PROJECTS and len(value) >= _SHORTEST_SECRET:
                replaced[value] = "[project]"
        home = env.get("HOME", "")
        if len(home) > 1:
            replaced[home] = "~"
        # Longest first: one secret may be the beginning of another.
        self._replaced = sorted(replaced.items(), key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """Return the text without secrets, addresses of people, and the home folder's name."""
        for secret, replacement in self._replaced:
            text = text.replace(secret, replacement)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def value(self, value: Any) -> Any:
        """Return the same value with every text in it redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it may stand in a text: one of several lines is quoted, joined or cut."""
    yield secret
    yield from (json.dumps(secret)[1:-1], repr(secret)[1:-1], shlex.quote(secret))
    lines = [line.strip() for line in secret.splitlines() if line.strip()]
    if len(lines) > 1:
        yield from (" ".join(lines), "".join(lines), "\\n".join(lines))
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE)
