"""Takes secrets, names and home folders out of every text before it is shown or written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_MAYBE_PATH = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_SHORTEST_SECRET = 6
"""A shorter value is a word like `true`, and replacing it would hide facts, not secrets."""

_PATTERNS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bya29\.[\w.-]+", "[token]"),  # Google OAuth access tokens
        (r"\bhf_[A-Za-z0-9]{16,}", "[token]"),
        (r"\bgh[pousr]_[A-Za-z0-9]{20,}", "[token]"),
        (r"\bAIza[\w-]{30,}", "[key]"),
        (r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*", "[token]"),
        (r"(?i)\b(bearer|basic) [\w.~+/=-]{8,}", r"\1 [token]"),
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*KEY-----|$)", "[key]"),
        # Bounded, and without a run before the word: a long line must not take for ever.
        (r"(?i)((?:secret|token|passw(?:or)?d|api[_-]?key)[\w-]{0,64}\s{0,4}[=:]\s{0,4})[^\s'\",;]{4,}",
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
                replaced[value] = f"[${name}]"
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
