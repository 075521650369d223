"""TPUs in the app: stored, refused, hostile and very many entries."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from google.cloud import tpu_v2

from tests.support.cloud_app import PLACE, app_of, made, text_of
from tests.support.fake_cloud import NEVER, FakeCloud, Fault
from tests.support.tutor import on_screen, press, settle, until
from tests.tui.test_tpus import ENTRY, FILLED, HOSTILE, hold_after_delete
from tpustarter.cloud.billing import ledger
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.confirm_name import ConfirmName
from tpustarter.tui.kit.page import NoticeSheet
from tpustarter.tui.tpus.follow_screen import FollowScreen
from tpustarter.tui.tpus.screen import TpuListScreen


async def test_home_counts_entries_of_ledger(cloud: FakeCloud, tmp_path: Path) -> None:
    """Home counts the TPUs of the ledger on one line, and shows none for an empty ledger."""
    ledger.add_ledger_entry(ENTRY)
    ledger.add_ledger_entry(replace(ENTRY, project="other-project"))

    async with app_of(cloud, tmp_path) as pilot:
        assert "2 TPUs of Google Cloud may be billed: u shows them" in on_screen(pilot.app)
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, TpuListScreen)

        ledger.remove_ledger_entry(ENTRY)
        seen = await press(pilot, "escape")
        assert "1 TPU of Google Cloud may be billed: u shows it" in seen


async def test_ledger_is_shown_until_google_answers(cloud: FakeCloud, tmp_path: Path) -> None:
    """Without a project the stored entries are shown, and what is needed to ask Google."""
    ledger.add_ledger_entry(ENTRY)

    async with app_of(cloud, tmp_path) as pilot:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("CLOUDSDK_CORE_PROJECT")
            seen = await press(pilot, "u")
        assert "gcloud config set project PROJECT_ID" in seen
        assert "and no project is known" in text_of(seen)
        assert "lost v6e-8 spot in us-central1-b" in text_of(seen)
        assert "NOT_LOOKED" in seen
        assert "Press r, which asks Google." in seen
        assert "Google has not been asked yet" in seen
        assert [] == cloud.calls


async def test_entry_unlisted_by_google_is_shown(cloud: FakeCloud, tmp_path: Path) -> None:
    """A new entry that Google does not list is shown as possibly billed, and later as gone."""
    ledger.add_ledger_entry(replace(ENTRY, asked=ledger.format_ledger_time(cloud.clock.now())))

    async with app_of(cloud, tmp_path, size=(100, 30)) as pilot:
        seen = await press(pilot, "u")
        assert "NOT_SEEN" in seen
        assert "Google doesn't list it" in seen
        assert "8 chips are billed, or may be" in seen

        seen = await press(pilot, "d")
        assert isinstance(pilot.app.screen, NoticeSheet)
        assert "error: Google lists nothing called lost" in seen
        await press(pilot, "escape")

        cloud.clock.sleep(700)
        seen = await press(pilot, "r")
        assert "lost in us-central1-b is gone, and nothing of it is billed." in seen
        assert [] == ledger.read_ledger()


async def test_waiting_request_survives_leaving_screen(cloud: FakeCloud, tmp_path: Path) -> None:
    """Esc stops watching a request, which stays queued; another Esc goes back."""
    made(cloud, "bert", "WAITING_FOR_RESOURCES")

    async with app_of(cloud, tmp_path) as pilot:
        seen = await press(pilot, "u")
        assert "bert  v6e-8 spot in us-central1-b" in seen
        assert "0 s\n   WAITING_FOR_RESOURCES  The request is" in seen
        assert "The request is in the queue" in seen
        assert "None of this is billed for chips now." in seen

        await pilot.press("w")
        await until(pilot, lambda: "WAITING_FOR_RESOURCES" in on_screen(pilot.app))
        assert isinstance(pilot.app.screen, FollowScreen)
        assert "x stop waiting" in on_screen(pilot.app)
        seen = await press(pilot, "escape")
        assert "You no longer follow `bert`. Its request stays as it is" in text_of(seen)
        assert isinstance(pilot.app.screen, FollowScreen)

        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, TpuListScreen)
        assert [] == cloud.called("DeleteQueuedResource")


async def test_abandoned_deletion_reports_its_true_state(cloud: FakeCloud, tmp_path: Path) -> None:
    """A deletion that was sent continues; one that Google refuses deletes nothing."""
    made(cloud, "bert", "PROVISIONING")

    async with app_of(cloud, tmp_path) as pilot:
        seen = text_of(await press(pilot, "u", "d"))
        assert "Google refuses to delete it while it is PROVISIONING" in seen
        for key in (*"bert", "enter"):
            await pilot.press(key)
        await until(pilot, lambda: "PROVISIONING  Google" in on_screen(pilot.app))
        seen = text_of(await press(pilot, "escape"))
        assert "Nothing was deleted: Google refuses it until `bert` has left" in seen
        assert [] == cloud.called("DeleteQueuedResource")

        made(cloud, "bert", "ACTIVE")
        cloud.delete_s = 1e9
        seen_gone = threading.Event()
        cloud.before_call = lambda method: hold_after_delete(cloud, method, seen_gone)
        await press(pilot, "escape", "d")
        for key in (*"bert", "enter"):
            await pilot.press(key)
        await until(pilot, lambda: bool(cloud.called("DeleteQueuedResource")))
        await pilot.press("escape")
        sent = "The deletion of `bert` was sent and goes on without this screen."
        assert sent in text_of(on_screen(pilot.app))
        seen_gone.set()
        await settle(pilot)
        assert sent in text_of(on_screen(pilot.app))
        await press(pilot, "escape")
        await until(pilot, lambda: "DELETING" in on_screen(pilot.app))


async def test_abandoned_creation_stays_in_queue(cloud: FakeCloud, tmp_path: Path) -> None:
    """An abandoned request stays queued and counted, and no other zone is tried."""
    cloud.scripts["us-central1-b"] = [(NEVER, None)]

    async with app_of(cloud, tmp_path) as pilot:
        await press(pilot, "u", "n", *FILLED, "enter")
        for key in (*"bert", "enter"):
            await pilot.press(key)
        await until(pilot, lambda: "WAITING_FOR_RESOURCES" in on_screen(pilot.app))
        seen = text_of(await press(pilot, "x"))
        assert "The request for `bert` stays in the queue, and is billed once" in seen
        seen = await press(pilot, "escape", "escape")
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "1 TPU of Google Cloud may be billed" in seen

    assert ["bert"] == [entry.name for entry in ledger.read_ledger()]


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (14, "failed to connect to all addresses", "error: "),
        (7, "Cloud TPU API has not been used in project 1 before or it is disabled", "hint: "),
        (16, "Request had invalid authentication credentials", "hint: "),
    ],
)
async def test_cloud_error_is_text_on_screen(
    cloud: FakeCloud, tmp_path: Path, code: int, text: str, expected: str
) -> None:
    """A cloud error is shown with the command line's text, and `r` tries again."""
    ledger.add_ledger_entry(ENTRY)
    cloud.faults["ListQueuedResources"] = [Fault(code, text)] * 4

    async with app_of(cloud, tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "u")
        assert isinstance(pilot.app.screen, TpuListScreen)
        assert expected in seen
        assert "Google's text:" in seen
        assert "lost" in seen
        assert "Traceback" not in seen
        cloud.faults.clear()
        seen = await press(pilot, "r")
        assert "error: " not in seen


async def test_unreached_zones_are_named(cloud: FakeCloud, tmp_path: Path) -> None:
    """Zones that Google could not reach are named."""
    cloud.unreachable = ["us-east5-a"]

    async with app_of(cloud, tmp_path) as pilot:
        seen = text_of(await press(pilot, "u"))
        assert "Google could not reach us-east5-a" in seen


async def test_list_of_2000_nodes_works(cloud: FakeCloud, tmp_path: Path) -> None:
    """A list of 2,000 nodes shows all of them and can mark the last."""
    for number in range(2000):
        name = f"{PLACE}/nodes/node-{number:04}"
        cloud.nodes[name] = tpu_v2.Node(
            name=name, accelerator_type="v6e-8", state=tpu_v2.Node.State.READY
        )

    async with app_of(cloud, tmp_path) as pilot:
        seen = await press(pilot, "u")
        assert "node-0000" in seen
        assert "16000 chips are billed" in seen
        assert "w watch" not in seen  # no request stands behind a node made directly
        seen = await press(pilot, "end")
        assert "node-1999" in seen


async def test_hostile_names_and_texts_are_plain_text(cloud: FakeCloud, tmp_path: Path) -> None:
    """Markup and control characters from Google or the ledger are shown as text."""
    made(cloud, "bert", "FAILED", (8, HOSTILE))
    name = f"{PLACE}/nodes/{HOSTILE}"
    cloud.nodes[name] = tpu_v2.Node(name=name, accelerator_type=HOSTILE, runtime_version=HOSTILE)
    ledger.add_ledger_entry(replace(ENTRY, name=HOSTILE, type=HOSTILE, note=HOSTILE))

    async with app_of(cloud, tmp_path, size=(120, 40)) as pilot:
        seen = await press(pilot, "u")
        assert "[red]x[/red] \\x1b]0;title\\x07 \\u202e" in seen
        for _ in range(3):
            seen += await press(pilot, "enter", "enter", "down")
        assert not {"\x1b", "\x07", "\u202e"} & {*seen}


async def test_form_error_is_beside_its_field(cloud: FakeCloud, tmp_path: Path) -> None:
    """An invalid field is named with the nearest valid value, and nothing is sent."""
    async with app_of(cloud, tmp_path) as pilot:
        await press(pilot, "u", "n")
        before = len(cloud.calls)
        seen = text_of(await press(pilot, *"Bert", "tab", *"v6e-9"))
        assert "! Bert cannot be the name of a TPU" in seen
        assert "v6e-8" in seen
        assert "lines marked with !" in seen
        await press(pilot, "tab", *" us-central1", "enter")
        assert "field-name" == pilot.app.screen.focused.id
        assert "us-central1 is not the name of a zone" in text_of(on_screen(pilot.app))
        assert before == len(cloud.calls)


async def test_tpu7x_is_asked_of_compute_engine(cloud: FakeCloud, tmp_path: Path) -> None:
    """A tpu7x shows the command of Compute Engine, and nothing is sent."""
    async with app_of(cloud, tmp_path) as pilot:
        await press(pilot, "u", "n", *"bert", "tab", *"tpu7x-8")
        seen = text_of(await press(pilot, "enter"))
        assert isinstance(pilot.app.screen, ConfirmName)
        assert "gcloud compute instances create bert" in seen
        assert [] == ledger.read_ledger()
