"""Keys on the list of TPUs that change something: stop, start, leftovers, an unread ledger."""

from __future__ import annotations

from pathlib import Path

from google.cloud import tpu_v2

from tests.support.cloud_app import PLACE, add, app_of, connecting, made, text_of
from tests.support.cloud_runs import remember
from tests.support.fake_cloud import FakeCloud, Fault
from tests.support.tutor import on_screen, press, until
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.text import event_text
from tpustarter.core import locations
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.page import NoticeSheet
from tpustarter.tui.tpus.follow_screen import FollowScreen
from tpustarter.tui.tpus.screen import TpuListScreen


async def test_a_tpu_vm_is_stopped_and_started(cloud: FakeCloud, tmp_path: Path) -> None:
    """The command and the name come first; then it is followed until Google is done."""
    add(cloud)

    async with app_of(cloud, tmp_path, size=(120, 30)) as pilot:
        seen = await press(pilot, "u")
        assert "s stop VM" in seen
        assert "start VM" not in seen
        seen = text_of(await press(pilot, "s"))
        assert "Stop bert?" in seen
        assert "$ gcloud compute tpus tpu-vm stop bert --zone=us-central1-b --async" in seen
        assert "billed Its disk, and no longer its chips." in seen
        await press(pilot, "enter", "escape")
        assert [] == cloud.called("StopNode")

        seen = text_of(await press(pilot, "s", *"bert", "enter"))
        assert isinstance(pilot.app.screen, FollowScreen)
        assert "STOPPED The TPU VM is stopped. Its chips are not billed" in seen
        assert 1 == len(cloud.called("StopNode"))
        seen = text_of(await press(pilot, "escape"))
        assert "Press s to start it, which needs free capacity" in seen
        assert "s start VM" in seen

        seen = text_of(await press(pilot, "s"))
        assert "tpu-vm start bert" in seen
        assert "Its chips, from the moment it runs" in seen
        seen = text_of(await press(pilot, *"bert", "enter"))
        assert "READY The TPU VMs are running." in seen
        assert 1 == len(cloud.called("StartNode"))


async def test_a_start_without_capacity_ends_with_its_reason(
    cloud: FakeCloud, tmp_path: Path
) -> None:
    """A start without capacity ends with Google's reason, which comes only later."""
    add(cloud, state="STOPPED")
    cloud.operations["bert"] = (8, 'There is no more capacity in the zone "us-central1-b"')

    async with app_of(cloud, tmp_path, size=(80, 40)) as pilot:
        seen = text_of(await press(pilot, "u", "s", *"bert", "enter"))
        assert "There is no more capacity" in seen
        assert "This has ended with an error." in seen


async def test_failed_start_is_tried_a_second_time(cloud: FakeCloud, tmp_path: Path) -> None:
    """A failed start can be tried again; it is refused once somebody else started the VM."""
    one = add(cloud, state="STOPPED")
    cloud.operations["bert"] = (8, 'There is no more capacity in the zone "us-central1-b"')

    async with app_of(cloud, tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "u", "s", *"bert", "enter")
        assert "s start VM" in await press(pilot, "escape")
        assert tpu_v2.Node.State.STOPPED == one.state

        del cloud.operations["bert"]
        seen = text_of(await press(pilot, "s", *"bert", "enter"))
        assert "READY The TPU VMs are running." in seen
        assert "s stop VM" in await press(pilot, "escape")

        one.state = tpu_v2.Node.State.STOPPED
        assert "s start VM" in await press(pilot, "r")
        one.state = tpu_v2.Node.State.READY
        assert "error: bert is READY, expected STOPPED" in await press(pilot, "s")
        assert 2 == len(cloud.called("StartNode"))


async def test_stop_continues_after_leaving_its_screen(cloud: FakeCloud, tmp_path: Path) -> None:
    """After its screen is left, a stop continues until it ends or the user stops waiting."""
    add(cloud)
    cloud.operations["bert"] = False

    async with app_of(cloud, tmp_path, size=(80, 30)) as pilot:
        await press(pilot, "u", "s")
        for key in (*"bert", "enter"):
            await pilot.press(key)
        await until(pilot, lambda: "STOPPED" in on_screen(pilot.app))
        seen = text_of(await press(pilot, "x"))
        assert "Google goes on to stop `bert` without this screen." in seen


async def test_tpu_that_cannot_stop_has_no_stop_key(cloud: FakeCloud, tmp_path: Path) -> None:
    """A slice of several hosts has no stop key, and a TPU that changed is refused."""
    add(cloud, name="slice", workers=4)
    one = add(cloud, name="solo")

    async with app_of(cloud, tmp_path, size=(120, 30)) as pilot:
        seen = await press(pilot, "u")
        assert "stop VM" not in seen
        assert "s stop VM" in await press(pilot, "down")
        one.state = tpu_v2.Node.State.REPAIRING
        seen = await press(pilot, "s")
        assert isinstance(pilot.app.screen, NoticeSheet)
        assert "error: solo is REPAIRING, expected READY" in seen
        assert [] == cloud.called("StopNode")


async def test_leftovers_are_listed_and_deleted_together(cloud: FakeCloud, tmp_path: Path) -> None:
    """Our leftovers that can't become TPUs again are listed, and deleted together."""
    made(cloud, "failed", "FAILED", (8, "no capacity"))
    made(cloud, "suspended", "SUSPENDED")
    made(cloud, "alive", "ACTIVE")
    add(cloud, name="gone", state="PREEMPTED").create_time = cloud.clock.now()
    made(cloud, "theirs", "FAILED")
    remember(connecting(cloud)("my-project", cloud.clock), "failed", "suspended", "gone")

    async with app_of(cloud, tmp_path, size=(100, 50)) as pilot:
        assert "3 leftovers take up their names and quota" in text_of(await press(pilot, "u"))
        seen = text_of(await press(pilot, "l"))
        assert "Delete 3 leftovers?" in seen
        assert "alive" not in seen
        assert "delete theirs" not in seen
        for name in (
            "queued-resources delete failed",
            "queued-resources delete suspended",
            "tpu-vm delete gone",
        ):
            assert name in seen
        seen = await press(pilot, *"failed", "enter")
        assert "found failed, expected leftovers: nothing was sent." in seen
        assert [] == cloud.called("DeleteQueuedResource")

        await press(pilot, "escape", "l", *"leftovers", "enter")
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, TpuListScreen)
        seen = text_of(await press(pilot, "l"))
        assert "theirs in us-central1-b is left over." in seen

    left = {f"{PLACE}/queuedResources/{name}" for name in ("alive", "theirs")}
    assert {f"{PLACE}/nodes/alive", *left} == {*cloud.existing()}
    assert [] == ledger.read_ledger()


async def test_unreached_zone_leaves_leftovers_unknown(cloud: FakeCloud, tmp_path: Path) -> None:
    """If a zone isn't reached, it is named, and no claim is made that nothing is left over."""
    cloud.unreachable = ["us-west4-a"]

    async with app_of(cloud, tmp_path, size=(100, 50)) as pilot:
        await press(pilot, "u")
        seen = text_of(await press(pilot, "l"))
        assert "us-west4-a" in seen
        assert event_text.describe_no_leftovers(is_rest=False) not in seen


async def test_refused_leftover_keeps_other_deletions(cloud: FakeCloud, tmp_path: Path) -> None:
    """A refused leftover is reported with the number left, and the other deletions go on."""
    made(cloud, "first", "FAILED")
    made(cloud, "second", "FAILED")
    remember(connecting(cloud)("my-project", cloud.clock), "first", "second")
    cloud.faults["DeleteQueuedResource"] = [Fault(7, "Permission denied on resource first")]

    async with app_of(cloud, tmp_path, size=(100, 50)) as pilot:
        seen = text_of(await press(pilot, "u", "l", *"leftovers", "enter"))
        assert "first in us-central1-b may still exist" in seen
        assert "second in us-central1-b is gone" in seen
        assert "error: 1 of 2 are still listed by Google" in seen

    assert [f"{PLACE}/queuedResources/first"] == [
        name for name in cloud.existing() if "queuedResources" in name
    ]


async def test_unread_ledger_is_named_on_home_and_list(cloud: FakeCloud, tmp_path: Path) -> None:
    """An unreadable ledger is named on the home screen and the list, as TPUs may be billed."""
    path = locations.state_folder_path() / "tpus.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{ not JSON")

    async with app_of(cloud, tmp_path, size=(100, 30)) as pilot:
        seen = text_of(on_screen(pilot.app))
        assert "A ledger of TPUs could not be read, so more may be billed" in seen
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, TpuListScreen)
        seen = text_of(on_screen(pilot.app))
        assert "tpus.broken-" in seen
        assert "TPUs that only it knew may be billed" in seen
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, HomeScreen)
