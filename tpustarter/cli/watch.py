"""`tpustarter watch`: a live view of the TPU, with one sentence on what the numbers mean."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tpustarter.cli.command_end import handle_end_signals, print_errors_as_json, print_result
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import FiniteRange, StrictCommand
from tpustarter.core.problem import ExitCode
from tpustarter.text.terminal import choose_paint, format_code, line_width

if TYPE_CHECKING:
    from tpustarter.watch.reading import TpuReading
    from tpustarter.watch.tpu_watch import TpuWatch

SCHEMA = "tpustarter.watch/1"
_CLEAR, _HOME, _END_LINE, _END_SCREEN = "\x1b[2J", "\x1b[H", "\x1b[K", "\x1b[J"

_HELP = """Watch the TPU while a program uses it: memory, duty cycle, matrix unit and links.

Run it on the TPU's host, in a second terminal. It asks the libtpu of the program that runs, at
the port where tpu-info asks it too, or at those in TPU_RUNTIME_METRICS_PORTS. It starts no
framework and opens no device, so it is safe beside a job. Beside the numbers is one sentence
that says what they mean, with the lesson that explains it. Where there are no numbers, it says
why.

On a terminal it shows the last five minutes as curves until Ctrl-C. In a pipe it prints each
look. The matrix unit, throttling and links come from libtpu's SDK in the Python under test.

\b
Exit codes:
  0   there were numbers
  3   there are none, such as while no program uses the TPU
  69  this machine has no TPU
"""


@click.command(
    cls=StrictCommand,
    help=_HELP,
    short_help="Show live what each chip does, and what that means.",
    epilog="Example: tpustarter watch --once",
)
@click.option("--once", is_flag=True, help="Look once, and end.")
@click.option(
    "--seconds",
    type=FiniteRange(0.2, 3600),
    default=2.0,
    metavar="N",
    help="Seconds between two looks.  [default: 2]",
)
@click.option(
    "--port",
    "ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    metavar="N",
    help="A port of libtpu's metrics service; may be repeated.  [default: 8431]",
)
@click.option("--python", metavar="PATH", help="The Python whose libtpu is asked for the rest.")
@click.option("--json", "as_json", is_flag=True, help="Look once, and print one JSON document.")
def watch(
    *, once: bool, seconds: float, ports: tuple[int, ...], python: str | None, as_json: bool
) -> None:
    """Show the TPU live; `_HELP` has the command's help."""
    with print_errors_as_json(SCHEMA, wanted=as_json), _watching(ports, seconds, python) as tpu:
        reading = tpu.look_whole() if once or as_json else tpu.look()
        no_tpu = reading.missing and reading.missing.exit_code == ExitCode.NO_DEVICE
        if as_json:
            from tpustarter.watch.watch_document import make_json_document

            print_result(make_json_document(reading, tpu.python, tpu.problem))
        elif once or no_tpu:
            _print(tpu, reading, err=reading.missing is not None)
        else:
            _follow(tpu, reading, seconds)
    sys.exit(reading.missing.exit_code if reading.missing else ExitCode.OK)


@contextmanager
def _watching(ports: tuple[int, ...], seconds: float, python: str | None) -> Generator[TpuWatch]:
    from tpustarter.machine import host
    from tpustarter.watch.tpu_watch import TpuWatch

    def leave(number: int, _: object) -> None:
        sys.exit(ExitCode.INTERRUPTED if number == 2 else ExitCode.TERMINATED)

    with handle_end_signals(leave):
        tpu = TpuWatch(host.Machine(), Path.cwd(), ports, python, seconds)
        try:
            yield tpu
        finally:
            tpu.close()


def _print(tpu: TpuWatch, reading: TpuReading, *, err: bool = False) -> None:
    from tpustarter.watch.watch_text import COLOURS, render_reading

    lines = render_reading(reading, tpu.problem, choose_paint(COLOURS), line_width())
    echo_lines(lines, err=err)


def _follow(tpu: TpuWatch, reading: TpuReading, seconds: float) -> None:
    """Show readings until a signal ends it."""
    from tpustarter.cli.check.check_progress import can_rewrite_line

    is_screen = can_rewrite_line(sys.stdout)
    if is_screen:
        click.echo(_CLEAR, nl=False, color=True)
    while True:
        if is_screen:
            _draw(tpu, reading)
        else:
            _print(tpu, reading)
            click.echo()
            sys.stdout.flush()
        time.sleep(seconds)
        reading = tpu.look()


def _draw(tpu: TpuWatch, reading: TpuReading) -> None:
    from tpustarter.watch.watch_text import COLOURS, render_frame

    size = shutil.get_terminal_size()
    frame = (size.columns, size.lines - 1)
    lines = render_frame(reading, tpu.history, tpu.problem, frame, choose_paint(COLOURS))
    text = "\n".join(f"{line}{_END_LINE}" for line in lines)
    click.echo(f"{_HOME}{format_code(text)}\n{_END_SCREEN}", nl=False, color=True)
