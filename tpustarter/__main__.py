"""Starts the command line, and is the one place where errors are shown."""

from __future__ import annotations

import contextlib
import sys
import traceback

from tpustarter.problem import ExitCode, Problem


def main() -> None:
    """Run `tpustarter`; every way out has its own exit code, see `ExitCode`."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, many times: loads nothing else
        from tpustarter import __version__

        print(f"tpustarter {__version__}")  # noqa: T201  the answer
        return
    try:
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


def _bug(error: Exception) -> ExitCode:
    """Write a report that can be pasted, and say where it is."""
    import os
    import platform
    import time

    from tpustarter import __version__, locations
    from tpustarter.report.redact import Redactor

    redact = Redactor(os.environ)
    what = redact.text(f"{type(error).__name__}: {error}")
    facts = f"tpustarter {__version__}, Python {platform.python_version()}, {sys.platform}"
    trace = redact.text("".join(traceback.format_exception(error)))
    body = f"## What happened\n\n`{what}`\n\n{facts}\n\n```\n{trace}```\n"
    where = "no report could be written"
    with contextlib.suppress(OSError, Problem):
        path = locations.state() / time.strftime("bug-%Y%m%d-%H%M%S.md")
        path.write_text(body, encoding="utf-8")
        locations.give_to_caller(path)
        where = f"a report to paste into an issue is in `{path}`"
    print(f"error: tpustarter itself broke: {what}\n\nhint: {where}", file=sys.stderr)  # noqa: T201
    return ExitCode.BUG


if __name__ == "__main__":
    main()
