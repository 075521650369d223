"""Reading and searching a log: line numbers, wrapping, colours, repetition, what is not a text."""

from __future__ import annotations

import io
import random

import pytest

from tests.support.failures import failure
from tpustarter.explain import log_reader, log_scanner
from tpustarter.explain.log_scanner import FailureScanner, LogScan

HELD = failure("held", shows=[r"already in use by process with pid (?P<PID>\d+)"])
TEXT = "The TPU is already in use by process with pid 4242"


def scan(data: bytes, *failures: object) -> LogScan:
    """Return the signs of some failures in a log."""
    return FailureScanner(failures or [HELD]).scan(io.BytesIO(data))  # type: ignore[arg-type]


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
    """A message across two chunks is found exactly once."""
    log = b"x" * 79 + b"\n"
    before = log * (log_reader.PIECE_BYTES // len(log))
    data = before[:at] + b"\n" + TEXT.replace("process", "\nprocess").encode() + b"\n" + before
    result = FailureScanner([HELD]).start_scan()
    for start in range(0, len(data), 4096):
        result.feed(data[start : start + 4096])
    signs = result.finish().seen["held"].signs["shows"]

    assert [before[:at].count(b"\n") + 2] == [sign.line for sign in signs]


def test_repeated_match_is_looked_up_few_times() -> None:
    """A match that repeats thousands of times is rarely looked up, and later matches are found."""
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
    """A binary log gives no matches and no exception."""
    assert {} == scan(data).seen


def test_endless_line_is_searched_in_parts() -> None:
    """A progress bar of a day is one line."""
    data = b"\rstep 1" * 200_000 + TEXT.encode() + b"\rstep 2" * 200_000
    sign = scan(data).seen["held"].signs["shows"][0]

    assert 1 == sign.line
    assert TEXT in sign.quote
    assert len(sign.quote) <= log_scanner.QUOTED


def test_end_of_long_log_is_kept() -> None:
    """The end of a long log, which has the last error, is kept."""
    data = b"first\n" + b"x" * 3_000_000 + b"\nlast words\n"

    assert scan(data).last.endswith("last words\n")
    assert len(scan(data).last) <= log_scanner.TAIL_BYTES
    assert "first\nlast\n" == scan(b"first\nlast\n").last


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("short|a considerably longer alternative", "a considerably longer alternative"),
        ("a long enough beginning (?:one|two){2,3} end", "a long enough beginning onetwo end"),
        ("tpu[^\n]*was preempted", "tpu node-1 was preempted"),
        ("[^\n]{0,40}only the end is known", "xx only the end is known"),
        ("(?:optional )?words and more words", "words and more words"),
        (r"\[core\].{3,60}halted: (?P<WHY>\w+)", "[core] 0x123 halted: parity"),
    ],
)
def test_pattern_of_any_form_is_found(pattern: str, text: str) -> None:
    """Most patterns are searched for by their beginning alone."""
    log = f"tpu\n[core]\na long enough\n{text}\n" * 3

    assert [4] == [
        sign.line
        for sign in scan(log.encode(), failure("it", shows=[pattern])).seen["it"].signs["shows"][:1]
    ]


def test_common_beginning_is_searched_for_whole() -> None:
    """A pattern whose beginning is in every line is still found on a line of its own."""
    one = failure("one", shows=["checkpoint saved [^\n]*, but damaged"])
    ordinary = "checkpoint saved to gs://bucket\n" * 30_000
    log = f"{ordinary}checkpoint saved to gs://bucket, but damaged\n{ordinary}"

    assert [30_001] == [sign.line for sign in scan(log.encode(), one).seen["one"].signs["shows"]]


def test_condition_is_noted_once_and_unquoted() -> None:
    """A condition is noted once, without a quote, however often it matches."""
    one = failure("one", shows=["it broke"], needs=["tpu"])
    signs = scan(b"a tpu\nit broke\nit broke on a tpu\n", one).seen["one"].signs

    assert [(1, "")] == [(sign.line, sign.quote) for sign in signs["needs"]]
    assert [2, 3] == [sign.line for sign in signs["shows"]]
