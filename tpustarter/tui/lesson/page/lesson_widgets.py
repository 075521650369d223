"""The widgets of a lesson's page, one for each part of the lesson."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from textual.widget import Widget
from textual.widgets import Static

from tpustarter.learning.content.blocks import ANSWER, HINT, LessonPart
from tpustarter.learning.progress.lesson_progress import QuizRecord
from tpustarter.tui.kit.markdown_text import LessonText
from tpustarter.tui.kit.safe_text import plain_source
from tpustarter.tui.kit.text_layout import StackedText, style_sentence
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.opened_lesson import OpenedLesson
from tpustarter.tui.lesson.page.folded_parts import FigureView, FoldedPart
from tpustarter.tui.lesson.page.question import QuestionView


class KeyHint(Static):
    """A line about a key, added to the lesson by the screen."""

    def __init__(self, piece: LessonPart) -> None:
        lines = [style_sentence(line).stylize_before("$muted") for line in piece.text.split("\n")]
        super().__init__(StackedText(lines), classes="hint")
        self.is_setup_offer = piece.is_setup_offer
        self.exercise = piece.exercise
        """The name of the exercise that it leads to, or ""."""


def make_widgets(opened: OpenedLesson, platform: str) -> Iterator[Widget]:
    """Yield a lesson's widgets in order: text, blocks, questions, figures and folds."""
    kinds = [""]
    last: Widget | None = None
    count = sum(1 for part in opened.parts if part.block and part.block.number)
    for fold, pieces in groupby(opened.pieces(), lambda piece: piece.fold):
        widgets: list[Widget] = []
        for piece in pieces:
            is_task = piece.block is not None and piece.block.is_try
            is_predicted = kinds[-1] == "quiz" or is_task
            widgets.append(_widget(piece, opened, platform, count, is_predicted=is_predicted))
            kinds.append(piece.kind)
        if fold:
            folded = FoldedPart(fold, *widgets)
            if isinstance(last, BlockView) and fold in (HINT, ANSWER):
                last.help_folds.append(folded)
            yield folded
        else:
            yield from widgets
            last = widgets[-1]


def _widget(
    piece: LessonPart, opened: OpenedLesson, platform: str, count: int, *, is_predicted: bool
) -> Widget:
    """Create a part's widget; `is_predicted` hides the expected output until the block has run."""
    if piece.quiz:
        return QuestionView(piece.quiz, opened.known.quizzes.get(piece.quiz.id, QuizRecord()))
    if piece.block:
        known, draft = opened.known, opened.drafts.get(piece.block.id)
        return BlockView(
            piece.block,
            before=known.status(piece.block),
            draft_before=known.status_of(piece.block, draft.code) if draft else None,
            platform=platform,
            count=count,
            draft=draft,
            is_predicted=is_predicted,
            printed_before=opened.printed.get(piece.block.id),
        )
    if piece.figure:
        return FigureView(piece.figure)
    if piece.kind == "hint":
        return KeyHint(piece)
    return LessonText(plain_source(piece.text), is_read=True)
