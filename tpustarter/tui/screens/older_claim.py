"""One claim of older tutorials, and what is true today."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType

from tpustarter.terminal import visible
from tpustarter.tui.plain import plain_source
from tpustarter.tui.reading import LessonText
from tpustarter.tui.screens.page import Sheet
from tpustarter.tui.tutor import Tutor
from tpustarter.tui.widgets import get_app

if TYPE_CHECKING:
    from tpustarter.learning.then_now import Claim


class OlderClaim(Sheet):
    """What older tutorials say of one thing, and what is true today."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
    ]

    def __init__(self, claim: Claim) -> None:
        self._lesson = (claim.lesson or "").partition("#")[0]
        fields = {"Then": claim.then, "Now": claim.now}
        fields |= {"Lesson": f"`{self._lesson}`"} if self._lesson else {}
        fields |= {"Shown by": f"`{claim.proof}`"} if claim.proof else {}
        fields |= {"Source": claim.source}
        text = "\n\n".join(f"**{name}:** {value}" for name, value in fields.items())
        title = visible(f"{claim.id}  {claim.status}")
        super().__init__(title, LessonText(plain_source(text)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the lesson where there is one."""
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    def action_lesson(self) -> None:
        """Open the lesson in the place of the sheet."""
        cast("Tutor", get_app(self)).go.to_lesson_instead(self._lesson)
