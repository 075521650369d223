"""Any keys, in any order, with junk between them: the app keeps working, without a bug report."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.message import Message

from tests.support.tutor import run, settle, tutor
from tpustarter.core import locations
from tpustarter.tui.terminal.keyboard import Keyboard

LETTERS = b"abcdefghijklmnoprtuvwxz/:?,123"
KEYS = [
    b"\r",
    b"\x1b",
    b"\t",
    b"\x1b[A",
    b"\x1b[B",
    b"\x1b[5~",
    b"\x1b[6~",
    b" ",
    b"\x7f",
    b"\x0f",
    b"\x14",
    b"\x17",
    b"\x1b[Z",
    *(bytes([letter]) for letter in LETTERS),
]
"""What the screens act on, all but what leaves, and what sets up an environment."""
JUNK = [
    b"\xe9",
    b"\0",
    b"\x1b[M\xff\xfe\xfd",
    b"\x1b[99999999999999;1u",
    b"\x1b[?62;4c",
    b"\x1b]11;q\x07",
    b"\x1b[200~\xff\0[b]\x1b[2J\r\n\x1b[201~",
    "\U0001f600e\u0301\u202e\ud7ff".encode(),
]
STREAMS = st.lists(st.sampled_from(KEYS) | st.sampled_from(JUNK), min_size=5, max_size=40)


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(STREAMS)
def test_any_keys_keep_app_usable(stream: list[bytes]) -> None:
    """Any keys leave the app running and following keys, and it writes no bug report."""

    async def journey() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with tutor(Path(folder), lessons={"hello": "# Hello\n\nA lesson.\n"}) as pilot:
                for data in stream:
                    reader = Keyboard()
                    messages: list[Message] = [*reader.feed(data), *reader.pause()]
                    for message in messages:
                        pilot.app.post_message(message)
                    await pilot.pause()
                await settle(pilot)
                assert pilot.app.is_running
                assert pilot.app.first_error is None  # type: ignore[attr-defined]

    run(journey)

    assert not list(locations.make_state_folder().glob("bug-*"))
