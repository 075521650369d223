"""Tests of the JSON of `tpustarter tpu ...` and `trc` against the package's schemas."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from google.cloud import tpu_v2

from tests.support import copies
from tests.support.fake_cloud import FakeCloud, Fault, serving
from tpustarter.cloud.api import tpu_client
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.core.problem import ExitCode, format_interrupted_output

ZONE = "us-east5-a"
GRANT = ("--allow", "v6e:64:spot:us-east5-a", "--allow", "v2-8:5:on-demand:us-central1-f")
DOCUMENTS = {
    "tpus": [("tpu", "list"), ("tpu", "show", "paid")],
    "offers": [
        ("tpu", "zones"),
        ("tpu", "types", "--zone", ZONE),
        ("tpu", "versions", "--zone", ZONE),
    ],
    "cost": [("tpu", "cost")],
    "jobs": [("tpu", "job", "list")],
    "trc": [("trc", *GRANT, "--start", "2026-11-03", "--days", "30"), ("trc", "--forget")],
}
ERRORS = {
    "tpus": [("tpu", "list", "--zone", "us-east5"), ("tpu", "show", "nothing"), ("tpu", "crate")],
    "offers": [("tpu", "types"), ("tpu", "zones", "--nonsense")],
    "cost": [("tpu", "cost", "--zone", "us-east5")],
    "jobs": [("tpu", "job", "list", "nothing"), ("tpu", "job", "lst")],
    "trc": [("trc", "no-such-file")],
    "doctor": [("tpu", "doctor", "--zone", "us-east5")],
}


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """Run a service with TPUs of every tier and state, one of a type that is not known here."""
    for name in ("CLOUDSDK_COMPUTE_ZONE", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "my-secret-project")
    with serving() as running:
        monkeypatch.setenv(tpu_client.ENDPOINT, f"127.0.0.1:{running.port}")
        running.unreachable = ["us-west4-a"]
        add(running, "paid", "v5litepod-1", "READY")
        add(running, "spot", "v6e-8", "PREEMPTED", spot=True)
        add(running, "new", "v99-8", "REPAIRING")
        yield running


def add(cloud: FakeCloud, name: str, type_name: str, state: str, *, spot: bool = False) -> None:
    """Add a node to the service that was created ten hours ago."""
    path = f"projects/my-secret-project/locations/{ZONE}/nodes/{name}"
    cloud.nodes[path] = tpu_v2.Node(
        name=path,
        accelerator_type=type_name,
        state=tpu_v2.Node.State[state],
        scheduling_config=tpu_v2.SchedulingConfig(spot=spot),
        create_time=datetime.now(timezone.utc) - timedelta(hours=10),
    )


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process."""
    return copies.run([sys.executable, "-m", "tpustarter", *words], libraries=copies.CLOUD)


def schema(name: str) -> Any:
    """Return a published schema."""
    return json.loads(
        resources.files("tpustarter.cloud").joinpath(f"{name}.schema.json").read_text()
    )


def validate(fields: Any, name: str) -> None:
    """Raise ValidationError for a document that doesn't fit the published schema."""
    published = schema(name)
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.Draft202012Validator(published).validate(fields)


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, rows in DOCUMENTS.items() for words in rows]
)
def test_printed_documents_fit_schema(name: str, words: tuple[str, ...]) -> None:
    """Printed documents fit their schemas, and don't have the project's name."""
    ledger.add_ledger_entry(
        LedgerEntry(
            "my-secret-project",
            ZONE,
            "lost",
            "v5litepod-8",
            8,
            "spot",
            ledger.format_ledger_time(datetime.now(timezone.utc)),
        )
    )
    done = run(*words, "--json")
    fields = json.loads(done.stdout)

    assert 0 == done.returncode, done.stderr
    assert f"tpustarter.{name}/1" == fields["schema"]
    assert "my-secret-project" not in done.stdout
    validate(fields, name)


DRY = {**DOCUMENTS, "doctor": [("tpu", "doctor")]}
del DRY["trc"]


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, rows in DRY.items() for words in rows]
)
def test_dry_run_document_fits_schema(name: str, words: tuple[str, ...]) -> None:
    """A dry run's document fits its schema and has the commands of the text."""
    done, text = run(*words, "--dry-run", "--json"), run(*words, "--dry-run").stdout
    fields = json.loads(done.stdout)

    assert 0 == done.returncode == fields["exit_code"]
    assert text.count("gcloud ") == sum(one.count("gcloud ") for one in fields["commands"])
    assert "my-secret-project" not in done.stdout
    validate(fields, name)


@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, rows in ERRORS.items() for words in rows]
)
def test_error_document_fits_schema(cloud: FakeCloud, name: str, words: tuple[str, ...]) -> None:
    """An error document fits the schema of the requested document."""
    cloud.unreachable.clear()  # an absence is certain only where every zone has answered
    done = run(*words, "--json")
    fields = json.loads(done.stdout)

    assert 2 == done.returncode == fields["exit_code"]
    validate(fields, name)


def test_google_error_fits_schema_without_project_name(cloud: FakeCloud) -> None:
    """A Google error fits the schema and has its text, but not the project's name."""
    text = "Permission 'tpu.nodes.list' denied on 'projects/my-secret-project/locations/-'"
    cloud.faults["ListNodes"] = [Fault(7, text)]
    done = run("tpu", "list", "--json")

    validate(json.loads(done.stdout), "tpus")
    assert "tpu.nodes.list" in done.stdout
    assert "my-secret-project" not in done.stdout


@pytest.mark.parametrize(
    ("name", "verb"),
    [("tpus", "list"), ("offers", "types"), ("cost", "cost"), ("doctor", "doctor"), ("trc", "")],
)
def test_early_signal_leaves_error_document_of_schema(name: str, verb: str) -> None:
    """An early signal leaves an error document of the schema."""
    words = ("tpu", verb, "--json") if verb else ("trc", "--json")

    validate(json.loads(format_interrupted_output(words, ExitCode.INTERRUPTED)), name)


def _tpu(fields: Any) -> Any:
    return fields["tpus"][0]


WRONG: list[tuple[str, Callable[[Any], Any]]] = [
    ("tpus", lambda fields: fields.pop("tpus")),
    ("tpus", lambda fields: fields.pop("put_aside")),
    ("tpus", lambda fields: fields.update(schema="tpustarter.tpus/2")),
    ("tpus", lambda fields: fields.update(exit_code=1)),
    ("tpus", lambda fields: _tpu(fields).update(tier="free")),
    ("tpus", lambda fields: _tpu(fields).update(billed="yes")),
    ("tpus", lambda fields: _tpu(fields).update(project="my-secret-project")),
    ("offers", lambda fields: fields.update(items=["us-east5-a", None])),
    ("offers", lambda fields: fields.update(kind="nodes")),
    ("offers", lambda fields: fields.pop("live")),
    ("cost", lambda fields: _tpu(fields).update(kind="guess")),
    ("cost", lambda fields: _tpu(fields).update(usd_at_most=-1)),
    ("cost", lambda fields: _tpu(fields)["price"].pop("read")),
    ("cost", lambda fields: fields.update(left_out=[])),
    ("trc", lambda fields: fields["grant"].update(end="soon")),
    ("trc", lambda fields: fields["grant"]["allowances"][0].update(chips=0)),
    ("trc", lambda fields: fields["grant"].update(email="jo@example.com")),
]


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """Cache the output of each document, so that each is requested only once."""
    return {}


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(("name", "spoil"), WRONG)
def test_a_wrong_document_is_refused(
    name: str, spoil: Callable[[Any], Any], printed: dict[str, Any]
) -> None:
    """A wrong document is refused, so the schemas can fail."""
    if name not in printed:
        printed[name] = json.loads(run(*DOCUMENTS[name][0], "--json").stdout)
    fields = copy.deepcopy(printed[name])
    validate(fields, name)
    spoil(fields)

    with pytest.raises(jsonschema.ValidationError):
        validate(fields, name)


@pytest.mark.usefixtures("cloud")
def test_corrupt_ledger_copy_is_shown_until_deleted(home: Path) -> None:
    """The copy of a corrupt ledger is in the text and the document until it is deleted."""
    ledger.add_ledger_entry(
        LedgerEntry(
            "my-secret-project",
            ZONE,
            "lost",
            "v6e-8",
            8,
            "spot",
            ledger.format_ledger_time(datetime.now(timezone.utc)),
        )
    )
    file = Path(os.environ["TPUSTARTER_HOME"]) / "tpus.json"
    file.write_text(file.read_text()[:-9])
    text = run("tpu", "list").stdout
    (aside,) = ledger.list_unreadable_files()
    fields = json.loads(run("tpu", "list", "--json").stdout)

    assert f"~{str(aside).removeprefix(str(home))}" in text
    assert str(home) not in text  # `~/...`, as everywhere
    assert "may name TPUs that this program asked for" in " ".join(text.split())
    (row,) = fields["put_aside"]
    assert row["file"] == f"~{str(aside).removeprefix(str(home))}"
    assert row["file"] in row["words"]
    aside.unlink()
    assert "tpus.broken-" not in run("tpu", "list").stdout
