"""A rehearsal's closing lines, which name the one command to run next."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tpustarter.cli.command_words import rebuild_arguments
from tpustarter.core.problem import Problem
from tpustarter.rehearsal.result_fields import ResultFields, fits_memory
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.rehearsal.run import Rehearsal

_GET_ONE = "tpustarter learn start/ways-to-get-one"
_SHARD = "tpustarter learn jax/sharding"
_LARGEST = "v6e-256"
"""A TPU with as many devices as a check's program can need."""
_WIDE = re.compile(r"^(?:f|s|i|u|float|int|uint)64(?=\[)")


def next_command_lines(rehearsal: Rehearsal, context: click.Context) -> Iterator[str]:
    """Yield the lines with the next command."""
    results, again = rehearsal.results, shlex.join(rebuild_arguments(context))
    broken = [one for one in results if one["status"] in ("error", "refused")]
    if rehearsal.stopped_by is not None:
        yield from _shown(
            "To go on, type it again; what was compiled already is stored:",
            shlex.join(rebuild_arguments(context, fresh=())),
        )
    elif broken:
        yield from _after_error(rehearsal, broken[0], context)
    elif rehearsal.script_error:
        yield from _shown(f"{_fix(rehearsal.script_place)}This runs it again:", again)
    elif too_big := [one for one in results if not fits_memory(one)]:
        yield from _after_too_big(rehearsal, too_big, context)
    elif results:
        yield from _after_all_fit(rehearsal)
    elif rehearsal.skipped:
        yield from _shown(
            "Now try a TPU with more devices:",
            shlex.join(rebuild_arguments(context, tpus=[_LARGEST])),
        )


def _is_own(rehearsal: Rehearsal) -> bool:
    """Return whether any program is the user's rather than a check's."""
    return any(one["check"] is None for one in rehearsal.results)


def _after_all_fit(rehearsal: Rehearsal) -> Iterator[str]:
    if _is_own(rehearsal):
        yield from _shown("Now run it on such a TPU. These are the ways to get one:", _GET_ONE)
    else:
        yield from _shown(
            "Now rehearse a program of your own. This lists those of your folder:",
            "tpustarter rehearse",
        )


def _after_error(
    rehearsal: Rehearsal, result: ResultFields, context: click.Context
) -> Iterator[str]:
    command = shlex.join(rebuild_arguments(context))
    said = f"{result['reason']}\n{result['detail']}"
    place = rehearsal.places.get((result["check"], result["program"], result["tpu"]), "")
    begin = _fix(place, or_arguments=bool(context.params["arguments"]))
    if _is_explained(said):
        yield from _shown(
            f"{begin}This says what the error means, and what to do:",
            f"{command} 2>&1 | tpustarter explain",
        )
    elif result["detail"] and not context.params["verbose"]:
        yield from _shown(f"{begin}This shows the whole error:", f"{command} -v")
    else:
        yield from _shown(begin or "This tries it again:", command)


def _fix(place: str, *, or_arguments: bool = False) -> str:
    """Return a sentence that names the line to fix, or "" if it is unknown.

    JAX also names a line if the arguments' types are wrong, so those may be the cause.
    """
    what, command = (" or the --arg", "the") if or_arguments else ("", "the same")
    if not place:
        return ""
    return f"Now mend {escape_text(place)}{what}, and type {command} command again. "


def _after_too_big(
    rehearsal: Rehearsal, too_big: Sequence[ResultFields], context: click.Context
) -> Iterator[str]:
    """Yield advice with a TPU on which the program fits: a requested one, or else the smallest."""
    from tpustarter.rehearsal.text import rehearsal_headline

    if _is_own(rehearsal) and (fits := [one for one in rehearsal.results if fits_memory(one)]):
        smallest = min(fits, key=lambda one: one["hbm_limit_bytes"])["tpu"]
        small = ", ".join(dict.fromkeys(one["tpu"] for one in too_big))
        yield from _shown(
            f"Now make it smaller for {small}, or run it on {smallest}. These are "
            "the ways to get one:",
            _GET_ONE,
        )
        return
    needed = max(one["hbm_bytes"] for one in too_big if "hbm_bytes" in one)
    count = max(topology.devices for topology in rehearsal.topologies)
    if best := rehearsal_headline.find_larger_tpu(needed, count):
        yield from _shown(
            f"Now make it smaller, or try a TPU with {best.hbm_gib_per_device:.4g} GiB a device:",
            shlex.join(rebuild_arguments(context, tpus=[best.name])),
        )
    else:
        yield from _shown(
            "No TPU has a device with so much memory. This shows how to spread a "
            "program over several devices:",
            _SHARD,
        )


def _shown(sentence: str, command: str) -> Iterator[str]:
    yield ""
    yield from wrap(sentence)
    yield format_commands(f"  {escape_text(command)}")


def _is_explained(text: str) -> bool:
    from tpustarter.explain import explain_output, known_failures
    from tpustarter.explain.log_scanner import FailureScanner

    scan = FailureScanner(known_failures.read_known_failures()).scan(io.BytesIO(text.encode()))
    return explain_output.explain_log(scan).is_explained


def add_retry_hint(problem: Problem, context: click.Context) -> Problem:
    """Return a problem with its next command, or with two if JAX narrows 64-bit types."""
    from tpustarter.rehearsal.compile.lowering import LoweringProblem

    if problem.hint or not isinstance(problem, LoweringProblem):
        return problem
    command = shlex.join(rebuild_arguments(context))
    hint = f"mend it, and type `{command}` again"
    if problem.narrows:
        given = context.params["arguments"]
        narrow = [_WIDE.sub(lambda wide: wide[0].replace("64", "32"), one) for one in given]
        narrower = shlex.join(rebuild_arguments(context, arguments=narrow))
        hint = (
            f"`{narrower}` compiles what JAX makes of it, and\n"
            f"`JAX_ENABLE_X64=1 {command}` compiles it in 64 bits"
        )
    return Problem(problem.full_text, hint=hint, code=problem.code)
