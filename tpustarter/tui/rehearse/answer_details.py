"""The details of a rehearsal: one answer, or a program on all TPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tpustarter.rehearsal.comparison import compare_programs
from tpustarter.rehearsal.result_fields import (
    ComparedProgram,
    FittingSize,
    OversizedProgram,
    ResultFields,
    SizedProgram,
)
from tpustarter.rehearsal.text import (
    bound_text,
    comparison_text,
    fit_text,
    memory_bar,
    model_estimate,
    rehearsal_headline,
    rehearsal_text,
    roofline,
)
from tpustarter.rehearsal.text.donation_text import describe_donation
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.explain.failed_run import FailedRun, make_program_failure
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word, style_sentence
from tpustarter.tui.rehearse import memory_picture
from tpustarter.tui.rehearse.answer_table import (
    STYLES,
    Program,
    RehearsalAnswers,
    format_label,
)

LABEL = 8
LESSON = "jax/memory-and-donation"
"""The lesson named when a program does not fit."""
ADVICE = "smaller batch, bfloat16, jax.checkpoint, or shard over more devices"

BAR, WIDE_BAR, WIDEST_BAR = 20, 36, 60
"""Widths in columns of the memory bar in the comparison of TPUs: the minimum, the width for which
the last columns are dropped, and the maximum."""
WIDEST_ROOFLINE = 72
BEFORE_BAR = 6
"""Number of table columns that a wide bar never displaces."""
WIDE_ENOUGH = 72
"""Width in columns from which the comparison has a bar."""

Piece = LaidOutLines | Content


def describe_answer_cell(
    answers: RehearsalAnswers, program: Program, tpu: str, *, names_words: bool = True
) -> Iterator[Piece]:
    """Yield the answer for one program and one TPU, or the reason why there is none.

    Args:
        answers: The answers so far.
        program: The program.
        tpu: The TPU.
        names_words: True to name the key that shows the compiler's own words.
    """
    result, fit = answers.result(program, tpu), answers.fit(program, tpu)
    yield Content.styled(f"{format_label(program)} for {tpu}", "bold")
    yield from _describe_fit(fit)
    if result is None:
        yield Content(_explain_missing(answers, program, tpu))
        yield from _list_tried(fit)
        return
    text, status = rehearsal_text.WORDS[result["status"]], STYLES[result["status"]]
    yield HangingText(
        status_word(status, text, LABEL), style_sentence(rehearsal_text.summarize_answer(result))
    )
    yield from _same_failure(answers, program, tpu)
    if result["status"] == "compiles":
        for note in rehearsal_text.list_notes(result):
            if note.label != rehearsal_text.LARGEST:  # the table of arrays has it
                yield HangingText(_dim_label(escape_text(note.label)), style_sentence(note.text))
        yield HangingText(
            _dim_label("model"), style_sentence(model_estimate.format_model_estimate(result))
        )
    if "hbm_bytes" in result:
        yield from _memory(result)
        yield RooflinePicture(result)
    if result["status"] == "does-not-fit":
        for line in rehearsal_text.describe_padding(result.get("buffers", [])):
            yield HangingText(_dim_label("padding"), style_sentence(line))
        yield from _advise(result)
    for note in result.get("notes", ()):
        yield HangingText(_dim_label("note"), style_sentence(note))
    if result["detail"] and names_words:
        yield HangingText(_dim_label("more"), "g shows the compiler's own words")
    yield from _list_tried(fit)


def _describe_fit(fit: FittingSize | None) -> Iterator[Piece]:
    if fit and fit.tried:
        yield HangingText(
            _dim_label("fit"), style_sentence(escape_text(fit_text.describe_fit(fit)))
        )


def _list_tried(fit: FittingSize | None) -> Iterator[Piece]:
    lines = list(fit_text.list_tried_sizes(fit)) if fit else []
    if lines:
        yield HangingText(_dim_label("tried"), "\n".join(lines))
    if fit and fit.finished:
        yield style_sentence(fit_text.LARGER_NOTE)


def _same_failure(answers: RehearsalAnswers, program: Program, tpu: str) -> Iterator[Piece]:
    """Yield the other TPUs on which a program is refused or broken for the same reason."""
    result = answers.result(program, tpu)
    if result is None or result["status"] not in ("refused", "error"):
        return
    found = ((other, answers.result(program, other)) for other in answers.tpus if other != tpu)
    same = [
        other
        for other, one in found
        if one and (one["status"], one["reason"]) == (result["status"], result["reason"])
    ]
    if same:
        yield HangingText(_dim_label("same"), f"on {phrases.join_words(same)} too")


def _advise(result: OversizedProgram) -> Iterator[Piece]:
    """Yield ways to make an oversized program fit."""
    yield HangingText(_dim_label("try"), ADVICE)
    if donated := describe_donation(result):
        yield HangingText(_dim_label("or"), style_sentence(donated))
    least = max(result["hbm_bytes"], result["hbm_limit_bytes"] + 1)
    if best := rehearsal_headline.find_larger_tpu(least, result.get("devices", 1)):
        text = f"{best.name} has {best.hbm_gib_per_device:.4g} GiB on a device"
        yield HangingText(_dim_label("or"), f"{text}: rehearse it for that TPU")
    yield HangingText(_dim_label("read"), f"{LESSON} (l)")


def _memory(result: SizedProgram) -> Iterator[Piece]:
    """Yield a memory bar for one device, and a line for each letter in it."""
    drawn = memory_picture.draw_memory(result, memory_picture.NARROWEST).plain
    if drawn:
        yield memory_picture.MemoryPicture(result)
    elif result["status"] == "compiles":
        return
    taken = memory_picture.list_parts(result)
    for part, size in zip(taken, rehearsal_text.memory_bar_sizes(taken), strict=True):
        if part.buffer is not None:
            text = rehearsal_text.format_array(part.buffer, size)
        elif memory_bar.OTHER in drawn:
            text = f"{size}  everything else"
        else:
            continue
        letter = memory_picture.paint_letter(part)
        yield HangingText(Content(" " * LABEL + " ") + letter + " ", escape_text(text))


class RooflinePicture(LaidOutLines):
    """A program on the roofline of its TPU; empty for a program without a bound."""

    def __init__(self, result: ResultFields) -> None:
        self._result = result

    def lines(self, width: int) -> list[Content]:
        lines = roofline.draw_roofline(self._result, min(width, WIDEST_ROOFLINE))
        return [Content(line).truncate(max(width, 1), ellipsis=True) for line in lines]


def _explain_missing(answers: RehearsalAnswers, program: Program, tpu: str) -> str:
    reason = answers.find_skip_reason(program, tpu)
    if reason:
        return f"Left out: {escape_text(reason)}."
    seconds = answers.seconds(program, tpu)
    if seconds is not None:
        return f"Being compiled for {seconds:.0f} s."
    return "It is waiting for its turn." if answers.busy else "No answer: it was not compiled."


def compiler_message(result: ResultFields | None) -> str:
    """Return the compiler's message, or else the reason of a failure; empty without either."""
    return clean_text(result["detail"] or result["reason"] or "") if result else ""


def find_failed_run(
    answers: RehearsalAnswers, program: Program | None, tpu: str
) -> FailedRun | None:
    """Return the failure of a refused or broken answer to explain, or None for any other."""
    result = answers.result(program, tpu)
    if program is None or result is None or result["status"] not in ("refused", "error"):
        return None
    return make_program_failure(
        f"{format_label(program)} for {tpu}", compiler_message(result), result["reason"] or ""
    )


def compare_tpus(answers: RehearsalAnswers, program: Program, tpu: str) -> Iterator[Piece]:
    """Yield the table of one program on every TPU, one line each, with `tpu` marked."""
    yield ProgramComparison(answers, program, tpu)
    yield Content.styled(f"{format_label(program)}, on one device of each TPU", "$muted")


class ProgramComparison(LaidOutLines):
    """The table of a program on every TPU, without the rightmost columns that do not fit."""

    _HEADS = (
        "",
        "",
        "needs",
        "it has",
        "temporaries",
        "at best",
        "estimate",
        "arguments",
        "code",
        "compiled in",
    )

    def __init__(self, answers: RehearsalAnswers, program: Program, tpu: str) -> None:
        self._answers, self._program, self._tpu = answers, program, tpu

    def lines(self, width: int) -> list[Content]:
        sizes = self._sizes()
        tpus = self._answers.tpus
        rows = [self._row(tpu, sizes) for tpu in tpus]
        widths = self._widths([texts for texts, _ in rows])
        bar = 0
        if width >= WIDE_ENOUGH and any(self._bar(tpu, BAR).plain.strip() for tpu in tpus):
            _shorten(widths, width - WIDE_BAR - 2, BEFORE_BAR)
            bar = BAR + 2
        _shorten(widths, width - bar, 3)
        if bar:
            bar = min(WIDEST_BAR + 2, width - _taken(widths))
        before = sum(widths[:2]) + 4
        head = _align(self._HEADS, widths)
        head = f"{head[:before]}  {'memory':<{bar}}{head[before + 2 :]}" if bar else head
        lines = [Content.styled(head, "$muted")]
        reasons: list[str] = []
        for tpu, (texts, status) in zip(tpus, rows, strict=True):
            mark = "> " if tpu == self._tpu else "  "
            failed = len(texts) == 3 and status in ("fail", "error")
            reasons.append(texts[2] if failed else "")
            line = Content(f"{mark}{tpu:<{widths[0]}}  ") + status_word(status, texts[1], widths[1])
            rest = texts[2] if len(texts) == 3 else _align(texts, widths)[before + 2 :]
            if reasons[-1] and reasons[-2:-1] == reasons[-1:]:
                rest = _SAME
            if bar and len(texts) > 3:
                line += Content("  ") + self._bar(tpu, bar - 2)
            line += Content(f"  {rest}".rstrip())
            lines.append(line.truncate(max(width, 1), ellipsis=True))
        column = self._HEADS.index("estimate")
        if column < len(widths) and any(texts[column:][:1] not in ([], ["-"]) for texts, _ in rows):
            lines.append(Content.styled(_ESTIMATE, "$muted").truncate(max(width, 1), ellipsis=True))
        return lines

    def _widths(self, rows: Sequence[Sequence[str]]) -> list[int]:
        """Return the width of each column; a reason spans columns and is not counted."""
        table = [self._HEADS, *(row[:2] if len(row) == 3 else row for row in rows)]
        return [max(len(row[n]) for row in table if len(row) > n) for n in range(len(self._HEADS))]

    def _bar(self, tpu: str, width: int) -> Content:
        result = self._answers.result(self._program, tpu)
        drawn = Content()
        if result and "hbm_bytes" in result:
            drawn = memory_picture.draw_memory(result, width)
        return drawn.pad_right(width - drawn.cell_length)

    def _sizes(self) -> dict[tuple[str, str], str]:
        """Return the memory needed on each TPU and the memory that it has, each in one unit."""
        needed: dict[tuple[str, str], int] = {}
        limits: dict[tuple[str, str], int] = {}
        for tpu in self._answers.tpus:
            result = self._answers.result(self._program, tpu)
            if result is None or "hbm_bytes" not in result:
                continue
            memory = result.get("memory", {})
            needed |= {(tpu, name): memory[name] for name in _PARTS if name in memory}
            needed[tpu, "needs"] = result["hbm_bytes"]
            limits[tpu, "it has"] = result["hbm_limit_bytes"]
        return {
            key: text
            for counts in (needed, limits)
            for key, text in zip(
                counts, rehearsal_text.format_sizes([*counts.values()]), strict=True
            )
        }

    def _row(self, tpu: str, sizes: dict[tuple[str, str], str]) -> tuple[list[str], str]:
        """Return the texts and the status of a TPU's line; three texts if the last is a reason."""
        answers = self._answers
        text, status = answers.cell(self._program, tpu)
        result = answers.result(self._program, tpu)
        if result is None:
            return [tpu, text, _explain_missing(answers, self._program, tpu)], status
        if "hbm_bytes" not in result:
            return [tpu, text, escape_text(rehearsal_text.summarize_answer(result))], status
        inside, *parts = [sizes.get((tpu, name), "?") for name in _PARTS]
        model_s = result["compiler_model_seconds"] if result["status"] == "compiles" else None
        model_ms = (model_s or 0) * 1e3
        model = f"{model_ms:.0f} ms" if model_ms >= 100 else f"{model_ms:.3g} ms"
        best = bound_text.summarize_bound(result)
        compiled = "stored" if result["cached"] else f"{result['seconds']:.1f} s"
        needs, limit = sizes[tpu, "needs"], sizes[tpu, "it has"]
        return [
            tpu,
            text,
            needs,
            limit,
            inside,
            best.partition(" (")[0] or "-",
            model if model_ms else "-",
            *parts,
            compiled,
        ], status


def compare_alternatives(answers: RehearsalAnswers, tpu: str) -> Iterator[Piece]:
    """Yield the table of all the user's programs for a TPU; nothing for fewer than two."""
    rows = compare_programs([one for one in answers.results if one["check"] is None], tpu)
    if len(rows) < 2:
        return
    yield ComparedPrograms(rows, tpu)
    yield style_sentence(comparison_text.MEANING)
    yield Content("")


class ComparedPrograms(LaidOutLines):
    """A table with a row for each program and the best one marked."""

    def __init__(self, rows: Sequence[ComparedProgram], tpu: str) -> None:
        self._rows, self._tpu = rows, tpu

    def lines(self, width: int) -> list[Content]:
        head, *lines = comparison_text.format_table(self._tpu, self._rows, width)
        styled = [Content.styled(head, "$muted"), *map(Content, lines)]
        return [line.truncate(max(width, 1), ellipsis=True) for line in styled]


_SAME = "the same"
"""Text instead of a reason that equals the previous line's."""
_ESTIMATE = "estimate: the compiler's own model of a run, not measured on a TPU"
_PARTS = ("temporaries", "arguments", "code")


def _taken(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * len(widths)


def _shorten(widths: list[int], width: int, least: int) -> None:
    """Remove the last columns until they fit, but keep a minimum number of columns."""
    while _taken(widths) > width and len(widths) > least:
        widths.pop()


def _align(texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        f"{text:<{width}}" if number < 2 else f"{text:>{width}}"
        for number, (text, width) in enumerate(zip(texts, widths, strict=False))
    ]
    return "  " + "  ".join(cells)


def _dim_label(name: str) -> Content:
    return Content.styled(f"{name}  " if len(name) >= LABEL else f"{name:<{LABEL}}", "$label")
