"""The screen that requests a TPU: a form, and the equivalent gcloud command."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from textual import on, work
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant
from tpustarter.core.problem import Problem
from tpustarter.text import phrases
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.kit.confirm_name import ConfirmName
from tpustarter.tui.kit.form_page import FormPage
from tpustarter.tui.kit.text_layout import StackedText, style_sentence
from tpustarter.tui.tpus import grant_verdicts, offers, request_text, tpu_work
from tpustarter.tui.tpus.follow_screen import FollowScreen
from tpustarter.tui.tpus.form_fields import ChosenField
from tpustarter.tui.tpus.form_view import FormView
from tpustarter.tui.tpus.grant_verdicts import GrantVerdicts
from tpustarter.tui.tpus.offers import FetchedNames
from tpustarter.tui.tpus.tpu_draft import FIELDS, TIERS, TpuDraft
from tpustarter.tui.tpus.tpu_work import StoppedError

BESIDE = 130
"""Width in columns from which the command is shown next to the fields."""


@dataclass(frozen=True)
class CloudDefaults:
    """The project and zone from gcloud's configuration, and the project's TRC grant."""

    project: Project | None
    zone: str
    grant: Grant | None
    trouble: Problem | None = None
    """The reason why the grant can't be read; nothing can be sent then."""


class CreateTpuScreen(FormPage):
    """The form for a TPU, with the equivalent gcloud command."""

    HELP = """
Fill in what you want. The gcloud command that does the same is below, and changes as you type.
**No request is sent** until you press Enter, read the command, and type the name. The form only
asks Google for two lists: the zones with TPUs, and the types of the zone that you type first.

What you typed is kept until you quit tpustarter, or until the TPU was asked for.

* **name** is what you call it, and **type** the generation and the number, such as `v6e-8`.
* **zones** says where to ask. Several zones are asked in turn, and at most one request exists at
  any time.
* What Google offers is below the field, and **Right** completes what you type. A type that is
  offered can still be out of capacity, or beyond your quota.
* **tier**: an `on-demand` TPU is yours until you delete it. A `spot` TPU costs less, and Google may
  pre-empt it at any time. A `reserved` one comes from a reservation of your project.
  A `flex-start` one waits for capacity, and Google deletes it after the time that you set.
* **api** is the one that makes it: the Cloud TPU API, or Compute Engine, which alone makes TPU7x.
* **project** is the one that pays. If it is empty, it is the one that gcloud uses.
* **version** is the image of the TPU VM. If it is empty, you get the one that Google documents.
* **addresses**: with internal addresses only, the workers reach nothing outside Google Cloud unless
  the subnetwork has Private Google Access or Cloud NAT.
* With a **TRC grant** (`tpustarter trc`), the zones are those of the grant, in its order. What the
  grant doesn't cover is billed, so it is refused until you type the name to pay for it.

`tpustarter tpu create --help` lists what this form leaves out: disks, networks, labels, start-up
scripts and several slices.
"""

    def __init__(self) -> None:
        super().__init__("Ask for a TPU: no request is sent yet")
        self._form = FormView()
        self._place = CloudDefaults(None, "", None)
        self._is_read = False
        self._offered: dict[str, FetchedNames] = {}
        """Google's lists: the zones under an empty key, types under the name of their zone."""
        self._offers_of = ""
        """The project that the lists belong to."""
        self._asked: set[str] = set()
        self._filled: str | None = ""
        """The text that the program wrote into the zones field; None once the user changed it."""
        self._left = threading.Event()
        """Set once the form is left, which stops the requests for lists."""
        self._kept: TpuDraft | None = None
        """The draft from the last time the form was left; None if there was none."""
        self._judging: threading.Event | None = None
        """Stops the query for the grant's chips in use; None while there is no query."""

    def body(self) -> Iterable[Widget]:
        yield self._form
        yield Static("", id="headline")

    def on_mount(self) -> None:
        self._kept = self.tutor.tpu_draft
        if self._kept:
            self._form.fill(self._kept)
        self._form.go_to("name")
        self._show()
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look(self) -> None:
        project, zone = None, ""
        try:
            project = project_and_zone.require_project(None)
            zone = project_and_zone.find_zone(None) or ""
        except Problem:
            pass  # Enter shows the reason
        try:
            self.post_message(FactsLoaded(CloudDefaults(project, zone, trc_grant.load_grant())))
        except Problem as trouble:
            self.post_message(FactsLoaded(CloudDefaults(project, zone, None, trouble)))

    def on_facts_loaded(
        self, message: FactsLoaded[CloudDefaults | FetchedNames | GrantVerdicts | Problem | None]
    ) -> None:
        what = message.facts
        if isinstance(what, CloudDefaults):
            self._place, self._is_read = what, True
            self._take_tier()
            self._ask("")
        elif isinstance(what, FetchedNames):
            self._offered[what.zone] = what
        else:
            self._judging = None
            if isinstance(what, GrantVerdicts):
                self._ask_for_name(what)
            elif what is not None:
                self.show_error(what)
            self.refresh_bindings()
        self._show()

    def _take_tier(self) -> None:
        """Choose the grant's tier if it has only one, and the user has chosen none."""
        grant = self._place.grant
        tiers = {row.tier for row in grant.allowances} if grant else set[str]()
        if len(tiers) == 1 and not self._kept and self._form.tier.value == TIERS[0]:
            self._form.tier.choose(tiers.pop())

    def _fill_zones(self, draft: TpuDraft) -> None:
        """Write the grant's zones, or else gcloud's, unless the user has typed others."""
        if self._filled is None or not self._is_read:
            return
        line = self._form.find_field("zones")
        if line.value != self._filled:
            self._filled = None
            return
        grant = self._place.grant
        self._filled = " ".join(draft.list_zones(grant)) if grant else self._place.zone
        line.value = self._filled

    def _ask(self, zone: str) -> None:
        """Request a list from Google once: the zones for an empty name, or a zone's types."""
        project = self._project
        if project is None or self._form.find_field("project").has_focus:
            return  # an id that is still being typed names no project
        if project.name != self._offers_of:
            self._offers_of = project.name
            self._offered, self._asked = {}, set()
        if zone not in self._asked:
            self._asked.add(zone)
            self._ask_google(project.name, zone)

    @property
    def _project(self) -> Project | None:
        """The typed project, or else gcloud's; None if there is none or it is invalid."""
        draft = self._form.draft
        if not draft.project.strip():
            return self._place.project
        return (
            None
            if "project" in draft.errors()
            else project_and_zone.find_project(draft.project.strip())
        )

    @work(thread=True, exit_on_error=False, group=f"{LOAD}-offers")
    def _ask_google(self, project: str, zone: str) -> None:
        if known := offers.read_stored_offers(project, zone):
            self.post_message(FactsLoaded(known))
        try:
            client, clock = tpu_work.make_client(self.tutor, project, self._left)
            self.post_message(FactsLoaded(offers.fetch_offers(client, clock, zone)))
        except StoppedError:
            pass
        except Problem as problem:
            why = problem.summary
            self.post_message(FactsLoaded(FetchedNames(zone, known.offer if known else None, why)))

    def _first_zone(self, draft: TpuDraft) -> str:
        """Return the first typed zone that Google has, as far as its zones are known."""
        zones = self._offered.get("")
        for zone in draft.zone_names:
            if zones and zones.offer:
                if zone in zones.words:
                    return zone
            elif tpu_request.is_zone(zone):
                return zone
        return ""

    @on(Input.Changed)
    @on(ChosenField.ValueChosen)
    def _show(self) -> None:
        self._fill_zones(self._form.draft)
        draft = self._form.draft
        self._keep(draft)
        self._form.show(draft, of_grant=bool(self._filled and self._place.grant))
        if zone := self._first_zone(draft):
            self._ask(zone)
        self._form.show_offers("zones", self._offered.get(""), self.tutor.now)
        self._form.show_offers("type", self._offered.get(zone) if zone else None, self.tutor.now)
        self._form.show_outcome("command", request_text.lay_out_commands(draft, self._project))
        self._form.show_outcome("asked", request_text.lay_out_slice(draft))
        has_room = self.has_class("-airy")
        self._form.show_outcome("then", request_text.lay_out_states(draft) if has_room else ())
        self.query_one("#headline", Static).update(style_sentence(self._headline(draft)))

    def _keep(self, draft: TpuDraft) -> None:
        """Keep the draft for the session, so that leaving the form loses nothing."""
        zones = draft.zones if self._filled is None else ""
        is_typed = any((draft.project, draft.name, draft.type, draft.version, zones))
        self.tutor.tpu_draft = replace(draft, zones=zones) if is_typed else None

    def on_descendant_focus(self) -> None:
        """Show the offers for the focused field, and the errors of the others."""
        self._show()

    def _headline(self, draft: TpuDraft) -> str:
        if self._form.errors(draft):
            return "Nothing can be sent before the lines marked with `!` are corrected."
        if missing := [
            field for field in FIELDS if field in {*draft.list_missing(), *draft.errors()}
        ]:
            kept = "What you typed before is still here. " if self._kept else ""
            return (
                f"{kept}Still to fill in: {phrases.join_words(missing)}. Nothing is sent from here."
            )
        if self._is_read and self._place.project is None:
            return (
                "Nothing can be sent, because no project is known. Press Enter to see what to do."
            )
        if self._place.trouble:
            return "Nothing can be sent, because the TRC grant cannot be read. Enter says more."
        if self.can_stop:
            return "Asking Google how much of the TRC grant is in use, usually 1 to 5 s."
        judged = grant_verdicts.judge_requests(
            draft.requests(), self._place.grant, None, self.tutor.now
        )
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

    @on(Input.Submitted)
    @on(ChosenField.Submitted)
    def _submit(self) -> None:
        """Ask for the name, or go to the first field that is missing or wrong."""
        draft = self._form.draft
        wrong = [field for field in FIELDS if field in {*draft.errors(), *draft.list_missing()}]
        if wrong:
            self._form.go_to(wrong[0])
            return
        project = self._project
        if project is None:
            self._look_for_project()
            return
        if self._place.trouble:
            self.show_error(self._place.trouble)
            self._look()  # the user may have corrected the grant
        elif self._place.grant is None:
            self._ask_for_name(GrantVerdicts(tuple(draft.requests())))
        elif not self.can_stop:
            self._judging = threading.Event()
            self._judge(project, draft.requests(), self._place.grant, self._judging)
            self._show()
            self.refresh_bindings()

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-grant")
    def _judge(
        self,
        project: Project,
        requests: Sequence[TpuRequest],
        grant: Grant,
        stopped: threading.Event,
    ) -> None:
        try:
            client, clock = tpu_work.make_client(self.tutor, project.name, stopped)
            used = trc_grant.fetch_tpus_in_use(client, [one.zone for one in requests])
            judged = grant_verdicts.judge_requests(requests, grant, used, clock.now())
            self.post_message(FactsLoaded(None if stopped.is_set() else judged))
        except StoppedError:
            self.post_message(FactsLoaded(None))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def _look_for_project(self) -> None:
        try:
            project_and_zone.require_project(None)
        except Problem as problem:
            self.show_error(problem)
        else:
            self._look()  # gcloud has been configured since

    def _ask_for_name(self, judged: GrantVerdicts) -> None:
        """Ask the user to type the name, which confirms the request, and a bill if there is one."""
        project = self._project
        if project is None:
            return
        lines = StackedText(request_text.lay_out_request(judged, project))
        title, to_do = "Ask for this TPU?", "ask Google for it"
        if judged.is_outside:
            title, to_do = "Outside the TRC grant: pay for this TPU?", "pay for it"
        sheet = ConfirmName(title, lines, judged.requests[0].name, to_do)
        self.tutor.push_screen(sheet, lambda yes: self._answered(judged, project, yes=yes))

    def _answered(self, judged: GrantVerdicts, project: Project, *, yes: bool | None) -> None:
        """Send the request, on a screen that replaces the form."""
        if yes:
            self.tutor.tpu_draft = None
            self.tutor.replace_screen(
                FollowScreen(tpu_work.make_creation_work(judged.requests, project))
            )

    def stop_work(self) -> bool:
        if not self.can_stop or self._judging is None:
            return False
        self._judging.set()
        self._show()
        return True

    @property
    def can_stop(self) -> bool:
        """True while Google is queried for the grant's chips in use."""
        return self._judging is not None and not self._judging.is_set()

    def on_unmount(self) -> None:
        self._left.set()

    def on_resize(self) -> None:
        super().on_resize()
        self.set_class(self.size.width >= BESIDE, "-beside")
        self._show()
