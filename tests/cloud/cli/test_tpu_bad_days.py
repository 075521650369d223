"""Bad days of `tpustarter tpu`, as a person has them: one clear error each, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from google.cloud import tpu_v2

from tests.support import copies
from tests.support.fake_cloud import FakeClock, FakeCloud, Fault, serving
from tests.support.processes import HANG_S
from tpustarter.cloud.api import tpu_client
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.core.problem import ExitCode

ZONE = "us-east5-a"
BERT = ("create", "bert", "--type", "v6e-8", "--zone", ZONE, "--yes", "--no-wait")
LIMITED = (
    "import resource, sys; sys.dont_write_bytecode = True; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); "
)
"""No file gets more than 10 bytes, as on a full disk; half a compiled module would break others."""


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """Run a service that deletes at once."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "https_proxy", "http_proxy", "grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "my-project")
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")
    with serving(FakeCloud(clock=FakeClock(datetime.now(timezone.utc)), delete_s=0)) as running:
        monkeypatch.setenv(tpu_client.ENDPOINT, f"127.0.0.1:{running.port}")
        yield running


def run(*words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run `tpustarter tpu WORDS`, after a line of Python that limits this process."""
    program = f"{before}import sys; from tpustarter.__main__ import main; main()"
    command = [sys.executable, "-c", program, "tpu", *words]
    if before:  # a copy writes what it has imported
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * HANG_S,
            check=False,
        )
    else:
        done = copies.run(command, libraries=copies.CLOUD)

    assert "Traceback" not in done.stdout + done.stderr
    return done


def add_node(cloud: FakeCloud, created: datetime) -> None:
    """Add a node that was created at a given time."""
    path = f"projects/my-project/locations/{ZONE}/nodes/bert"
    cloud.nodes[path] = tpu_v2.Node(
        name=path, accelerator_type="v6e-8", state=tpu_v2.Node.State.READY, create_time=created
    )


def entry(phase: ledger.Phase = "sent") -> LedgerEntry:
    """Return an entry of a request that was sent just now."""
    return LedgerEntry(
        "my-project",
        ZONE,
        "bert",
        "v6e-8",
        8,
        "on-demand",
        ledger.format_ledger_time(datetime.now(timezone.utc)),
        phase,
    )


def test_a_full_disk_hides_nothing_that_google_says(cloud: FakeCloud) -> None:
    """On a full disk, reading and deleting work, but `create` is refused."""
    run(*BERT)
    cloud.clock.sleep(300)
    read = [run(*words, before=LIMITED) for words in (("list",), ("zones",), ("cost",))]
    cloud.calls.clear()
    refused = run("create", "other", *BERT[2:], before=LIMITED)

    assert [0, 0, 0] == [done.returncode for done in read], [done.stderr for done in read]
    assert "ACTIVE" in read[0].stdout
    assert 78 == refused.returncode
    assert "error: cannot write" in refused.stderr
    assert [] == cloud.called("CreateQueuedResource")
    deleted = run("delete", "bert", "--yes", before=LIMITED)
    assert 0 == deleted.returncode, deleted.stderr
    assert "is gone, and nothing of it is billed" in " ".join(deleted.stdout.split())
    assert {} == cloud.existing()
    assert ["bert"] == [one.name for one in ledger.read_ledger()]  # kept rather than forgotten


@pytest.mark.parametrize("content", [None, "[]", "{"], ids=["missing", "list", "half"])
def test_credentials_file_from_variable_is_named(
    cloud: FakeCloud, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bad credentials file is named with its variable; no new login is advised."""
    assert cloud.port
    file = tmp_path / "key.json"
    if content:
        file.write_text(content)
    monkeypatch.delenv(tpu_client.ENDPOINT)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    patient = (
        "from tpustarter.cloud.doctor import credential_check; credential_check.FIND_S = 60.0; "
    )
    listed, examined = run("list"), run("doctor", before=patient)

    assert ExitCode.DENIED == listed.returncode == examined.returncode
    assert "hint: `unset GOOGLE_APPLICATION_CREDENTIALS`" in listed.stderr
    assert "Error(" not in listed.stderr
    assert "do    unset GOOGLE_APPLICATION_CREDENTIALS" in examined.stdout
    text = " ".join(examined.stdout.split())
    assert "the file that `GOOGLE_APPLICATION_CREDENTIALS` names cannot be used" in text


def test_a_proxy_that_does_not_answer_is_named(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that doesn't answer is named by its variable, as its URL may hold a password."""
    assert cloud.port
    monkeypatch.delenv(tpu_client.ENDPOINT)
    monkeypatch.setenv("https_proxy", "http://me:secret-word@127.0.0.1:1")
    file = Path(os.environ["HOME"]) / ".config/gcloud/application_default_credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text(
        '{"type": "authorized_user", "client_id": "x", "client_secret": "y", "refresh_token": "z"}'
    )
    done = run(
        "list",
        before="from tpustarter.cloud.api import tpu_client; tpu_client.READ_PAUSES_S = (); ",
    )

    assert 75 == done.returncode
    assert "hint: look whether the proxy that `https_proxy` names answers" in done.stderr
    assert "secret-word" not in done.stderr


@pytest.mark.parametrize(("code", "text"), [(13, "an internal error has occurred"), (2, "")])
def test_listing_error_does_not_mention_start(cloud: FakeCloud, code: int, text: str) -> None:
    """A listing error shows only Google's text, without gRPC's words or a hint to start."""
    cloud.faults["ListQueuedResources"] = [Fault(code, text)]
    done = run("list")

    assert done.returncode in (1, 75)
    assert "start this TPU" not in done.stderr
    assert "RPC" not in done.stderr
    assert f"Google's text: {text or 'none'}" in done.stderr
    assert "hint: try" in done.stderr


def test_last_error_of_zone_walk_appears_once(cloud: FakeCloud) -> None:
    """The last error of a walk over zones is shown once, below the zone's own line."""
    denied = "Permission denied on 'locations/us-east5-a' (or it may not exist)."
    cloud.faults["CreateQueuedResource"] = [Fault(7, denied)]
    done = run(*BERT)

    assert 77 == done.returncode
    assert "us-east5-a: this zone is closed to the project" in done.stdout
    assert 1 == (done.stdout + done.stderr).count("Google's text")


def test_clock_day_behind_invents_no_age(cloud: FakeCloud) -> None:
    """If the clock is a day behind, a warning is shown and no age is invented."""
    add_node(cloud, datetime.now(timezone.utc) + timedelta(days=1))
    done = run("list")

    assert "bert  v6e-8 on-demand in us-east5-a  READY" in done.stdout
    assert "so the clock is wrong" in " ".join(done.stdout.split())


def test_unanswered_request_stays_listed(cloud: FakeCloud) -> None:
    """A request without an answer stays in `list`, so `delete` finds it too."""
    ledger.add_ledger_entry(entry())
    done = run("delete", "bert", "--yes")

    assert 75 == done.returncode
    assert "but its request may still arrive" in done.stderr
    assert "tpustarter tpu watch bert" in done.stderr
    assert [] == cloud.called("DeleteQueuedResource")
