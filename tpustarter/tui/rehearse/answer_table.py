"""The table of a rehearsal: programs by TPUs, with a word per cell and one marked cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import OptionList

from tpustarter.rehearsal.programs.device_count_mismatch import find_device_count_mismatch
from tpustarter.rehearsal.result_fields import FittingSize, ResultFields
from tpustarter.rehearsal.text import rehearsal_text
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import REVERSE, DetailRows, Row
from tpustarter.tui.kit.text_layout import status_word

STYLES = {"compiles": "pass", "does-not-fit": "fail", "refused": "fail", "error": "error"}
LEAST_LABEL = 14
LEAST_CELL = 5
"""Columns that hold the names of most TPUs, and seconds such as `..12s`."""

Program = tuple[str | None, str]
"""Check, or None for a user's program, and program, which is empty until the first answer names
it."""
Cell = tuple[str, str]
"""A word, and the status that decides its colour."""


def _names(left_out: str, name: str) -> bool:
    """Return whether an entry names a program, alone or in `torch_xla.* (9 checks)`."""
    group, star, _ = left_out.partition("*")
    return left_out == name or bool(star and name.startswith(group))


class RehearsalAnswers:
    """The answers for each program on each TPU."""

    def __init__(self, programs: Iterable[Program], tpus: Sequence[str]) -> None:
        self.tpus = tuple(tpus)
        self.results: list[ResultFields] = []
        self.skipped: list[dict[str, str]] = []
        """Programs left out, each with `name`, `tpu` and `reason`."""
        self.busy = True
        """True if answers are still to come."""
        self.is_whole = False
        """True if the rehearsal ran to its end, and no cell waits for an answer any more."""
        self._rows: dict[Program, dict[str, ResultFields]] = {program: {} for program in programs}
        self._checks = [check for check, _ in self._rows]
        self._seconds: dict[tuple[Program, str], float] = {}
        self._fits: dict[tuple[Program, str], FittingSize] = {}

    @property
    def programs(self) -> list[Program]:
        """The programs, grouped by check."""
        return sorted(self._rows, key=lambda program: self._checks.index(program[0]))

    def record_running(self, check: str | None, program: str, tpu: str, seconds: float) -> None:
        """Record a running compilation, and its seconds so far."""
        if check not in self._checks or tpu not in self.tpus:
            return
        if program == check:  # its programs are not listed yet
            program = next(p for c, p in self._rows if c == check)
        self._seconds[self._add_row(check, program), tpu] = seconds

    def record_answer(self, result: ResultFields) -> None:
        """Store the compiler's answer for one program and one TPU."""
        check, program, tpu = result["check"], result["program"], result["tpu"]
        key = self._add_row(check, program)
        row = self._rows[key]
        if tpu not in row or row[tpu]["status"] == "compiles":  # a worse answer counts
            row[tpu] = result
        self.results.append(result)
        for job, job_tpu in list(self._seconds):
            if job_tpu == tpu and (job == key or (check == program and job[0] == check)):
                del self._seconds[job, job_tpu]

    def record_fit(self, fit: FittingSize) -> None:
        """Store the largest size of a program for one TPU, which may be provisional."""
        self._fits[self._add_row(None, fit.program), fit.tpu] = fit

    @property
    def fits(self) -> list[FittingSize]:
        """The largest sizes that fit, if the rehearsal searches for them."""
        return list(self._fits.values())

    def fit(self, program: Program, tpu: str) -> FittingSize | None:
        """Return the largest size of a program for a TPU, or None if none was tried."""
        return self._fits.get((program, tpu))

    def _add_row(self, check: str | None, program: str) -> Program:
        """Add a row for a program, replacing its check's unnamed row, and return the program."""
        if program and not self._rows.get((check, ""), True):
            del self._rows[check, ""]
        self._rows.setdefault((check, program), {})
        return check, program

    def sort_programs(self, results: Sequence[ResultFields]) -> None:
        """Sort the user's programs into the order of the results."""
        self.results = list(results)
        if None in self._checks:
            keys: list[Program] = [(None, str(one["program"])) for one in results]
            order = {key: number for number, key in reversed([*enumerate(keys)])}
            self._rows = {
                key: self._rows[key]
                for key in sorted(self._rows, key=lambda key: order.get(key, len(keys)))
            }

    def record_skipped(self, skipped: Iterable[dict[str, str]]) -> None:
        """Record the programs left out, with rows for those of the user that have none."""
        self.skipped = list(skipped)
        for entry in self.skipped if None in self._checks else ():
            if entry["name"] not in self._checks:
                self._rows.setdefault((None, entry["name"]), {})

    def result(self, program: Program | None, tpu: str) -> ResultFields | None:
        """Return the compiler's answer for a program and a TPU, or None if there is none yet."""
        return self._rows.get(program, {}).get(tpu) if program else None

    def seconds(self, program: Program, tpu: str) -> float | None:
        """Return the seconds for which a cell has been compiling, or None if it isn't."""
        return self._seconds.get((program, tpu)) if self.busy else None

    def find_skip_reason(self, program: Program, tpu: str) -> str | None:
        """Return the reason why a program was not compiled for a TPU, or None if it was."""
        reasons = (
            entry["reason"]
            for entry in self.skipped
            if tpu in entry["tpu"].split(", ") and _names(entry["name"], program[0] or program[1])
        )
        fit = self.fit(program, tpu)
        unsearched = fit.reason if fit and not fit.tried else None
        return next(reasons, unsearched) or self._why_not_for(program, tpu)

    def _why_not_for(self, program: Program, tpu: str) -> str | None:
        """Return why a check or file has no such program for this TPU, or None if it may."""
        results = [result for result in self.results if result["check"] == program[0]]
        sizes = find_device_count_mismatch(tpu, program[1], results) if self.is_whole else None
        return (
            f"it is for {phrases.format_count(sizes[0], 'device')}, and {tpu} has {sizes[1]}"
            if sizes
            else None
        )

    def cell(self, program: Program, tpu: str) -> Cell:
        """Return the word shown in a cell, and the status that decides its colour."""
        result, fit = self.result(program, tpu), self.fit(program, tpu)
        if fit and fit.finished and fit.largest:
            return f"{fit.largest:,}", STYLES["compiles"]
        if result:
            return rehearsal_text.WORDS[result["status"]], STYLES[result["status"]]
        seconds = self.seconds(program, tpu)
        if seconds is not None:
            return f"{seconds:.0f}s".rjust(LEAST_CELL, "."), "run"
        if self.find_skip_reason(program, tpu):
            return "skip", "skip"
        return ("wait" if self.busy else "-"), "wait"


def format_label(program: Program) -> str:
    """Return the label of a program."""
    check, name = program
    check_name = check.partition(".")[2] if check else ""
    if name in ("", check):
        return escape_text(check_name or "your program")
    return escape_text(f"{check_name}: {name}" if check_name else name)


def shorten_label(text: str, width: int) -> str:
    """Return a label shortened to a width; `check: program` keeps its program."""
    if len(text) <= width:
        return text
    head, colon, tail = text.partition(": ")
    room = width - len(tail) - 3
    if colon and room >= 4:
        return f"{head[:room]}…: {tail}"
    return f"{text[: width - 1]}…"


@dataclass(frozen=True)
class TpuColumns:
    """The visible TPU columns, and their widths."""

    label: int
    widths: tuple[int, ...]
    first: int
    last: int
    """One more than the last visible column."""
    gap: int

    @property
    def columns_in_sight(self) -> range:
        """The indices of the visible columns."""
        return range(self.first, self.last)

    def find_left_edge(self, column: int) -> int:
        """Return the screen position at which a column begins."""
        before = self.widths[self.first : column]
        return self.label + sum(before) + self.gap * (len(before) + 1)


def choose_columns(labels: Sequence[str], widths: Sequence[int], width: int, at: int) -> TpuColumns:
    """Return the columns that fit into a width, including the one with index `at`."""
    longest = max(map(len, labels), default=0)
    gap = 2 if longest + sum(widths) + 2 * len(widths) <= width else 1
    room = width - min(longest, max(LEAST_LABEL, width - sum(widths) - gap * len(widths)))
    first = 0
    while first < at and sum(widths[first : at + 1]) + gap * (at + 1 - first) > room:
        first += 1
    last = at + 1
    while last < len(widths) and sum(widths[first : last + 1]) + gap * (last + 1 - first) <= room:
        last += 1
    used = sum(widths[first:last]) + gap * (last - first)
    return TpuColumns(min(longest, max(width - used, 1)), tuple(widths), first, last, gap)


class RehearsalTable(DetailRows):
    """A table of programs by TPUs; up and down move by program, left and right by TPU."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", "choose", key_display="Arrows", tooltip="program and TPU"),
    ]

    @dataclass
    class SelectionMoved(Message):
        """Another TPU is marked, or the width has changed since the table was drawn."""

    def __init__(self, known: RehearsalAnswers) -> None:
        super().__init__(id="rows")
        self.known = known
        self._marked_column = 0
        self._width = 0
        """Width in columns at the last drawing."""
        self._columns = choose_columns([], [], 0, 0)

    @property
    def tpu(self) -> str:
        """The TPU of the marked column."""
        return self.known.tpus[self._marked_column]

    @property
    def program(self) -> Program | None:
        """The program of the marked row."""
        name = self.highlighted_id
        return next((program for program in self.known.programs if _row_id(program) == name), None)

    def show_known(self) -> Content:
        """Draw the answers, and return the header line with the names of the TPUs."""
        answers, programs = self.known, self.known.programs
        labels = [format_label(program) for program in programs]
        cells = {tpu: [answers.cell(program, tpu) for program in programs] for tpu in answers.tpus}
        widths = [
            max(LEAST_CELL, len(tpu), *(len(text) for text, _ in column))
            for tpu, column in cells.items()
        ]
        self._width = self.scrollable_content_region.width
        width = max(self._width, LEAST_LABEL)
        columns = self._columns = choose_columns(labels, widths, width, self._marked_column)
        visible_columns = [(answers.tpus[n], columns.widths[n]) for n in columns.columns_in_sight]
        gap = " " * columns.gap
        rows: list[Row] = []
        for number, program in enumerate(programs):
            line = Content(f"{shorten_label(labels[number], columns.label):<{columns.label}}")
            for tpu, room in visible_columns:
                text, status = cells[tpu][number]
                line += Content(gap) + status_word(status, text, room)
            rows.append(Row(_row_id(program), line))
        mark: Program | None = None
        if self.program is None and self.highlighted_id:
            # The answers have named the programs of the marked check.
            check = self.highlighted_id.partition("\0")[0]
            mark = next((program for program in programs if (program[0] or "") == check), None)
        self.show(rows, highlight=_row_id(mark) if mark else None)
        return self._header_line(columns, gap)

    def on_resize(self) -> None:
        """Request a redraw if the width has changed, such as when the details are closed."""
        if self.scrollable_content_region.width != self._width:
            self.post_message(self.SelectionMoved())

    def _header_line(self, columns: TpuColumns, gap: str) -> Content:
        tpus = self.known.tpus
        position = f"{columns.first + 1}-{columns.last} of {len(tpus)} TPUs"
        text = shorten_label(
            "" if len(columns.columns_in_sight) == len(tpus) else position, columns.label
        )
        line = Content.styled(f"{text:<{columns.label}}", "$muted")
        for number in columns.columns_in_sight:
            style = "bold underline" if number == self._marked_column else ""
            name = Content.styled(tpus[number], style)
            line += Content(gap) + name.pad_right(columns.widths[number] - len(tpus[number]))
        return line

    def action_move(self, step: int) -> None:
        column = min(max(self._marked_column + step, 0), len(self.known.tpus) - 1)
        if column != self._marked_column:
            self._marked_column = column
            self.post_message(self.SelectionMoved())

    def render_line(self, y: int) -> Strip:
        """Reverse only the marked cell, not its whole row."""
        strip = OptionList.render_line(self, y)
        first = next(iter(strip), None)
        option = first.style.meta.get("option") if first and first.style else None
        columns = self._columns
        if option is None or option != self.highlighted or not self.has_focus:
            return strip
        if self._marked_column not in columns.columns_in_sight:
            return strip
        left = columns.find_left_edge(self._marked_column)
        right = left + columns.widths[self._marked_column]
        marked = strip.crop(left, right).apply_style(REVERSE)
        return Strip.join([strip.crop(0, left), marked, strip.crop(right)])


def _row_id(program: Program) -> str:
    return f"{program[0] or ''}\0{program[1]}"
