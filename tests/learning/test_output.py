"""What a block prints: all of it where that is little, else its beginning and its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tpustarter.learning.output import END_CHARACTERS, LEFT_OUT, MAX_CHARACTERS, BlockOutput
from tpustarter.redact import Redactor

HEAD = MAX_CHARACTERS - END_CHARACTERS


def told(*written: bytes, token: str = "") -> tuple[str, str]:
    """Return what is told of some output as it comes, and what is shown of it afterwards."""
    output = BlockOutput(Redactor({"SAMPLE_TOKEN": token} if token else {}))
    pieces = [one.text for data in written for one in output.add("stdout", data)]
    pieces += [one.text for one in output.flush(final=True)]
    return "".join(pieces), output.shown


def lines(count: int) -> bytes:
    """Return numbered lines of ten characters."""
    return b"".join(b"%09d\n" % number for number in range(count))


def test_of_much_the_beginning_and_the_last_lines_are_told() -> None:
    """The last line is what one prints for hours to see."""
    text, shown = told(*[lines(100_000)[at : at + 4096] for at in range(0, 1_000_000, 4096)])

    assert text == shown
    before, after = text.split(LEFT_OUT)
    assert before == lines(100_000).decode()[:HEAD]
    assert after.endswith("000099998\n000099999\n")
    assert after.splitlines()[0] in lines(100_000).decode().splitlines()  # a whole one
    assert END_CHARACTERS // 2 - 10 <= len(after) <= END_CHARACTERS // 2


@given(st.lists(st.binary(max_size=9), max_size=9))
def test_what_fits_is_told_whole(written: list[bytes]) -> None:
    """However it is divided, and at the limit, too."""
    expected = b"".join(written).decode("utf-8", "replace")

    assert (expected, expected) == told(*written)


def test_at_the_limit_nothing_is_left_out() -> None:
    """One character more, and the line that is cut goes."""
    limit = HEAD + END_CHARACTERS // 2
    whole = lines(limit // 10) + b"x" * (limit % 10)

    assert told(whole)[0] == whole.decode()
    assert LEFT_OUT in told(whole + b"y")[0]


def test_no_half_of_a_secret_is_told_where_the_end_begins() -> None:
    """A line that is not whole is left out with what was in it."""
    token = "s3cr3t-value"
    behind = b"z" * (END_CHARACTERS // 2 - 8) + b"\n"
    text, shown = told(lines(50_000), token.encode() + b"\n" + behind, token=token)

    assert "value" not in text + shown


def test_a_log_takes_no_room_from_the_end_of_what_is_judged() -> None:
    """Each stream keeps its own, and both are told in the order in which they came."""
    output = BlockOutput(Redactor({}))
    for name, data in [("stderr", lines(30_000)), ("stdout", b"as\n"), ("stderr", lines(30_000))]:
        _ = [*output.add(name, data)]
    _ = [*output.flush(final=True)]

    assert output.printed.endswith("as\n")
    after = output.shown.split(LEFT_OUT)[1]
    assert "as\n" in after
    assert after.endswith("000029999\n")
