"""Decode and redact a block's output as it arrives, and limit its size.

Complete lines are shown at once. The complete words of an unfinished line are shown after a moment,
and its last word after a longer one, so that a secret is seen whole. The shown part of a line is
redacted again with the rest, because a word before a secret may be what identifies it. Markup and
control characters stay in; the caller must escape them.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import commonprefix

from tpustarter.core.redact import Redactor, drop_incomplete_word

MAX_CHARACTERS = 256 * 1024
"""Maximum characters of a block's output that are shown and judged, from its beginning and end."""
END_CHARACTERS = 32 * 1024
"""Characters reserved for the end, half for each stream; shown when the block has ended."""
MAX_WAITING = 4096
"""Maximum characters of an unfinished line that are held back."""
MAX_KEY = 16 * 1024
"""Maximum characters of a private key held back until its end, because its lines have no shape."""
FLUSH_S = 0.1
"""Seconds to hold back the complete words of an unfinished line."""
WORD_S = 2.0
"""Seconds to hold back its last word, which may be incomplete."""
LEFT_OUT = (
    f"\n[the rest is left out: more than {MAX_CHARACTERS} characters. These are the last lines:]\n"
)


@dataclass(frozen=True)
class OutputChunk:
    """A piece of a block's output: plain text, not markup, which may have control characters."""

    text: str


class _End:
    """The latest output of one stream, as numbered pieces."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, str]] = deque()
        self._length = 0
        self.is_cut = False
        """True if older output was dropped."""

    def add(self, number: int, text: str) -> None:
        self._pieces.append((number, text))
        self._length += len(text)
        while (surplus := self._length - END_CHARACTERS // 2) > 0:
            oldest, text = self._pieces.popleft()
            if len(text) > surplus:
                self._pieces.appendleft((oldest, text[surplus:]))
            self._length -= min(len(text), surplus)
            self.is_cut = True

    def whole_lines(self) -> list[tuple[int, str]]:
        """Return the pieces from the first complete line on: part of one may hide a secret."""
        pieces = list(self._pieces)
        if self.is_cut:
            while pieces and "\n" not in pieces[0][1]:
                pieces.pop(0)
            if pieces:
                number, text = pieces[0]
                pieces[0] = number, text.partition("\n")[2]
        return pieces


class BlockOutput:
    """A decoder from one block's output bytes to redacted lines."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: decoder("replace") for name in ("stdout", "stderr")}
        self._pieces: list[tuple[str, str]] = []
        self._remaining = MAX_CHARACTERS - END_CHARACTERS
        self._ends = {name: _End() for name in self._decoders}
        """The latest output beyond the beginning, by stream, so that logs on stderr take no room
        from stdout, which is judged.
        """
        self._count = 0
        """The number of pieces so far, to restore the order of both streams."""
        self._waiting = ""
        """The unfinished line, including the part already shown."""
        self._told = ""
        self._quiet = 0
        """Consecutive flushes without output, `FLUSH_S` apart."""

    @property
    def is_waiting(self) -> bool:
        """Return whether part of an unfinished line is held back."""
        return bool(self._waiting) and self._quiet * FLUSH_S < WORD_S

    @property
    def redacted_text(self) -> str:
        """Return all kept output in order of arrival, redacted."""
        return self._redact.redact_text("".join(text for _, text in self._pieces))

    @property
    def stdout_text(self) -> str:
        """Return stdout, which is judged, unredacted. Runtimes log to stderr."""
        return "".join(text for name, text in self._pieces if name == "stdout")

    def add(self, name: str, data: bytes) -> Iterator[OutputChunk]:
        """Add output of `stdout` or `stderr`, yielding the lines that are now complete."""
        text = self._decoders[name].decode(data)
        if self._remaining > 0:
            text, beyond = text[: self._remaining], text[self._remaining :]
            yield from self._add(name, text)
            text = beyond
        if text:
            self._count += 1
            self._ends[name].add(self._count, text)

    def flush(self, *, final: bool = False) -> Iterator[OutputChunk]:
        """Yield the complete words of an unfinished line, and later its last word.

        The final flush yields everything, even a partial character.
        """
        for name, decoder in self._decoders.items():
            if final and self._remaining > 0:
                yield from self._add(name, decoder.decode(b"", final=True))
        if final:
            yield from self._add_ends()
            yield from self._tell(self._waiting)
            self._waiting = ""
        else:
            self._quiet += 1
            text = drop_incomplete_word(self._waiting) if self.is_waiting else self._waiting
            yield from self._tell(text, is_begun=True)

    def _add_ends(self) -> Iterator[OutputChunk]:
        cut = [name for name, end in self._ends.items() if end.is_cut]
        if cut:
            self._waiting = drop_incomplete_word(self._waiting)
            name, text = self._pieces[-1]
            self._pieces[-1] = name, drop_incomplete_word(text)
            yield from self._add(cut[0], LEFT_OUT)
        pieces = [
            (number, name, text)
            for name, end in self._ends.items()
            for number, text in end.whole_lines()
        ]
        for _, name, text in sorted(pieces):
            yield from self._add(name, text)

    def _add(self, name: str, text: str) -> Iterator[OutputChunk]:
        self._remaining -= len(text)
        self._pieces.append((name, text))
        text, self._quiet = self._waiting + text, 0
        end, key = text.rfind("\n") + 1, text.rfind("-----BEGIN ")
        in_key = key >= 0 and text.find("-----END ", key) < 0
        end = min(end, key) if in_key else end
        if len(text) - end > (MAX_KEY if in_key else MAX_WAITING):
            end += len(drop_incomplete_word(text[end:])) or len(text) - end
        self._waiting = text[end:]
        if end:
            yield from self._tell(text[:end])

    def _tell(self, text: str, *, is_begun: bool = False) -> Iterator[OutputChunk]:
        """Yield the output not shown yet. An unfinished line is passed again with its rest."""
        shown = self._redact.redact_text(text)
        untold = shown[len(commonprefix((self._told, shown))) :]  # noqa: RUF071  not paths
        self._told = shown if is_begun else ""
        if untold:
            yield OutputChunk(untold)
