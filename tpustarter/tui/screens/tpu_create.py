"""A form that asks for a TPU: the gcloud command below changes as it is filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.cloud import billed, grants, places, words
from tpustarter.cloud.grants import Grant
from tpustarter.cloud.places import Project
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_work
from tpustarter.tui.lines import Hanging, Lines, Stack
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.plain import plain
from tpustarter.tui.screens.page import Page
from tpustarter.tui.screens.tpu_following import Following
from tpustarter.tui.screens.typed_name import TypedName
from tpustarter.tui.tpu_form import ADDRESSES, TIERS, Draft

TYPED = {
    "name": ("name", "lowercase letters, digits and `-`"),
    "type": ("type", "such as v5e-1 or v6e-8"),
    "zones": ("zones", "one or more, tried in this order"),
    "version": ("version", "empty: the one Google documents"),
}
"""Fields that are typed: label, and a note beside."""
CHOSEN = {"tier": ("tier", TIERS), "addresses": ("addresses", ADDRESSES)}
"""Fields that are chosen."""
ORDER = ("name", "type", "zones", "tier", "version", "addresses")
_TIER_NOTES = {
    "on-demand": "yours until you delete it; Space changes it",
    "spot": "cheaper, but Google may take it back at any time",
    "reserved": "from a reservation of your project",
}
_ADDRESS_NOTES = {
    ADDRESSES[0]: "the workers reach the internet",
    ADDRESSES[1]: "needs Private Google Access or NAT",
}


@dataclass(frozen=True)
class Place:
    """Where gcloud is configured to work, and what TRC has granted."""

    project: Project | None
    trouble: str
    zone: str
    grant: Grant | None


class TypedField(Input):
    """A field that is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "ask for it", key_display="Enter",
                tooltip="tpustarter tpu create NAME --type TYPE --zone ZONE"),
    ]  # fmt: skip


class ChosenField(Static, can_focus=True):
    """A field that takes one of a few values."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right", "turn(1)", "change", key_display="Space", tooltip="the next value"),
        Binding("left", "turn(-1)", show=False),
        Binding("enter", "submit", "ask for it", key_display="Enter",
                tooltip="tpustarter tpu create NAME --type TYPE --zone ZONE"),
    ]  # fmt: skip

    @dataclass
    class Turned(Message):
        """It has another value."""

    @dataclass
    class Submitted(Message):
        """The form is filled in."""

    def __init__(self, values: tuple[str, ...], **options: Any) -> None:
        super().__init__("", **options)
        self._values = values
        self.value = values[0]

    def on_mount(self) -> None:
        """Show the first value."""
        self._show()

    def _show(self) -> None:
        self.update(Content(f"< {self.value} >"))

    def action_turn(self, by: int) -> None:
        """Take the next value, or the one before."""
        self.value = self._values[(self._values.index(self.value) + by) % len(self._values)]
        self._show()
        self.post_message(self.Turned())

    def action_submit(self) -> None:
        """Say that the form is filled in."""
        self.post_message(self.Submitted())


class CreateForm(Page):
    """Name, type, zones and so on, and the command that they come to."""

    HELP = """
Fill in what you want. Below stands the gcloud command that does the same, and it changes as you
type. **Nothing is sent** until you press Enter, read the command, and type the name.

* **name**: what you call it. **type**: the generation and the number, such as `v6e-8`.
* **zones**: where to ask. With several, each is asked in turn, and at most one request is alive at
  any time. `tpustarter tpu zones` lists those that your project can use.
* **tier**: `on-demand` is yours until you delete it, `spot` costs less and may be taken back at any
  time, `reserved` comes from a reservation of your project.
* **version**: the image of the TPU VM. Left empty, it is the one that Google documents.
* **addresses**: with internal addresses only, the workers reach nothing outside Google Cloud unless
  the subnetwork has Private Google Access or Cloud NAT.

`tpustarter tpu create --help` lists what this form leaves out: disks, networks, labels, start-up
scripts and several slices.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down", "move(1)", "next field", key_display="Tab", tooltip="one field down"),
        Binding("shift+tab,up", "move(-1)", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("Ask for a TPU: nothing is sent yet")
        self._place = Place(None, "", "", None)
        self._is_read = False

    def body(self) -> Iterable[Widget]:
        """Return the fields, the command and what is still missing."""
        with VerticalScroll(id="form", can_focus=False):
            for field in ORDER:
                yield from self._field(field)
            yield Static("", id="command")
        yield Static("", id="headline")

    def _field(self, field: str) -> Iterator[Widget]:
        with Horizontal(classes="field"):
            if field in TYPED:
                label, note = TYPED[field]
                yield Static(Content(f"{label:<10}["), classes="label")
                line = TypedField(id=f"field-{field}")
                line.cursor_blink = False
                yield line
                yield Static(Content(f"]  {note}"), classes="note", id=f"note-{field}")
            else:
                label, values = CHOSEN[field]
                yield Static(Content(f"{label:<10}"), classes="label")
                yield ChosenField(values, id=f"field-{field}")
                yield Static("", classes="note", id=f"note-{field}")
        error = Static("", classes="field-error", id=f"error-{field}")
        error.display = False
        yield error

    def on_mount(self) -> None:
        """Let the name be typed, and look where gcloud works."""
        self.set_focus(self.query_one("#field-name"))
        self._show()
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _look(self) -> None:
        project, trouble, zone = None, "", ""
        try:
            project = places.project(None)
            zone = places.zone(None) or ""
        except Problem as problem:
            trouble = str(problem)
        self.post_message(Looked(Place(project, trouble, zone, grants.load())))

    def on_looked(self, message: Looked) -> None:
        """Take the zone that gcloud is configured for, where none is typed yet."""
        self._place, self._is_read = message.what, True
        zones = self.query_one("#field-zones", Input)
        if self._place.zone and not zones.value:
            zones.value = self._place.zone
        self._show()

    @property
    def draft(self) -> Draft:
        """What is filled in."""
        values: Any = {
            field: self.query_one(f"#field-{field}", TypedField if field in TYPED else ChosenField)
            for field in ORDER
        }
        return Draft(**{field: widget.value for field, widget in values.items()})

    @on(Input.Changed)
    @on(ChosenField.Turned)
    def _show(self) -> None:
        draft, errors = self.draft, self.draft.errors()
        for field in ORDER:
            error = self.query_one(f"#error-{field}", Static)
            error.update(Hanging(" " * 10 + "! ", visible(errors.get(field, ""))))
            error.display = field in errors
        self._note("tier", f" {_TIER_NOTES[draft.tier]}")
        self._note("addresses", f" {_ADDRESS_NOTES[draft.addresses]}")
        if tpu := draft.tpu:
            chips = "1 chip" if tpu.chips == 1 else f"{tpu.chips} chips"
            hosts = "1 host" if tpu.hosts == 1 else f"{tpu.hosts} hosts"
            self._note("type", f"]  {tpu.name}: {chips}, {hosts}")
        else:
            self._note("type", f"]  {TYPED['type'][1]}")
        self.query_one("#command", Static).update(Stack(self._command_lines(draft)))
        self.query_one("#headline", Static).update(Content(self._headline(draft)))

    def _note(self, field: str, text: str) -> None:
        self.query_one(f"#note-{field}", Static).update(Content(visible(text)))

    def _command_lines(self, draft: Draft) -> Iterator[Lines]:
        yield Hanging("", "")
        try:
            commands = draft.commands(self._place.project)
        except Problem as problem:
            yield Hanging("", visible(problem.what))
            return
        if commands and draft.is_elsewhere and draft.tpu:
            title = draft.tpu.generation.title
            yield Hanging(
                "", f"The Cloud TPU API does not make {visible(title)}; Compute Engine does:"
            )
        elif commands:
            yield Hanging("", "The same with gcloud:")
        width = max(self.size.width - 4, 20)
        for command in commands:
            for line in words.command_lines(command, width):
                yield Hanging("", plain(line))
        if len(draft.zone_names) > 1 and commands and not draft.is_elsewhere:
            others = ", ".join(map(visible, draft.zone_names[1:]))
            yield Hanging("", f"and, where that zone has none within 15 minutes, in {others}")

    def _headline(self, draft: Draft) -> str:
        if draft.is_elsewhere:
            return "Run these commands yourself: this form can send nothing for such a TPU."
        if draft.errors():
            return "Nothing can be sent before the lines marked with `!` are mended."
        if missing := draft.missing():
            named = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
            return f"Still to fill in: {named}. Nothing is sent from here."
        if self._is_read and self._place.project is None:
            return "Enter says why nothing can be sent: no project is known."
        notes = draft.grant_notes(self._place.grant, self._now)
        return " ".join(["Enter shows once more what is asked for, before it is sent.", *notes])

    @property
    def _now(self) -> datetime:
        return self.tutor.clock.now() if self.tutor.clock else datetime.now(timezone.utc)

    def action_move(self, by: int) -> None:
        """Go to another field."""
        ids = [f"field-{field}" for field in ORDER]
        focused = self.focused.id if self.focused else None
        at = ids.index(focused) if focused in ids else 0
        self.set_focus(self.query_one(f"#{ids[(at + by) % len(ids)]}"))

    @on(Input.Submitted)
    @on(ChosenField.Submitted)
    def _submit(self) -> None:
        """Ask for the name, or go to the first field that is not right yet."""
        draft = self.draft
        wrong = [field for field in ORDER if field in {*draft.errors(), *draft.missing()}]
        if wrong:
            self.set_focus(self.query_one(f"#field-{wrong[0]}"))
            return
        if draft.is_elsewhere:
            return
        if self._place.project is None:
            self._look_for_project()
            return
        lines = Stack(self._summary(draft, self._place.project))
        sheet = TypedName("Ask for this TPU?", lines, draft.name.strip(), "ask Google for it")
        self.tutor.push_screen(sheet, self._answered)

    def _look_for_project(self) -> None:
        try:
            places.project(None)
        except Problem as problem:
            self.show_error(problem)
        else:
            self._look()  # gcloud was configured meanwhile

    def _summary(self, draft: Draft, project: Project) -> Iterator[Lines]:
        requests = draft.requests()
        for sentence in words.of_request(requests[0]):
            yield Hanging("", visible(sentence))
        if not draft.is_covered(self._place.grant, self._now):
            yield Hanging("", "It is billed from the moment it is there until you delete it.")
        beside = ", ".join(row.what for row in billed.BESIDE_CHIPS[:3])
        yield Hanging("", f"Beside its chips, these cost something of their own: {beside}.")
        for note in draft.grant_notes(self._place.grant, self._now):
            yield Hanging("", visible(note))
        yield Hanging("", "")
        yield Hanging("", f"In the project {visible(project.name)}. The same with gcloud:")
        for command in tpu_work.creating(requests, project).commands:
            for line in words.command_lines(command, max(self.size.width - 4, 20)):
                yield Hanging("", plain(line))

    def _answered(self, yes: bool | None) -> None:  # noqa: FBT001  Textual's callback
        """Ask for it, on a screen that takes the place of the form."""
        requests, project = self.draft.requests(), self._place.project
        if yes and requests and project:
            app: Any = self.tutor
            app.switch_screen(Following(tpu_work.creating(requests, project)))

    def on_resize(self) -> None:
        """Lay the command out anew."""
        self._show()
