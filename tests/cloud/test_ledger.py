"""The ledger of what may be billed: whole or as it was, whoever writes and whatever is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud_runs import (
    FIRST,
    SECOND,
    WatchedClient,
    asked,
    exhaust,
    in_ledger,
    told,
    two_zones,
    walk,
)
from tests.support.fake_cloud import NEVER, Fault
from tests.support.processes import HANG_S
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.billing.ledger_reconciliation import reconcile_ledger
from tpustarter.cloud.create.events import RequestMayExist
from tpustarter.core import state
from tpustarter.core.problem import ExitCode, Problem


def entry(name: str = "bert", **more: Any) -> LedgerEntry:
    """Return an entry of this morning."""
    values = {
        "project": "my-project",
        "zone": FIRST,
        "type": "v6e-8",
        "chips": 8,
        "tier": "spot",
        "asked": "2026-11-22T08:00:00+00:00",
        "nodes": (name,),
    } | more
    return LedgerEntry(name=name, **values)


def file() -> Path:
    """Return the path of the ledger."""
    return state.prepare_state_path(ledger.STATE)


def test_an_entry_goes_from_sent_to_gone() -> None:
    """An entry goes from sent to gone, and each step is written at once."""
    one = entry()
    ledger.add_ledger_entry(one)
    assert [one] == ledger.read_ledger()

    ledger.update_ledger_entry(one, "taken", operation="operations/1")
    ledger.update_ledger_entry(one, "seen", created="2026-11-22T08:00:01+00:00")
    assert [("seen", "operations/1", "2026-11-22T08:00:01+00:00")] == [
        (row.phase, row.operation, row.created) for row in ledger.read_ledger()
    ]

    ledger.remove_ledger_entry(one)
    assert [] == ledger.read_ledger()


def test_entry_removed_elsewhere_is_written_again() -> None:
    """An entry that was removed elsewhere is written again once its TPU is seen."""
    one = entry()
    ledger.add_ledger_entry(one)
    ledger.remove_ledger_entry(one)
    ledger.update_ledger_entry(one, "seen")

    assert ["seen"] == [row.phase for row in ledger.read_ledger()]


def test_newer_entry_survives_removal_of_earlier_request() -> None:
    """Another process has sent a request under the same name meanwhile."""
    ledger.add_ledger_entry(entry())
    ledger.add_ledger_entry(entry(asked="2026-11-22T09:00:00+00:00"))
    ledger.remove_ledger_entry(entry())

    assert ["2026-11-22T09:00:00+00:00"] == [row.asked for row in ledger.read_ledger()]


@pytest.mark.parametrize(
    "row",
    [
        None,
        7,
        "bert",
        [],
        {},
        {"name": "bert"},
        asdict(entry()) | {"asked": "yesterday"},
        asdict(entry()) | {"asked": "2026-11-22T08:00:00"},
        asdict(entry()) | {"chips": "8"},
        asdict(entry()) | {"nodes": "bert"},
        asdict(entry()) | {"nodes": [1]},
        asdict(entry()) | {"phase": "eaten"},
        asdict(entry()) | {"zone": ""},
        asdict(entry()) | {"note": None},
        asdict(entry()) | {"a field of a later version": 1},
    ],
)
def test_a_foreign_row_is_kept_and_not_read(row: Any) -> None:
    """A later version, or a person, wrote it: writing others loses nothing of it."""
    row = json.loads(json.dumps(row))
    state.save_state(ledger.STATE, {"entries": [row]})
    assert [] == ledger.read_ledger()

    ledger.add_ledger_entry(entry("other"))
    assert ["other"] == [one.name for one in ledger.read_ledger()]
    assert row in json.loads(file().read_text())["entries"]


@pytest.mark.parametrize("text", ["", "{", "\x00\x01", '{"entries": [', "[1]"])
def test_a_corrupt_ledger_is_put_aside_and_shown(text: str) -> None:
    """A corrupt ledger is put aside unchanged, is reported, and a new one is started."""
    file().parent.mkdir(parents=True, exist_ok=True)
    file().write_text(text)

    assert [] == ledger.read_ledger()
    (aside,) = ledger.list_unreadable_files()
    assert text == aside.read_text()
    ledger.add_ledger_entry(entry())
    assert ["bert"] == [one.name for one in ledger.read_ledger()]


def test_a_full_disk_loses_nothing() -> None:
    """The entry that cannot be written is a Problem, and those before it stay."""
    ledger.add_ledger_entry(entry())
    program = (
        "import resource, sys\n"
        "from tpustarter.cloud.billing import ledger\n"
        "from tpustarter.core.problem import Problem\n"
        "row = ledger.read_ledger()[0]\n"
        "from dataclasses import replace\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: ledger.add_ledger_entry(replace(row, name='other'))\n"
        "except Problem as problem: print(problem); sys.exit(9)\n"
    )
    done = run(program)

    assert 9 == done.returncode
    assert done.stdout.startswith("error: cannot write")
    assert ["bert"] == [one.name for one in ledger.read_ledger()]


def test_full_disk_does_not_stop_following() -> None:
    """On a full disk, updates leave an entry as it was; a new entry is an error."""
    ledger.add_ledger_entry(entry())
    program = (
        "import resource, sys\n"
        "from dataclasses import replace\n"
        "from tpustarter.cloud.billing import ledger\n"
        "from tpustarter.core.problem import Problem\n"
        "row = ledger.read_ledger()[0]\n"
        "sys.dont_write_bytecode = True\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "print(ledger.update_ledger_entry(row, 'deleting').phase, "
        "ledger.remove_ledger_entry(row))\n"
        "try: ledger.update_ledger_entry(replace(row, name='other'), 'seen')\n"
        "except Problem as problem: print(problem)\n"
    )
    done = run(program)

    assert done.stdout.startswith("deleting None\nerror: cannot write"), done.stderr
    assert [("bert", "sent")] == [(one.name, one.phase) for one in ledger.read_ledger()]


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, in this test's home."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )


def test_two_processes_write_at_the_same_time() -> None:
    """Every entry of both is there in the end."""
    program = (
        "import sys\n"
        "from tpustarter.cloud.billing import ledger\n"
        "for n in range(25):\n"
        "    name = f'{sys.argv[1]}-{n}'\n"
        "    one = ledger.LedgerEntry('my-project', 'us-central1-b', name, 'v6e-8', 8,\n"
        "                       'spot', '2026-11-22T08:00:00+00:00')\n"
        "    ledger.add_ledger_entry(one)\n"
        "    ledger.update_ledger_entry(one, 'taken')\n"
        "    if n % 5 == 0: ledger.remove_ledger_entry(one)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    both = [subprocess.Popen([sys.executable, "-c", program, name], env=env) for name in "ab"]

    assert [0, 0] == [process.wait(HANG_S) for process in both]
    expected = {f"{name}-{n}" for name in "ab" for n in range(25) if n % 5}
    assert expected == {one.name for one in ledger.read_ledger()}
    assert {"taken"} == {one.phase for one in ledger.read_ledger()}


def test_locked_ledger_is_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that stays locked after a short wait is a problem."""
    monkeypatch.setattr(ledger, "LOCK_WAIT_S", 0.1)
    lock = file().with_suffix(".lock")
    ledger.add_ledger_entry(entry())
    program = "import fcntl, sys\nf = open(sys.argv[1])\nfcntl.flock(f, fcntl.LOCK_EX)\n"
    program += "print('held', flush=True)\ninput()"
    words = [sys.executable, "-c", program, str(lock)]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert "held\n" == holder.stdout.readline()

    with pytest.raises(Problem) as caught:
        ledger.add_ledger_entry(entry("other"))
    holder.communicate("\n", timeout=HANG_S)

    assert ExitCode.BUSY == caught.value.code
    assert ["bert"] == [one.name for one in ledger.read_ledger()]


def test_ledger_is_compared_with_google_listing() -> None:
    """Entries that Google lists stay, others are removed, and other projects are left alone."""
    with two_zones() as cloud:
        client = WatchedClient(cloud)
        walk(cloud, [asked()], client)
        ledger.add_ledger_entry(entry("gone", phase="seen"))
        ledger.add_ledger_entry(entry("elsewhere", project="another-project"))
        events, stay = exhaust(reconcile_ledger(client, cloud.clock))

        assert [f"RequestStateChanged {FIRST} ACTIVE", f"RequestGone {FIRST}"] == sorted(
            told(events), reverse=True
        )
        assert ["bert"] == [one.name for one in stay]
        assert {"bert", "elsewhere"} == {one.name for one in ledger.read_ledger()}


def test_empty_ledger_sends_no_request() -> None:
    """An empty ledger sends no request, because every command may read it."""
    with two_zones() as cloud:
        assert ([], []) == exhaust(reconcile_ledger(WatchedClient(cloud), cloud.clock))
        assert [] == cloud.calls


@pytest.mark.parametrize(
    ("age_s", "phase", "operation", "stays"),
    [
        (0, "sent", "", True),
        (599, "sent", "", True),
        (601, "sent", "", False),
        (-3600, "sent", "", True),
        (599, "taken", "", True),
        (601, "taken", "", False),
        (9999, "taken", "running", True),
        (9999, "taken", "ended", False),
        (0, "seen", "", False),
        (0, "deleting", "", False),
    ],
)
def test_unlisted_entry_is_removed_after_limit(
    age_s: float, phase: ledger.Phase, operation: str, stays: bool
) -> None:
    """One that was seen at once; an unanswered one after ten minutes; one in the making never."""
    with two_zones() as cloud:
        cloud.operations = {"running": False, "ended": True}
        asked_at = ledger.format_ledger_time(cloud.clock.now() - timedelta(seconds=age_s))
        path = f"projects/my-project/locations/{FIRST}/operations/{operation}" if operation else ""
        ledger.add_ledger_entry(entry(asked=asked_at, phase=phase, operation=path))
        events, _ = exhaust(reconcile_ledger(WatchedClient(cloud), cloud.clock))

        assert stays == bool(in_ledger())
        assert ["RequestMayExist" if stays else "RequestGone"] == [
            type(event).__name__ for event in events
        ]


def test_unreached_zone_changes_no_entry() -> None:
    """Its entries stay, with the reason."""
    with two_zones() as cloud:
        cloud.unreachable = [FIRST]
        ledger.add_ledger_entry(entry(phase="seen"))
        (kept,), _ = exhaust(reconcile_ledger(WatchedClient(cloud), cloud.clock))

        assert isinstance(kept, RequestMayExist)
        assert FIRST in kept.why
        assert {(FIRST, "bert")} == in_ledger()


def test_failed_listing_changes_nothing() -> None:
    """A failed listing removes no entries."""
    with two_zones() as cloud:
        ledger.add_ledger_entry(entry(phase="seen"))
        cloud.faults["GetQueuedResource"] = [Fault(7, "Permission denied")]
        events, _ = exhaust(reconcile_ledger(WatchedClient(cloud), cloud.clock))

        assert ["RequestMayExist"] == [type(event).__name__ for event in events]
        assert {(FIRST, "bert")} == in_ledger()


def test_nodes_without_their_request_are_not_gone() -> None:
    """Nodes without their request are not gone, because they are still billed."""
    with two_zones() as cloud:
        client = WatchedClient(cloud)
        walk(cloud, [asked()], client)
        (node,) = client.nodes().items
        name = f"projects/my-project/locations/{FIRST}/nodes/{node.name}"
        cloud.nodes[name] = cloud._all_nodes("")[0]
        cloud.made.clear()
        exhaust(reconcile_ledger(client, cloud.clock))

        assert {(FIRST, "bert")} == in_ledger()


def test_foreign_tpu_of_same_name_is_recognised() -> None:
    """Ours was deleted, and a colleague took the name: by Google's clock it is another one."""
    with two_zones() as cloud:
        client = WatchedClient(cloud)
        cloud.scripts[FIRST] = [(NEVER, None)]
        walk(cloud, [asked()], client, wait=False)
        exhaust(reconcile_ledger(client, cloud.clock))
        assert {(FIRST, "bert")} == in_ledger()

        cloud.clock.sleep(60)
        cloud.add_foreign(FIRST, "bert")
        events, _ = exhaust(reconcile_ledger(client, cloud.clock))

        assert [f"RequestGone {FIRST}"] == told(events)
        assert set() == in_ledger()


def test_a_name_means_its_entries_in_every_zone() -> None:
    """A name means its entries in every zone of one project."""
    rows = [entry(), entry(zone=SECOND), entry("other"), entry(project="another-project")]
    for row in rows:
        ledger.add_ledger_entry(row)

    assert rows[:2] == ledger.find_ledger_entries("my-project", "bert")
    assert replace(rows[0], phase="seen") == ledger.update_ledger_entry(rows[0], "seen")
    assert "seen" == ledger.reread_ledger_entry(rows[0]).phase
