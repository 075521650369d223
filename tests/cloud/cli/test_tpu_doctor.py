"""`tpustarter tpu doctor` as it is typed: text of 80 columns, JSON, exit codes, and no names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from typing import Any

import jsonschema
import pytest

from tests.support import copies
from tests.support.fake_google import (
    HANG,
    NUMBER,
    PROJECT,
    SECRETS,
    ZONE,
    FakeGoogle,
    refusal,
    rule,
    serving,
)
from tests.support.processes import HANG_S
from tpustarter.cloud.api import rest_client
from tpustarter.cloud.doctor import diagnosis as core
from tpustarter.text.terminal import WIDTH

SCHEMA = json.loads(resources.files("tpustarter.cloud").joinpath("doctor.schema.json").read_text())
PLACE = ("--zone", ZONE, "--type", "v6e-8")


@pytest.fixture
def google() -> FakeGoogle:
    """Return a project in good order."""
    return FakeGoogle()


@pytest.fixture
def env(google: FakeGoogle) -> Iterator[dict[str, str]]:
    """Return the environment of a user whose Google is on this machine."""
    names = [name for name in os.environ if name.startswith(("CLOUDSDK_", "GOOGLE_"))]
    clean = {name: value for name, value in os.environ.items() if name not in names}
    with serving(google) as address:
        yield clean | {
            rest_client.ENDPOINT: address,
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "GCE_METADATA_HOST": "127.0.0.1:1",
            "COLUMNS": "80",
        }


def doctor(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command and return what it did."""
    command = [sys.executable, "-m", "tpustarter", "tpu", "doctor", *words]
    return copies.run(command, env=env, libraries=copies.CLOUD)


def test_healthy_project_exits_0(env: dict[str, str]) -> None:
    """One line for each finding where it fits, and the whole truth at the end."""
    done = doctor(env, *PLACE)
    lines = done.stdout.splitlines()

    assert (0, "") == (done.returncode, done.stderr)
    assert "project from GOOGLE_CLOUD_PROJECT, us-east1-d, v6e-8" == lines[0]
    assert "on this machine, not Google" in lines[1]
    assert "ok      billing        an open billing account is linked" in lines
    assert "Nothing stands in the way of a TPU: 14 findings." in done.stdout
    assert all(len(line) <= WIDTH for line in lines)


def test_failures_come_first_with_their_command(google: FakeGoogle, env: dict[str, str]) -> None:
    """Failures come first with one command each; stderr has the next step."""
    google.breaks("billing", {"name": "x"}).breaks("testIam", refusal(429, "Too many."))
    google.breaks("firewalls", {"items": [rule("open-to-all", "all")]})
    done = doctor(env, *PLACE)
    lines = done.stdout.splitlines()

    assert 1 == done.returncode
    assert ["FAIL", "UNKNOWN", "WARN", "info", "info"] == [
        word for line in lines if (word := line[:8].strip()) in ("FAIL", "UNKNOWN", "WARN", "info")
    ]
    assert '        do    gcloud billing projects link "$GOOGLE_CLOUD_PROJECT" \\' in lines
    assert "                --billing-account=ACCOUNT_ID" in lines
    assert "1 of 14 findings stands in the way of a TPU, and 1 is not known." == lines[-1]
    assert done.stderr.startswith("exit 1: billing: no billing account is linked")
    assert 1 == len(done.stderr.splitlines())
    assert all(len(line) <= WIDTH for line in lines)


def test_the_document_has_its_schema_and_no_names(google: FakeGoogle, env: dict[str, str]) -> None:
    """The document fits its schema and has no names, even if everything is refused."""
    google.answers = dict.fromkeys(
        google.answers, refusal(403, f"alice@example.com may not see {PROJECT}, number {NUMBER}")
    )
    done = doctor(env, *PLACE, "--json")
    document = json.loads(done.stdout)

    jsonschema.validate(document, SCHEMA)
    assert done.returncode == document["exit_code"] == 1
    assert document["project"] is None
    assert [] == [secret for secret in SECRETS if secret in done.stdout + done.stderr]


def test_names_are_shown_on_request(env: dict[str, str]) -> None:
    """With `--show-names`, names are in the text and in the document."""
    text, document = doctor(env, "--show-names"), doctor(env, "--show-names", "--json")

    assert text.stdout.startswith(f"project `{PROJECT}`")
    assert PROJECT == json.loads(document.stdout)["project"]
    jsonschema.validate(json.loads(document.stdout), SCHEMA)


def test_relevant_unknown_finding_exits_3(google: FakeGoogle, env: dict[str, str]) -> None:
    """An unknown finding that matters exits with 3."""
    google.breaks("consumerQuota", refusal(500, "Internal error."))
    done = doctor(env, *PLACE)

    assert 3 == done.returncode
    assert "so this is no proof" in " ".join(done.stdout.split())
    assert "gcloud alpha services quota list" in done.stdout


def test_irrelevant_unknown_finding_exits_0(google: FakeGoogle, env: dict[str, str]) -> None:
    """A finding that is unknown but irrelevant is shown, and the exit code is 0."""
    google.breaks("firewalls", refusal(403, "No."))
    done = doctor(env, *PLACE)

    assert 0 == done.returncode
    assert "2 are not known" in done.stdout


def test_missing_credentials_exit_77(env: dict[str, str]) -> None:
    """Missing credentials exit with 77 before any request, with the login command first."""
    del env[rest_client.ENDPOINT]
    done = doctor(env, *PLACE)

    assert 77 == done.returncode
    assert "FAIL    credentials" in done.stdout
    assert "do    gcloud auth application-default login" in done.stdout
    assert "Nothing is known about the project" in done.stdout
    assert 13 == done.stdout.count("UNKNOWN")


def test_dry_run_shows_commands_without_requests(google: FakeGoogle, env: dict[str, str]) -> None:
    """A dry run shows the commands without requests, even without a project."""
    del env["GOOGLE_CLOUD_PROJECT"]
    done = doctor(env, "--dry-run")

    assert 0 == done.returncode
    assert "Nothing was sent." in done.stdout
    assert 14 == sum(line.startswith("gcloud ") for line in done.stdout.splitlines())
    assert "--project=PROJECT" in done.stdout
    assert [] == google.asked


def test_dead_proxy_does_not_affect_loopback(env: dict[str, str]) -> None:
    """A dead proxy doesn't affect a server on loopback."""
    proxies = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:1")

    assert 0 == doctor(env | proxies, *PLACE).returncode


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--zone", "us-east1"), "not the name of a zone"),
        (("--type", "v9-8"), "unknown TPU type"),
        (("--type", "v6e-9"), "did you mean `v6e-8`?"),
        (("--project", "My Project"), "is not the id of a project"),
    ],
)
def test_bad_input_is_one_error(env: dict[str, str], words: tuple[str, ...], hint: str) -> None:
    """Bad input is one error with exit code 2 and the nearest name, in JSON too."""
    done, as_json = doctor(env, *words), doctor(env, *words, "--json")

    assert 2 == done.returncode == as_json.returncode
    assert hint in done.stderr
    assert hint in json.loads(as_json.stdout)["error"]["what"]


def test_a_server_elsewhere_is_refused(env: dict[str, str]) -> None:
    """A server elsewhere is refused, because credentials are for Google only."""
    done = doctor(env | {rest_client.ENDPOINT: "192.0.2.1:80"}, *PLACE)

    assert 2 == done.returncode
    assert "expected an address of this machine" in done.stderr


def test_the_program_ends_while_a_call_still_hangs(google: FakeGoogle, env: dict[str, str]) -> None:
    """The program ends within the documented time, even while a call still hangs."""
    google.breaks("compute/v1", HANG)
    driver = (
        "import sys; from tpustarter.cloud.doctor import diagnosis as doctor\n"
        "doctor.diagnose_project.__kwdefaults__.update(call_s=600.0, total_s=0.5)\n"
        "from tpustarter.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver, "tpu", "doctor", *PLACE],
        env=env,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )

    assert 3 == done.returncode
    assert "there was no answer in time" in done.stdout


def test_the_help_names_every_exit_code(env: dict[str, str]) -> None:
    """The help names every exit code and fits 80 columns."""
    done = doctor(env, "--help")
    codes: dict[str, Any] = {str(code): None for code in (0, 1, 3, 77)}

    assert [] == [code for code in codes if f"{code} " not in done.stdout]
    assert all(len(line) <= WIDTH for line in done.stdout.splitlines())
    assert core.TOTAL_S < 20
