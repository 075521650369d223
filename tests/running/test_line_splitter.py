"""Lines out of pieces."""

from __future__ import annotations

import pytest

from tpustarter.running.line_splitter import LineSplitter


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a", b"b\n", b"\nc"], ["ab", "", "c"]),
        ([b"one\r\n", b"two\r", b"\nthree"], ["one", "two", "three"]),
        ([b"\r10%", b"\r20%", b"\r30%\n"], ["10%", "20%", "30%"]),
        ([b"\xff\xe2\x82", b"\xac\n"], ["\ufffd\u20ac"]),
        ([b"x" * 40_000], ["x" * 16_384, "x" * 16_384, "x" * 7232]),
        ([], []),
    ],
)
def test_pieces_become_lines(pieces: list[bytes], expected: list[str]) -> None:
    """Whatever the pieces, also within a character and within a line end."""
    lines = LineSplitter()

    assert expected == [line for piece in pieces for line in lines.feed(piece)] + lines.take_rest()


def test_a_progress_bar_shows_before_its_line_ends() -> None:
    """A progress bar is shown before its line ends, which may take an hour."""
    lines = LineSplitter()

    assert ["10%"] == lines.feed(b"\r10%\r20%")
