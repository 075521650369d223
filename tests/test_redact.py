"""Secrets, names and home folders are taken out of every text, in bounded time."""

from __future__ import annotations

import json
import shlex
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
        "xoxb-123456789012-abcdefghijkl",
        "sk-proj-abcdefghijklmnop1234",
        "glpat-abcdefghij0123456789",
        "npm_abcdefghijklmnopqrstuvwx",
        "github_pat_11ABCDEFG0123456789abc",
        "AKIAIOSFODNN7EXAMPLE",
        "http://user:hunter22@proxy:3128",
        "train.py --password hunter22",
        "train.py --aws-access-key abcd1234efgh",
        '{"api_key": "abcd1234efgh"}',
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    ],
)
def test_known_shapes_of_secrets_are_taken_out(secret: str) -> None:
    """Tokens, addresses and project names nobody told us about go too."""
    value = secret.rsplit(maxsplit=1)[-1] if "PRIVATE" not in secret else "MIIE"
    for word in ("my-project-123", value):
        assert word not in Redactor({}).text(f"log: {secret} end") or word == "log"


KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END KEY-----"
FORMS = {
    "as it is": str,
    "as JSON": json.dumps,
    "as Python writes it": repr,
    "quoted for a shell": shlex.quote,
    "joined": lambda secret: secret.replace("\n", " "),
    "without line ends": lambda secret: secret.replace("\n", ""),
    "its middle alone": lambda secret: secret.splitlines()[1],
}


@pytest.mark.parametrize("name", FORMS)
def test_a_secret_of_several_lines_is_taken_out_in_every_form(name: str) -> None:
    """A key in a variable may be printed quoted, joined or line by line."""
    redacted = Redactor({"SSH_KEY": KEY}).text(f"env: {FORMS[name](KEY)} end")

    assert "MIIEvQIBADANBgkqhkiG9w0" not in redacted


@pytest.mark.parametrize(
    "name", ["GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"]
)
def test_the_name_of_a_project_is_taken_out(name: str) -> None:
    """Wherever it stands, also without `projects/` before it."""
    redacted = Redactor({name: "my-secret-lab"}).text(
        "bucket gs://my-secret-lab-data of my-secret-lab"
    )

    assert "my-secret-lab" not in redacted


@pytest.mark.parametrize(
    "text",
    ["task-0123456789abcdefgh", "risk-adjusted-returns-are-low", "http://host:8080/a@b",
     "max_tokens=2048 of them", "--tokenizer bert-base"],
)  # fmt: skip
def test_what_only_looks_like_a_secret_mostly_stays(text: str) -> None:
    """Words that contain `sk-` and addresses with a port are facts."""
    kept = {"max_tokens=2048 of them": "max_tokens=[secret] of them",
            "--tokenizer bert-base": "--tokenizer [secret]"}  # fmt: skip

    assert kept.get(text, text) == Redactor({}).text(text)


def test_a_short_word_is_no_secret() -> None:
    """A variable called TOKEN that says `true` does not blank every `true` of a report."""
    assert Redactor({"USE_TOKEN": "true"}).text("it is true") == "it is true"


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "x-",
        "a.b@",
        "token ",
        "eyJ",
        "-----BEGIN KEY",
        "secret=",
        "--token-",
        "http://a:",
        "sk-",
        "--a-b",
    ],
)
def test_a_long_line_is_redacted_in_bounded_time(piece: str) -> None:
    """A block may print anything: no text makes the patterns search for ever."""
    began = time.monotonic()
    Redactor({}).text(piece * (256 * 1024 // len(piece)))

    assert time.monotonic() - began < 5
