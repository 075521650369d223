"""The command that an error ends with: it can be pasted, and names the project nowhere else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.rpc import error_details_pb2

from tests.support import copies
from tests.support.fake_cloud import FakeCloud, Fault, serving
from tests.support.processes import HANG_S
from tests.support.terminal import terminal
from tpustarter.cloud.api import tpu_client

PROJECT = "my-secret-lab"
DISABLED = (
    f"Cloud TPU API has not been used in project {PROJECT} before or it is disabled. Enable it by "
    "visiting https://console.developers.google.com/apis/api/tpu.googleapis.com/overview?project="
    f"{PROJECT} then retry."
)
LIST = ("tpu", "list", "--project", PROJECT)
CONFIGURED = ("tpu", "list")


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """Run a service whose API is not enabled in the project."""
    for name in ("CLOUDSDK_CORE_PROJECT", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        monkeypatch.setenv(tpu_client.ENDPOINT, f"127.0.0.1:{running.port}")
        metadata = {"service": "tpu.googleapis.com", "consumer": f"projects/{PROJECT}"}
        info = error_details_pb2.ErrorInfo(reason="SERVICE_DISABLED", metadata=metadata)
        running.faults["ListQueuedResources"] = [Fault(7, DISABLED, details=(info,))]
        yield running


@pytest.mark.parametrize("words", [LIST, CONFIGURED], ids=["typed", "configured"])
def test_fix_on_terminal_can_be_pasted(
    cloud: FakeCloud, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell gives gcloud the words that enable the API in the project that was meant."""
    if words is CONFIGURED:
        monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", PROJECT)
    with terminal(*words, drive="drive_cli.py", columns=200, lines=60) as tty:
        assert 77 == tty.end()
    text = tty.written.decode()
    (hint,) = (line for line in text.splitlines() if line.startswith("hint: "))
    command = hint.split("\x1b[1m")[1].partition("\x1b[22m")[0]  # what is bold is the command
    gcloud = tmp_path / "gcloud"
    gcloud.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    gcloud.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )

    assert ["services", "enable", "tpu.googleapis.com", f"--project={PROJECT}"] == (
        ran.stdout.splitlines()
    )
    assert cloud.calls


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("words", [LIST, CONFIGURED], ids=["typed", "configured"])
@pytest.mark.parametrize("as_json", [False, True], ids=["stderr", "document"])
def test_fix_off_terminal_names_no_project(
    as_json: bool, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fix off the terminal names no project, because logs and documents are shared."""
    if words is CONFIGURED:
        monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", PROJECT)
    words = (*words, *(["--json"] if as_json else []))
    done = copies.run([sys.executable, "-m", "tpustarter", *words], libraries=copies.CLOUD)

    assert 77 == done.returncode
    assert PROJECT not in done.stdout + done.stderr
    assert "gcloud services enable tpu.googleapis.com --project=[project]" in done.stderr
    if as_json:
        assert "--project=[project]" in json.loads(done.stdout)["error"]["hint"]


def test_fix_on_terminal_hides_secrets(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix on the terminal shows the project, and no secrets."""
    secret = "hf_0123456789abcdefghij"
    monkeypatch.setenv("HF_TOKEN", secret)
    monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", PROJECT)
    cloud.faults["ListQueuedResources"][0] = Fault(7, DISABLED.replace(PROJECT, secret))
    with terminal(*CONFIGURED, drive="drive_cli.py", columns=200, lines=60) as tty:
        assert 77 == tty.end()

    assert shlex.quote(secret) not in tty.text
    assert "hint: gcloud services enable" in tty.text
