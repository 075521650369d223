"""The output of a block: whole if it is short, else its beginning and its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.core.redact import Redactor
from tpustarter.learning.run.block_output import (
    END_CHARACTERS,
    FLUSH_S,
    LEFT_OUT,
    MAX_CHARACTERS,
    MAX_WAITING,
    WORD_S,
    BlockOutput,
)

HEAD = MAX_CHARACTERS - END_CHARACTERS


def told(*written: bytes, token: str = "") -> tuple[str, str]:
    """Return the output as streamed, and the output as shown afterwards."""
    output = BlockOutput(Redactor({"SAMPLE_TOKEN": token} if token else {}))
    pieces = [one.text for data in written for one in output.add("stdout", data)]
    pieces += [one.text for one in output.flush(final=True)]
    return "".join(pieces), output.redacted_text


def lines(count: int) -> bytes:
    """Return numbered lines of ten characters."""
    return b"".join(b"%09d\n" % number for number in range(count))


def test_long_output_keeps_beginning_and_last_lines() -> None:
    """Long output keeps its beginning and its last lines."""
    written = lines(100_000)
    text, shown = told(*[written[at : at + 4096] for at in range(0, 1_000_000, 4096)])

    assert text == shown
    before, after = text.split(LEFT_OUT)
    assert before == written.decode()[: HEAD // 10 * 10]  # no half word
    assert after.endswith("000099998\n000099999\n")
    assert after.splitlines()[0] in written.decode().splitlines()  # a whole one
    assert END_CHARACTERS // 2 - 10 <= len(after) <= END_CHARACTERS // 2


@given(st.lists(st.binary(max_size=9), max_size=9))
def test_short_output_is_shown_whole(written: list[bytes]) -> None:
    """Short output is shown whole however it is split, up to the limit."""
    expected = b"".join(written).decode("utf-8", "replace")

    assert (expected, expected) == told(*written)


def test_at_the_limit_nothing_is_left_out() -> None:
    """At the limit nothing is left out; one more character cuts whole lines."""
    limit = HEAD + END_CHARACTERS // 2
    whole = lines(limit // 10) + b"x" * (limit % 10)

    assert told(whole)[0] == whole.decode()
    assert LEFT_OUT in told(whole + b"y")[0]


def test_half_secret_before_kept_end_is_dropped() -> None:
    """A line cut by the start of the kept end is dropped with any secret in it."""
    token = "s3cr3t-value"
    behind = b"z" * (END_CHARACTERS // 2 - 8) + b"\n"
    text, shown = told(lines(50_000), token.encode() + b"\n" + behind, token=token)

    assert "value" not in text + shown


def test_log_takes_no_room_from_judged_output() -> None:
    """The limits of stdout and stderr are separate; both are shown in order of arrival."""
    output = BlockOutput(Redactor({}))
    for name, data in [("stderr", lines(30_000)), ("stdout", b"as\n"), ("stderr", lines(30_000))]:
        _ = [*output.add(name, data)]
    _ = [*output.flush(final=True)]

    assert output.stdout_text.endswith("as\n")
    after = output.redacted_text.split(LEFT_OUT)[1]
    assert "as\n" in after
    assert after.endswith("000029999\n")


@pytest.mark.parametrize("at", [-20, -8])
@pytest.mark.parametrize("fill", [b"x ", b"xy\n"], ids=["one line", "lines"])
def test_half_secret_after_kept_beginning_is_dropped(at: int, fill: bytes) -> None:
    """A token cut by the end of the kept beginning is dropped."""
    token = "hf_Zq7AbCdEfGhIjKlMnOpQrSt"
    before = (fill * HEAD)[: HEAD + at]
    text, shown = told(before + b" " + token.encode() + b" " + b"z\n" * END_CHARACTERS)

    assert "Zq7" not in text + shown


@pytest.mark.parametrize("at", [-20, 0])
def test_long_unfinished_line_is_shown_to_last_word(at: int) -> None:
    """An unfinished line is shown up to its last word, which may be part of a secret."""
    token = b"hf_Zq7AbCdEfGhIjKlMnOpQrSt"
    begun = b"x " * (MAX_WAITING // 2) + b"y" * (at + 40) + b" " + token
    text, shown = told(begun[:-10], begun[-10:] + b"\n")

    assert "Zq7" not in text + shown


KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *["Qq7z" * 16] * 4, "-----END PRIVATE KEY-----"])
PRINTED = {
    "a token": "use hf_Qq7zQq7zQq7zQq7zQq7z as it is",
    "a value of a variable": "it says s3cr3t-Qq7zQq7z twice",
    "a password after its name": "password: Qq7zQq7z",
    "a bearer": "Authorization: Bearer Qq7zQq7zQq7z",
    "a login in an address": "https://ada:Qq7zQq7z@index.example/simple",
    "a private key": f"a key\n{KEY}",
}


@pytest.mark.parametrize("printed", PRINTED.values(), ids=PRINTED)
def test_secret_split_over_writes_is_hidden(printed: str) -> None:
    """A secret split over two writes with a pause between them is still removed."""
    texts: list[str] = []
    for at in range(1, len(printed)):
        output = BlockOutput(Redactor({"SAMPLE_TOKEN": "s3cr3t-Qq7zQq7z"}))
        halves = [*output.add("stdout", printed[:at].encode()), *output.flush()]
        halves += [*output.add("stdout", f"{printed[at:]}\n".encode()), *output.flush(final=True)]
        text = "".join(one.text for one in halves)
        texts += [text] if "q7z" in text else []

    assert [] == texts


def test_unfinished_line_is_shown_in_time() -> None:
    """Whole words are shown at once, a partial word after a pause, and nothing twice."""
    output = BlockOutput(Redactor({}))
    _ = [*output.add("stdout", b"step 7: compil")]

    quiet = [[one.text for one in output.flush()] for _ in range(round(WORD_S / FLUSH_S))]

    assert [["step 7: "], *[[]] * (len(quiet) - 2), ["compil"]] == quiet
    assert not output.is_waiting
    assert ["ing\n"] == [one.text for one in output.add("stdout", b"ing\n")]
