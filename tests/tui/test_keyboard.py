"""Terminal input: decoded into Textual's key names, without keys nobody pressed."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from tpustarter.tui.terminal import keyboard
from tpustarter.tui.terminal.keyboard import Keyboard

KITTY = [
    "\x1b[97;1;97u",
    "\x1b[97;5u",
    "\x1b[13u",
    "\x1b[27u",
    "\x1b[57441;1u",
    "\x1b[1;5A",
    "\x1b[97;;128512u",
    "\x1b[3;5~",
    "\x1b[I",
    "\x1b[O",
    "\x1b[?2026;1$y",
]
PIECES = st.one_of(
    st.binary(max_size=20),
    st.sampled_from(
        [
            b"\x1b",
            b"\x1b[",
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b]",
            b"\x1b[M",
            b"\x9b",
            "é".encode(),
            "😀".encode(),
            b"\x1b[A",
            b"\x1bOP",
            b"\x07",
        ]
    ),
    st.text(max_size=5).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.from_regex(rb"\x1b\[[0-?]{0,40}[ -/]{0,2}[@-~]", fullmatch=True),
)
STREAMS = st.lists(PIECES, max_size=12).map(b"".join)
WANTED = (
    events.Key,
    events.Paste,
    events.AppFocus,
    events.AppBlur,
    TerminalSupportsSynchronizedOutput,
)


def shown(messages: list[Message]) -> list[str]:
    """Return messages as text, so that they can be compared."""
    return [f"{message!r} {getattr(message, 'text', '')!r}" for message in messages]


def read(*chunks: bytes) -> list[Message]:
    """Return the messages of these chunks, followed by a pause."""
    reader = Keyboard()
    messages = [message for chunk in chunks for message in reader.feed(chunk)]
    reader._last_read -= keyboard.PASTE_PAUSE_S + 1
    messages += reader.pause()
    assert not reader.is_waiting
    return messages


def read_by_textual(text: str) -> list[Message]:
    """Return Textual's messages for it; Textual takes three keys for cursor reports."""
    parser = XTermParser()
    messages = [*parser.feed(text), *parser.feed("")]
    return [message for message in messages if isinstance(message, WANTED)]


def test_every_key_of_textual_is_decoded() -> None:
    """Every key sequence gives Textual's message, whole and byte by byte."""
    for sequence in (*ANSI_SEQUENCES_KEYS, *KITTY, "a", "é", "\x1ba", "\x1bA"):
        expected = shown(read_by_textual(sequence))
        data = sequence.encode()

        assert expected == shown(read(data)), sequence
        assert expected == shown(read(*(bytes([byte]) for byte in data))), sequence


@given(STREAMS, st.data())
def test_decoding_is_independent_of_byte_chunks(stream: bytes, data: st.DataObject) -> None:
    """Any bytes decode alike however they are split, and only into messages the app uses."""
    whole = read(stream)
    place = data.draw(st.integers(0, len(stream)))

    assert shown(whole) == shown(read(stream[:place], stream[place:]))
    assert all(isinstance(message, WANTED) for message in whole)
    for message in whole:
        text = message.character if isinstance(message, events.Key) else ""
        (text or "").encode()


@given(
    st.one_of(
        st.from_regex(rb"\x1b\[\?[0-9;]{0,30}[a-zA-Z]", fullmatch=True),
        st.from_regex(rb"\x1b\[<[0-9;]{1,30}[mM]", fullmatch=True),
        st.from_regex(rb"\x1b[\]P_^X][ -~\x80-\xff]{0,80}(\x07|\x1b\\)", fullmatch=True),
        st.binary(min_size=3, max_size=3).map(lambda three: b"\x1b[M" + three),
        st.binary(max_size=40).filter(lambda some: not _is_text(some)),
    )
)
def test_terminal_replies_press_no_key(sequence: bytes) -> None:
    """Replies, mouse reports and stray bytes are ignored, and the next key is read."""
    assert ["q"] == [message.key for message in read(sequence + b"q")]  # type: ignore[attr-defined]


def _is_text(some: bytes) -> bool:
    return bool(re.search(rb"[\x00-\x7f]", some) or some.decode(errors="ignore"))


def test_pasted_text_is_single_message() -> None:
    """Escape sequences in a paste are text."""
    (paste,) = read(b"\x1b[200~" + bytes(range(256)) + b"\x1b[A\x1b]q\x1b[201~")

    assert isinstance(paste, events.Paste)
    assert paste.text.endswith("\x1b[A\x1b]q")
    assert "\0" not in paste.text


def test_unterminated_paste_ends_after_timeout() -> None:
    """Keys in an unterminated paste are text until the timeout, and keys after it."""
    reader = Keyboard()

    assert [] == [*reader.feed(b"\x1b[200~q"), *reader.pause(), *reader.feed(b"\x03")]
    reader._last_read -= keyboard.PASTE_PAUSE_S + 1
    assert ["Paste"] == [type(message).__name__ for message in reader.pause()]
    assert ["q"] == [message.key for message in reader.feed(b"q")]  # type: ignore[attr-defined]


def test_endless_sequence_uses_bounded_memory() -> None:
    """An escape sequence too long for a key is discarded."""
    reader = Keyboard()
    for _ in range(1000):
        assert [] == list(reader.feed(b"\x1b[" + b"9" * 4096))

    assert len(reader._rest) < 5000
    assert [] == list(reader.feed(b"u"))
    assert ["q"] == [message.key for message in reader.feed(b"q")]  # type: ignore[attr-defined]
