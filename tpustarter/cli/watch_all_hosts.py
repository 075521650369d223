"""`tpustarter watch --all-hosts`: the live view of a slice, from this machine."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tpustarter.cli.check.all_hosts import (
    confirm_start,
    parse_settings,
    refuse_unnamed_hosts,
    split_names,
)
from tpustarter.cli.command_end import handle_end_signals, print_result
from tpustarter.cli.echo import clear_screen, echo_lines, redraw_screen
from tpustarter.cli.parameters import refuse_typed_options
from tpustarter.core.problem import ExitCode
from tpustarter.text.terminal import choose_paint, line_width

if TYPE_CHECKING:
    from tpustarter.slices.slice_watch import SliceWatch, WatchedSlice


@dataclass(frozen=True, kw_only=True)
class SliceWatchOptions:
    """The options of the hosts, with click's parameter names as fields."""

    python: str
    seconds: float
    start: str | None
    on: str | None
    hosts: int | None
    settings: tuple[str, ...]
    wait_s: float
    yes: bool


def watch_all_hosts(options: SliceWatchOptions, *, once: bool, as_json: bool) -> int:
    """Show all hosts of a slice, and return the exit code."""
    from tpustarter.slices import slice_watch
    from tpustarter.slices.start_options import StartOptions, make_engine
    from tpustarter.slices.starting.launch_request import format_script

    is_single = once or as_json
    if not options.start:
        raise click.UsageError("--all-hosts needs --start, which reaches the hosts")
    if not is_single:
        refuse_typed_options(["wait_s"], "only works with --once or --json")
    refuse_unnamed_hosts(options.start, options.on)
    engine = make_engine(
        StartOptions(
            engine=options.start,
            names=split_names(options.on),
            settings=parse_settings(options.settings),
            hosts=options.hosts,
            python=options.python,
        )
    )
    commands = slice_watch.prepare_watch(engine, once=is_single, seconds=options.seconds)
    confirm_start(format_script(commands), yes=options.yes)
    with tempfile.TemporaryDirectory() as folder:
        watched = slice_watch.SliceWatch(commands, Path(folder), options.seconds, engine.count)

        signals: list[int] = []

        def stop(number: int, _frame: object) -> None:
            signals.append(number)
            watched.stop()

        with handle_end_signals(stop):
            seen = watched.look_once(options.wait_s) if is_single else _follow(watched)
    if signals:
        return ExitCode.INTERRUPTED if signals[0] == signal.SIGINT else ExitCode.TERMINATED
    if not is_single:
        return seen.exit_code
    if as_json:
        print_result(slice_watch.make_slice_document(seen))
    else:
        _print(seen)
    return seen.exit_code


def _print(seen: WatchedSlice) -> None:
    from tpustarter.slices.slice_watch_text import render_slice
    from tpustarter.watch.watch_text import COLOURS

    echo_lines(render_slice(seen, choose_paint(COLOURS), line_width()))


def _follow(watched: SliceWatch) -> WatchedSlice:
    """Show looks until a signal ends it, or until every host has ended; return the last one."""
    from tpustarter.cli.check.check_progress import can_rewrite_line
    from tpustarter.slices.slice_watch_text import render_slice
    from tpustarter.watch.watch_text import COLOURS

    is_screen = can_rewrite_line(sys.stdout)
    if is_screen:
        clear_screen()
    seen = watched.latest
    for seen in watched.follow():
        if is_screen:
            size = shutil.get_terminal_size()
            redraw_screen(render_slice(seen, choose_paint(COLOURS), size.columns, size.lines - 1))
        else:
            _print(seen)
            click.echo()
            sys.stdout.flush()
    return seen
