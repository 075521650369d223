"""`tpustarter rehearse`: compiles for a TPU that is absent, and reports the result."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tpustarter.checking.results.results import REHEARSAL_SCHEMA
from tpustarter.cli.command_end import print_errors_as_json, print_result, stop_at_signals
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import FiniteRange, Seconds, StrictCommand, split_names
from tpustarter.core import content, locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import frameworks
from tpustarter.machine.tpus import MOST_SLICES
from tpustarter.rehearsal.result_fields import ResultFields
from tpustarter.text.terminal import choose_paint, escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.rehearsal.compile.compiler import CompileProgress
    from tpustarter.rehearsal.run import Event, Rehearsal

TypedOptions = dict[str, Any]
"""Values of options; the declaration of each names its type."""
_COLOURS = {"compiles": "green", "does-not-fit": "red", "refused": "red", "error": "magenta"}


_HELP = """Compile programs for TPUs that you don't have, with the real TPU compiler.

The report says whether each program compiles, whether it fits into the memory of one device,
which arrays take that memory, and a lower bound on the time of one run. Without a name, the
command lists the functions in your files, each with the command that compiles it, and compiles
nothing.

\b
A PROGRAM is one of these:
  FILE.py:FUNCTION  a function of yours, jitted or not; --arg gives the
                    type and shape of each argument, or what makes it
  FILE.py           its function programs(devices), which yields tuples of
                    a name, a function and its arguments
  FILE.py:make      a function that returns a PyTorch module and its
                    example inputs
  FILE.mlirbc       a StableHLO file of any framework, for one device or
                    several; FILE.mlir is the same as text
  ID                a check; 'jax.*' stands for every check of JAX

--tpu takes every slice that the compiler knows, from one chip to a whole pod: its type, such as
v5p-64, or its topology, such as v5p:2x4x4. --slices 2, or the name 2xv5e-8, compiles for two
slices, whose programs talk over the data-center network where a collective spans both.

An argument that is nested, such as the parameters of a model, is made by your file: with
--arg 'init(u32[2])' it has the types that your function init returns for such a key, traced by
jax.eval_shape, so that nothing of it is computed. --arg '*batch()' gives all that a function
returns, --arg n=4 gives a value by name, and a name of your file stands for its value.

Arguments from programs(devices) may be pytrees, and may have shardings. A PyTorch module is
lowered with torch_xla or torchax for one device: once its forward pass, and once a training
step. FILE.py:make may return a third value, a function that makes the optimizer from the
parameters. A PyTorch program of several devices comes as a file: what get_stablehlo_bytecode of
torch_xla returns with SPMD on is compiled for all devices that its shardings name.

--fit batch searches the largest batch, or size of any other dimension, that fits each TPU. Name
the dimension in the shapes of --arg, as in 'f32[batch,1024]', or make it a parameter of
programs(devices, batch). Each size is really compiled. The answer is one that fits beside the
next, which doesn't, in steps that your mesh and your code accept.

--compare shows the programs of FILE.py side by side: what one step needs and receives, and the
bound on its time, for each mesh, sharding or jax.checkpoint policy that programs(devices) yields.
Arguments that a program could donate are named with the change to make.

--script FILE.py [-- ARGUMENTS] runs a script unchanged on CPU devices. It also compiles each
function that the script passes to jax.jit or jax.pmap, once for each set of shapes. It doesn't
see operations outside jit, or functions that call back into Python. The output of the script goes
to stderr. --until ends the script early, as one that trains for hours needs: before its first
call is computed, or after some calls or seconds. With --zeros its jitted functions return zeros
of the right shape and sharding, and compute nothing, unless the script compiles one itself
with .lower(...).compile().

Your functions are lowered as on a TPU, so they see the backend and the kind of device of a
TPU, and a note tells you if they read them. A script itself runs on a CPU, and the report says
where it reads that. All processes of a rehearsal together use at most 80 % of the memory that
is available at the start. Your programs are compiled but not executed, so a rehearsal verifies
no TPU.

\b
Exit codes:
  0  everything compiles and fits
  1  a program doesn't fit, not even at the smallest size of --fit, or JAX
     or the compiler refuses it
  3  there is no answer: your code failed, nothing was passed to jax.jit,
     or time or memory ran out, also for a size that --fit tried
"""


@click.command(
    cls=StrictCommand,
    help=_HELP,
    short_help="Compile programs for TPUs that you don't have.",
    epilog="Example: tpustarter rehearse train.py:step --arg 'f32[8192,8192]' --tpu v5e-8,v6e-8"
    "\n\ntpustarter rehearse train.py:step --arg 'f32[batch,8192]' --fit batch --tpu v5e-8"
    "\n\ntpustarter rehearse model.py:make --framework torch_xla --tpu v5e-8",
)
@click.argument("ids", nargs=-1, metavar="[PROGRAM ...]")
@click.option(
    "--tpu",
    "tpus",
    metavar="NAME[,NAME...]",
    help="TPUs to compile for, by type or topology.  [default: one of each generation]",
)
@click.option(
    "--slices",
    type=click.IntRange(1, MOST_SLICES),
    default=1,
    metavar="N",
    help="How many slices of each TPU, joined by the data-center network.",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="ARGUMENT",
    help="Type and shape of an argument, such as 'bf16[128,512]', or a call that makes it, such as "
    "'init(u32[2])'. Repeat it for each argument.",
)
@click.option(
    "--fit",
    metavar="NAME",
    default="",
    help="Search the largest size of this dimension that fits each TPU: a name in a shape of "
    "--arg, or a parameter of programs(devices, NAME).",
)
@click.option(
    "--compare",
    "--compare-shardings",
    "compare",
    is_flag=True,
    help="Compare the programs of FILE.py side by side: meshes, shardings or jax.checkpoint "
    "policies of one step.",
)
@click.option(
    "--script",
    metavar="FILE.py",
    help="Run a script, and compile what it passes to jax.jit or jax.pmap.",
)
@click.option(
    "--until",
    metavar="LIMIT",
    help="End the script at its first call of a jitted function ('first'), after '20 calls' of "
    "them, or after 90 seconds ('90').",
)
@click.option(
    "--zeros", is_flag=True, help="Let jitted functions of the script return zeros uncomputed."
)
@click.option(
    "--framework",
    type=click.Choice(["jax", *frameworks.LOWERERS]),
    help="What lowers FILE.py:FUNCTION.  [default: the one that is installed]",
)
@click.option("--python", metavar="PATH", help="The Python that runs your file.")
@click.option("--compiler", metavar="PATH", help="The Python that compiles, with jax and libtpu.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), metavar="N", help="How many compilers run in parallel."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(1, 86400),
    default=600,
    show_default=True,
    metavar="S",
    help="The seconds that lowering a program may take, and compiling it.",
)
@click.option(
    "--measured",
    "measured_s",
    type=Seconds(),
    metavar="TIME",
    help="The time that a run took on a TPU, such as 0.42s, for its MFU.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw the programs on the roofline of each TPU.",
)
@click.option("--fresh", is_flag=True, help="Compile again, even where an answer is stored.")
@click.option(
    "--beside-tpu", is_flag=True, help="Allow a rehearsal on a machine that has TPU chips."
)
@click.option(
    "--save",
    metavar="FOLDER",
    help="Write each program before and after compiling, its memory, and the whole report.",
)
@click.option("--list", "listing", is_flag=True, help="List the checks that can be compiled.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show every fact, and the compiler's full messages."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def rehearse(
    *,
    ids: tuple[str, ...],
    tpus: str | None,
    script: str | None,
    listing: bool,
    verbose: bool,
    as_json: bool,
    plot: Path | None,
    **options: Any,
) -> None:
    """Compile programs for absent TPUs; `_HELP` has the command's help."""
    if listing:
        _list()
        return
    if not (ids or script or _anything(tpus, as_json, options)):
        from tpustarter.cli.rehearse.start_page import start_page_lines

        echo_lines(start_page_lines(Path.cwd()))
        return
    with print_errors_as_json(REHEARSAL_SCHEMA, wanted=as_json):
        rehearsal = _make_rehearsal(ids, tpus, script, options)
        if plot is not None and not plot.exists():
            _write_plot(plot, [])  # a path that cannot be written must not cost a whole run
        shown = _Shown(rehearsal, quiet=as_json)
        with stop_at_signals(rehearsal.stop), _ends_with_a_command():
            try:
                for event in rehearsal.events():
                    shown.show(event)
            finally:  # also after an error or Ctrl-C
                shown.clear()
        if plot is not None:
            _write_plot(plot, rehearsal.results)
        _report(rehearsal, verbose=verbose, as_json=as_json)
    sys.exit(rehearsal.exit_code)


def _write_plot(path: Path, results: Sequence[ResultFields]) -> None:
    from tpustarter.rehearsal.text import roofline_svg

    locations.write_user_file(path, roofline_svg.draw_roofline_svg(results))


def _make_rehearsal(
    ids: tuple[str, ...], tpus: str | None, script: str | None, options: TypedOptions
) -> Rehearsal:
    from tpustarter.rehearsal.programs.rehearsal_request import (
        EVERY_GENERATION,
        RehearsalRequest,
        ScriptLimit,
        parse_limit,
    )
    from tpustarter.rehearsal.run import Rehearsal

    if not (ids or script):
        raise _make_no_program_problem(tpus)
    names = split_names(tpus) or EVERY_GENERATION
    script_command = (script, *ids) if script else ()
    until, zeros = options.pop("until"), options.pop("zeros")
    if (until is not None or zeros) and not script:
        name = "--zeros" if zeros else "--until"
        raise Problem(f"`{name}` needs `--script`", code=ExitCode.USAGE)
    limit = ScriptLimit() if until is None else parse_limit(until)
    options["until"] = replace(limit, zeros=zeros)
    return Rehearsal(
        RehearsalRequest(ids=() if script else ids, script=script_command, tpus=names, **options)
    )


def _anything(tpus: str | None, as_json: bool, options: TypedOptions) -> bool:  # noqa: FBT001
    given = (value for name, value in options.items() if name not in ("timeout_s", "slices"))
    return as_json or tpus is not None or options["slices"] > 1 or any(given)


def _make_no_program_problem(tpus: str | None) -> Problem:
    words = ["tpustarter", "rehearse", "jax.*", *(("--tpu", tpus) if tpus else ())]
    hint = f"`{shlex.join(words)}` compiles all checks of JAX, and `tpustarter rehearse` alone "
    hint += "shows what else you can name, among it your own files"
    return Problem("nothing is named to compile", hint=hint, code=ExitCode.USAGE)


def _list() -> None:
    checks = [check for check in content.read_checks() if check.has_programs]
    width = max((len(check.id) for check in checks), default=0)
    for check in checks:
        click.echo(f"{check.id:<{max(width, 26)}} {check.title}")


class _Shown:
    """The display of events: a first line on stdout, progress and a script's output on stderr.

    On a terminal, progress is one line, which is cleared before anything else is written.
    """

    def __init__(self, rehearsal: Rehearsal, *, quiet: bool) -> None:
        from tpustarter.cli.check.check_progress import can_rewrite_line

        self._rehearsal = rehearsal
        self._quiet = quiet
        self._on_screen = can_rewrite_line(sys.stderr)
        self._stands = False

    def clear(self) -> None:
        if self._stands:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._stands = False

    def show(self, event: Event) -> None:
        from tpustarter.rehearsal.compile.compiler import CompileProgress
        from tpustarter.rehearsal.programs.user_program import ProgramWarning, ScriptOutput
        from tpustarter.rehearsal.run import RehearsalStarted
        from tpustarter.rehearsal.text import rehearsal_text

        if isinstance(event, CompileProgress):
            if not (self._quiet or self._rehearsal.runs_script):
                self._follow(event)
            return
        self.clear()
        if isinstance(event, ScriptOutput):
            click.echo(event.data, nl=False, err=True)
        elif isinstance(event, ProgramWarning):
            lines = wrap(escape_text(f"{event.program}: {event.text}"), "warning: ", hang=" " * 9)
            click.echo("\n".join(lines), err=True)
        elif isinstance(event, RehearsalStarted) and not self._quiet:
            click.echo(
                f"{rehearsal_text.format_first_line(event.compiler, event.versions, event.tpus)}\n"
            )

    def _follow(self, event: CompileProgress) -> None:
        from tpustarter.text import bars

        progress = self._rehearsal.progress
        check = (event.check or "").partition(".")[2]
        program = event.program if event.program == event.check else f"{check}: {event.program}"
        program = program if check else event.title
        line = escape_text(f"{program} for {event.tpu}  {event.seconds:.0f} s")
        if self._on_screen:
            if text := progress.text():
                line = f"{progress.draw_bar(sys.stderr.encoding)}  {text}  {line}"
            click.echo(f"\r\x1b[K{bars.shorten_to_columns(line, 78)}", nl=False, err=True)
            self._stands = True
        elif event.seconds >= 1 and int(event.seconds) % 30 == 0:
            click.echo(line, err=True)


@contextlib.contextmanager
def _ends_with_a_command() -> Generator[None]:
    try:
        yield
    except Problem as problem:
        from tpustarter.cli.rehearse import next_command as rehearse_end

        completed = rehearse_end.add_retry_hint(problem, click.get_current_context())
        raise completed from (None if completed is problem else problem)


def _report(rehearsal: Rehearsal, *, verbose: bool, as_json: bool) -> None:
    if rehearsal.saved_files:
        from tpustarter.rehearsal.text.report_files import write_report

        write_report(rehearsal, rehearsal.saved_files)
    if as_json:
        print_result(rehearsal.document())
        return
    from tpustarter.rehearsal.text import rehearsal_text

    paint = choose_paint(_COLOURS)
    echo_lines(rehearsal_text.render_rehearsal(rehearsal, verbose=verbose, paint=paint))
    from tpustarter.cli.rehearse import next_command as rehearse_end

    if lines := [*rehearse_end.next_command_lines(rehearsal, click.get_current_context())]:
        echo_lines(lines)
