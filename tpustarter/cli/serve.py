"""`tpustarter serve`: the tutor or notebooks in a browser, on this machine or through a tunnel."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tpustarter.cli.parameters import StrictCommand
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.invocation import (
    describe_missing_extra,
    format_commands,
    tpustarter_command,
)
from tpustarter.text.terminal import escape_text, format_code

if TYPE_CHECKING:
    from tpustarter.serving.tunnel import TunnelCommand
    from tpustarter.serving.tutor_server import TutorServer

PORTS = {"tutor": 8765, "jupyter": 8888, "colab": 8888, "profiler": 6006}
"""Default port of each service; it is fixed, so that a tunnel can be reused."""
NAMES = {
    "tutor": "The tutor",
    "jupyter": "Jupyter",
    "colab": "Jupyter for Colab",
    "profiler": "TensorBoard",
}

_USE = "open the address above in the browser"
_USES = {
    "colab": "in Colab open the menu beside Connect, choose to connect to\n"
    "a local runtime, and paste the address above"
}

_DANGER = "Whoever has this address can run code as you."
_DANGERS = {"profiler": "Whoever is logged in on this machine can read the traces."}


@click.command(
    cls=StrictCommand,
    short_help="Show the tutor or notebooks in a browser, also through a tunnel.",
    epilog="Example: tpustarter serve jupyter --port 8889",
)
@click.argument("what", type=click.Choice(list(PORTS)), default="tutor", metavar="[WHAT]")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="The port to listen on.  "
    f"[default: {', '.join(f'{port} for {what}' for what, port in PORTS.items())}]",
)
def serve(what: str, port: int | None) -> None:
    """Show something in a browser on this machine, or on yours through a tunnel.

    \b
    WHAT is one of:
      tutor     the lessons of this program [default]
      jupyter   notebooks with JAX, in the folder in which you start it
      colab     the same, for notebooks on Colab's page
      profiler  XProf in TensorBoard, with the traces below that folder

    All but the tutor come from an environment that `tpustarter setup` makes, under the same name.
    The server listens on 127.0.0.1 alone, so nobody reaches it from another machine without a
    tunnel. It prints an address with a token that is new at each start, and whoever has the token
    can run code as you. TensorBoard has no token, so whoever is logged in on this machine can read
    the traces. It also prints the command that opens the tunnel. Ctrl-C ends the server, and with
    it what it has started: the windows of the tutor, or the kernels of notebooks, which then no
    longer hold the TPU.
    """  # noqa: D301  click looks for the character itself
    if what == "tutor":
        _serve_tutor(port or PORTS[what])
    else:
        _serve_other(what, port or PORTS[what])


def _serve_tutor(port: int) -> None:
    server = _tutor(port)
    code = asyncio.run(server.run(lambda: _say_where("tutor", server.url, server.port)))
    click.echo("The server has ended, and every window of the tutor with it.", err=True)
    sys.exit(code)


def _tutor(port: int) -> TutorServer:
    try:
        from tpustarter.serving.tutor_server import TutorServer
    except ModuleNotFoundError as error:
        raise Problem(
            f"`textual-serve` is missing in `{sys.executable}`: there is no module `{error.name}`",
            hint=describe_missing_extra("serve", "textual-serve"),
        ) from error
    from tpustarter.serving.app_window import app_variables

    return TutorServer(
        [sys.executable, "-m", "tpustarter"], app_variables(tpustarter_command()), port=port
    )


def _serve_other(what: str, port: int) -> None:
    from tpustarter.checking.plan import environments
    from tpustarter.cli.command_end import stop_at_signals
    from tpustarter.machine import host
    from tpustarter.serving.server_process import ServerProcess
    from tpustarter.setup import server_commands

    folder = environments.find_proved_environment(environments.SERVED[what])
    if folder is None:
        raise Problem(
            f"there is no environment that serves {NAMES[what]}",
            hint=f"`tpustarter setup {what}` shows how one is made, and with `--yes` makes it",
            code=ExitCode.NOTHING_VERIFIED,
        )
    machine = host.Machine()
    started = server_commands.make_server_command(what, folder, machine, port=port, root=Path.cwd())
    server = ServerProcess(started, NAMES[what], what, port)
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        server.stop()

    with stop_at_signals(stop):
        server.run(
            lambda: _say_where(what, server.url, port, _devices(what, started.env)),
            lambda line: click.echo(escape_text(line), err=True),
        )
    click.echo("The server has ended, and what it had started with it.", err=True)
    sys.exit(ExitCode.INTERRUPTED if signals[:1] == [2] else ExitCode.TERMINATED)


def _devices(what: str, env: Mapping[str, str]) -> str:
    """Return a note on a notebook's virtual CPU devices, or "" if it has none."""
    count = env.get("JAX_NUM_CPU_DEVICES")
    if what == "profiler" or not count or count == "1":
        return ""
    return f"There is no TPU here, so its notebooks have {count} virtual CPU devices."


def _say_where(what: str, url: str, port: int, devices: str = "") -> None:
    from tpustarter.machine.machine import Machine
    from tpustarter.serving.tunnel import list_tunnels

    click.echo(_format_address(what, url, list_tunnels(port, Machine()), devices))
    sys.stdout.flush()


def _format_address(what: str, url: str, ways: list[TunnelCommand], devices: str = "") -> str:
    lines = [f"{NAMES[what]} is at {url}", ""]
    if ways:
        lines.append(
            "Your browser is on another computer. Run this there, in a second terminal, and"
        )
        lines.append(f"leave it open. Then {_USES.get(what, _USE)}.")
    else:
        lines.append(f"On this machine, {_USES.get(what, _USE)}.")
    for way in ways:
        lines += ["", f"{way.when}:"] if way.when else [""]
        lines.append(f"$ {shlex.join(way.command)}")
    lines += ["", devices] if devices else []
    lines += ["", f"{_DANGERS.get(what, _DANGER)} Ctrl-C ends the server."]
    return format_code(format_commands("\n".join(lines)))
