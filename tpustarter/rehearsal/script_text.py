"""What there is to say of a script that was run: what it jitted, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from tpustarter.invocation import as_typed
from tpustarter.probe.device_questions import MOST_NAMED
from tpustarter.probe.script import MOST_SHAPES
from tpustarter.rehearsal.lowering import install_hint
from tpustarter.rehearsal.own_code import Function
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.terminal import cut, visible, wrap

STORM = 4
"""Compilations from which on a function that is compiled for most of its calls is named."""
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


def functions(known: Sequence[Function]) -> list[str]:
    """Return what a script gave to `jax.jit`: how often it was called, and compiled."""
    if not known:
        return []
    lines = ["", f"{'function':<28}{'where':<24}{'calls':>8}{'compiled':>10}"]
    for function in sorted(known, key=lambda function: -function.compilations):
        name, where = cut(visible(function.name), 27), cut(visible(function.where), 23)
        lines.append(f"{name:<28}{where:<24}{function.calls:>8}{function.compilations:>10}")
        if function.compilations >= STORM and 2 * function.compilations > function.calls:
            message = (
                f"a new program for {function.compilations} of {function.calls} calls; "
                "last change: "
            )
            lines += wrap(visible(message + function.changed), _INDENT, hang=_INDENT)
            lines.append(as_typed(f"{_INDENT}read  tpustarter learn {STORM_LESSON}"))
    truncated = any(function.compilations > MOST_SHAPES for function in known)
    note = f" Compiled: the first {MOST_SHAPES} shapes of each." if truncated else ""
    return [*lines, "", f"Not seen: pmap, operations outside jit.{note}"]


def ending(rehearsal: Rehearsal) -> list[str]:
    """Return how a script ended where that matters, and what it asked outside of what it jits."""
    lines: list[str] = []
    for text, hint in remarks(rehearsal):
        lines += ["", *wrap(visible(text), "the script: ", hang=_INDENT)]
        lines += wrap(visible(hint), f"{_INDENT}hint: ", hang=_INDENT) if hint else []
    return lines


def remarks(rehearsal: Rehearsal) -> list[tuple[str, str | None]]:
    """Return what to say of a script, each with a hint or none."""
    texts: list[tuple[str, str | None]] = []
    if rehearsal.asked:
        places = ", ".join(rehearsal.asked[:MOST_NAMED])
        more = len(rehearsal.asked) - MOST_NAMED
        places += f" and {more} more" if more > 0 else ""
        text = f"outside of what it jits it asks where it runs ({places}), and was answered `cpu`"
        texts.append((f"{text}: where it branches on that, the code for a CPU was run", None))
    python = rehearsal.script_python or ""
    if rehearsal.script_error:
        where = f" (run by {python})" if python else ""
        texts.append((f"{rehearsal.script_error}{where}",
                      install_hint(rehearsal.script_error, python)))  # fmt: skip
    elif not rehearsal.results and rehearsal.stopped_by is None:
        texts.append((NOTHING_JITTED, JIT_SOMETHING))
    return texts
