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
from tpustarter.cli.echo import clear_screen, echo_lines, redraw_screen
from tpustarter.cli.parameters import FiniteRange, StrictCommand, refuse_typed_options
from tpustarter.core.problem import ExitCode
from tpustarter.text.terminal import choose_paint, line_width

if TYPE_CHECKING:
    from tpustarter.watch.reading import TpuReading
    from tpustarter.watch.tpu_watch import TpuWatch

SCHEMA = "tpustarter.watch/1"

_HELP = """Watch the TPU while a program uses it: memory, duty cycle, matrix unit and links.

Run it on the TPU's host, in a second terminal. It asks the libtpu of the program that runs, at
the port where tpu-info asks it too, or at those in TPU_RUNTIME_METRICS_PORTS. It starts no
framework and opens no device, so it is safe beside a job. Beside the numbers is one sentence
that says what they mean, with the lesson that explains it. Where there are no numbers, it says
why.

On a terminal it shows the last five minutes as curves until Ctrl-C. In a pipe it prints each
look. The matrix unit, throttling and links come from libtpu's SDK in the Python under test.

With --all-hosts each host of a slice looks at its own TPU, and one sentence says what the hosts
do together. A host that does not answer is named with its reason.

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
@click.option(
    "--all-hosts",
    is_flag=True,
    help="Show all hosts of a slice in one table. Needs --start; each host needs tpustarter in the "
    "Python that --python names there.  [default: python3]",
)
@click.option(
    "--start",
    type=click.Choice(["gcloud", "ssh", "slurm", "mpi"]),
    help="With --all-hosts: how to reach the hosts.",
)
@click.option(
    "--on",
    metavar="NAMES",
    help="With --start: the hosts for ssh and mpi, separated by commas; the name of the TPU for "
    "gcloud.",
)
@click.option(
    "--hosts",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="With --start: the number of hosts, where it is not known.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --start: an option of what starts it, such as zone=us-east1-d for gcloud.",
)
@click.option(
    "--wait",
    "wait_s",
    type=FiniteRange(1, 3600),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="With --all-hosts and --once or --json: how long to wait for a host's answer.",
)
@click.option("--yes", is_flag=True, help="With --start: start it without asking.")
def watch(
    *,
    once: bool,
    seconds: float,
    ports: tuple[int, ...],
    python: str | None,
    as_json: bool,
    all_hosts: bool,
    start: str | None,
    on: str | None,
    hosts: int | None,
    settings: tuple[str, ...],
    wait_s: float,
    yes: bool,
) -> None:
    """Show the TPU live; `_HELP` has the command's help."""
    if all_hosts:
        from tpustarter.cli.watch_all_hosts import SliceWatchOptions, watch_all_hosts

        if ports:
            raise click.UsageError("--port does not work with --all-hosts")
        options = SliceWatchOptions(
            python=python or "python3",
            seconds=seconds,
            start=start,
            on=on,
            hosts=hosts,
            settings=settings,
            wait_s=wait_s,
            yes=yes,
        )
        with print_errors_as_json(SCHEMA, wanted=as_json):
            sys.exit(watch_all_hosts(options, once=once, as_json=as_json))
    of_hosts = ("start", "on", "hosts", "settings", "wait_s", "yes")
    refuse_typed_options(of_hosts, "only works with --all-hosts")
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
        clear_screen()
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
    redraw_screen(lines)
