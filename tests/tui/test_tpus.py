"""TPUs in the app: the list, the form, creating, deleting and errors."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.cloud_app import app_of, connecting, made, text_of
from tests.support.cloud_runs import remember
from tests.support.fake_cloud import FakeCloud
from tests.support.processes import HANG_S
from tests.support.tutor import on_screen, press
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.tui.tpus import tpu_draft
from tpustarter.tui.tpus.create_screen import CreateTpuScreen

NO_CAPACITY = 'There is no more capacity in the zone "us-central1-b"; you can try in another zone'
HOSTILE = "[red]x[/red] \x1b]0;title\x07 \u202e"
FILLED = (*"bert", "tab", *"v6e-8", "tab", "tab", "space")
ENTRY = LedgerEntry(
    "my-project", "us-central1-b", "lost", "v6e-8", 8, "spot", "2026-11-22T07:00:00+00:00"
)


def test_notes_of_form_fit_80_columns() -> None:
    """A note begins in column 46, so more than 34 characters are cut in 80."""
    notes = [*tpu_draft.NOTES.values()]
    notes += [note for note in tpu_draft.FIELDS.values() if isinstance(note, str)]

    assert [] == [note for note in notes if len(note) > 34]


async def test_nothing_is_sent_before_screen_opens(cloud: FakeCloud, tmp_path: Path) -> None:
    """Home sends no request; the screen of TPUs lists once and names the next key."""
    async with app_of(cloud, tmp_path) as pilot:
        assert [] == cloud.calls
        assert "may be billed" not in on_screen(pilot.app)

        seen = await press(pilot, "u")
        assert "No TPU and no request for one exists in my-project" in seen
        assert "Press n to ask for a TPU" in seen
        assert "d delete" not in seen
        assert "Enter details" not in seen
        assert ["ListQueuedResources", "ListNodes"] == [name for name, _ in cloud.calls]

        await press(pilot, "question_mark", "escape")
        assert 2 == len(cloud.calls)  # help asks nobody

        await press(pilot, "r")
        assert 4 == len(cloud.calls)


async def test_enter_without_project_opens_project_lessons(
    cloud: FakeCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row opens the lesson on ways to get a TPU, and the next the one on projects."""
    monkeypatch.delenv("CLOUDSDK_CORE_PROJECT")

    async with app_of(cloud, tmp_path) as pilot:
        pilot.app.lessons = None  # those that ship
        seen = await press(pilot, "u")
        assert "Enter open" in seen
        assert "Enter details" not in seen
        await press(pilot, "enter")
        assert pilot.app.screen.lesson == "start/ways-to-get-one"
        await press(pilot, "escape", "down", "enter")
        assert pilot.app.screen.lesson == "setup/project-and-access"
        assert [] == cloud.calls


async def test_failed_request_is_explained(cloud: FakeCloud, tmp_path: Path) -> None:
    """A failed request shows Google's text, the cause, the fix and its leftover."""
    made(cloud, "bert", "FAILED", (8, NO_CAPACITY))
    remember(connecting(cloud)("my-project", cloud.clock), "bert")

    async with app_of(cloud, tmp_path) as pilot:
        seen = await press(pilot, "u")
        assert "FAILED" in seen
        assert "1 leftover takes up its name and quota" in seen
        seen = text_of(await press(pilot, "enter"))
        assert "Google's text: There is no more capacity" in seen
        assert "why" in seen
        assert "fix" in seen
        assert "name bert, v6e-8 spot in us-central1-b state FAILED" in seen
        assert "Enter the list" in seen


async def test_tpu_is_created_followed_and_deleted(cloud: FakeCloud, tmp_path: Path) -> None:
    """A TPU is created and deleted after its name was typed, and nothing is left."""
    async with app_of(cloud, tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "u", "n")
        assert "Still to fill in: name and type" in seen
        before = len(cloud.calls)
        seen = text_of(await press(pilot, *FILLED))
        assert "8 chips, 1 host" in seen
        assert "create bert --zone=us-central1-b \\ --accelerator-type=v6e-8" in seen
        assert "--spot" in seen

        await press(pilot, "enter")
        seen = await press(pilot, *"bart", "enter")
        assert "found bart, expected bert: nothing was sent." in seen
        assert before == len(cloud.calls)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, CreateTpuScreen)

        seen = text_of(await press(pilot, "enter", *"bert", "enter"))
        assert 1 == len(cloud.called("CreateQueuedResource"))
        assert "PROVISIONING" in seen
        assert "bert is ready in us-central1-b." in seen
        assert "tpu-vm ssh bert --zone=us-central1-b" in seen

        seen = await press(pilot, "escape")
        assert "ACTIVE" in seen
        seen = await press(pilot, "d")
        assert "goes     its nodes: bert" in seen
        assert "--force" in seen
        seen = text_of(await press(pilot, *"bert", "enter"))
        assert "bert in us-central1-b is gone, and nothing of it is billed." in seen
        seen = await press(pilot, "escape")
        assert "No TPU and no request" in seen

    assert {} == cloud.existing()
    assert [] == ledger.read_ledger()


def hold_after_delete(cloud: FakeCloud, method: str, let_go: threading.Event) -> None:
    """Block the state of a deleted resource until the test allows it."""
    if method == "GetQueuedResource" and cloud.called("DeleteQueuedResource"):
        let_go.wait(HANG_S)
