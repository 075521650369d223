"""The entry point: starts the command line or the app, and is the one place that shows errors.

Every way out has an exit code of `ExitCode`, also where output cannot be written, and where a
signal arrives before a command handles it. Therefore the signal handlers come first, and slow
imports after them.
"""

from __future__ import annotations

import os
import sys

from tpustarter.core import shadowed_modules

try:
    import atexit
    import signal

    from tpustarter.core.problem import (
        ExitCode,
        Problem,
        find_limit_problem,
        find_problem,
        format_error,
        format_interrupted_output,
    )
except Exception as error:
    shadowed_modules.exit_if_shadowed(error)
    raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run `tpustarter`, and exit with a code of `ExitCode`."""
    try:
        _end_at_signals()
        code = _code_with_streams()
    except Exception as error:  # the handling of errors itself failed
        shadowed_modules.exit_if_shadowed(error)
        raise
    sys.stderr.flush()
    if sys.flags.inspect:  # PYTHONINSPECT: Python would open a prompt, and end with 1
        os._exit(code)
    atexit.register(_let_signals_go)
    sys.exit(code)


def _code_with_streams() -> int:
    from tpustarter.text.terminal import UnwrittenError, prepare_streams

    prepare_streams()
    code = _run_to_exit_code(_run)
    _report_moved_files()
    try:
        sys.stdout.flush()
    except UnwrittenError as error:
        return _unwritten(error.why)
    return code


def _run() -> int | None:
    """Run the command or the app, and return its exit code; None means 0."""
    if sys.argv[1:2] == ["--version"]:  # scripts ask often: little else is imported
        from tpustarter.core.origin import find_origin
        from tpustarter.text.terminal import escape_text
        from tpustarter.version import __version__

        origin = escape_text(find_origin())
        print(f"tpustarter {__version__} ({origin})")  # noqa: T201  the output of `--version`
        return None
    if sys.argv[1:3] == ["completion", "--"]:  # a shell asks at each press of the tab key
        from tpustarter.core.completion import list_completions

        for word, text in list_completions(sys.argv[3:]):
            print(f"{word}\t{text}" if text else word)  # noqa: T201  what the shell reads
        return None
    if not sys.argv[1:] and os.environ.get("TEXTUAL_DRIVER"):  # `tpustarter serve` started it
        from tpustarter.tui.app.launch import run_in_browser

        return run_in_browser()
    if not sys.argv[1:] and _wants_screen():
        import gc

        gc.disable()  # until the first screen is there, because all that is imported now stays
        from tpustarter.tui.app.launch import run_app

        return run_app()
    from tpustarter.cli import cli
    from tpustarter.text.invocation import tpustarter_command

    # Not standalone: click exits with 1, a failed check, for Ctrl-C and for a closed pipe.
    return cli(prog_name=tpustarter_command(), standalone_mode=False)


def _run_to_exit_code(run: Callable[[], int | None]) -> int:
    from tpustarter.text.terminal import UnwrittenError

    try:
        return int(run() or ExitCode.OK)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.BUG if end.code else ExitCode.OK
    except Problem as problem:
        return _problem(find_limit_problem(problem) or problem)
    except UnwrittenError as error:
        return _unwritten(error.why)
    except Exception as error:  # noqa: BLE001  all others are bugs of this program
        import click

        if isinstance(error, click.Abort):
            return ExitCode.INTERRUPTED
        if isinstance(error, click.ClickException):  # a command line that click refuses
            from tpustarter.cli.command_end import convert_usage_error

            return _problem(convert_usage_error(error))
        cause = find_problem(error)
        return _problem(cause) if cause else _bug(error)


def _problem(problem: Problem) -> int:
    from tpustarter.core.redact import Redactor
    from tpustarter.text.terminal import escape_text

    try:
        redact = Redactor(os.environ)
        # A hint on the user's own terminal can be pasted; a log or a pipe gets no names.
        own = redact.redact_command if sys.stderr.isatty() else redact.redact_text
        hint = own(problem.hint) if problem.hint else None
        text = format_error(redact.redact_text(problem.full_text), hint, problem.read)
    except Exception as error:  # noqa: BLE001  a text that cannot be redacted is not shown
        return _bug(error)
    _print_error("\n".join(escape_text(line) for line in text.split("\n")))
    return problem.code


def _print_error(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  the one place that prints errors


def _report_moved_files() -> None:
    """Print a note on each file of the user that was moved; a front end may not have shown it."""
    if "tpustarter.core.locations" not in sys.modules:
        return
    from tpustarter.core.locations import pop_move_notices

    if sentences := pop_move_notices():
        from tpustarter.core.redact import Redactor
        from tpustarter.text.terminal import escape_text

        redact = Redactor(os.environ)
        for sentence in sentences:
            _print_error(escape_text(f"note: {redact.redact_text(sentence)}"))


def _unwritten(error: OSError) -> int:
    """Return the exit code for output that could not be written to stdout.

    /dev/null takes the place of stdout, so that Python doesn't try to write again while it exits.
    """
    import errno
    import stat

    is_device = stat.S_ISCHR(os.fstat(1).st_mode)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        return ExitCode.PIPE  # the reader has closed the pipe
    if error.errno == errno.EIO and is_device:
        return ExitCode.TERMINATED  # the terminal is gone, and its signal was ignored
    _print_error(f"error: cannot write to stdout: {error.strerror or error}")
    return ExitCode.OUTPUT


def _end_at_signals() -> None:
    """Exit with a code of `ExitCode` at a signal, until a command has handlers of its own."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # under nohup, or in the background
            signal.signal(number, _end_early)


def _end_early(number: int, _: object) -> None:
    code = ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED
    try:
        if getattr(sys.stdout, "begun", False):
            sys.stdout.flush()  # output may still be in its buffer
        else:
            os.write(1, format_interrupted_output(sys.argv[1:], code).encode())
    finally:  # even where an import or a write was interrupted
        os._exit(code)


def _let_signals_go() -> None:
    """Ignore signals, so that none of them replaces the exit code.

    At the end of its exit Python restores the default action of every signal that has a handler.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _wants_screen() -> bool:
    """Return whether the app may take the terminal, to which stderr must also be connected."""
    if os.environ.get("CI") or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _bug(error: Exception) -> int:
    """Write a crash report and print where it is, unless a file of the user shadows a module."""
    shadowed_modules.exit_if_shadowed(error)
    from tpustarter.core import crash_report

    what, where = crash_report.write_crash_report(error)
    _print_error(f"error: tpustarter itself broke: {what}\n\nhint: {where}")
    return ExitCode.BUG


if __name__ == "__main__":
    main()
