"""The widget of the TPU form: its fields with errors and offers, and the result panels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.machine import tpus
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence
from tpustarter.tui.tpus import offers
from tpustarter.tui.tpus.form_fields import ChosenField, TypedField, find_last_word
from tpustarter.tui.tpus.offers import FetchedNames
from tpustarter.tui.tpus.tpu_draft import FIELDS, LABELS, NOTES, OF_TIER, TpuDraft

PANELS = {"command": "The same with gcloud", "asked": "What it is", "then": "After you have asked"}
"""The panels below or next to the fields, with their titles."""
NARROW = 80
"""Columns below which the note on a field is placed below it."""
NO_ZONES = "Such as us-central1-a. Google's list appears here once it is read, with a project."
OF_GRANT = "from your TRC grant, in its order"


class FormView(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The fields, and the panels computed from them."""

    def __init__(self) -> None:
        super().__init__(id="form")

    def compose(self) -> Iterator[Widget]:
        with Vertical(id="fields", classes="panel") as fields:
            fields.border_title = "The TPU"
            for field, note in FIELDS.items():
                yield from self._field(field, note)
        with Vertical(id="outcome"):
            for name, title in PANELS.items():
                panel = Static("", id=name, classes="panel")
                panel.border_title, panel.display = title, False
                yield panel

    def show_outcome(self, name: str, lines: Iterable[LaidOutLines]) -> None:
        """Show lines in a panel, or hide the panel if there are none."""
        pieces, panel = list(lines), self.query_one(f"#{name}", Static)
        panel.display = bool(pieces)
        panel.update(StackedText(pieces))

    def _field(self, field: str, note: str | tuple[str, ...]) -> Iterator[Widget]:
        with Horizontal(classes="field", id=f"row-{field}"):
            yield Static(Content(f"{LABELS.get(field, field):<10}"), classes="label")
            if isinstance(note, str):
                yield TypedField(id=f"field-{field}")
            else:
                yield ChosenField(note, id=f"field-{field}")
            yield Static("", classes="note", id=f"note-{field}")
        for what in ("below", "error", "offer"):
            line = Static("", classes=f"field-{what}", id=f"{what}-{field}")
            line.display = False
            yield line

    def find_field(self, field: str) -> TypedField:
        """Return a typed field by its name."""
        return self.query_one(f"#field-{field}", TypedField)

    @property
    def tier(self) -> ChosenField:
        return self.query_one("#field-tier", ChosenField)

    @property
    def draft(self) -> TpuDraft:
        """The current values of all fields."""
        # Each form field has the type of the draft's field.
        widgets: dict[str, Any] = {field: self.query_one(f"#field-{field}") for field in FIELDS}
        return TpuDraft(**{field: widget.value for field, widget in widgets.items()})

    def fill(self, draft: TpuDraft) -> None:
        """Fill in the values of a draft."""
        for field, note in FIELDS.items():
            if isinstance(note, str):
                self.find_field(field).value = getattr(draft, field)
            else:
                self.query_one(f"#field-{field}", ChosenField).choose(getattr(draft, field))

    def errors(self, draft: TpuDraft) -> dict[str, str]:
        """Return the errors of a draft, except for a word that is still being typed."""
        errors = draft.errors()
        for field in ("type", "zones"):
            line = self.find_field(field)
            if line.has_focus and any(
                word.startswith(find_last_word(line.value)) for word in line.offered.words
            ):
                errors.pop(field, None)
        return errors

    def show(self, draft: TpuDraft, *, of_grant: bool) -> None:
        """Show the notes and errors of all fields.

        Args:
            draft: The current values.
            of_grant: True if the zones are those of the TRC grant.
        """
        errors = self.errors(draft)
        for field in OF_TIER:
            self.query_one(f"#row-{field}").display = field not in draft.hidden
        for field, note in FIELDS.items():
            error = self.query_one(f"#error-{field}", Static)
            error.update(HangingText(" " * 10 + "! ", style_sentence(errors.get(field, ""))))
            error.display = field in errors
            if isinstance(note, str):
                self._note(field, note)
            else:
                self._note(field, NOTES[getattr(draft, field)])
                self._offer(field, f"One of: {', '.join(note)}. Space takes the next one.")
        if tpu := draft.tpu:
            chips = phrases.format_count(tpu.chips, "chip")
            hosts = phrases.format_count(tpu.hosts, "host")
            self._note("type", f"{tpu.name}: {chips}, {hosts}")
        if of_grant:
            self._note("zones", OF_GRANT)

    def _note(self, field: str, text: str) -> None:
        """Show a field's note next to it, or, on a narrow screen, below the focused field."""
        is_narrow = self.screen.size.width < NARROW
        beside = "" if is_narrow else f" {text}"
        self.query_one(f"#note-{field}", Static).update(style_sentence(beside))
        line = self.query_one(f"#below-{field}", Static)
        line.update(style_sentence(text))
        line.display = is_narrow and bool(text) and self.query_one(f"#field-{field}").has_focus

    def show_offers(self, field: str, known: FetchedNames | None, now: datetime) -> None:
        """Set the suggestions of a field to Google's offers, and list them if it is focused."""
        line = self.find_field(field)
        typed = find_last_word(line.value)
        parts = list(offers.describe_offers(known, typed, now)) if known else []
        words = known.words if known else ()
        if field == "type" and not words:
            parts.append(offers.describe_documented(typed))
            words = tpus.list_type_names()
        elif field == "zones" and not parts:
            parts.append(NO_ZONES)
        self._offer(field, " ".join(parts))
        line.set_suggestions(words)

    def _offer(self, field: str, text: str) -> None:
        """Show the possible values of a field below it, if it is focused."""
        shown = self.query_one(f"#offer-{field}", Static)
        shown.display = bool(text) and self.query_one(f"#field-{field}").has_focus
        shown.update(HangingText(" " * 10, Content.styled(escape_text(text), "$muted")))

    def go_to(self, field: str) -> None:
        """Focus a field by its name."""
        self.screen.set_focus(self.query_one(f"#field-{field}"))
