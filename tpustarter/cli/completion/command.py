"""`tpustarter completion`: prints the script with which a shell completes command lines.

The scripts call `tpustarter completion -- WORD ...`, which is answered before click is imported,
by `tpustarter/core/completion.py`.
"""

from __future__ import annotations

from pathlib import Path

import click

from tpustarter.cli.parameters import StrictCommand

SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=StrictCommand,
    short_help="Print what makes the tab key complete commands in your shell.",
    epilog="Example: tpustarter completion bash",
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
def completion(shell: str) -> None:
    """Print a script for your shell, after which the tab key completes commands.

    It completes commands, options and their values, and the ids of checks, lessons, exercises,
    set-ups and TPU types. SHELL is bash, zsh or fish. One of these lines installs its script for
    new shells, where `tpustarter` is a command on your PATH.

    \b
    tpustarter completion bash >> ~/.bashrc
    tpustarter completion zsh >> ~/.zshrc
    tpustarter completion fish > ~/.config/fish/completions/tpustarter.fish
    """  # noqa: D301  click looks for the character itself
    script = Path(__file__).with_name(f"tpustarter.{shell}")
    click.echo(script.read_text(encoding="utf-8"), nl=False)
