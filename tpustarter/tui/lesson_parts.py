"""What the page of a lesson is made of: a widget for each part of its text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from textual.widget import Widget
from textual.widgets import Static

from tpustarter.learning.blocks import Part
from tpustarter.tui.block import BlockView
from tpustarter.tui.folded import FigureView, Fold
from tpustarter.tui.lines import Stack, prose
from tpustarter.tui.opened import Opened
from tpustarter.tui.plain import plain_source
from tpustarter.tui.question import QuestionView
from tpustarter.tui.reading import LessonText


class Hint(Static):
    """What a screen adds to a lesson: what to press there."""

    def __init__(self, piece: Part) -> None:
        super().__init__(Stack([prose(piece.text).stylize_before("$muted")]), classes="hint")
        self.exercise = piece.exercise
        """The name of the exercise that it leads to, if any."""


def widgets_of(opened: Opened, platform: str) -> Iterator[Widget]:
    """Yield what shows a lesson, in order: text, blocks, questions, figures, and folds of them."""
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
            folded = Fold(fold, *widgets)
            if isinstance(last, BlockView) and folded.is_answer:
                last.answer = folded
            yield folded
        else:
            yield from widgets
            last = widgets[-1]


def _widget(
    piece: Part, opened: Opened, platform: str, count: int, *, is_predicted: bool
) -> Widget:
    """Return what shows a part; what is to be predicted or found is told once it ran."""
    if piece.quiz:
        return QuestionView(piece.quiz, opened.known.quizzes.get(piece.quiz.id, {}))
    if piece.block:
        known, draft = opened.known, opened.drafts.get(piece.block.id)
        return BlockView(
            piece.block, before=known.status(piece.block),
            draft_before=known.status_of(piece.block, draft.code) if draft else None,
            platform=platform, count=count, draft=draft, is_predicted=is_predicted,
            printed_before=opened.printed.get(piece.block.id),
        )  # fmt: skip
    if piece.figure:
        return FigureView(piece.figure)
    if piece.kind == "hint":
        return Hint(piece)
    return LessonText(plain_source(piece.text), is_read=True)
