"""The result of a script as text: what it jitted, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from tpustarter.probe.rehearse.rehearsal_messages import MOST_NAMED, MOST_SHAPES
from tpustarter.rehearsal.compile.lowering import install_hint
from tpustarter.rehearsal.programs.user_program import JitCallSiteSummary
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import cut_text, escape_text, wrap

STORM = 4
"""Compilations from which a function gets a warning, if most of its calls recompile it."""
STORM_LESSON = "jax/try-a-tpu-you-do-not-have"
_INDENT = " " * 6
NOTHING_JITTED = (
    "it ended without an error, but it called no function that it had passed to `jax.jit`, so "
    "there was nothing to compile"
)
JIT_SOMETHING = (
    "put `@jax.jit` above the function that does the work, call it in the script, and type the "
    "same command again; `tpustarter rehearse` lists the functions of your files"
)


def format_functions(known: Sequence[JitCallSiteSummary]) -> list[str]:
    """Return a table of the functions that a script jitted: calls and compilations."""
    if not known:
        return []
    lines = ["", f"{'function':<28}{'where':<24}{'calls':>8}{'compiled':>10}"]
    for function in sorted(known, key=lambda function: -function.compilations):
        name, where = (
            cut_text(escape_text(function.name), 27),
            cut_text(escape_text(function.where), 23),
        )
        lines.append(f"{name:<28}{where:<24}{function.calls:>8}{function.compilations:>10}")
        if function.compilations >= STORM and 2 * function.compilations > function.calls:
            message = (
                f"a new program for {function.compilations} of {function.calls} calls; "
                "last change: "
            )
            lines += wrap(escape_text(message + function.changed), _INDENT, hang=_INDENT)
            lines.append(format_commands(f"{_INDENT}read  tpustarter learn {STORM_LESSON}"))
    truncated = any(function.compilations > MOST_SHAPES for function in known)
    note = f" Compiled: the first {MOST_SHAPES} shapes of each." if truncated else ""
    return [*lines, "", f"Not seen: operations outside jit.{note}"]


def format_ending(rehearsal: Rehearsal) -> list[str]:
    """Return remarks on how a script ended, and on its device queries outside of jitted code."""
    lines: list[str] = []
    for text, hint in list_remarks(rehearsal):
        lines += ["", *wrap(escape_text(text), "the script: ", hang=_INDENT)]
        lines += wrap(escape_text(hint), f"{_INDENT}hint: ", hang=_INDENT) if hint else []
    return lines


def list_remarks(rehearsal: Rehearsal) -> list[tuple[str, str | None]]:
    """Return remarks on a script, each with a hint or None."""
    texts: list[tuple[str, str | None]] = []
    if rehearsal.device_query_places:
        places = phrases.join_words(rehearsal.device_query_places, most=MOST_NAMED)
        text = f"outside of what it jits it asks where it runs ({places}), and was answered `cpu`"
        texts.append((f"{text}: where it branches on that, the code for a CPU was run", None))
    if rehearsal.returns_zeros:
        texts.append(("its jitted functions returned zeros, as `--zeros` asks", None))
    python = rehearsal.script_python or ""
    if rehearsal.script_error:
        where = f" (run by {python})" if python else ""
        hint = install_hint(missing, python) if (missing := rehearsal.script_missing) else None
        texts.append((f"{rehearsal.script_error}{where}", hint))
    elif rehearsal.script_ended_early:
        texts.append(("it was ended early, as `--until` asks, so what follows was not seen", None))
    elif not rehearsal.results and rehearsal.stopped_by is None:
        texts.append((NOTHING_JITTED, JIT_SOMETHING))
    return texts
