"""`tpustarter serve`: the tutor in a browser, here or at the other end of a tunnel."""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import Any

import click

from tpustarter.invocation import as_typed, command
from tpustarter.machine import pip
from tpustarter.problem import Problem
from tpustarter.terminal import coded

PORT = 8765
"""Where it listens unless another port is named: the same each time, for the tunnel's sake."""


@click.command(
    short_help="Show the tutor in a browser, also through a tunnel.",
    epilog="Example: tpustarter serve --port 8888",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=PORT,
    metavar="PORT",
    help=f"The port to listen on.  [default: {PORT}]",
)
def serve(port: int) -> None:
    """Show the tutor in a browser on this machine, or on yours through a tunnel.

    The server listens on 127.0.0.1 alone, so nobody reaches it from another machine without a
    tunnel. It prints an address with a token that is new at each start, and whoever has the token
    can run code as you. It also prints the command that opens the tunnel. Each browser window is a
    tutor of its own, which ends when you close the window. Ctrl-C ends the server.
    """
    from tpustarter.machine.machine import Machine
    from tpustarter.serving.tunnel import tunnels

    server = _server(port)

    def say_where() -> None:
        click.echo(_where(server.url, tunnels(server.port, Machine())))
        sys.stdout.flush()

    code = asyncio.run(server.run(say_where))
    click.echo("The server has ended, and every window of the tutor with it.", err=True)
    sys.exit(code)


def _server(port: int) -> Any:
    try:
        from tpustarter.serving.server import TutorServer
    except ModuleNotFoundError as error:
        raise Problem(
            f"`textual-serve` is missing in `{sys.executable}`: there is no module `{error.name}`",
            hint=_install(),
        ) from error
    from tpustarter.serving.window import variables

    return TutorServer([sys.executable, "-m", "tpustarter"], variables(command()), port=port)


def _install() -> str:
    """Return how the package gets into this Python."""
    if " run " in command():  # by uv, which installs what it is told to
        return "type the same command with `--extra serve` after `uv run`"
    python = shlex.quote(sys.executable)
    return f"run `{pip.command(f'{python} -m pip install textual-serve')}`"


def _where(url: str, ways: list[Any]) -> str:
    """Return where the tutor is, and how a browser elsewhere gets there."""
    lines = [f"The tutor is at {url}", ""]
    if not ways:
        lines.append("Open this address in a browser on this machine.")
    else:
        lines.append(
            "Your browser is on another computer. Run this there, in a second terminal, and"
        )
        lines.append("leave it open. Then open the address above in the browser.")
        for way in ways:
            lines += ["", f"{way.when}:"] if way.when else [""]
            lines.append(f"$ {shlex.join(way.command)}")
    lines += ["", "Whoever has this address can run code as you. Ctrl-C ends the server."]
    return coded(as_typed("\n".join(lines)))
