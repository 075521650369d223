"""What a script shows while it is rehearsed: what it gave to `jax.jit`, printed, and lacks."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from tpustarter.rehearsal import script_text
from tpustarter.rehearsal.own_code import Asked, Function, Printed, ScriptEnded, Warned
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.script_text import STORM, STORM_LESSON
from tpustarter.terminal import visible
from tpustarter.tui.failed import Failed, program
from tpustarter.tui.lines import Hanging, prose, word
from tpustarter.tui.plain import Tail
from tpustarter.tui.rehearsal_details import LABEL, Piece

Event = Function | Printed | Warned | Asked | ScriptEnded


class Script:
    """What is known of a script that runs, and after it."""

    def __init__(self) -> None:
        self._functions: list[Function] = []
        self._tail = Tail()
        self._remarks: list[str] = []
        self._error = ""
        self._has_ended = False

    def follow(self, event: Event) -> None:
        """Keep what has happened."""
        if isinstance(event, Function):
            self._functions.append(event)
        elif isinstance(event, Printed):
            self._tail.add(event.data.decode("utf-8", "replace"))
        elif isinstance(event, Warned):
            self._tail.add(f"warning: {event.program}: {event.text}\n")
        elif isinstance(event, ScriptEnded):
            self._has_ended, self._error = True, event.error or ""

    def finish(self, rehearsal: Rehearsal) -> None:
        """Keep what there is to say of it, now that it is known what was compiled."""
        if self._has_ended:
            self._remarks = [text for text, _ in script_text.remarks(rehearsal)]

    @property
    def failed(self) -> Failed | None:
        """What there is to explain of it; None where it did not break."""
        return program("your script", self._tail.text, self._error) if self._error else None

    def describe(self) -> Iterator[Piece]:
        """Yield what it gave to `jax.jit`, how it ended, and what it printed."""
        for function in sorted(self._functions, key=lambda function: -function.compilations):
            calls, made = _times(function.calls), _times(function.compilations)
            text = f"{function.where}: called {calls}, compiled {made}"
            yield Hanging(Content.styled(f"{visible(function.name)}  ", "bold"), visible(text))
            if function.compilations >= STORM and 2 * function.compilations > function.calls:
                yield Hanging("  ", prose(f"last change: {function.changed}; read {STORM_LESSON}"))
        for remark in self._remarks:
            yield Hanging(word("error", "note", LABEL), prose(remark))
        yield Content.styled("its output:", "$muted")
        yield Content(self._tail.text or "Nothing until now.")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
