"""What a block writes, as it comes: decoded, without secrets, and never more than a screen can use.

Whole lines are told at once. An unfinished one is held back for a moment, so that a secret in it
is seen as a whole. Markup and control characters stay in: who shows it makes them visible.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from tpustarter.redact import Redactor

MAX_CHARACTERS = 256 * 1024
"""Characters of a block's output that are shown and judged; the rest is left out."""
MAX_WAITING = 4096
"""Characters of an unfinished line that are held back."""
FLUSH_S = 0.1
"""Seconds an unfinished line is held back."""
LEFT_OUT = f"\n[the rest is left out: more than {MAX_CHARACTERS} characters]\n"


@dataclass(frozen=True)
class Output:
    """Text a block wrote, as it arrives. Not markup, and it may hold control characters."""

    text: str


class BlockOutput:
    """The output of one block."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: decoder("replace") for name in ("stdout", "stderr")}
        self._pieces: list[tuple[str, str]] = []
        self._remaining = MAX_CHARACTERS
        self._waiting = ""

    @property
    def is_waiting(self) -> bool:
        """Whether an unfinished line is held back."""
        return bool(self._waiting)

    @property
    def shown(self) -> str:
        """Everything in the order in which it came."""
        return self._redact.text("".join(text for _, text in self._pieces))

    @property
    def printed(self) -> str:
        """What went to stdout, secrets included: what is judged. Runtimes log to stderr."""
        return "".join(text for name, text in self._pieces if name == "stdout")

    def add(self, name: str, data: bytes) -> Iterator[Output]:
        """Take output of `stdout` or `stderr`; yields the lines that are whole now."""
        if self._remaining > 0:
            yield from self._add(name, self._decoders[name].decode(data))

    def flush(self, *, final: bool = False) -> Iterator[Output]:
        """Yield the unfinished line, and at the end half a character."""
        for name, decoder in self._decoders.items():
            if final and self._remaining > 0:
                yield from self._add(name, decoder.decode(b"", final=True))
        text, self._waiting = self._waiting, ""
        if text:
            yield Output(self._redact.text(text))

    def _add(self, name: str, text: str) -> Iterator[Output]:
        if len(text) >= self._remaining:
            text = text[: self._remaining] + LEFT_OUT
        self._remaining -= len(text)
        self._pieces.append((name, text))
        whole, newline, self._waiting = (self._waiting + text).rpartition("\n")
        if len(self._waiting) > MAX_WAITING:
            whole, newline, self._waiting = whole + newline + self._waiting, "", ""
        if whole + newline:
            yield Output(self._redact.text(whole + newline))
