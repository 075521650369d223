"""`tpustarter completion`: what may follow, and the two files made from `--help`.

`tests/wheel/test_shells.py` presses the tab key in real shells.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests import command_pages
from tpustarter.cli import COMMANDS, cli
from tpustarter.cli.completion.command import SHELLS
from tpustarter.core import completion, content
from tpustarter.learning.content import exercises

LEVELS = ["static", "quick", "full", "soak"]


def complete(*words: str) -> list[str]:
    """Return the possible completions of the last word."""
    return [word for word, _ in completion.list_completions(words)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (("",), [*COMMANDS]),
        (("--",), ["--version", "--help"]),
        (("ch",), ["check"]),
        (("tpu", "st"), ["stop", "start"]),
        (("tpu", "job", "st"), ["start", "stop"]),
        (("check", "--fail"), ["--fail-on"]),
        (("check", "--level", ""), LEVELS),
        (("check", "--level=q"), ["--level=quick"]),
        (("check", "--level", "="), LEVELS),
        (("check", "--level", "=", "q"), ["quick"]),
        (("check", "--isolate", "host.sp"), ["host.space"]),
        (("check", "--level", "quick", "host.sp"), ["host.space"]),
        (("check", "host.space", "--requ"), ["--require"]),
        (("plan", "config.json", "--tpu", "v5e-8,v6e-25"), ["v5e-8,v6e-256"]),
        (("setup", "tor"), ["torchtpu"]),
        (("check", "", "--requ"), ["--require"]),
        (("check", "--python", ""), []),
        (("run", "--", "che"), []),
        (("explain", ""), []),
        (("nope", "--level", "q"), []),
        ((), [*COMMANDS]),
    ],
)
def test_what_may_follow(typed: tuple[str, ...], expected: list[str]) -> None:
    """Nothing where a file or the user's own word is due; bash splits a word at `=`."""
    assert expected == complete(*typed)


def test_every_id_is_completed() -> None:
    """Those of checks, lessons and exercises are the names of files, and no others."""
    lessons = content.read_lessons()
    known = {
        "check": {check.id for check in content.read_checks()},
        "learn": {lesson.id for lesson in lessons},
        "learn --exercise": {
            one.id for lesson in lessons for one in exercises.read_exercises(lesson)
        },
    }

    assert known == {words: {*complete(*words.split(), "")} for words in known}


@pytest.mark.parametrize("shell", SHELLS)
def test_script_and_its_installation_are_printed(shell: str) -> None:
    """The help has a line for each shell, and nothing but the script is on stdout."""
    script = CliRunner().invoke(cli, ["completion", shell]).stdout
    help_text = CliRunner().invoke(cli, ["completion", "--help"]).stdout

    assert "tpustarter" in script
    assert f"tpustarter completion {shell} >" in help_text


def test_files_made_from_help_are_of_today(request: pytest.FixtureRequest) -> None:
    """Written anew with `--golden`: the completion's index and the man page."""
    if request.config.getoption("--golden"):
        command_pages.write_pages()

    assert command_pages.format_index() == completion.INDEX.read_text(encoding="utf-8")
    assert command_pages.format_man_page() == command_pages.MAN_PAGE.read_text(encoding="utf-8")


def test_lists_belong_to_parameters_that_exist() -> None:
    """A renamed option would lose its completion without a word."""
    known = {
        f"{name} {word}"
        for name, command, _ in command_pages.walk()
        for param in command.params
        for word in param.opts
    }

    assert set() == {*command_pages.LISTS} - known


def test_short_options_take_no_value() -> None:
    """The index has long names only, so that the word after a short one would be taken for its."""
    assert [] == [
        param.opts
        for _, command, _ in command_pages.walk()
        for param in command.params
        if isinstance(param, click.Option) and not any(word.startswith("--") for word in param.opts)
    ]


def test_man_page_has_every_command_and_no_mistake() -> None:
    """As mandoc and groff see it, where they are."""
    page = command_pages.MAN_PAGE
    found = [tool for tool in ("mandoc", "man") if shutil.which(tool)]
    if not found:
        pytest.skip("Neither mandoc nor man is on this machine.")
    for tool in found:
        assert [] == mistakes(tool, page)


def mistakes(tool: str, page: Path) -> list[str]:
    """Return the complaints of a formatter of man pages, except that the page has no date."""
    words = {"mandoc": ["mandoc", "-Tlint"], "man": ["man", "--warnings", "-l"]}[tool]
    done = subprocess.run([*words, str(page)], capture_output=True, text=True, check=False)
    lines = (done.stdout if tool == "mandoc" else done.stderr).splitlines()
    return [line for line in lines if "missing date" not in line]


@pytest.mark.parametrize("tool", ["mandoc", "man"])
def test_mistake_in_man_page_is_seen(tool: str, tmp_path: Path) -> None:
    """A macro that does not exist."""
    if not shutil.which(tool):
        pytest.skip(f"There is no {tool} on this machine.")
    page = tmp_path / "bad.1"
    page.write_text('.TH BAD 1 ""\n.SH NAME\nbad \\- it is\n.NOSUCH\n')

    assert 1 == len(mistakes(tool, page))
