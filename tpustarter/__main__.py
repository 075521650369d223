"""Starts the command line, and is the one place where errors are shown."""

from __future__ import annotations

import os
import sys

from tpustarter.problem import ExitCode, Problem


def main() -> None:
    """Run `tpustarter`; every way out has its own exit code, see `ExitCode`."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, many times: loads nothing else
        from tpustarter.version import __version__

        print(f"tpustarter {__version__}")  # noqa: T201  the answer
        return
    import click

    _open_what_is_closed()
    try:
        if not sys.argv[1:] and _wants_screen():
            from tpustarter.tui.launch import run

            sys.exit(run())
        from tpustarter.cli import cli

        # Not standalone: click exits with 1, a failed check, for Ctrl-C and for a closed pipe.
        cli(prog_name="tpustarter", standalone_mode=False)
    except click.ClickException as error:  # a command line that cannot be followed
        error.show()
        sys.exit(error.exit_code)
    except Problem as problem:
        from tpustarter.terminal import visible

        shown = "\n".join(visible(line) for line in str(problem).split("\n"))
        print(shown, file=sys.stderr)  # noqa: T201  the one place
        sys.exit(problem.code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001  whatever is left is a bug of ours
        sys.exit(_bug(error))


def _open_what_is_closed() -> None:
    """Give descriptors 0 to 2 to nobody where they are closed: a run's pipes must not get them."""
    while (opened := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(opened)


def _wants_screen() -> bool:
    """Return whether `tpustarter` alone may take the whole terminal; the app draws on stderr."""
    if os.environ.get("CI") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr) if stream)


def _bug(error: Exception) -> ExitCode:
    """Write a report that can be pasted, and say where it is."""
    from tpustarter import bug

    what, where = bug.write(error)
    print(f"error: tpustarter itself broke: {what}\n\nhint: {where}", file=sys.stderr)  # noqa: T201
    return ExitCode.BUG


if __name__ == "__main__":
    main()
