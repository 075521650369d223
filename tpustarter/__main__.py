"""Starts the command line, and is the one place where errors are shown.

However it ends, there is an exit code of `ExitCode`: also where nothing can be written any more,
and where a signal comes while no command follows it. Signals come first, so what takes long to
import is imported after that.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

from tpustarter.problem import ExitCode, Problem, early_end, of_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main() -> None:
    """Run `tpustarter`; every way out has its own exit code, see `ExitCode`."""
    _end_at_signals()
    from tpustarter.terminal import UnwrittenError, prepare_streams

    prepare_streams()
    code = _code_of(_run)
    try:
        sys.stdout.flush()
    except UnwrittenError as error:
        code = _unwritten(error.why)
    sys.stderr.flush()
    if sys.flags.inspect:  # PYTHONINSPECT: Python would open a prompt, and end with 1
        os._exit(code)
    atexit.register(_let_signals_go)
    sys.exit(code)


def _run() -> Any:
    """Do what the command line asks for; returns an exit code, or None for 0."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, many times: loads nothing else
        from tpustarter.version import __version__

        print(f"tpustarter {__version__}")  # noqa: T201  the answer
        return None
    if not sys.argv[1:] and os.environ.get("TEXTUAL_DRIVER"):  # `tpustarter serve` started it
        from tpustarter.tui.browser import run

        return run()
    if not sys.argv[1:] and _wants_screen():
        import gc

        gc.disable()  # until the first screen is there: what is imported now stays
        from tpustarter.tui.launch import run

        return run()
    from tpustarter.cli import cli
    from tpustarter.invocation import command

    # Not standalone: click exits with 1, a failed check, for Ctrl-C and for a closed pipe.
    return cli(prog_name=command(), standalone_mode=False)


def _code_of(run: Callable[[], Any]) -> int:
    """Return the exit code of a run, after showing the error that ended it."""
    from tpustarter.terminal import UnwrittenError

    try:
        return int(run() or ExitCode.OK)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.BUG if end.code else ExitCode.OK
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Problem as problem:
        return _problem(of_limit(problem) or problem)
    except UnwrittenError as error:
        return _unwritten(error.why)
    except Exception as error:  # noqa: BLE001  whatever is left is a bug of ours
        import click

        if isinstance(error, click.Abort):
            return ExitCode.INTERRUPTED
        if isinstance(error, click.ClickException):  # a command line that cannot be followed
            from tpustarter.cli.endings import refused

            return _problem(refused(error))
        limit = of_limit(error)
        return _problem(limit) if limit else _bug(error)


def _problem(problem: Problem) -> int:
    from tpustarter.redact import Redactor
    from tpustarter.terminal import visible

    try:
        redact = Redactor(os.environ)
        # What stays on the user's own terminal can be pasted; a log or a pipe gets no names.
        own = redact.command if sys.stderr.isatty() else redact.text
        hint = own(problem.hint) if problem.hint else None
        text = str(Problem(redact.text(problem.what), hint=hint, read=problem.read))
    except Exception as error:  # noqa: BLE001  what cannot be redacted is not shown
        return _bug(error)
    _tell("\n".join(visible(line) for line in text.split("\n")))
    return problem.code


def _tell(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  the one place


def _unwritten(error: OSError) -> int:
    """Say that stdout took not all there was to say; nothing is tried again while Python exits."""
    import errno
    import stat

    is_device = stat.S_ISCHR(os.fstat(1).st_mode)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        return ExitCode.PIPE  # whoever read it has seen enough
    if error.errno == errno.EIO and is_device:
        return ExitCode.TERMINATED  # the terminal is gone, and its signal was ignored
    _tell(f"error: cannot write to stdout: {error.strerror or error}")
    return ExitCode.OUTPUT


def _end_at_signals() -> None:
    """Have an exit code for a signal that comes while no command follows it by itself."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # under nohup, or in the background
            signal.signal(number, _end_early)


def _end_early(number: int, _: object) -> None:
    code = ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED
    try:
        if getattr(sys.stdout, "begun", False):
            sys.stdout.flush()  # what was written may wait there
        else:
            os.write(1, early_end(sys.argv[1:], code).encode())
    finally:  # whatever was being imported or written just then
        os._exit(code)


def _let_signals_go() -> None:
    """Keep the code that is decided: at its very end Python takes signals as the system does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _wants_screen() -> bool:
    """Return whether `tpustarter` alone may take the whole terminal; the app draws on stderr."""
    if os.environ.get("CI") or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _bug(error: Exception) -> int:
    """Write a report that can be pasted, and say where it is."""
    from tpustarter import bug

    what, where = bug.write(error)
    _tell(f"error: tpustarter itself broke: {what}\n\nhint: {where}")
    return ExitCode.BUG


if __name__ == "__main__":
    main()
