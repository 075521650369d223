"""Puts `project-1`, `host-1` or `path-1` in the place of names, always the same one for a name.

Names are known because this machine says them (`identity`), or by their shape (`name_shapes`). What
stands for a name is a number in the order of appearance, so nothing of the name is left in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

from tpustarter.report import name_shapes

KINDS = ("project", "host", "user", "email", "bucket", "address", "path")
"""What a name may be of; each is the first part of its pseudonyms."""
ANYWHERE = 6
"""A name of so many characters is replaced wherever it stands, a shorter one as a whole word."""
SHORTEST = 2
_OURS = re.compile(rf"(?:{'|'.join(KINDS)})-\d+", re.IGNORECASE)
_COMMON = frozenset(
    (
        *KINDS,
        *("admin", "app", "build", "cloud", "colab", "container", "daemon", "docker", "gcp", "gke"),
        *("google", "jax", "jovyan", "jupyter", "kaggle", "libtpu", "local", "localhost", "nobody"),
        *("node", "none", "null", "python", "python3", "root", "runner", "tensorflow", "test"),
        *("torch", "tpu", "tpustarter", "tpu-vm", "ubuntu", "unknown", "vm", "vscode", "worker"),
    )
)
"""Names that many machines share: they tell nothing of this one, and stand in every log."""


class Pseudonyms:
    """What stands for which name; `text` replaces all names in a text."""

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        """Go on with the pseudonyms of earlier reports, as `saved` returned them."""
        self._numbers: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        for kind, names in (saved or {}).items():
            if kind in KINDS and isinstance(names, dict):
                self._numbers[kind] = {
                    str(name): number
                    for name, number in cast("dict[Any, Any]", names).items()
                    if type(number) is int
                }
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self.counts: Counter[str] = Counter()
        """How many names of each kind were replaced."""

    def know(self, kind: str, names: Iterable[str]) -> None:
        """Have names replaced wherever they stand, not only where their shape tells."""
        for name in names:
            key = name.strip().casefold()
            if len(key) >= SHORTEST and key not in _COMMON and not _OURS.fullmatch(key):
                self._known.setdefault(key, kind)
                self._pattern = None

    def of(self, kind: str, name: str) -> str:
        """Return what stands for a name, and count it."""
        self.counts[kind] += 1
        numbers = self._numbers[kind]
        return f"{kind}-{numbers.setdefault(name.casefold(), len(numbers) + 1)}"

    def text(self, text: str) -> str:
        """Return a text in which no name is left."""
        text = name_shapes.replaced(text, self.of)
        if pattern := self._compiled():
            text = pattern.sub(self._known_one, text)
        return text

    def is_known(self, name: str) -> bool:
        """Return whether a name is one that this machine says."""
        return name.strip().casefold() in self._known

    def remaining(self, text: str) -> list[str]:
        """Return the kinds of known names that a text still holds; empty for a clean one."""
        pattern = self._compiled()
        found = pattern.finditer(text) if pattern else ()
        return sorted({self._known[match[0].casefold()] for match in found})

    def saved(self) -> dict[str, dict[str, int]]:
        """Return the pseudonyms by kind and name. It is the one thing that leads back to names."""
        return {kind: dict(names) for kind, names in self._numbers.items() if names}

    def _known_one(self, match: re.Match[str]) -> str:
        return self.of(self._known[match[0].casefold()], match[0])

    def _compiled(self) -> re.Pattern[str] | None:
        if self._pattern is None and self._known:
            # Longest first: one name may be the beginning of another.
            names = sorted(self._known, key=lambda name: (-len(name), name))
            self._pattern = re.compile("|".join(map(_alone, names)), re.IGNORECASE)
        return self._pattern


def _alone(name: str) -> str:
    escaped = re.escape(name)
    if len(name) >= ANYWHERE:
        return escaped
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])"
