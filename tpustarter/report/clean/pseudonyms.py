"""Pseudonyms such as `project-1`, `host-1` or `path-1`, always the same for a name.

A name is recognised because this machine has it (`private_names`), or by its shape
(`name_shapes`). Pseudonyms are numbered in order of appearance, so they contain nothing of the
name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from tpustarter.core.json_values import entries_of_type
from tpustarter.machine import frameworks
from tpustarter.report.clean import name_shapes

KINDS = ("project", "host", "user", "email", "bucket", "address", "path")
"""The kinds of names; each is the prefix of its pseudonyms."""
MIN_LENGTH_ANYWHERE = 6
"""Minimum length of a name that is replaced anywhere in a text; shorter names are replaced only as
whole words."""
MIN_LENGTH = 2
_PSEUDONYM = re.compile(rf"(?:{'|'.join(KINDS)})-\d+", re.IGNORECASE)
_COMMON = frozenset(
    (
        *KINDS,
        *("admin", "app", "build", "cloud", "colab", "container", "daemon", "docker", "gcp", "gke"),
        *("google", "jovyan", "jupyter", "kaggle", "local", "localhost", "nobody", "node", "none"),
        *("null", "python", "python3", "root", "runner", "test", "tpu", "tpustarter", "tpu-vm"),
        *("ubuntu", "unknown", "vm", "vscode", "worker", *frameworks.DISTRIBUTIONS),
    )
)
"""Names that many machines share; they identify no machine, and appear in every log."""


class Pseudonyms:
    """The pseudonyms of one report, which replace the names in its texts."""

    def __init__(self, saved: Mapping[str, object] | None = None) -> None:
        """Continue with the pseudonyms of earlier reports, as returned by `list_pseudonyms`."""
        self._numbers: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        for kind, names in (saved or {}).items():
            if kind in KINDS:
                self._numbers[kind] = entries_of_type(names, int)
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self.counts: Counter[str] = Counter()
        """Number of replaced names, keyed by kind."""

    def add_names(self, kind: str, names: Iterable[str]) -> None:
        """Add names that are replaced wherever they occur, even without a recognisable shape."""
        for name in names:
            key = name.strip().casefold()
            if len(key) >= MIN_LENGTH and key not in _COMMON and not _PSEUDONYM.fullmatch(key):
                self._known.setdefault(key, kind)
                self._pattern = None

    def make_pseudonym(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name, and count it."""
        self.counts[kind] += 1
        numbers = self._numbers[kind]
        return f"{kind}-{numbers.setdefault(name.casefold(), len(numbers) + 1)}"

    def replace_names(self, text: str) -> str:
        """Return text with all known names replaced."""
        text = name_shapes.replace_names(text, self.make_pseudonym)
        if pattern := self._compile_pattern():
            text = pattern.sub(self._replace_known_name, text)
        return text

    def list_remaining_kinds(self, text: str) -> list[str]:
        """Return the kinds of known names that cleaned text still has; empty if none."""
        pattern = self._compile_pattern()
        found = pattern.finditer(text) if pattern else ()
        return sorted({self._known[match[0].casefold()] for match in found})

    def list_pseudonyms(self) -> dict[str, dict[str, int]]:
        """Return the pseudonyms by kind and name, which are the only link back to the names."""
        return {kind: dict(names) for kind, names in self._numbers.items() if names}

    def _replace_known_name(self, match: re.Match[str]) -> str:
        return self.make_pseudonym(self._known[match[0].casefold()], match[0])

    def _compile_pattern(self) -> re.Pattern[str] | None:
        if self._pattern is None and self._known:
            # Longest first, because one name may be the beginning of another.
            names = sorted(self._known, key=lambda name: (-len(name), name))
            self._pattern = re.compile("|".join(map(_name_pattern, names)), re.IGNORECASE)
        return self._pattern


def _name_pattern(name: str) -> str:
    escaped = re.escape(name)
    if len(name) >= MIN_LENGTH_ANYWHERE:
        return escaped
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])"
