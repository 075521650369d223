"""`tpustarter explain`: the meaning of a log, a traceback or piped output, and the fix."""

from __future__ import annotations

import io
import os
import shlex
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from tpustarter.cli.command_end import format_path, print_errors_as_json, print_result
from tpustarter.cli.echo import echo_if_waiting, echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.core.short_ids import find_nearest_file
from tpustarter.text.terminal import choose_paint, cut_text, escape_text, format_code, wrap

if TYPE_CHECKING:
    from tpustarter.explain.explain_output import CommandEnd
    from tpustarter.explain.explanation import Explanation
    from tpustarter.explain.log_scanner import FailureScanner, LogScan
    from tpustarter.explain.worker_logs import JobExplanation

COLOURS = {"confirmed": "red", "likely": "yellow", "possible": "cyan"}
MOST_PASTED = 16 << 20
"""Most bytes read from a terminal."""
_WORDS_OF_AN_ERROR = 3
"""Number of words from which a missing file's name is taken for an error message."""
_SHOWN = 200
"""Most characters of such a text that the error repeats."""
_PASTE = (
    "Paste the error here, press Enter, and then Ctrl-D. A pipe does the same: "
    "`python train.py 2>&1 | tpustarter explain`"
)
_PIPE = (
    "name a log that exists, or run the program again in a pipe: "
    "`python train.py 2>&1 | tpustarter explain`"
)


@click.command(
    cls=StrictCommand,
    short_help="Say what an error means, and what to do about it.",
    epilog="Example: tpustarter explain train.log",
)
@click.argument("files", nargs=-1, metavar="[FILE ...|-]")
@click.option("--no-look", is_flag=True, help="Read the log only, and don't look at this machine.")
@click.option(
    "--fix", is_flag=True, help="Offer small repairs. You see each command and say yes or no."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def explain(files: tuple[str, ...], *, no_look: bool, fix: bool, as_json: bool) -> None:
    """Explain a log: the most likely cause, the line that shows it, and what to do.

    FILE is a log, a traceback, or any output of a program. Without it, or with -, explain reads a
    pipe, or what you paste into the terminal and end with Ctrl-D. If something on this machine can
    confirm the cause, explain looks there, without touching the TPU. It sends nothing anywhere.

    Give it the logs of all workers of a job, and it names the one that failed first. It does the
    same for one log in which kubectl, torchrun, Ray, vLLM, mpirun or srun has marked the lines of
    each worker.
    """
    from tpustarter.explain import explanation, explanation_document, known_failures, log_scanner

    if fix and (as_json or no_look or not (sys.stdin.isatty() and sys.stderr.isatty())):
        raise click.UsageError(
            "--fix needs a terminal to ask on, and goes with neither --json nor --no-look"
        )
    if len(files) > 1 and (fix or "-" in files):
        raise click.UsageError("the logs of several workers are files, and go without --fix and -")
    with print_errors_as_json(explanation_document.SCHEMA, wanted=as_json):
        scanner = log_scanner.FailureScanner(known_failures.read_known_failures())
        found: Explanation | JobExplanation
        if len(files) > 1:
            found = _explain_job(scanner, files)
        else:
            scan, job = _scan(scanner, files[0] if files else None)
            found = job if job and not fix else explain_scan(scan, looks=not no_look)
        if as_json:
            print_result(Redactor(os.environ).redact_value(_document(found)))
        else:
            echo_lines(remove_secrets(_text(found)))
    if fix and isinstance(found, explanation.Explanation):
        _offer_fixes(found)
    sys.exit(found.code)


def _explain_job(scanner: FailureScanner, files: Sequence[str]) -> JobExplanation:
    from tpustarter.explain import worker_logs

    names = worker_logs.worker_names(files)
    scans = {name: _scan(scanner, file)[0] for name, file in zip(names, files, strict=True)}
    return worker_logs.explain_job(scans, dict(zip(names, files, strict=True)))


def explain_worker_logs(files: Sequence[str]) -> str:
    """Return why a job failed on other machines, from its workers' logs; raises Problem."""
    from tpustarter.explain import known_failures, log_scanner

    scanner = log_scanner.FailureScanner(known_failures.read_known_failures())
    found: Explanation | JobExplanation
    if len(files) > 1:
        found = _explain_job(scanner, files)
    else:
        found = explain_scan(_scan(scanner, files[0])[0], looks=False)
    return remove_secrets(_text(found))


def _document(found: Explanation | JobExplanation) -> dict[str, object]:
    from tpustarter.explain import explanation_document, worker_logs

    if isinstance(found, worker_logs.JobExplanation):
        return worker_logs.make_json_document(found)
    return explanation_document.make_json_document(found)


def _text(found: Explanation | JobExplanation) -> str:
    from tpustarter.explain import explanation_text, worker_logs

    paint = choose_paint(COLOURS)
    if isinstance(found, worker_logs.JobExplanation):
        return worker_logs.render_explanation(found, paint)
    return explanation_text.render_explanation(found, paint)


def _scan(scanner: FailureScanner, file: str | None) -> tuple[LogScan, JobExplanation | None]:
    """Scan a log; if it contains several workers' lines, explain those as well."""
    from tpustarter.explain import log_prefixes, log_reader, worker_logs

    one, splitter = scanner.start_scan(), log_prefixes.WorkerLogSplitter(scanner)
    with _open_log(file) as stream:
        try:
            for chunk in log_reader.read_chunks(stream):
                one.feed(chunk)
                splitter.take(chunk)
        except OSError as error:
            raise _unreadable(file, error) from error
    scans = splitter.end()
    job = worker_logs.explain_job(scans, places=splitter.places) if scans else None
    return one.finish(), job if job and job.first else None


def _offer_fixes(found: Explanation) -> None:
    from tpustarter.explain import fixes
    from tpustarter.machine import host

    offers = fixes.find_fixes(found.matches, host.Machine())
    if not offers:
        click.echo("\nNothing that was confirmed here has a small and safe fix.", err=True)
    for match, offer in offers:
        click.echo(
            f"\n{escape_text(shlex.join(offer.command))}\n  {escape_text(offer.does)}", err=True
        )
        if not click.confirm("Run it?", default=False, err=True):
            continue
        code = fixes.run_fix(offer)
        gone = fixes.recheck_failure(match, found.python)
        ended = "" if code == 0 else f"The command ended with {code}. "
        state = "It is no longer so." if gone else f"It is still so: {match.failure.what}."
        click.echo(f"{ended}{state}", err=True)


def explain_scan(
    scan: LogScan, *, looks: bool, end: CommandEnd | None = None, python: str | None = None
) -> Explanation:
    """Return a scanned log's explanation, confirmed on this machine where possible.

    Args:
        scan: The result of scanning the log.
        looks: True to examine this machine if it can confirm something.
        end: The command's end, if known.
        python: The Python that ran the program; None to take it from the log.
    """
    from tpustarter.explain import explain_output, machine_evidence

    found = explain_output.explain_log(scan, end, python=python)
    return add_evidence(found) if looks and machine_evidence.can_confirm(found.matches) else found


def add_evidence(found: Explanation) -> Explanation:
    """Return an explanation with this machine's evidence."""
    from tpustarter.explain import machine_evidence

    try:
        machine = machine_evidence.plan_host_checks(found.python).collect()
    except Problem as problem:
        click.echo(f"this machine was not looked at: {problem.full_text}", err=True)
        return found
    return replace(
        found, matches=tuple(machine_evidence.add_machine_evidence(found.matches, machine))
    )


def remove_secrets(text: str) -> str:
    """Return text with its secrets redacted."""
    return Redactor(os.environ).redact_text(text)


def _open_log(file: str | None) -> IO[bytes]:
    if file in (None, "-"):
        if sys.stdin.isatty():
            lines = "\n".join(wrap(_PASTE))
            click.echo(f"{format_code(lines)}\n", err=True)
            # One read, because after Ctrl-D another would wait for more input.
            return io.BytesIO(sys.stdin.buffer.read(MOST_PASTED))
        _refuse_endless("the pipe", sys.stdin.fileno())
        return sys.stdin.buffer
    path = locations.expand_path(str(file))
    try:
        if path.is_dir():
            hint = f"`cat {format_path(path)}/* | tpustarter explain` explains all that is in it"
            raise Problem(f"`{file}` is a folder, expected a log", hint=hint, code=ExitCode.USAGE)
        echo_if_waiting(path)
        stream = path.open("rb")
    except OSError as error:
        raise _unreadable(file, error) from error
    try:
        _refuse_endless(f"`{file}`", stream.fileno())
    except Problem:
        stream.close()
        raise
    return stream


def _refuse_endless(name: str, descriptor: int) -> None:
    """Raise Problem for a device such as `/dev/zero`, which never ends."""
    status = os.fstat(descriptor)
    is_null = status.st_rdev == Path(os.devnull).stat().st_rdev
    if stat.S_ISCHR(status.st_mode) and not is_null and not os.isatty(descriptor):
        raise Problem(f"{name} is a device, expected a log", hint=_PIPE, code=ExitCode.USAGE)


def _unreadable(file: str | None, error: OSError) -> Problem:
    name = (
        "the pipe"
        if file in (None, "-")
        else f"`{escape_text(cut_text(remove_secrets(str(file)), _SHOWN))}`"
    )
    what = f"{name} cannot be read: {error.strerror}"
    return Problem(what, hint=_hint(file, error), code=ExitCode.USAGE)


def _hint(file: str | None, error: OSError) -> str | None:
    if file in (None, "-"):
        return None
    path = locations.expand_path(str(file))
    if len(str(file).split()) >= _WORDS_OF_AN_ERROR:
        return "run `tpustarter explain` without a file, and paste the error"
    if isinstance(error, PermissionError):
        return f"read it as its owner: `sudo cat {format_path(path)} | tpustarter explain`"
    if isinstance(error, FileNotFoundError):
        near = find_nearest_file(path)
        return f"did you mean `tpustarter explain {format_path(near)}`?" if near else _PIPE
    return None
