"""Tests of a run on a terminal: its progress line, folded passes and next step."""

from __future__ import annotations

import io
import os
import re
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.cli.test_check import on_a_terminal, tpustarter
from tests.support.runs import FINDING, HOST, result, run_of
from tpustarter.checking.machine_check import HostStateChanged
from tpustarter.checking.output import results_text
from tpustarter.checking.results.results import Result, Status
from tpustarter.checking.run.runner import CheckEnded, CheckStarted, CheckWaiting
from tpustarter.cli import command_words
from tpustarter.cli.check import closing_lines as check_end
from tpustarter.cli.check.check_progress import CheckProgress
from tpustarter.cli.check.command import check
from tpustarter.core.problem import ExitCode
from tpustarter.learning.progress import lesson_progress
from tpustarter.probe.finding import Finding, Hint
from tpustarter.text import bars

TERMINAL = {"TERM": "xterm-256color", "NO_COLOR": "1"}
ERASED = r"\r\x1b\[(?:K|\d+A\x1b\[J)"


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return True, as a terminal does."""
        return True


def follow(monkeypatch: pytest.MonkeyPatch, columns: int = 80) -> tuple[CheckProgress, Terminal]:
    """Follow a run of four checks on a terminal of so many columns, and return its output."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(stream, "fileno", lambda: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    names = ("sample", "other", "third", "fourth")
    checks = [SimpleNamespace(id=f"jax.{name}", framework="jax") for name in names]
    selfcheck = SimpleNamespace(run=run_of(), checks=checks)
    return CheckProgress(selfcheck, stream), stream  # pyright: ignore[reportArgumentType]


def test_missing_host_keeps_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that arrives is shown briefly, and a missing one keeps its line."""
    progress, stream = follow(monkeypatch)

    progress.follow(HostStateChanged(1, "worker 1", "arrived"))
    assert last_line(stream).endswith("host 1 (worker 1) has arrived")
    progress.follow(HostStateChanged(2, "worker 2", "missing", "was not reached"))
    progress.follow(started())

    assert "host 2 (worker 2) was not reached\n" in stream.getvalue()
    assert "jax.sample" in last_line(stream)


def last_line(stream: Terminal) -> str:
    """Return the current text of the line."""
    return re.split(ERASED, stream.getvalue())[-1]


def started(name: str = "jax.sample") -> CheckStarted:
    """Return the event of a check that starts."""
    return CheckStarted(SimpleNamespace(id=name, framework="jax"))  # pyright: ignore[reportArgumentType]


def test_progress_line_shows_count_failures_and_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar, n of m, what went wrong so far, the check and its time."""
    shown, stream = follow(monkeypatch)
    with shown:
        shown.follow(CheckEnded(result("pass")))
        shown.follow(CheckEnded(result("fail", "jax.other")))
        shown.follow(CheckWaiting(started().check, 3.2, "size 4 of 9"))
        line = last_line(stream)

    assert re.fullmatch("━+─+  2 of 4, 1 fail  jax.sample  3 s, size 4 of 9", line)
    assert line.count("━") in (line.count("─"), line.count("─") + 1)
    assert not last_line(stream)


@pytest.mark.parametrize("columns", [20, 39, 60, 80, 200])
def test_progress_line_never_fills_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide characters count twice, so that no line breaks and stays behind."""
    shown, stream = follow(monkeypatch, columns)
    with shown:
        shown.follow(CheckWaiting(started("jax." + "x" * 40).check, 3, "試驗" * 60))
        lines = re.split(ERASED, stream.getvalue())

    assert lines
    assert all(bars.count_columns(line) < columns for line in lines)


def test_wrapped_progress_line_is_erased_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a resize the line takes two rows: both are erased."""
    shown, stream = follow(monkeypatch, 80)
    with shown:
        shown.follow(CheckWaiting(started().check, 3, "x" * 12))
        monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((30, 24)))
        shown.clear()

    assert stream.getvalue().endswith("\r\x1b[1A\x1b[J")


def test_broken_run_leaves_no_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that raises an error leaves no progress line, so the error begins in column one."""
    shown, stream = follow(monkeypatch)

    def breaks() -> None:
        with shown:
            shown.follow(started())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        breaks()

    assert stream.getvalue().endswith("\r\x1b[K")


def test_ctrl_c_shows_that_run_is_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C shows that the run is stopping, even if the check takes long to end."""
    shown, stream = follow(monkeypatch)
    with shown:
        shown._selfcheck.run.stopped_by = signal.SIGINT
        shown.follow(started())
        line = last_line(stream)

    assert "stopping jax.sample" in line


def test_passing_checks_fold_into_line_unless_verbose() -> None:
    """Four or more fold; what fails keeps its line, and comes first."""
    run = run_of(*[result("pass", f"jax.p{n}", seconds=1.0) for n in range(5)], result("fail"))
    folded = results_text.render_results(run, fold_passes=True).splitlines()
    few = results_text.render_results(run_of(HOST, result("pass")), fold_passes=True)

    assert folded[0].startswith("FAIL  jax.sample")
    assert "pass  5 claims hold (-v names each)" in "\n".join(folded)
    assert all(len(line) <= 80 for line in folded)
    assert "jax.p0" not in "\n".join(folded)
    assert "5 claims hold (-v" not in results_text.render_results(run)
    assert 5 == results_text.render_results(run, fold_passes=True, verbose=True).count(
        "pass  jax.p"
    )
    assert "jax.sample" in few


def test_only_capable_terminal_gets_progress_line() -> None:
    """No progress line is drawn in a pipe or on a terminal that can't erase it."""
    names = ("check", "host.passes", "host.fails")
    bright = on_a_terminal(*names, env=TERMINAL)
    dumb = on_a_terminal(*names, env={**TERMINAL, "TERM": "dumb"})
    piped = tpustarter(*names)

    assert re.search("1 of 2", bright)
    assert "\x1b" not in dumb + piped.stdout + piped.stderr
    assert "━" not in dumb + piped.stdout + piped.stderr
    assert "pass  host.passes" in re.split(ERASED, bright)[-1]


def test_notebook_cell_gets_plain_lines() -> None:
    """A notebook cell gets plain lines and the next step, because it has no cursor."""
    names, cell = ("check", "host.passes", "host.fails"), {**TERMINAL, "TERM": "xterm-color"}
    terminal = on_a_terminal(*names, env=cell)
    notebook = on_a_terminal(*names, env={**cell, "JPY_PARENT_PID": "4242"})

    assert "\x1b" in terminal
    assert "\x1b" not in notebook
    assert not re.search("\r(?!\n)", notebook)
    assert max(map(len, notebook.splitlines())) <= 80
    assert "Next" in notebook


def test_check_ends_with_next_step() -> None:
    """A run ends with the next step: the tutor for beginners, or the named check's lesson."""
    assert "`tpustarter`" in (first := check_end.format_next_step(run_of(HOST, result("pass"))))
    assert "first lesson" in first
    beside_a_warning = check_end.format_next_step(run_of(HOST, result("warn")))
    assert beside_a_warning.endswith("Or open the tutor first, and run a lesson: `tpustarter`")
    lesson_progress.record_lesson_done("jax/precision")
    assert "Go on" in check_end.format_next_step(run_of(HOST))
    assert "`tpustarter learn`" in check_end.format_next_step(run_of(HOST), in_cell=True)
    named = run_of(result("pass"), ids=["jax.sample"])
    assert "tpustarter learn jax/precision" in check_end.format_next_step(named)
    other = replace(HOST, lesson="setup/data-and-storage")
    both = run_of(result("pass"), other, ids=["jax.sample", "host.sample"])
    assert "`tpustarter check`" in check_end.format_next_step(both)
    assert not check_end.format_next_step(run_of(HOST, result("warn")))


def hinted(name: str, status: Status, hint: str | None) -> Result:
    """Return a result whose finding has a hint."""
    finding = {**FINDING, **Finding("SAMPLE-HINT", name, hint=hint).as_dict(), "verdict": status}
    return replace(result(status, name), findings=[finding])


def test_run_ends_with_fix_for_each_failure() -> None:
    """A command by itself, a condition with its command, or the lesson where no command helps."""
    held = Hint("wait until it ends, or end it if it is yours: `kill 4242`", ends=4242)
    run = run_of(
        hinted("jax.first", "fail", Hint.set_up("jax")),
        hinted("jax.second", "warn", Hint.set_up("jax", " for the newest JAX")),
        hinted("jax.third", "warn", held),
        hinted("jax.fourth", "warn", "use fewer devices"),
        hinted("jax.fifth", "warn", None),
    )
    lines = check_end.next_step_lines(run, ExitCode.OK)

    assert lines == [
        "Next, for the failure of jax.first and the warning of jax.second:",
        "  tpustarter setup jax",
        "Next, for the warning of jax.third:",
        f"  {held}",
        "Next, for the warning of jax.fourth:",
        "  use fewer devices, see `tpustarter learn jax/precision`",
        "What helps with the others stands above, beside the word do.",
    ]
    said_on_stderr = check_end.next_step_lines(run, ExitCode.FAILED)
    assert "Next, for the warning of jax.second:" == said_on_stderr[0]
    alone = check_end.next_step_lines(run_of(HOST, result("warn")), ExitCode.OK)
    assert "  tpustarter check jax.sample --isolate -v" == alone[-1]
    assert not check_end.next_step_lines(run_of(HOST), ExitCode.OK)


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        (2, "tpustarter check jax.left0 jax.left1 --python '~/my env'"),
        (9, "tpustarter check 'jax.*' --python '~/my env'"),
    ],
)
def test_stopped_run_names_command_to_continue(missing: int, command: str) -> None:
    """A stopped run names the few remaining checks, or the command to start again."""
    run = run_of(result("pass"), *(result("notrun", f"jax.left{n}") for n in range(missing)))
    left = check_end.list_unreached_checks(run)
    with check.make_context("check", ["jax.*", "--python", "~/my env"]) as context:
        again = command_words.rebuild_arguments(context, **({"ids": left} if left else {}))
    line = check_end.explain_exit_code(run, ExitCode.INTERRUPTED, again)

    assert line == (
        f"exit 130: stopped; this report has the results of 1 of {1 + missing} checks. "
        f"Next: `{command}`"
    )


def test_failure_names_command_that_explains() -> None:
    """A failure names the command that explains it, on stderr, even in a pipe."""
    why = check_end.format_log_hint(run_of(result("fail")), [])
    assert "  tpustarter learn jax/precision" == why.splitlines()[-1]
    assert not check_end.format_log_hint(run_of(result("pass")), [])


def test_measured_rate_is_bar_beside_documented_peak() -> None:
    """With `-v`, a measured rate is a bar next to the documented peak, if there is one."""
    told = {**FINDING, "code": "JAX-HBM-RATE-PEAK", "name": "memory copy, of the documented peak"}
    measured = {**told, "found": "75 %", "share": 0.75}
    unknown = {**told, "found": "no reference for this device", "expected": None}
    shown = results_text.render_results(
        run_of(result("pass", findings=(measured, unknown))), verbose=True
    )

    assert "━" * 30 + "─" * 10 + "  75 % of the peak" in shown
    assert 1 == shown.count("━─")
