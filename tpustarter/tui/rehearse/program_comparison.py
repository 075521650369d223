"""The programs of one file side by side, such as one step with several shardings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tpustarter.rehearsal.comparison import compare_programs
from tpustarter.rehearsal.result_fields import ComparedProgram
from tpustarter.rehearsal.text import comparison_text
from tpustarter.tui.kit.text_layout import LaidOutLines, style_sentence
from tpustarter.tui.rehearse.answer_table import RehearsalAnswers

Piece = LaidOutLines | Content


def compare_alternatives(answers: RehearsalAnswers, tpu: str) -> Iterator[Piece]:
    """Yield the table of all programs of the user for a TPU; nothing for fewer than two."""
    rows = compare_programs([one for one in answers.results if one["check"] is None], tpu)
    if len(rows) < 2:
        return
    yield ComparedPrograms(rows, tpu)
    yield style_sentence(comparison_text.MEANING)
    yield Content("")


class ComparedPrograms(LaidOutLines):
    """A row for each program, the best one marked."""

    def __init__(self, rows: Sequence[ComparedProgram], tpu: str) -> None:
        self._rows, self._tpu = rows, tpu

    def lines(self, width: int) -> list[Content]:
        head, *lines = comparison_text.format_table(self._tpu, self._rows, width)
        styled = [Content.styled(head, "$muted"), *map(Content, lines)]
        return [line.truncate(max(width, 1), ellipsis=True) for line in styled]
