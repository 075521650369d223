"""The code of a block: as the lesson has it, or as the learner has changed it, in an editor."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Selection

from tpustarter.learning.blocks import Block
from tpustarter.learning.drafts import Draft
from tpustarter.tui.editor import Editor, has_gap, place_to_edit
from tpustarter.tui.plain import plain, plain_source
from tpustarter.tui.reading import coloured, marked
from tpustarter.tui.wrapped_code import CodeText


class BlockCode(Vertical):
    """Code that can be typed into, and brought back to what the lesson says."""

    def __init__(self, block: Block, draft: Draft | None) -> None:
        super().__init__()
        self._block = block
        self._edited = draft.code if draft else None
        self._is_old_draft = draft is not None and not draft.fits(block)
        self._has_gap = block.answer is not None and has_gap(block.code, block.answer)
        self._editor: Editor | None = None
        self._typed_at: Selection | None = None
        """Where the learner typed last."""
        self._is_numbered = False
        """Whether an error has named a line: numbers stay from then on, so that no letter that is
        typed moves the code to make room for them."""
        self.taken_back: str | None = None
        """What was typed before the lesson's code was brought back."""

    def compose(self) -> Iterable[Widget]:
        """Yield the code."""
        yield CodeText(coloured(plain(self.text)), classes="code")

    @property
    def text(self) -> str:
        """What would run now."""
        if self._editor:
            return self._editor.text
        return self._block.code if self._edited is None else self._edited

    @property
    def exact(self) -> str:
        """The same; the lesson's own code is not as the editor would show it."""
        return self.text if self.is_edited else self._block.code

    @property
    def is_edited(self) -> bool:
        """Whether it is no longer what the lesson says."""
        return self.text.rstrip() not in (
            self._block.code.rstrip(),
            plain_source(self._block.code).rstrip(),  # as the editor shows it
        )

    @property
    def is_outdated(self) -> bool:
        """Whether the lesson has other code by now than the one that was changed."""
        return self.is_edited and self._is_old_draft

    @property
    def waits_for_change(self) -> bool:
        """Whether the lesson asks to change it, and nobody has."""
        return self._block.is_try and not self.is_edited

    @property
    def has_gap(self) -> bool:
        """Whether it waits for the learner to fill something in, and can't run before that."""
        return self.waits_for_change and self._has_gap

    @property
    def is_editing(self) -> bool:
        """Whether it can be typed into now."""
        return self._editor is not None

    async def edit(self) -> None:
        """Let the learner type: what follows this key goes into the editor."""
        code = plain_source(self.text)
        code = code.rstrip("\n") if self._block.is_try else code
        editor = self._editor = Editor(code, first_line=1 if self._is_numbered else None)
        self.query_one(".code").display = False
        place = place_to_edit(code, self._block.answer) if self._block.answer else None
        editor.preselect(self._typed_at or place or Selection.cursor(editor.document.end))
        editor.to_change_at = place if self.waits_for_change else None
        await self.mount(editor)
        self.screen.set_focus(editor)

    def end_edit(self) -> None:
        """Keep what was typed."""
        if self._editor:
            self._edited, self._typed_at = self._editor.text, self._editor.selection
            self._show()

    def reset(self) -> None:
        """Bring the lesson's code back, and keep what was typed for `restore`."""
        self.taken_back = self.text
        self._edited, self._typed_at, self._is_old_draft = None, None, False
        self._show()

    def restore(self) -> None:
        """Bring back what was typed before `reset`."""
        self._edited, self.taken_back = self.taken_back, None
        self._show()

    @property
    def can_restore(self) -> bool:
        """Whether there is something to bring back, and nothing was typed since."""
        return self.taken_back is not None and not self.is_edited and not self.is_editing

    def _show(self) -> None:
        """Show the code where the editor was."""
        if self._editor:
            self._editor.remove()
        self._editor = None
        self.query_one(".code").display = True

    def paint(self, rows: Collection[int], *, is_done: bool) -> None:
        """Show the code with some of its rows marked.

        Args:
            rows: Those that an error is about.
            is_done: Whether it is all that the lesson asks for, as it stands.
        """
        self._is_numbered |= bool(rows)
        if self._editor:
            self._editor.mark(rows)
            self._editor.show_line_numbers = self._is_numbered
            self._editor.is_done = is_done
        else:  # out of sight it would lay the page out anew for each letter
            self.query_one(".code", Static).update(marked(coloured(plain(self.text)), rows))
