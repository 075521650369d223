"""A form that asks for a TPU: the gcloud command below changes as it is filled in."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.cloud import grants, places, request
from tpustarter.cloud.grants import Grant
from tpustarter.cloud.places import Project
from tpustarter.cloud.request import Request
from tpustarter.problem import Problem
from tpustarter.tui import tpu_grant, tpu_offers, tpu_sheet, tpu_work
from tpustarter.tui.lines import Stack, prose
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.screens.page import Page
from tpustarter.tui.screens.tpu_following import Following
from tpustarter.tui.screens.typed_name import TypedName
from tpustarter.tui.tpu_fields import ChosenField
from tpustarter.tui.tpu_form import ORDER, TIERS, Draft
from tpustarter.tui.tpu_form_view import FormView
from tpustarter.tui.tpu_grant import Judged
from tpustarter.tui.tpu_offers import Offered
from tpustarter.tui.tpu_work import StoppedError

BESIDE = 130
"""Columns from which the command stands beside the fields."""


@dataclass(frozen=True)
class Place:
    """Where gcloud is configured to work, and what TRC has granted."""

    project: Project | None
    zone: str
    grant: Grant | None


class CreateForm(Page):
    """Name, type, zones and so on, and the command that they come to."""

    HELP = """
Fill in what you want. The gcloud command that does the same stands below, and changes as you type.
**No request is sent** until you press Enter, read the command, and type the name. The form only
asks Google for two lists: the zones with TPUs, and the types of the zone that you type first.

What you typed is kept until you quit tpustarter, or until the TPU was asked for.

* **name** is what you call it, and **type** the generation and the number, such as `v6e-8`.
* **zones** says where to ask. Several zones are asked in turn, and at most one request exists at
  any time.
* What Google offers stands below the field, and **Right** completes what you type. A type that is
  offered can still be out of capacity, or beyond your quota.
* **tier**: an `on-demand` TPU is yours until you delete it. A `spot` TPU costs less, and Google may
  pre-empt it at any time. A `reserved` one comes from a reservation of your project.
* **version** is the image of the TPU VM. If it is empty, you get the one that Google documents.
* **addresses**: with internal addresses only, the workers reach nothing outside Google Cloud unless
  the subnetwork has Private Google Access or Cloud NAT.
* With a **TRC grant** (`tpustarter trc`), the zones are those of the grant, in its order. What the
  grant doesn't cover is billed, so it is refused until you type the name to pay for it.

`tpustarter tpu create --help` lists what this form leaves out: disks, networks, labels, start-up
scripts and several slices.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down", "move(1)", "next field", key_display="Tab", tooltip="one field down"),
        Binding("shift+tab,up", "move(-1)", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("Ask for a TPU: no request is sent yet")
        self._form = FormView()
        self._place = Place(None, "", None)
        self._is_read = False
        self._offered: dict[str, Offered] = {}
        """What Google offers: zones under the empty name, types under that of their zone."""
        self._asked: set[str] = set()
        self._filled: str | None = ""
        """What we wrote into the field of zones; null once the user has changed it."""
        self._left = threading.Event()
        """Set once nobody waits for lists any longer."""
        self._kept: Draft | None = None
        """What was typed when the form was left; null where nothing was."""
        self._judging: threading.Event | None = None
        """Ends the question how much of the grant is in use; null where nobody asks."""

    def body(self) -> Iterable[Widget]:
        """Return the fields, the command and what is still missing."""
        yield self._form
        yield Static("", id="headline")

    def on_mount(self) -> None:
        """Let the name be typed, or what was typed before, and look where gcloud works."""
        self._kept = self.tutor.tpu_draft
        if self._kept:
            self._form.fill(self._kept)
        self._form.go_to("name")
        self._show()
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _look(self) -> None:
        project, zone = None, ""
        try:
            project = places.project(None)
            zone = places.zone(None) or ""
        except Problem:
            pass  # Enter says why, as it stands then
        self.post_message(Looked(Place(project, zone, grants.load())))

    def on_looked(self, message: Looked) -> None:
        """Show what is known now; with a judgement, ask for the name."""
        what = message.what
        if isinstance(what, Place):
            self._place, self._is_read = what, True
            self._take_tier()
            self._ask("")
        elif isinstance(what, Offered):
            self._offered[what.zone] = what
        else:
            self._judging = None
            if isinstance(what, Judged):
                self._ask_for_name(what)
            elif what is not None:
                self.show_error(what)
            self.refresh_bindings()
        self._show()

    def _take_tier(self) -> None:
        """Choose the grant's tier where it has but one, and nothing else was chosen yet."""
        grant = self._place.grant
        tiers = {row.tier for row in grant.allowances} if grant else set[str]()
        if len(tiers) == 1 and not self._kept and self._form.tier.value == TIERS[0]:
            self._form.tier.choose(tiers.pop())

    def _fill_zones(self, draft: Draft) -> None:
        """Write the grant's zones, else gcloud's, as long as nobody has typed others."""
        if self._filled is None or not self._is_read:
            return
        line = self._form.typed("zones")
        if line.value != self._filled:
            self._filled = None
            return
        grant = self._place.grant
        self._filled = " ".join(draft.zones_of(grant)) if grant else self._place.zone
        line.value = self._filled

    def _ask(self, zone: str) -> None:
        """Ask Google for a list, once: the zones for an empty name, else the types of a zone."""
        if self._place.project and zone not in self._asked:
            self._asked.add(zone)
            self._ask_google(self._place.project.name, zone)

    @work(thread=True, exit_on_error=False, group=f"{LOOK}-offers")
    def _ask_google(self, project: str, zone: str) -> None:
        if known := tpu_offers.kept(project, zone):
            self.post_message(Looked(known))
        try:
            client, clock = tpu_work.connect(self.tutor, project, self._left)
            self.post_message(Looked(tpu_offers.ask(client, clock, zone)))
        except StoppedError:
            pass
        except Problem as problem:
            why = problem.what.partition("\n")[0]
            self.post_message(Looked(Offered(zone, known.offer if known else None, why)))

    def _first_zone(self, draft: Draft) -> str:
        """Return the first zone typed that Google has, as far as its zones are known."""
        zones = self._offered.get("")
        for zone in draft.zone_names:
            if zones and zones.offer:
                if zone in zones.words:
                    return zone
            elif request.is_zone(zone):
                return zone
        return ""

    @on(Input.Changed)
    @on(ChosenField.Turned)
    def _show(self) -> None:
        self._fill_zones(self._form.draft)
        draft = self._form.draft
        self._keep(draft)
        self._form.show(draft, of_grant=bool(self._filled and self._place.grant))
        if zone := self._first_zone(draft):
            self._ask(zone)
        self._form.show_offers("zones", self._offered.get(""), self._now)
        self._form.show_offers("type", self._offered.get(zone) if zone else None, self._now)
        self._form.show_outcome("command", tpu_sheet.of_draft(draft, self._place.project))
        self._form.show_outcome("asked", tpu_sheet.of_tpu(draft))
        has_room = self.has_class("-airy")
        self._form.show_outcome("then", tpu_sheet.of_queue(draft) if has_room else ())
        self.query_one("#headline", Static).update(prose(self._headline(draft)))

    def _keep(self, draft: Draft) -> None:
        """Keep what is typed for the session, so that leaving the form loses nothing."""
        zones = draft.zones if self._filled is None else ""
        is_typed = any((draft.name, draft.type, draft.version, zones))
        self.tutor.tpu_draft = replace(draft, zones=zones) if is_typed else None

    def on_descendant_focus(self) -> None:
        """Show what Google offers for the field that is typed into, and errors of the others."""
        self._show()

    def _headline(self, draft: Draft) -> str:
        if draft.is_elsewhere:
            return "Run these commands yourself, because this form can't ask for such a TPU."
        if self._form.errors(draft):
            return "Nothing can be sent before the lines marked with `!` are corrected."
        if missing := [field for field in ORDER if field in {*draft.missing(), *draft.errors()}]:
            named = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
            kept = "What you typed before is still here. " if self._kept else ""
            return f"{kept}Still to fill in: {named}. Nothing is sent from here."
        if self._is_read and self._place.project is None:
            return (
                "Nothing can be sent, because no project is known. Press Enter to see what to do."
            )
        if self.can_stop:
            return "Asking Google how much of the TRC grant is in use, usually 1 to 5 s."
        judged = tpu_grant.judge(draft.requests(), self._place.grant, None, self._now)
        if judged.is_outside:
            return f"{' '.join(judged.notes())} Enter asks whether you want to pay for it."
        if judged.is_covered:
            return "The TRC grant covers its chips. Press Enter to ask Google how many are left."
        kept = (
            "What you typed before is still here. "
            if self._kept and self.tutor.tpu_draft == self._kept
            else ""
        )
        return f"{kept}Press Enter to see once more what you ask for, before it is sent."

    @property
    def _now(self) -> datetime:
        return self.tutor.clock.now() if self.tutor.clock else datetime.now(timezone.utc)

    def action_move(self, by: int) -> None:
        """Go to another field."""
        self._form.move(by)

    @on(Input.Submitted)
    @on(ChosenField.Submitted)
    def _submit(self) -> None:
        """Ask for the name, or go to the first field that is not right yet."""
        draft = self._form.draft
        wrong = [field for field in ORDER if field in {*draft.errors(), *draft.missing()}]
        if wrong:
            self._form.go_to(wrong[0])
            return
        if draft.is_elsewhere:
            return
        if self._place.project is None:
            self._look_for_project()
            return
        if self._place.grant is None:
            self._ask_for_name(Judged(tuple(draft.requests())))
        elif not self.can_stop:
            self._judging = threading.Event()
            self._judge(self._place.project, draft.requests(), self._place.grant, self._judging)
            self._show()
            self.refresh_bindings()

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-grant")
    def _judge(
        self,
        project: Project,
        requests: Sequence[Request],
        grant: Grant,
        stopped: threading.Event,
    ) -> None:
        try:
            client, clock = tpu_work.connect(self.tutor, project.name, stopped)
            used = tpu_grant.in_use(client)
            judged = tpu_grant.judge(requests, grant, used, clock.now())
            self.post_message(Looked(None if stopped.is_set() else judged))
        except StoppedError:
            self.post_message(Looked(None))
        except Problem as problem:
            self.post_message(Looked(problem))

    def _look_for_project(self) -> None:
        try:
            places.project(None)
        except Problem as problem:
            self.show_error(problem)
        else:
            self._look()  # gcloud was configured meanwhile

    def _ask_for_name(self, judged: Judged) -> None:
        """Ask for the name, which is the yes; outside the grant it is a yes to the bill."""
        project = self._place.project
        if project is None:
            return
        lines = Stack(tpu_sheet.of_request(judged, project))
        title, to_do = "Ask for this TPU?", "ask Google for it"
        if judged.is_outside:
            title, to_do = "Outside the TRC grant: pay for this TPU?", "pay for it"
        sheet = TypedName(title, lines, judged.requests[0].name, to_do)
        self.tutor.push_screen(sheet, lambda yes: self._answered(judged, project, yes=yes))

    def _answered(self, judged: Judged, project: Project, *, yes: bool | None) -> None:
        """Ask for it, on a screen that takes the place of the form."""
        if yes:
            self.tutor.tpu_draft = None
            app: Any = self.tutor
            app.switch_screen(Following(tpu_work.creating(judged.requests, project)))

    def stop_work(self) -> bool:
        """Ask no longer how much of the grant is in use."""
        if not self.can_stop or self._judging is None:
            return False
        self._judging.set()
        self._show()
        return True

    @property
    def can_stop(self) -> bool:
        """Whether that is asked."""
        return self._judging is not None and not self._judging.is_set()

    def on_unmount(self) -> None:
        """Wait for no list any longer."""
        self._left.set()
        super().on_unmount()

    def on_resize(self) -> None:
        """Put what the fields come to where there is room, and their notes too."""
        super().on_resize()
        self.set_class(self.size.width >= BESIDE, "-beside")
        self._show()
