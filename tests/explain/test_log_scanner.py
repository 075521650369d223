"""Reading and searching a log: line numbers, wrapping, colours, repetition, what is not a text."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.failures import failure
from tests.support.processes import in_bounded_time
from tests.support.secret_shapes import SHAPES, TOKENS
from tpustarter.explain import known_failures, log_reader, log_scanner
from tpustarter.explain.log_scanner import LogScan, Scanner

HELD = failure("held", shows=[r"already in use by process with pid (?P<PID>\d+)"])
TEXT = "The TPU is already in use by process with pid 4242"


def scan(data: bytes, *failures: object) -> LogScan:
    """Return the signs of some failures in a log."""
    return Scanner(failures or [HELD]).scan(io.BytesIO(data))  # type: ignore[arg-type]


def test_match_has_line_quote_and_values() -> None:
    """Lines are counted from 1, whatever ends them."""
    sign = scan(f"one\r\ntwo\n  RuntimeError: {TEXT}.\r\nend".encode()).seen["held"].signs["shows"]

    assert [(3, f"RuntimeError: {TEXT}.", {"PID": "4242"})] == [
        (one.line, one.quote, one.values) for one in sign
    ]


@pytest.mark.parametrize(
    "log",
    [
        TEXT.upper().replace("PROCESS", "process"),
        TEXT.replace(" use by", "\n   use by"),
        TEXT.replace("already in", "already\r\nin"),
        TEXT.replace("in use", "\x1b[1;31min\x1b[0m use"),
        TEXT.replace("use ", "use\t  "),
        f"t1v-n-0: [2026-11-22 10:00:00,123] E1122 pjrt.cc:42] {TEXT}",
    ],
    ids=["case", "wrapped", "windows", "coloured", "spaces", "prefixed"],
)
def test_text_altered_by_terminal_or_launcher_is_found(log: str) -> None:
    """A pasted text is rarely the one that the program wrote."""
    assert "held" in scan(log.encode()).seen


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_utf16_log_is_read(encoding: str) -> None:
    """PowerShell writes UTF-16."""
    assert "held" in scan(f"ünlü\n{TEXT}\n".encode(encoding)).seen


def test_quote_matches_any_quote_character() -> None:
    """Shells and pages turn them into others."""
    quoted = failure("quoted", shows=["backend 'tpu'"])
    for log in ('backend "tpu"', "backend \u2018tpu\u2019", "backend `tpu`"):
        assert "quoted" in scan(log.encode(), quoted).seen, log
    assert "quoted" not in scan(b"backend tpu", quoted).seen


@pytest.mark.parametrize("at", range(-60, 61, 7))
def test_message_across_chunks_is_found_once(at: int) -> None:
    """A log is searched in pieces; no message is lost or told twice where two of them meet."""
    log = b"x" * 79 + b"\n"
    before = log * (log_reader.TOGETHER // len(log))
    data = before[:at] + b"\n" + TEXT.replace("process", "\nprocess").encode() + b"\n" + before
    result = Scanner([HELD]).start_pass()
    for start in range(0, len(data), 4096):
        result.feed(data[start : start + 4096])
    signs = result.finish().seen["held"].signs["shows"]

    assert [before[:at].count(b"\n") + 2] == [sign.line for sign in signs]


def test_repeated_match_is_looked_up_few_times() -> None:
    """And what else there is, is still found behind it."""
    other = failure("other", shows=["something else"])
    result = scan((f"{TEXT}\n" * 5_000 + "something else\n").encode(), HELD, other)

    assert log_scanner.OFTEN == len(result.seen["held"].signs["shows"])
    assert 5_001 == result.seen["other"].signs["shows"][0].line
    assert 5_001 == result.lines


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\0" * 300_000,
        random.Random(1).randbytes(600_000),
        b"\x1b[" * 100_000,
        b"\x1b]0;" + b"a" * 400_000,
        b"\xff\xfe" + b"a" * 33,
    ],
    ids=["empty", "line break", "zeros", "binary", "escapes", "title", "half UTF-16"],
)
def test_binary_log_finds_nothing(data: bytes) -> None:
    """Nothing is found, and nothing is raised."""
    assert {} == scan(data).seen


def test_endless_line_is_searched_in_parts() -> None:
    """A progress bar of a day is one line."""
    data = b"\rstep 1" * 200_000 + TEXT.encode() + b"\rstep 2" * 200_000
    sign = scan(data).seen["held"].signs["shows"][0]

    assert 1 == sign.line
    assert TEXT in sign.quote
    assert len(sign.quote) <= log_scanner.QUOTED


def test_unfinished_messages_are_searched_in_bounded_time() -> None:
    """None of them ends, so what may follow the beginning of each is looked for in all of it.

    A word that a row only needs may come about where two of them meet.
    """
    scanner = Scanner(known_failures.read_failures())
    texts = [
        " ".join(text.split()) for row in known_failures.read_failures() for text in row.examples
    ]
    begun = [text[: len(text) * 2 // 3].encode() for text in texts]
    unknown = [one for one in begun if not scanner.scan(io.BytesIO(one)).seen]
    line = b" ".join(random.Random(1).choices(unknown, k=60_000))[:3_000_000]

    with in_bounded_time():
        seen = scanner.scan(io.BytesIO(line)).seen

    assert [] == [name for name, one in seen.items() if one.signs.keys() - {"needs"}]


def test_end_of_long_log_is_kept() -> None:
    """The last error stands there."""
    data = b"first\n" + b"x" * 3_000_000 + b"\nlast words\n"

    assert scan(data).last.endswith("last words\n")
    assert len(scan(data).last) <= log_scanner.LAST
    assert "first\nlast\n" == scan(b"first\nlast\n").last


SECRETS = {
    "OPENAI": "sk-proj-Zq7abcdefghijklmnopqrstuvwxyz012345",
    "OTHER": "hf_Zq7AbCdEfGhIjKlMnOpQrStUvWxYz01",
    **{name: SHAPES[name].secret for name in TOKENS},
}
PIECE = 8


def pieces_of(secret: str) -> set[str]:
    """Return every part of a secret that has so many characters: none may be found."""
    return {secret[start : start + PIECE] for start in range(len(secret) - PIECE + 1)}


def kept_of(log: str) -> list[str]:
    """Return all texts that are kept of a log."""
    result = scan(log.encode())
    signs = [one for seen in result.seen.values() for part in seen.signs.values() for one in part]
    return [result.last, *(sign.quote for sign in signs), *(v for s in signs for v in s.values)]


LENGTHS = st.one_of(
    st.integers(0, 400),
    st.integers(log_scanner.WINDOW - 300, log_scanner.WINDOW + 300),
    st.integers(log_reader.LONGEST_LINE - 300, log_reader.LONGEST_LINE + 300),
    st.integers(log_reader.TOGETHER - log_reader.AHEAD - 300, log_reader.TOGETHER + 300),
    st.integers(log_scanner.LAST - 300, log_scanner.LAST + log_scanner.WINDOW + 300),
)
"""Of what stands beside a secret: around each length at which something is cut."""


@given(
    fill=st.sampled_from(["x", " ", "ab ", "-", "key "]),
    beside=st.sampled_from([" ", '"', "\n"]),
    before=LENGTHS,
    after=LENGTHS,
    lead=LENGTHS,
    name=st.sampled_from(sorted(SECRETS)),
    is_first=st.booleans(),
)
@example(fill="x", beside=" ", before=116, after=0, lead=0, name="OPENAI", is_first=True)
def test_no_part_of_secret_is_quoted(
    *, fill: str, beside: str, before: int, after: int, lead: int, name: str, is_first: bool
) -> None:
    """A line is cut to what is quoted only when it holds no secrets any more."""
    secret = SECRETS[name]

    def filled(length: int) -> str:
        return (fill * (length // len(fill) + 1))[:length]

    middle = (secret, TEXT) if is_first else (TEXT, secret)
    log = beside.join((filled(lead), middle[0], filled(before), middle[1], filled(after), ""))
    kept = kept_of(log)

    assert [] == [text for text in kept for piece in pieces_of(secret) if piece in text]
    if all(
        len(line) < log_reader.LONGEST_LINE for line in log.split("\n")
    ):  # else it may be broken
        assert [text for text in kept[1:] if "already in use" in text]
