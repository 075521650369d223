"""What a block writes, as it comes: decoded, without secrets, and never more than a screen can use.

Whole lines are told at once. An unfinished one is held back for a moment, so that a secret in it
is seen as a whole. Markup and control characters stay in: who shows it makes them visible.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tpustarter.redact import Redactor

MAX_CHARACTERS = 256 * 1024
"""Characters of a block's output that are shown and judged: of more the beginning and the end."""
END_CHARACTERS = 32 * 1024
"""How many of them are the end, which is told when the block has ended."""
MAX_WAITING = 4096
"""Characters of an unfinished line that are held back."""
FLUSH_S = 0.1
"""Seconds an unfinished line is held back."""
LEFT_OUT = (
    f"\n[the rest is left out: more than {MAX_CHARACTERS} characters. These are the last lines:]\n"
)


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
        self._remaining = MAX_CHARACTERS - END_CHARACTERS
        self._end: deque[tuple[str, str]] = deque()
        """The newest of what is behind that, by the piece."""
        self._end_length = 0
        self._is_cut = False
        """Whether something was let go of."""
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
        text = self._decoders[name].decode(data)
        if self._remaining > 0:
            text, beyond = text[: self._remaining], text[self._remaining :]
            yield from self._add(name, text)
            text = beyond
        if text:
            self._keep_end(name, text)

    def _keep_end(self, name: str, text: str) -> None:
        """Take what may turn out to be the end, and let go of what it is not."""
        self._end.append((name, text))
        self._end_length += len(text)
        while self._end_length > END_CHARACTERS:
            oldest, text = self._end.popleft()
            surplus, self._is_cut = self._end_length - END_CHARACTERS, True
            if len(text) > surplus:
                self._end.appendleft((oldest, text[surplus:]))
            self._end_length -= min(len(text), surplus)

    def flush(self, *, final: bool = False) -> Iterator[Output]:
        """Yield the unfinished line, and at the end half a character."""
        for name, decoder in self._decoders.items():
            if final and self._remaining > 0:
                yield from self._add(name, decoder.decode(b"", final=True))
        if final and self._end:
            yield from self._add_end()
        text, self._waiting = self._waiting, ""
        if text:
            yield Output(self._redact.text(text))

    def _add_end(self) -> Iterator[Output]:
        """Yield the last whole lines: of half a one it is not seen whether it holds a secret."""
        if self._is_cut:
            name = self._end[0][0]
            while self._end and "\n" not in self._end[0][1]:
                self._end.popleft()
            if self._end:
                name, text = self._end.popleft()
                self._end.appendleft((name, text.partition("\n")[2]))
            self._end.appendleft((name, LEFT_OUT))
        for name, text in self._end:
            yield from self._add(name, text)

    def _add(self, name: str, text: str) -> Iterator[Output]:
        self._remaining -= len(text)
        self._pieces.append((name, text))
        whole, newline, self._waiting = (self._waiting + text).rpartition("\n")
        if len(self._waiting) > MAX_WAITING:
            whole, newline, self._waiting = whole + newline + self._waiting, "", ""
        if whole + newline:
            yield Output(self._redact.text(whole + newline))
