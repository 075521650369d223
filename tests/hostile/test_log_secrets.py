"""Secrets at each length at which a log is cut, and messages that never end."""

from __future__ import annotations

import io
import random

from hypothesis import example, given
from hypothesis import strategies as st

from tests.explain.test_log_scanner import TEXT, scan
from tests.support.processes import in_bounded_time
from tests.support.secret_shapes import SHAPES, TOKENS
from tpustarter.explain import known_failures, log_reader, log_scanner
from tpustarter.explain.log_scanner import FailureScanner

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
    st.integers(log_reader.PIECE_BYTES - log_reader.AHEAD - 300, log_reader.PIECE_BYTES + 300),
    st.integers(log_scanner.TAIL_BYTES - 300, log_scanner.TAIL_BYTES + log_scanner.WINDOW + 300),
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
    """No part of a secret is quoted, because a line is cleaned before it is cut."""
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


def test_unfinished_messages_are_searched_in_bounded_time() -> None:
    """Messages that never end are searched in bounded time.

    A word that a row only needs may come about where two of them meet.
    """
    scanner = FailureScanner(known_failures.read_known_failures())
    texts = [
        " ".join(text.split())
        for row in known_failures.read_known_failures()
        for text in row.examples
    ]
    begun = [text[: len(text) * 2 // 3].encode() for text in texts]
    unknown = [one for one in begun if not scanner.scan(io.BytesIO(one)).seen]
    line = b" ".join(random.Random(1).choices(unknown, k=60_000))[:3_000_000]

    with in_bounded_time():
        seen = scanner.scan(io.BytesIO(line)).seen

    assert [] == [name for name, one in seen.items() if one.signs.keys() - {"needs"}]
