"""A parser for terminal input: keys, pasted text and the mouse. Everything else is ignored.

Textual's own parser reads the stream character by character. Invalid UTF-8 and invalid code points
end its thread, and unknown responses of the terminal count as typed text: `ESC [ ? 62 c` presses
`?` and `c`. Here the stream is first split into sequences according to ECMA-48, and then Textual
names the keys of complete sequences.
Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (read 2026-11)
"""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Iterator

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from tpustarter.tui.app.messages import BackgroundColour

PASTE_PAUSE_S = 2.0
"""Seconds after which unterminated pasted text ends, or else no key would work again."""
_LONGEST_KEY = 32
_KEPT = 100
"""Bytes kept of an unfinished sequence, enough to see that it is not a key."""
_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_TEXT = re.compile(rb"[^\x1b]+")
_WHOLE = re.compile(
    rb"""\x1b(?:
      \[M.{3}                                             # an old mouse report, any three bytes
    | \[\[[@-~]                                           # F1 to F5 of the Linux console
    | \[[0-9]+\$                                          # rxvt: a key with Shift
    | \[[0-?]*[ -/]*[@-LN-Z\\-~] | \[[0-?]+[ -/]*M        # all other control sequences
    | O[0-9;]*[@-~]                                       # keys of the numeric pad
    | [\]PX^_][^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)         # strings, such as an answer on colours
    | [\x00-\x1a\x1c-NQ-WYZ\\`-\x7f]                       # a letter with Alt
    | [\xc2-\xdf][\x80-\xbf] | [\xe0-\xef][\x80-\xbf]{2} | [\xf0-\xf4][\x80-\xbf]{3}
    )""",
    re.DOTALL | re.VERBOSE,
)
_BEGUN = re.compile(
    rb"""\x1b(?:
      \[M.{0,2}\Z | \[\[?\Z | \[[0-?]*[ -/]* | O[0-9;]*
    | [\]PX^_][^\x07\x18\x1a\x1b]*(?:\x1b\Z)?
    | [\xc2-\xf4]\Z | [\xe0-\xf4][\x80-\xbf]\Z | [\xf0-\xf4][\x80-\xbf]{2}\Z
    )?""",
    re.DOTALL | re.VERBOSE,
)
_GROUND = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[/0-9a-fA-F]*(?:\x07|\x1b\\)"
)
"""The terminal's response to the query for its background colour."""
_IGNORED = re.compile(rb"\x1b(?:\[M|[\]PX^_].)", re.DOTALL)
_WANTED = (events.Key, events.AppFocus, events.AppBlur, TerminalSupportsSynchronizedOutput)
"""The events passed to the app; a new window size arrives as a signal."""
_MOUSE = re.compile(rb"\x1b\[<[0-9]{1,3};[0-9]{1,4};[0-9]{1,4}[Mm]")
"""A mouse report in the only format that the app requests."""


class Keyboard:
    """A terminal's input; call `feed` with the bytes read, and `pause` when there are none."""

    has_mouse = False
    """True if mouse events have been requested from the terminal."""

    def __init__(self) -> None:
        self._mouse = XTermParser()
        """A parser that keeps track of the mouse position."""
        self._rest = bytearray()
        self._searched = 0
        """Number of leading bytes known not to contain the start of a paste's end marker."""
        self._last_read = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")

    @property
    def is_waiting(self) -> bool:
        """True if there is incomplete input, such as an escape character."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages for all complete input."""
        self._last_read = time.monotonic()
        self._rest += data
        while token := self._take(self._complete()):
            yield from self._messages(token)

    def pause(self) -> Iterator[Message]:
        """Yield the messages for input that was never completed, usually the Escape key."""
        if self._is_paste and time.monotonic() - self._last_read < PASTE_PAUSE_S:
            return
        yield from self._messages(self._take(len(self._rest)))

    @property
    def _is_paste(self) -> bool:
        return self._rest.startswith(_PASTE)

    def _take(self, size: int) -> bytes:
        token = bytes(self._rest[:size])
        del self._rest[:size]
        return token

    def _complete(self) -> int:
        """Return the length of the first complete token in bytes, or 0 if there is none."""
        rest = self._rest
        if self._is_paste:
            end = rest.find(_PASTE_END, max(len(_PASTE), self._searched))
            self._searched = 0 if end >= 0 else len(rest) - len(_PASTE_END)
            return end + len(_PASTE_END) if end >= 0 else 0
        if whole := _TEXT.match(rest) or _WHOLE.match(rest):
            return whole.end()
        begun = _BEGUN.match(rest)
        size = begun.end() if begun else 0
        if size < len(rest):
            return size
        del rest[_KEPT:-1]  # the last byte may start the end marker
        return 0

    def _messages(self, token: bytes) -> Iterator[Message]:
        if token.startswith(b"\x1b"):
            self._decoder.reset()
        if token.startswith(_PASTE):
            text = token[len(_PASTE) :].removesuffix(_PASTE_END).decode(errors="replace")
            yield events.Paste(text.replace("\0", ""))
        elif match := _GROUND.match(token):
            yield BackgroundColour(is_light=_is_light(match))
        elif not token.startswith(b"\x1b"):
            yield from _named(self._decoder.decode(token))
        elif self.has_mouse and _MOUSE.fullmatch(token):
            yield from self._mouse.feed(token.decode())
        elif len(token) <= _LONGEST_KEY and not _IGNORED.match(token):
            yield from _named(token.decode(errors="ignore"))


def _named(text: str) -> Iterator[Message]:
    """Yield the key events for text or a single sequence, as named by Textual."""
    parser = XTermParser()
    try:
        messages = [*parser.feed(text)] if text else []
        if text.startswith("\x1b") and len(text) <= len("\x1bx"):  # may start a sequence
            messages += parser.feed("")
    except (ValueError, OverflowError):
        return  # an invalid code point
    for message in messages:
        if isinstance(message, _WANTED) and not _is_surrogate(message):
            yield message


def _is_light(ground: re.Match[bytes]) -> bool:
    """Return whether dark text is easier to read than light text on a colour."""
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in ground.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5  # luma of ITU-R BT.601


def _is_surrogate(message: Message) -> bool:
    """Return whether a key's character is a surrogate, which cannot be written."""
    character = (message.character or "") if isinstance(message, events.Key) else ""
    return any("\ud800" <= one <= "\udfff" for one in character)
