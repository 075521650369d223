"""The form for a TPU: what Google offers, the zones of a grant, and what a grant refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.cloud_app import app_of, made, text_of
from tests.support.damage import damage
from tests.support.fake_cloud import FakeCloud, Fault
from tests.support.tutor import on_screen, press, settle
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.core import state
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.confirm_name import ConfirmName
from tpustarter.tui.kit.page import NoticeSheet
from tpustarter.tui.tpus.create_screen import CreateTpuScreen
from tpustarter.tui.tpus.form_fields import TypedField

TYPES = ["v5litepod-1", "v5litepod-8", "v6e-1", "v6e-8", "v6e-16"]


@pytest.fixture
def cloud(cloud: FakeCloud) -> FakeCloud:
    """Run a service that offers zones and types."""
    cloud.zones = ["us-central1-a", "us-central1-b", "us-east1-d"]
    cloud.types = dict.fromkeys(cloud.zones, TYPES)
    return cloud


def grant(*lines: str) -> None:
    """Store a grant."""
    trc_grant.save_grant(trc_grant.Grant(tuple(map(trc_grant.parse_allow_option, lines))))


def field(pilot: Pilot[None], name: str) -> TypedField:
    """Return a field of the form."""
    return pilot.app.screen.query_one(f"#field-{name}", TypedField)


async def test_form_keeps_typed_fields_when_left(cloud: FakeCloud, tmp_path: Path) -> None:
    """A form keeps its fields when it is left, and is empty after the TPU was requested."""
    async with app_of(cloud, tmp_path) as pilot:
        await press(pilot, "u", "n", "escape")
        assert "still here" not in text_of(await press(pilot, "n"))
        await press(pilot, *"bert", "tab", *"v6e-8", "tab", "tab", "space")
        await press(pilot, "escape", "escape", "u")
        seen = text_of(await press(pilot, "n"))
        assert "What you typed before is still here." in seen
        assert ("bert", "v6e-8") == (field(pilot, "name").value, field(pilot, "type").value)
        assert "< spot >" in seen
        await press(pilot, "enter", *"bert", "enter")
        assert 1 == len(cloud.called("CreateQueuedResource"))
        while not isinstance(pilot.app.screen, HomeScreen):
            await press(pilot, "escape")
        seen = text_of(await press(pilot, "u", "n"))
        assert "" == field(pilot, "name").value
        assert "still here" not in seen


async def test_unreadable_grant_blocks_request_until_noted_again(
    cloud: FakeCloud, tmp_path: Path
) -> None:
    """An unreadable grant blocks the request until the grant is entered again."""
    damage(state.prepare_state_path(trc_grant.STATE), "cut off")

    async with app_of(cloud, tmp_path) as pilot:
        await press(pilot, "u", "n", *"bert", "tab", *"v6e-8", "enter")
        assert isinstance(pilot.app.screen, NoticeSheet)
        grant("v6e:8:on-demand:us-central1-b")
        await press(pilot, "escape", "enter")
        if isinstance(pilot.app.screen, NoticeSheet):  # it was looked at before that
            await press(pilot, "escape", "enter")
        assert isinstance(pilot.app.screen, ConfirmName)
        assert [] == cloud.called("CreateQueuedResource")


async def test_types_and_zones_complete_from_google_lists(cloud: FakeCloud, tmp_path: Path) -> None:
    """Types and zones are completed from Google's lists, each of which is requested once."""
    async with app_of(cloud, tmp_path) as pilot:
        seen = await press(pilot, "u", "n", *"bert", "tab")
        offered = "us-central1-b offers v5e-1, v5e-8, v6e-1, v6e-8 and v6e-16"
        assert offered in text_of(seen)
        assert "Right complete" not in seen
        seen = await press(pilot, *"v5")
        assert "us-central1-b offers v5e-1 and v5e-8" in text_of(seen)
        assert "v6e-1" not in seen
        assert "unknown TPU type" not in seen  # it can still become one that is offered
        assert "Right complete" in seen
        await press(pilot, "right")
        assert "v5e-1" == field(pilot, "type").value

        seen = text_of(await press(pilot, "tab"))
        assert "Zones with TPUs: us-central1-a, us-central1-b and us-east1-d" in seen
        seen = text_of(await press(pilot, "end", *" us-e"))
        assert "Zones with TPUs: us-east1-d" in seen
        await press(pilot, "right")
        assert "us-central1-b us-east1-d" == field(pilot, "zones").value

        await press(pilot, *["backspace"] * 24, *"us-east1-d", "shift+tab")
        assert "us-east1-d offers v5e-1" in text_of(on_screen(pilot.app))
        assert 1 == len(cloud.called("ListLocations"))
        asked = [call.parent for call in cloud.called("ListAcceleratorTypes")]
        assert ["us-central1-b", "us-east1-d"] == [name.rpartition("/")[2] for name in asked]


async def test_form_without_project_shows_documented_choices(
    cloud: FakeCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a project, the form shows documented types, choices and an example zone."""
    async with app_of(cloud, tmp_path) as pilot:
        monkeypatch.delenv("CLOUDSDK_CORE_PROJECT")
        monkeypatch.delenv("CLOUDSDK_COMPUTE_ZONE")
        seen = await press(pilot, "u", "n", *"bert", "tab")
        assert "Documented types: v2-8, v3-8, v4-8, v5e-1, v5p-8" in text_of(seen)
        seen = await press(pilot, *"v6e-25")
        assert "Documented types: v6e-256. No zone has them all." in text_of(seen)
        seen = await press(pilot, "right", "tab")
        assert "v6e-256" == field(pilot, "type").value
        assert "Such as us-central1-a." in text_of(seen)
        assert "Documented types" not in text_of(seen)
        seen = await press(pilot, "tab")
        assert "One of: on-demand, spot, reserved, flex-start." in text_of(seen)
        assert "? help" in seen
        seen = await press(pilot, "shift+tab")
        assert "F1 help" in seen
        assert "? help" not in seen
        assert "Fill in what you want." in text_of(await press(pilot, "f1"))
        assert isinstance((await press(pilot, "escape")) and pilot.app.screen, CreateTpuScreen)


async def test_lists_are_kept_with_their_date(cloud: FakeCloud, tmp_path: Path) -> None:
    """If Google doesn't answer, the last lists are offered with their age."""
    async with app_of(cloud, tmp_path) as pilot:
        await press(pilot, "u", "n", "escape")
        cloud.clock.sleep(7200)
        down = [Fault(14, "failed to connect to all addresses")] * 20
        cloud.faults = {"ListLocations": [*down], "ListAcceleratorTypes": [*down]}
        seen = text_of(await press(pilot, "n", "tab"))
        listed = "us-central1-b offers v5e-1, v5e-8, v6e-1, v6e-8 and v6e-16"
        assert f"{listed} (as of 2 h ago" in seen
        assert "because" in seen
        assert isinstance(pilot.app.screen, CreateTpuScreen)


async def test_without_any_list_the_form_works(cloud: FakeCloud, tmp_path: Path) -> None:
    """The form works without Google's lists, for example if permission is denied."""
    denied = [Fault(7, "Permission 'tpu.locations.list' denied")] * 9
    cloud.faults = {"ListLocations": [*denied], "ListAcceleratorTypes": [*denied]}

    async with app_of(cloud, tmp_path) as pilot:
        seen = text_of(await press(pilot, "u", "n", "tab"))
        assert "Google's list of the types of us-central1-b is not known here: Google" in seen
        await press(pilot, "shift+tab", *"bert", "tab", *"v6e-8", "enter")
        assert isinstance(pilot.app.screen, ConfirmName)


async def test_grant_zones_are_offered_in_its_order(cloud: FakeCloud, tmp_path: Path) -> None:
    """Zones of the grant with enough chips are offered in its order; typed ones stay."""
    grant("v6e:8:spot:us-east1-d", "v6e:64:spot:europe-west4-a", "v5e:64:spot:us-central1-a")

    async with app_of(cloud, tmp_path, size=(100, 30)) as pilot:
        seen = text_of(await press(pilot, "u", "n"))
        assert "us-east1-d europe-west4-a us-central1-a" == field(pilot, "zones").value
        assert "from your TRC grant, in its order" in seen
        assert "< spot >" in seen
        await press(pilot, *"bert", "tab", *"v6e-8")
        assert "us-east1-d europe-west4-a" == field(pilot, "zones").value
        await press(pilot, *["backspace"] * 2, *"-16")
        assert "europe-west4-a" == field(pilot, "zones").value
        seen = text_of(on_screen(pilot.app))
        assert "The TRC grant covers its chips. Press Enter to ask Google" in seen

        await press(pilot, "tab", "end", *" us-east1-d", "shift+tab", *"v6e-8")
        assert "europe-west4-a us-east1-d" == field(pilot, "zones").value


async def test_covered_request_shows_chips_and_asks_confirmation(
    cloud: FakeCloud, tmp_path: Path
) -> None:
    """A covered request shows that its chips are covered, and asks for confirmation."""
    grant("v6e:64:spot:us-central1-b")

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        await press(pilot, "u", "n", *"bert", "tab", *"v6e-8", "enter")
        seen = text_of(on_screen(pilot.app))
        assert "Ask for this TPU?" in seen
        assert "us-central1-b: the TRC grant covers its chips." in seen
        assert "It is billed from the moment" not in seen
        await press(pilot, *"bert", "enter")

    assert 1 == len(cloud.called("CreateQueuedResource"))


async def test_uncovered_request_needs_its_name_typed(cloud: FakeCloud, tmp_path: Path) -> None:
    """A request outside the grant shows why, and is sent only after its name is typed."""
    grant("v6e:64:spot:us-east1-d")

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        await press(pilot, "u", "n", *"bert", "tab", *"v6e-8", "tab", *["backspace"] * 10)
        seen = text_of(await press(pilot, *"us-central1-b"))
        assert "the TRC grant does not cover it, because" in seen
        assert "Enter asks whether you want to pay for it." in seen
        seen = text_of(await press(pilot, "enter"))
        assert "Outside the TRC grant: pay for this TPU?" in seen
        assert "It would cover this TPU in us-east1-d." in seen
        assert "To pay for it, type bert:" in seen
        await press(pilot, "enter", "escape")
        assert isinstance(pilot.app.screen, CreateTpuScreen)
        assert [] == cloud.called("CreateQueuedResource")
        await press(pilot, "enter", *"bert", "enter")

    assert ["bert"] == [entry.name for entry in ledger.read_ledger()]


async def test_chips_in_use_are_counted_before_the_name(cloud: FakeCloud, tmp_path: Path) -> None:
    """Chips in use are counted before the name is asked, so this request would be billed."""
    grant("v6e:8:spot:us-central1-b")
    made(cloud, "other", "ACTIVE")

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        seen = text_of(await press(pilot, "u", "n", *"bert", "tab", *"v6e-8"))
        assert "The TRC grant covers its chips." in seen
        seen = text_of(await press(pilot, "enter"))
        assert "Outside the TRC grant" in seen
        assert "8 chips are asked for, and 0 of 8 are left" in seen

        await press(pilot, "escape")
        cloud.faults["ListNodes"] = [Fault(7, "Permission denied")]
        seen = text_of(await press(pilot, "enter"))
        assert "How many chips are in use is not known" in seen
        assert isinstance(pilot.app.screen, ConfirmName)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, CreateTpuScreen)
        assert [] == cloud.called("CreateQueuedResource")


async def test_arrows_move_between_fields_in_scrolled_form(
    cloud: FakeCloud, tmp_path: Path
) -> None:
    """The arrow keys move between fields, even if the form scrolls."""
    async with app_of(cloud, tmp_path, size=(60, 12)) as pilot:
        await press(pilot, "u", "n", *"bert", "down", *"v6e-8", "down", "down")
        assert "field-tier" == pilot.app.focused.id  # type: ignore[union-attr]
        await press(pilot, "up", "up")
        assert "field-type" == pilot.app.focused.id  # type: ignore[union-attr]


async def test_wide_form_shows_slice_and_price(cloud: FakeCloud, tmp_path: Path) -> None:
    """A wide form shows the slice and its price beside the fields, or that it is unknown."""
    async with app_of(cloud, tmp_path, size=(160, 45)) as pilot:
        seen = await press(pilot, "u", "n", *"bert", "tab", *"v5e-16")
        top = next(line for line in seen.splitlines() if "╭─ The TPU ─" in line)
        assert "╭─ The same with gcloud ─" in top
        assert "4 hosts with 4 chips each, topology 4x4" in seen
        assert "worker 3  [□□□□]" in seen
        assert "19.20 USD an hour for its chips (16 x 1.2 USD" in seen
        below = seen.partition("After you have asked")[2]
        way = re.findall(r"│ +([A-Z_]{6,}) ", below)
        assert ["ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"] == way
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "After you have asked" not in on_screen(pilot.app)
        await pilot.resize_terminal(160, 45)
        await settle(pilot)
        seen = await press(pilot, *["backspace"] * 6, *"v4-8")
        assert "The price of v4-8 in us-central1-b is not known here" in seen
