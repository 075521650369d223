"""The shapes that secrets have: those that detect-secrets maintains, and what is known here.

Of detect-secrets (the fork that Checkov keeps, `bc-detect-secrets`) the patterns alone are used:
nothing is verified, so nothing is sent. Guesses by entropy or by a variable's name are left out,
for they take hashes, versions and figures for secrets. Every search is bounded: a text may be long.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

_HIDDEN = r"(?:secret|passw(?:or)?d|passphrase)"
_KEY = r"(?:token(?!s|i[sz])|api[_-]?key|access[_-]?key|private[_-]?key)"
_VALUE = r"[^\s'\",;\\]{4,}"
_NOT_A_FIGURE = r"(?![-+]?\d[\d.,_]{0,40}(?:e[-+]?\d{1,3})?(?![\w.]))(?!token\[|[!\[])"
"""A number is none, nor a type of HLO or MLIR, as in `%t = token[] after-all()`."""
_QUOTE = r"\\{0,3}['\"]?"
_GIVEN = rf"[\w-]{{0,64}}{_QUOTE}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE}"

OWN = tuple(
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
"""Detectors of which `OWN` has the shape, in a form that takes bounded time; the address of a
machine is no secret."""
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_+-]{16,}")
_WINDOW, _OVERLAP = 1024, 512
"""Characters searched at once, and how many of them again: no token is longer than the second."""


def hide(text: str) -> str:
    """Return a text in which a word in brackets stands for whatever has the shape of a secret."""
    for pattern, replacement in OWN:
        text = pattern.sub(replacement, text)
    for start, end in reversed(_merged(sorted(_spans(text)))):
        text = f"{text[:start]}[token]{text[end:]}"
    return text


def found(text: str) -> Iterator[str]:
    """Yield what has a shape of `OWN` and is a secret as a whole, such as a token or a key."""
    for pattern, replacement in OWN:
        if "\\" not in replacement:
            yield from (match[0] for match in pattern.finditer(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the maintained patterns match; they are loaded where something may."""
    for start in range(0, len(text), _WINDOW):
        end = start + _WINDOW + _OVERLAP
        words = (match[0] for match in _LIKE_A_TOKEN.finditer(text, start, end))
        if any(re.search(r"\d", word) and re.search(r"[A-Za-z]", word) for word in words):
            for pattern in maintained():
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
def maintained() -> tuple[re.Pattern[str], ...]:
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
