"""The verbs of `tpustarter tpu` as typed: what is printed, what is sent, and how each ends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from google.cloud import tpu_v2

from tests.cloud.test_job_records import RECORD
from tests.support.cloud_runs import remember
from tests.support.damage import DAMAGES, damage
from tests.support.fake_cloud import FakeClock, FakeCloud, Fault, channel, serving
from tests.support.fake_remote import node
from tpustarter.cli.tpu.command import VERBS, tpu
from tpustarter.cloud.api import tpu_client
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.jobs import job_records
from tpustarter.cloud.jobs.job_records import JobLog
from tpustarter.cloud.text import event_text
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant, GrantAllowance
from tpustarter.core import state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import WIDTH

ZONE = "us-central1-b"
BERT = ("create", "bert", "--type", "v6e-8", "--zone", ZONE)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """Run a service that deletes at once."""
    with serving(FakeCloud(clock=FakeClock(datetime.now(timezone.utc)), delete_s=0)) as running:
        monkeypatch.setenv(tpu_client.ENDPOINT, f"127.0.0.1:{running.port}")
        monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "my-project")
        yield running


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every attempt to connect fail, as without credentials."""
    monkeypatch.setenv(tpu_client.ENDPOINT, "nowhere")
    for name in ("CLOUDSDK_CORE_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def run(*words: str) -> Result:
    """Run `tpustarter tpu WORDS`."""
    return CliRunner().invoke(tpu, [*words])


def problem_of(result: Result) -> Problem:
    """Return the Problem that a command ended with."""
    assert isinstance(result.exception, Problem), result.output
    return result.exception


def add_node(cloud: FakeCloud, name: str, state: str, hosts: int = 1) -> None:
    """Add a node to the service that no request created."""
    path = f"projects/my-project/locations/{ZONE}/nodes/{name}"
    cloud.nodes[path] = tpu_v2.Node(
        name=path,
        accelerator_type="v6e-8" if hosts == 1 else "v6e-16",
        state=tpu_v2.Node.State[state],
        network_endpoints=[tpu_v2.NetworkEndpoint(ip_address=f"10.0.0.{i}") for i in range(hosts)],
    )


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("zones",), "gcloud compute tpus locations list"),
        (("types", "--zone", ZONE), "gcloud compute tpus tpu-vm accelerator-types list"),
        (("versions", "--zone", ZONE), "gcloud compute tpus tpu-vm versions list"),
        (BERT, "gcloud compute tpus queued-resources create bert"),
        (("watch", "bert", "--zone", ZONE), "gcloud compute tpus queued-resources describe bert"),
        (("list",), "gcloud compute tpus queued-resources list --zone=-"),
        (("show", "bert", "--zone", ZONE), "gcloud compute tpus tpu-vm describe bert"),
        (("stop", "bert", "--zone", ZONE), "gcloud compute tpus tpu-vm stop bert"),
        (("start", "bert", "--zone", ZONE), "gcloud compute tpus tpu-vm start bert"),
        (("delete", "bert", "--zone", ZONE), "gcloud compute tpus queued-resources delete bert"),
        (("delete", "--leftovers"), "gcloud compute tpus tpu-vm list --zone=-"),
        (("cost",), "gcloud compute tpus tpu-vm list --zone=-"),
    ],
)
def test_dry_run_needs_neither_project_nor_credentials(
    words: tuple[str, ...], command: str
) -> None:
    """A dry run shows the gcloud command, sends nothing and leaves no ledger entry."""
    result = run(*words, "--dry-run")

    assert 0 == result.exit_code, result.exception
    assert command in " ".join(result.stdout.replace("\\\n", " ").split())
    assert "Nothing was sent." in result.stdout
    assert [] == [line for line in result.stdout.splitlines() if len(line) > WIDTH]
    assert [] == ledger.read_ledger()


@pytest.mark.usefixtures("nobody")
def test_startup_script_survives_shell_quoting(tmp_path: Path) -> None:
    """A start-up script survives shell quoting, and can't control the terminal."""
    script = "#!/bin/bash\necho \"it's\" '$HOME' \\n\t`x`\nprintf '\x1b[31m'\n"
    (tmp_path / "boot.sh").write_text(script)
    result = run(*BERT, "--startup-script", str(tmp_path / "boot.sh"), "--dry-run")
    shown = result.stdout.partition("$ gcloud ")[2].partition("\nNothing was sent.")[0]
    typed = f"printf '%s\\0' {shown}"
    words = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=True).stdout

    assert f"--metadata=startup-script={script}" in words.split("\0")
    assert all(line.isprintable() for line in shown.splitlines())


def test_cached_types_replace_unreachable_google(cloud: FakeCloud) -> None:
    """If Google can't be reached, the types read last are shown with their age."""
    live = run("types", "--zone", ZONE)
    cloud.faults["ListAcceleratorTypes"] = [Fault(4, "Deadline Exceeded")]
    kept = run("types", "--zone", ZONE)

    assert "v5litepod-8\nv6e-8\n" == live.stdout == kept.stdout
    assert "This list is" in kept.stderr
    assert "This list is" not in live.stderr


def test_ledger_keeps_request_from_create_to_delete(cloud: FakeCloud) -> None:
    """The request is in the ledger until Google lists nothing of it."""
    asked = run(*BERT, "--spot", "--yes", "--no-wait")
    assert 0 == asked.exit_code, asked.exception
    assert ["bert"] == [entry.name for entry in ledger.read_ledger()]
    assert "WAITING_FOR_RESOURCES" not in run("list").stdout
    cloud.clock.sleep(10)
    assert "WAITING_FOR_RESOURCES" in run("list").stdout
    cloud.clock.sleep(300)
    watched = run("watch", "bert")
    assert "ACTIVE" in watched.stdout
    assert "tpustarter tpu run bert --worker all -- COMMAND" in watched.stdout
    shown = json.loads(run("show", "bert", "--json").stdout)
    assert [("bert", "ACTIVE", 8, True)] == [
        (one["name"], one["state"], one["chips"], one["made_here"]) for one in shown["tpus"]
    ]
    assert "8 chips are billed" in run("list").stdout
    deleted = run("delete", "bert", "--yes")

    assert 0 == deleted.exit_code, deleted.exception
    assert "goes with its nodes: bert" in deleted.stdout
    assert {} == cloud.existing()
    assert [] == ledger.read_ledger()
    assert "No TPU and no request" in run("list").stdout


@pytest.mark.parametrize("words", [BERT, ("delete", "bert")], ids=["create", "delete"])
def test_without_terminal_or_yes_nothing_is_sent(cloud: FakeCloud, words: tuple[str, ...]) -> None:
    """Without a terminal or `--yes`, nothing that costs money or deletes data is sent."""
    add_node(cloud, "bert" if words[0] == "delete" else "other", "READY")
    result = run(*words)

    assert "no terminal" in problem_of(result).full_text
    assert ExitCode.USAGE == problem_of(result).code
    assert not [name for name, _ in cloud.calls if name.startswith(("Create", "Delete"))]
    assert [] == ledger.read_ledger()


def test_leftovers_are_shown_and_deleted(cloud: FakeCloud) -> None:
    """Leftovers that can't become TPUs again are shown and deleted; having none is no error."""
    add_node(cloud, "taken", "PREEMPTED")
    add_node(cloud, "mine", "READY")
    cloud.nodes[f"projects/my-project/locations/{ZONE}/nodes/taken"].create_time = cloud.clock.now()
    remember(TpuClient("my-project", channel=channel(cloud)), "taken")
    add_node(cloud, "theirs", "PREEMPTED")
    listed = run("list")
    deleted = run("delete", "--leftovers", "--yes")
    again = run("delete", "--leftovers", "--yes")

    assert "1 leftover takes up its name and quota" in listed.stdout
    assert 0 == deleted.exit_code, deleted.exception
    assert ["mine", "theirs"] == [name.rpartition("/")[2] for name in cloud.nodes]
    assert 0 == again.exit_code
    named = f"tpustarter tpu delete theirs --zone {ZONE} --api cloud-tpu"
    assert [1, 1] == [one.stdout.count(named) for one in (deleted, again)]
    assert 0 == run(*named.split()[2:], "--yes").exit_code
    last = run("delete", "--leftovers", "--yes")
    assert (0, "Nothing is left over, and no name or quota is taken up by an old request.\n") == (
        last.exit_code,
        last.stdout,
    )


def test_refused_leftover_keeps_no_other(cloud: FakeCloud) -> None:
    """A leftover that Google refuses to delete doesn't keep the others."""
    client = TpuClient("my-project", channel=channel(cloud))
    for name in ("one", "two", "three"):
        add_node(cloud, name, "PREEMPTED")
        full = f"projects/my-project/locations/{ZONE}/nodes/{name}"
        cloud.nodes[full].create_time = cloud.clock.now()
        remember(client, name)
    cloud.faults["DeleteNode"] = [None, Fault(7, "Permission denied")]
    done = run("delete", "--leftovers", "--yes")

    assert 1 == len(cloud.nodes)
    assert "Permission denied" in done.stderr
    assert "1 of 3" in problem_of(done).summary


@pytest.mark.parametrize("words", [("list",), ("delete", "--leftovers"), ("delete", "bert")])
def test_unanswered_request_is_not_somebody_elses(cloud: FakeCloud, words: tuple[str, ...]) -> None:
    """A node whose request got no answer isn't taken for somebody else's."""
    add_node(cloud, "bert", "PREEMPTED")
    remember(TpuClient("my-project", channel=channel(cloud)), "bert")
    ledger.update_ledger_entry(ledger.read_ledger()[0], "sent")
    seen = " ".join(run(*words).stdout.split())

    assert event_text.describe_owner(["unclear"]) in seen
    assert event_text.describe_owner(["other"]) not in seen


@pytest.mark.parametrize(
    "words",
    [
        ("delete", "bert"),
        ("show", "bert"),
        ("stop", "bert"),
        ("watch", "bert"),
        ("run", "bert", "--", "true"),
    ],
)
def test_unreached_zone_leaves_absence_unknown(cloud: FakeCloud, words: tuple[str, ...]) -> None:
    """If a zone isn't reached, a TPU there may exist and isn't reported as absent."""
    cloud.unreachable = ["us-west4-a"]
    problem = problem_of(run(*words))

    assert ExitCode.INCONCLUSIVE == problem.code
    assert "us-west4-a" in problem.summary


@pytest.mark.parametrize("words", [("logs", "-f", "bert"), ("stop", "bert")])
def test_unreached_zone_leaves_job_unknown(cloud: FakeCloud, words: tuple[str, ...]) -> None:
    """If a zone isn't reached, a job there isn't reported as ended."""
    cloud.unreachable = [ZONE]
    record = job_records.save_job(replace(RECORD, zone=ZONE, phase="running"))
    JobLog(record.logs[0]).close()
    problem = problem_of(run("job", *words))

    assert ExitCode.INCONCLUSIVE == problem.code
    assert ZONE in problem.summary


def test_list_of_jobs_names_unreached_zone(cloud: FakeCloud) -> None:
    """The list of jobs names zones that weren't reached, whose jobs may be missing."""
    cloud.unreachable = ["us-west4-a"]
    done = run("job", "list")

    assert 0 == done.exit_code
    assert "us-west4-a" in done.output


def test_unreached_zone_leaves_leftovers_unknown(cloud: FakeCloud) -> None:
    """If a zone isn't reached, it is named, and no claim is made that nothing is left over."""
    cloud.unreachable = ["us-west4-a"]
    done = run("delete", "--leftovers", "--yes")

    assert 0 == done.exit_code
    assert "us-west4-a" in done.stdout
    assert event_text.describe_no_leftovers(is_rest=False) not in done.stdout


@pytest.mark.parametrize(
    ("verb", "state", "hosts", "what"),
    [
        ("stop", "READY", 4, "a slice of 4 hosts, which cannot be stopped"),
        ("stop", "STOPPED", 1, "is STOPPED, expected READY"),
        ("start", "PREEMPTED", 1, "is PREEMPTED, expected STOPPED"),
    ],
)
def test_unsupported_stop_or_start_is_refused_early(
    cloud: FakeCloud, verb: str, state: str, hosts: int, what: str
) -> None:
    """An unsupported stop or start is refused before anything is sent."""
    add_node(cloud, "vm", state, hosts)
    result = run(verb, "vm", "--yes")

    assert what in problem_of(result).full_text
    assert {"ListNodes"} == {name for name, _ in cloud.calls}


def test_stop_and_start_change_node_state(cloud: FakeCloud) -> None:
    """The node changes its state, and the gcloud command is shown first."""
    add_node(cloud, "vm", "READY")
    stopped = run("stop", "vm", "--yes")
    assert "gcloud compute tpus tpu-vm stop vm" in stopped.stdout
    assert "STOPPED" in run("list").stdout
    run("start", "vm", "--yes")

    assert "READY" in run("list").stdout


def test_grant_limits_zone_and_type(cloud: FakeCloud) -> None:
    """A grant sets the default zone, and a type that it lacks is refused before sending."""
    today = datetime.now(timezone.utc).date()
    trc_grant.save_grant(
        Grant((GrantAllowance("v6e", 8, "spot", "us-east5-a"),), date(2026, 11, 1), 3000)
    )
    assert today >= date(2026, 11, 1)
    refused = run(*BERT, "--spot", "--yes")
    covered = run("create", "bert", "--type", "v6e-8", "--spot", "--yes", "--no-wait")
    full = run("create", "more", "--type", "v6e-8", "--spot", "--yes", "--no-wait")
    outside = run(*BERT, "--outside-grant", "--yes")

    assert "the grant does not name the zone us-central1-b" in problem_of(refused).full_text
    assert 0 == covered.exit_code, covered.exception
    assert "0 of 8 are left" in problem_of(full).full_text
    assert (
        "no terminal" in problem_of(outside).full_text
    )  # its name must be typed, whatever was passed
    made = [message.parent.rpartition("/")[2] for message in cloud.called("CreateQueuedResource")]
    assert ["us-east5-a"] == made


def test_yes_pays_for_nothing_unknown(cloud: FakeCloud) -> None:
    """`--yes` doesn't pay for a request whose coverage is unknown in an unreached zone."""
    trc_grant.save_grant(Grant((GrantAllowance("v6e", 8, "spot", ZONE),)))
    cloud.unreachable = [ZONE]
    unknown = run(*BERT, "--spot", "--yes", "--no-wait")
    cloud.unreachable, cloud.faults["ListNodes"] = [], [Fault(7, "Permission denied")]
    denied = run(*BERT, "--spot", "--yes", "--no-wait")
    sent = [*cloud.called("CreateQueuedResource")]
    cloud.unreachable = ["us-west4-a"]
    known = run(*BERT, "--spot", "--yes", "--no-wait")

    assert ExitCode.USAGE == problem_of(unknown).code == problem_of(denied).code
    assert [] == sent
    assert 0 == known.exit_code, known.exception
    assert 1 == len(cloud.called("CreateQueuedResource"))


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (("create", "Bert", "--type", "v6e-8", "--zone", ZONE), "cannot be the name of a TPU", ""),
        (("create", "b", "--type", "v6f-8", "--zone", ZONE), "did you mean `v6e-8`", "tpu types"),
        (
            ("create", "b", "--type", "v6e-8", "--zone", "us-central1"),
            "not the name of a zone",
            "tpu zones",
        ),
        ((*BERT, "--spot", "--reserved"), "give either `--spot` or `--reserved`, not both", ""),
        ((*BERT, "--valid-until", "soon"), "not a duration", ""),
        ((*BERT, "--label", "A=b"), "cannot be a label", ""),
        ((*BERT, "--data-disk", "mine"), "expected projects/P/zones", ""),
        ((*BERT, "--startup-script", "/nowhere/x"), "cannot read", ""),
        (("show", "nothing"), "there is no TPU and no request called `nothing`", "tpu list"),
        (("delete",), "either a name or `--leftovers`", "tpu list"),
        (("crate",), "there is no command `tpu crate`", "create"),
    ],
)
@pytest.mark.usefixtures("cloud")
def test_invalid_request_is_single_error(words: tuple[str, ...], what: str, hint: str) -> None:
    """An invalid request is one error with found, expected, a hint and exit code 2."""
    problem = problem_of(run(*words))

    assert what in problem.full_text
    assert hint in (problem.hint or "")
    assert ExitCode.USAGE == problem.code


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("kind", [*DAMAGES, "no grant", "no line", "a line that cannot be"])
@pytest.mark.parametrize("answer", ["noted", "forgotten"])
def test_unreadable_grant_refuses_create_until_resolved(kind: str, answer: str) -> None:
    """An unreadable grant blocks `create` until it is replaced or deleted."""
    place, dry = state.prepare_state_path(trc_grant.STATE), (*BERT, "--spot", "--dry-run")
    texts = {
        "no grant": {},
        "no line": {"allowances": [], "start": None, "days": None},
        "a line that cannot be": {"allowances": [1], "start": None, "days": None},
    }
    if kind in texts:
        state.save_state(trc_grant.STATE, texts[kind])
    else:
        damage(place, kind)
    for _ in range(2):
        assert ExitCode.CONFIGURATION == problem_of(run(*dry)).code
    assert 0 == run(*dry, "--outside-grant").exit_code
    if answer == "noted":
        trc_grant.save_grant(Grant((GrantAllowance("v6e", 8, "spot", ZONE),)))
    else:
        assert trc_grant.delete_grant()

    assert 0 == run(*dry).exit_code
    assert 1 == len([*place.parent.glob("trc.broken-*")])


@pytest.mark.parametrize("kind", [*DAMAGES, "no entries", "a row of a later version"])
def test_unreadable_ledger_refuses_create_until_resolved(kind: str, cloud: FakeCloud) -> None:
    """An unreadable ledger blocks `create`, because it may hold a request that is billed."""
    place = state.prepare_state_path(ledger.STATE)
    rows = {"no entries": {"entries": {}}, "a row of a later version": {"entries": [{"a": 1}]}}
    if kind in rows:
        state.save_state(ledger.STATE, rows[kind])
    else:
        damage(place, kind)
    for _ in range(2):
        assert ExitCode.CONFIGURATION == problem_of(run(*BERT, "--yes")).code
        assert 0 == run("list").exit_code
    assert [] == cloud.called("CreateQueuedResource")
    for file in (place, *ledger.list_unreadable_files()):
        file.rmdir() if file.is_dir() else file.unlink(missing_ok=True)

    assert 0 == run(*BERT, "--yes", "--no-wait").exit_code


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("more", [("--type", "tpu7x-8"), ("--type", "v6e-8", "--flex-start", "4h")])
def test_compute_engine_command_obeys_grant_too(more: tuple[str, ...]) -> None:
    """The Compute Engine command is also refused outside the grant."""
    trc_grant.save_grant(Grant((GrantAllowance("v5e", 8, "spot", ZONE),)))
    words = ("create", "bert", *more, "--zone", "us-east5-a", "--dry-run")

    assert ExitCode.USAGE == problem_of(run(*words)).code
    assert 0 == run(*words, "--outside-grant").exit_code


def test_every_verb_has_help_with_example() -> None:
    """Every verb has help with an example."""
    names = (
        "zones types versions create watch list show ssh-config run job stop start delete cost "
        "doctor"
    )
    assert {*names.split()} == {*VERBS}
    for name in VERBS:
        result = run(name, "--help")
        assert 0 == result.exit_code
        assert f"tpustarter tpu {name}" in result.stdout.partition("Example:")[2]


def test_slice_is_drawn_with_worker_states(cloud: FakeCloud) -> None:
    """A slice is drawn with the state of each worker and its chips; the list counts them."""
    one = node("llama", workers=4)
    cloud.nodes[one.name] = one

    assert "4 workers: 4 ready." in run("list").stdout
    shown = run("show", "llama").stdout
    of_slice = "        4 hosts with 4 chips each, topology 4x4\n        "
    assert f"{of_slice}worker 0  [####]  ready\n" in shown
    assert "        worker 3  [####]  ready\n" in shown
