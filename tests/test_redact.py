"""Secrets, names and home folders are taken out of every text, in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.redact import Redactor

SECRETS = {
    "HF_TOKEN": "hf_AbCdEfGhIjKlMnOpQrSt",
    "WANDB_API_KEY": "0123456789abcdef0123",
    "DB_PASSWORD": "correct horse battery",
    "HOME": "/home/somebody",
}


@given(st.text(max_size=40), st.sampled_from(sorted(SECRETS)), st.text(max_size=40))
def test_a_seeded_secret_never_survives(before: str, name: str, after: str) -> None:
    """Whatever stands around it, a secret of the environment is taken out."""
    redacted = Redactor(SECRETS).text(before + SECRETS[name] + after)

    assert SECRETS[name] not in redacted


@pytest.mark.parametrize(
    "secret",
    [
        "ya29.a0AfH6SMBxyz-_123",
        "ghp_0123456789abcdefghij0123456789",
        "Authorization: Bearer abcdefgh12345678",
        "somebody@example.com",
        "projects/my-project-123/zones/us-central1-b",
        "password=hunter22",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    ],
)
def test_known_shapes_of_secrets_are_taken_out(secret: str) -> None:
    """Tokens, addresses and project names nobody told us about go too."""
    value = secret.rsplit(maxsplit=1)[-1] if "PRIVATE" not in secret else "MIIE"
    for word in ("my-project-123", value):
        assert word not in Redactor({}).text(f"log: {secret} end") or word == "log"


def test_a_short_word_is_no_secret() -> None:
    """A variable called TOKEN that says `true` does not blank every `true` of a report."""
    assert Redactor({"USE_TOKEN": "true"}).text("it is true") == "it is true"


@pytest.mark.parametrize("piece", ["x", "x-", "a.b@", "token ", "eyJ", "-----BEGIN KEY", "secret="])
def test_a_long_line_is_redacted_in_bounded_time(piece: str) -> None:
    """A block may print anything: no text makes the patterns search for ever."""
    began = time.monotonic()
    Redactor({}).text(piece * (256 * 1024 // len(piece)))

    assert time.monotonic() - began < 5
