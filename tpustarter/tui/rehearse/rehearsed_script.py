"""The facts about a rehearsed script: its jitted functions, its output, and its error."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from tpustarter.rehearsal.programs.user_program import (
    DeviceQueriesFound,
    JitCallSiteSummary,
    ProgramWarning,
    ScriptEnded,
    ScriptOutput,
)
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.text import script_text
from tpustarter.rehearsal.text.script_text import STORM, STORM_LESSON
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.explain.failed_run import FailedRun, make_program_failure
from tpustarter.tui.kit.safe_text import OutputTail
from tpustarter.tui.kit.text_layout import HangingText, status_word, style_sentence
from tpustarter.tui.rehearse.answer_details import LABEL, Piece

Event = JitCallSiteSummary | ScriptOutput | ProgramWarning | DeviceQueriesFound | ScriptEnded


class RehearsedScript:
    """The jitted functions, output and error of a rehearsed script, updated while it runs."""

    def __init__(self) -> None:
        self._functions: list[JitCallSiteSummary] = []
        self._tail = OutputTail()
        self._remarks: list[str] = []
        self._error = ""
        self._has_ended = False

    def follow(self, event: Event) -> None:
        """Update the state by an event of the rehearsal."""
        if isinstance(event, JitCallSiteSummary):
            self._functions.append(event)
        elif isinstance(event, ScriptOutput):
            self._tail.add(event.data.decode("utf-8", "replace"))
        elif isinstance(event, ProgramWarning):
            self._tail.add(f"warning: {event.program}: {event.text}\n")
        elif isinstance(event, ScriptEnded):
            self._has_ended, self._error = True, event.error or ""

    def finish(self, rehearsal: Rehearsal) -> None:
        """Add the remarks on the whole rehearsal, which need all answers."""
        if self._has_ended:
            self._remarks = [text for text, _ in script_text.list_remarks(rehearsal)]

    @property
    def failed_run(self) -> FailedRun | None:
        """The failure to explain, or None if the script did not fail."""
        return (
            make_program_failure("your script", self._tail.text, self._error)
            if self._error
            else None
        )

    def describe(self) -> Iterator[Piece]:
        """Yield the script's jitted functions with their counts, the remarks, and the output."""
        for function in sorted(self._functions, key=lambda function: -function.compilations):
            calls, made = _times(function.calls), _times(function.compilations)
            text = f"{function.where}: called {calls}, compiled {made}"
            yield HangingText(
                Content.styled(f"{escape_text(function.name)}  ", "bold"), escape_text(text)
            )
            if function.compilations >= STORM and 2 * function.compilations > function.calls:
                yield HangingText(
                    "  ", style_sentence(f"last change: {function.changed}; read {STORM_LESSON}")
                )
        for remark in self._remarks:
            yield HangingText(status_word("error", "note", LABEL), style_sentence(remark))
        yield Content.styled("its output:", "$muted")
        yield Content(self._tail.text or "Nothing until now.")


def _times(count: int) -> str:
    return phrases.choose_plural(count, "once", f"{count} times")
