"""Writes what is made from the command line's own help: the man page and the completion's index.

`pytest tests/cli/test_completion.py --golden` does so.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

import tpustarter
from tpustarter.cli import cli
from tpustarter.core.completion import ANY, COMMAND, FLAG, INDEX
from tpustarter.learning.content import paths
from tpustarter.machine import tpus
from tpustarter.report.forms import issue_trackers
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES
from tpustarter.version import __version__

MAN_PAGE = Path(tpustarter.__file__).with_name("tpustarter.1")
LISTS = {
    "check ids": "@check",
    "learn lesson": "@lesson",
    "learn --exercise": "@exercise",
    "learn --path": "@path",
    "plan --tpu": "@tpu",
    "rehearse ids": "@check",
    "rehearse --tpu": "@tpu",
    "report --for": "@tracker",
    "report --reproduce": "@check",
    "setup profile": "@setup",
    "tpu create --type": "@tpu",
    "tpu doctor --type": "@tpu",
    "tpu job start --type": "@tpu",
}
"""Arguments and options that take one of our ids, and the list that completes them."""


def walk(
    command: click.Command = cli, word: str = "tpustarter", above: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield the program and all commands in the order of `--help`: name, command and context."""
    context = click.Context(command, above, word, **command.context_settings)
    command._help_option = None  # click keeps it as the first context in this process named it
    yield context.command_path.partition(" ")[2], command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from walk(below, name, context)


def format_index() -> str:
    """Return the index of the completion: one row for each word, with tabs between its fields."""
    known = {
        "@path": [path.id for path in paths.read_paths()],
        "@setup": [*PROFILES, *MACHINE],
        "@tpu": tpus.list_type_names(),
        "@tracker": [tracker.id for tracker in issue_trackers.TRACKERS],
    }
    rows = [(name, "", " ".join(values), "") for name, values in known.items()]
    for name, command, context in walk():
        if name:
            above, _, word = name.rpartition(" ")
            rows.append((above, word, COMMAND, command.get_short_help_str(limit=200).rstrip(".")))
        for param in command.get_params(context):
            rows += parameter_rows(name, param)
    return "".join("\t".join(row) + "\n" for row in rows)


def parameter_rows(command: str, param: click.Parameter) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of an option, one for each long name, or that of an argument."""
    is_flag = isinstance(param, click.Option) and (param.is_flag or param.count)
    for word in param.opts:
        values = LISTS.get(f"{command} {word}".strip(), FLAG if is_flag else ANY)
        if isinstance(param.type, click.Choice):
            values = " ".join(param.type.choices)
        if isinstance(param, click.Argument):
            yield command, "", values, ""
        elif not param.hidden and word.startswith("--"):
            first, _, _ = (param.help or "").partition(". ")
            yield command, word, values, first.rstrip(".").partition("\n")[0]


def format_man_page() -> str:
    """Return the man page: a section for each command, with its help and its options."""
    lines = [f'.TH TPUSTARTER 1 "" "tpustarter {__version__}" "User Commands"', ".SH NAME"]
    lines += ["tpustarter \\- learn to use a Google Cloud TPU, and prove that yours works"]
    for name, command, context in walk():
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f".SH {name.upper() or 'DESCRIPTION'}"]
        lines += [f".B {escape(context.command_path)}", escape(usage)]
        lines += format_paragraphs(command.help or "")
        for param in command.get_params(context):
            if (record := param.get_help_record(context)) and record[1]:
                lines += [".TP", f".B {escape(record[0])}", *fill(record[1])]
        lines += format_paragraphs(command.epilog or "")
    return "\n".join(lines) + "\n"


def format_paragraphs(text: str) -> Iterator[str]:
    """Yield lines of roff for a help text, whose backspaces begin what is not wrapped."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        before, mark, kept = paragraph.partition("\b\n")
        yield from (".PP", *fill(before))
        if mark:
            yield from (".nf", *map(escape, kept.splitlines()), ".fi")


def fill(text: str) -> list[str]:
    """Return a text as lines of roff, which are not longer than 80 columns."""
    words = " ".join(text.split())
    return [escape(line) for line in textwrap.wrap(words, 72, break_on_hyphens=False)]


def escape(line: str) -> str:
    """Return a line of text as roff prints it, with hyphens that can be copied."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def write_pages() -> None:
    """Write both files."""
    INDEX.write_text(format_index(), encoding="utf-8")
    MAN_PAGE.write_text(format_man_page(), encoding="utf-8")
