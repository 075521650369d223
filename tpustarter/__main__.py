"""Starts the command line, and is the one place where errors are shown."""

from __future__ import annotations

import os
import sys

from tpustarter.problem import ExitCode, Problem


def main() -> None:
    """Run `tpustarter`; every way out has its own exit code, see `ExitCode`."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, many times: loads nothing else
        from tpustarter import __version__

        print(f"tpustarter {__version__}")  # noqa: T201  the answer
        return
    try:
        if not sys.argv[1:] and _wants_screen():
            from tpustarter.tui.launch import run

            sys.exit(run())
        from tpustarter.cli import cli

        cli(prog_name="tpustarter", standalone_mode=True)
    except Problem as problem:
        print(problem, file=sys.stderr)  # noqa: T201  the one place
        sys.exit(problem.code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away: nothing to tell
        sys.stdout = None
        sys.exit(ExitCode.OK)
    except Exception as error:  # noqa: BLE001  whatever is left is a bug of ours
        sys.exit(_bug(error))


def _wants_screen() -> bool:
    """Return whether `tpustarter` alone may take the whole terminal; the app draws on stderr."""
    if os.environ.get("CI") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr) if stream)


def _bug(error: Exception) -> ExitCode:
    """Write a report that can be pasted, and say where it is."""
    from tpustarter.report import bug

    what, where = bug.write(error)
    print(f"error: tpustarter itself broke: {what}\n\nhint: {where}", file=sys.stderr)  # noqa: T201
    return ExitCode.BUG


if __name__ == "__main__":
    main()
