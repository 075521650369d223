"""A block's code, either the lesson's or the user's, with an editor."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Selection

from tpustarter.learning.content.blocks import Block
from tpustarter.learning.progress.drafts import BlockDraft
from tpustarter.tui.kit.editor import CodeEditor, find_edit_selection, has_gap
from tpustarter.tui.kit.markdown_text import colour_code, mark_rows
from tpustarter.tui.kit.safe_text import clean_text, plain_source
from tpustarter.tui.kit.wrapped_code import CodeText


class BlockCode(Vertical):
    """Code that can be edited and reset to the lesson's code."""

    def __init__(self, block: Block, draft: BlockDraft | None) -> None:
        super().__init__()
        self._block = block
        self._edited = draft.code if draft else None
        self._is_old_draft = draft is not None and not draft.is_current(block)
        self._has_gap = block.answer is not None and has_gap(block.code, block.answer)
        self._editor: CodeEditor | None = None
        self._typed_at: Selection | None = None
        """The editor's selection when it was last closed."""
        self._is_numbered = False
        """True once an error has named a line; the numbers then stay, to keep the code in place."""
        self.taken_back: str | None = None
        """The user's code before the last reset."""

    def compose(self) -> Iterable[Widget]:
        yield CodeText(colour_code(clean_text(self.text)), classes="code")

    @property
    def text(self) -> str:
        """The current code as shown in the editor."""
        if self._editor:
            return self._editor.text
        return self._block.code if self._edited is None else self._edited

    @property
    def exact_code(self) -> str:
        """The code to execute: if unedited, the lesson's exact text, which an editor may alter."""
        return self.text if self.is_edited else self._block.code

    @property
    def is_edited(self) -> bool:
        """True if the user has changed the lesson's code."""
        return self.text.rstrip() not in (
            self._block.code.rstrip(),
            plain_source(self._block.code).rstrip(),  # as shown in the editor
        )

    @property
    def is_outdated(self) -> bool:
        """True if the lesson's code has changed since the user edited it."""
        return self.is_edited and self._is_old_draft

    @property
    def waits_for_change(self) -> bool:
        """True if the block is a task whose code the user has not changed yet."""
        return self._block.is_try and not self.is_edited

    @property
    def has_gap(self) -> bool:
        """True if the code has a gap that must be filled before it can run."""
        return self.waits_for_change and self._has_gap

    @property
    def is_editing(self) -> bool:
        """True if the editor is open."""
        return self._editor is not None

    async def edit(self) -> None:
        """Open the editor and focus it immediately, so that it receives the next keys."""
        code = plain_source(self.text)
        code = code.rstrip("\n") if self._block.is_try else code
        editor = self._editor = CodeEditor(code, first_line=1 if self._is_numbered else None)
        self.query_one(".code").display = False
        place = find_edit_selection(code, self._block.answer) if self._block.answer else None
        editor.preselect(self._typed_at or place or Selection.cursor(editor.document.end))
        editor.to_change_at = place if self.waits_for_change else None
        await self.mount(editor)
        self.screen.set_focus(editor)

    def end_edit(self) -> None:
        """Close the editor and keep its code."""
        if self._editor:
            self._edited, self._typed_at = self._editor.text, self._editor.selection
            self._show()

    def reset(self) -> None:
        """Restore the lesson's code, and keep the user's code for `restore`."""
        self.taken_back = self.text
        self._edited, self._typed_at, self._is_old_draft = None, None, False
        self._show()

    def restore(self) -> None:
        """Restore the user's code from before `reset`."""
        self._edited, self.taken_back = self.taken_back, None
        self._show()

    @property
    def can_restore(self) -> bool:
        """True if there is code to restore and the code has not been edited since the reset."""
        return self.taken_back is not None and not self.is_edited and not self.is_editing

    def _show(self) -> None:
        if self._editor:
            self._editor.remove()
        self._editor = None
        self.query_one(".code").display = True

    def paint(self, rows: Collection[int], *, is_done: bool) -> None:
        """Show the code with some rows marked.

        Args:
            rows: The rows to mark, because of an error.
            is_done: Whether the code has passed its task.
        """
        self._is_numbered |= bool(rows)
        if self._editor:
            self._editor.mark(rows)
            self._editor.show_line_numbers = self._is_numbered
            self._editor.is_done = is_done
        else:  # only if visible, because an update would cause a layout for each typed letter
            self.query_one(".code", Static).update(
                mark_rows(colour_code(clean_text(self.text)), rows)
            )
