"""`tpustarter rehearse`: compile for a TPU that is not there, and report what the compiler says."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from tpustarter import content
from tpustarter.checking.results import REHEARSAL_SCHEMA
from tpustarter.cli.endings import json_even_if_it_breaks, stopped_by_signals
from tpustarter.terminal import paint_for, visible, wrap

if TYPE_CHECKING:
    from tpustarter.rehearsal.run import Event, Rehearsal

_COLOURS = {"compiles": "green", "does-not-fit": "red", "refused": "red", "error": "magenta"}


@click.command(
    epilog="Example: tpustarter rehearse train.py:step --arg 'f32[8192,8192]' --tpu v5e-8,v6e-8",
)
@click.argument("ids", nargs=-1, metavar="[ID ...|FILE.py:FUNCTION]")
@click.option(
    "--tpu",
    "tpus",
    metavar="NAME[,NAME...]",
    help="TPUs to compile for.  [default: one of each generation]",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="TYPE[SHAPE]",
    help="An argument of the function, such as 'bf16[128,512]'; once for each.",
)
@click.option(
    "--script", metavar="FILE.py", help="Run a script of yours, and compile what it jits."
)
@click.option("--python", metavar="PATH", help="The Python that runs your file.")
@click.option("--compiler", metavar="PATH", help="The Python with jax and libtpu.")
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Compilers side by side.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(1, 86400),
    default=600,
    show_default=True,
    metavar="S",
    help="Seconds to lower one program, and to compile it.",
)
@click.option("--fresh", is_flag=True, help="Ask the compiler again where an answer is stored.")
@click.option("--beside-tpu", is_flag=True, help="Go on on a machine that has TPU chips.")
@click.option("--list", "listing", is_flag=True, help="Show the checks with programs.")
@click.option("-v", "--verbose", is_flag=True, help="Every fact, and the compiler's whole words.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def rehearse(
    *,
    ids: tuple[str, ...],
    tpus: str | None,
    script: str | None,
    listing: bool,
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compile programs for TPUs that are not there, with the real TPU compiler.

    IDs are checks (globs too); FILE.py:FUNCTION is a function of your own, jitted or plain.
    FILE.py alone calls its function `programs(devices)`, which yields (name, function,
    arguments) as a check's does; its arguments may be pytrees and carry shardings.

    --script FILE.py [-- ARGUMENTS] runs a script unchanged on CPU devices, and compiles each
    function it gives to jax.jit for the TPU as well, when it meets new shapes. Not seen: pmap,
    operations outside jit, functions that call back into Python. The script's own output goes
    to stderr. The script hears that it runs on a CPU, and the report says where it asked.

    A file of yours, and what a script jits, is lowered as a TPU would see it: questions for the
    backend or the kind of device are answered for the TPU, and a note says that they were asked.

    A large array that a program captures is named before it is compiled. All that is started
    here may take 80 % of the memory that is available at the start; more is ended.

    The answer: does it compile, does it fit into the memory of a device, what takes the memory.
    Nothing is run, so nothing here counts as verified. Exit codes: 0 all compile, 1 something
    does not fit or is refused by JAX or the compiler, 3 no answer: your code failed, nothing was
    given to jax.jit, the time was up, or the memory.
    """
    if listing:
        _list()
        return
    with json_even_if_it_breaks(REHEARSAL_SCHEMA, wanted=as_json):
        from tpustarter.rehearsal.run import EVERY_GENERATION, Rehearsal, Request

        listed = tuple(name.strip() for name in (tpus or "").split(",") if name.strip())
        names = listed or (("",) if tpus else EVERY_GENERATION)
        script_command = (script, *ids) if script else ()
        request = Request(ids=() if script else ids, script=script_command, tpus=names, **options)
        rehearsal = Rehearsal(request)
        with stopped_by_signals(rehearsal.stop):
            for event in rehearsal.events():
                _show(event, rehearsal, quiet=as_json)
        _report(rehearsal, verbose=verbose, as_json=as_json)
    sys.exit(rehearsal.exit_code)


def _list() -> None:
    checks = [check for check in content.read_checks() if check.has_programs]
    width = max((len(check.id) for check in checks), default=0)
    for check in checks:
        click.echo(f"{check.id:<{max(width, 26)}} {check.title}")


def _show(event: Event, rehearsal: Rehearsal, *, quiet: bool) -> None:
    """Tell one event: the first line on stdout, progress and a script's output on stderr."""
    from tpustarter.rehearsal import rehearsal_text
    from tpustarter.rehearsal.compiler import Working
    from tpustarter.rehearsal.own_code import Printed, Warned
    from tpustarter.rehearsal.run import Began, Rehearsed

    if isinstance(event, Printed):
        click.echo(event.data, nl=False, err=True)
    elif isinstance(event, Warned):
        lines = wrap(visible(f"{event.program}: {event.text}"), "warning: ", hang=" " * 9)
        click.echo("\n".join(lines), err=True)
    if quiet:
        return
    on_screen = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if isinstance(event, Began):
        click.echo(f"{rehearsal_text.opening(event.compiler, event.versions, event.tpus)}\n")
    elif isinstance(event, Rehearsed) and on_screen:
        click.echo("\r\x1b[K", nl=False, err=True)
    elif isinstance(event, Working) and not rehearsal.runs_script:
        done = f"  ({len(rehearsal.results)} done)" if on_screen else ""
        line = visible(f"{event.program} for {event.tpu}  {event.seconds:.0f} s{done}")
        if on_screen:
            click.echo(f"\r\x1b[K{line[:78]}", nl=False, err=True)
        elif event.seconds and int(event.seconds) % 30 == 0:
            click.echo(line, err=True)


def _report(rehearsal: Rehearsal, *, verbose: bool, as_json: bool) -> None:
    if as_json:
        from tpustarter.checking import document

        click.echo(document.line(rehearsal.document()))
        return
    from tpustarter.rehearsal import rehearsal_text

    paint = paint_for(_COLOURS)
    click.echo(rehearsal_text.render(rehearsal, verbose=verbose, paint=paint))
