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
"""How many of them are the end, half of each stream's: it is told when the block has ended."""
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


class _End:
    """The newest of what came on one stream, in pieces with the number of each."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, str]] = deque()
        self._length = 0
        self.is_cut = False
        """Whether something was let go of."""

    def add(self, number: int, text: str) -> None:
        """Take what may turn out to be the end, and let go of what it is not."""
        self._pieces.append((number, text))
        self._length += len(text)
        while (surplus := self._length - END_CHARACTERS // 2) > 0:
            oldest, text = self._pieces.popleft()
            if len(text) > surplus:
                self._pieces.appendleft((oldest, text[surplus:]))
            self._length -= min(len(text), surplus)
            self.is_cut = True

    def whole_lines(self) -> list[tuple[int, str]]:
        """Return the pieces; of half a line it is not seen whether it holds a secret."""
        pieces = list(self._pieces)
        if self.is_cut:
            while pieces and "\n" not in pieces[0][1]:
                pieces.pop(0)
            if pieces:
                number, text = pieces[0]
                pieces[0] = number, text.partition("\n")[2]
        return pieces


class BlockOutput:
    """The output of one block."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: decoder("replace") for name in ("stdout", "stderr")}
        self._pieces: list[tuple[str, str]] = []
        self._remaining = MAX_CHARACTERS - END_CHARACTERS
        self._ends = {name: _End() for name in self._decoders}
        """The newest of what is behind that; a log on stderr takes no room from what is judged."""
        self._count = 0
        """Pieces that were taken, to bring the two into their order again."""
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
            self._count += 1
            self._ends[name].add(self._count, text)

    def flush(self, *, final: bool = False) -> Iterator[Output]:
        """Yield the unfinished line, and at the end half a character."""
        for name, decoder in self._decoders.items():
            if final and self._remaining > 0:
                yield from self._add(name, decoder.decode(b"", final=True))
        if final:
            yield from self._add_ends()
        text, self._waiting = self._waiting, ""
        if text:
            yield Output(self._redact.text(text))

    def _add_ends(self) -> Iterator[Output]:
        cut = [name for name, end in self._ends.items() if end.is_cut]
        if cut:
            yield from self._add(cut[0], LEFT_OUT)
        pieces = [(number, name, text) for name, end in self._ends.items()
                  for number, text in end.whole_lines()]  # fmt: skip
        for _, name, text in sorted(pieces):
            yield from self._add(name, text)

    def _add(self, name: str, text: str) -> Iterator[Output]:
        self._remaining -= len(text)
        self._pieces.append((name, text))
        whole, newline, self._waiting = (self._waiting + text).rpartition("\n")
        if len(self._waiting) > MAX_WAITING:
            whole, newline, self._waiting = whole + newline + self._waiting, "", ""
        if whole + newline:
            yield Output(self._redact.text(whole + newline))
