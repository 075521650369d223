"""A window with one claim of older tutorials, and the state of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.session import session_of
from tpustarter.tui.kit.markdown_text import LessonText
from tpustarter.tui.kit.page import Sheet
from tpustarter.tui.kit.safe_text import plain_source

if TYPE_CHECKING:
    from tpustarter.learning.content.older_claims import TutorialClaim


class OlderClaim(Sheet):
    """A claim of older tutorials, and the state of today."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
    ]

    def __init__(self, claim: TutorialClaim) -> None:
        self._lesson = (claim.lesson or "").partition("#")[0]
        fields = {"Then": claim.then, "Now": claim.now}
        fields |= {"Lesson": f"`{self._lesson}`"} if self._lesson else {}
        fields |= {"Shown by": f"`{claim.proof}`"} if claim.proof else {}
        fields |= {"Source": claim.source}
        text = "\n\n".join(f"**{name}:** {value}" for name, value in fields.items())
        title = escape_text(claim.heading)
        super().__init__(title, LessonText(plain_source(text)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    def action_lesson(self) -> None:
        """Open the lesson in place of the one below this window."""
        session_of(self).go.replace_with_lesson(self._lesson)
