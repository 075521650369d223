"""The README names all there is, and says nothing twice."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.support.places import REPOSITORY
from tpustarter.cli import COMMANDS
from tpustarter.problem import ExitCode
from tpustarter.setup.profiles import MACHINE, PROFILES, SIZES

README = REPOSITORY / "README.md"
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LONG = 40
"""Characters of a line that stands twice only by mistake."""

pytestmark = pytest.mark.skipif(not README.is_file(), reason="the README is in the checkout only")


@pytest.fixture
def readme() -> str:
    """Return the whole text."""
    return README.read_text(encoding="utf-8")


def said_twice(text: str) -> list[str]:
    """Return lines of prose, and first cells of tables, that stand there more than once."""
    lines = [line.strip() for line in FENCE.sub("", text).splitlines()]
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| `tpustarter ")]
    counted = Counter([*rows, *(line for line in lines if len(line) >= LONG)])
    return sorted(line for line, times in counted.items() if times > 1)


def test_it_names_what_ci_runs_and_every_exit_code(readme: str) -> None:
    """What a newcomer types first, how the tests are run, and how a command can end."""
    assert "python3 -m pip install uv && python3 -m uv run tpustarter check" in readme
    assert "\npython3 -m uv run pytest\n" in readme
    assert not re.search(r"(pip install|uvx) tpustarter", readme)
    for code in ExitCode:
        assert re.search(rf"\b{code.value}\b", readme), code


def test_it_names_every_command_and_every_set_up(readme: str) -> None:
    """Each has a row, and so has what each set-up of the machine changes."""
    changed = readme.partition("### What a set-up of the machine changes")[2]

    for command in COMMANDS:
        assert f"| `tpustarter {command}" in readme, command
    for profile in (*PROFILES, *MACHINE):
        assert f"\n| `tpustarter setup {profile}" in readme, profile
    for profile in MACHINE:
        assert f"\n| `{profile}` |" in changed, profile


def test_each_environment_has_the_size_that_its_plan_tells(readme: str) -> None:
    """The one for a machine without a TPU, or the one with."""
    for name, profile in PROFILES.items():
        (row,) = re.findall(rf"^\| `tpustarter setup {name}` .*$", readme, re.MULTILINE)
        told = re.search(r"\(([\d.]+ [MG]B) to download, ([\d.]+ [MG]B) on the disk\)", row)
        assert told, row
        assert told.groups() in (SIZES[profile.wheel], SIZES[profile.tpu_wheel]), row


def test_it_says_nothing_twice(readme: str) -> None:
    """Two versions of a sentence that a merge put one after the other."""
    assert [] == said_twice(readme)


def test_what_is_said_twice_is_found() -> None:
    """A row of another text with the same command, and a line that comes back; no code."""
    line = "This sentence is long enough to be one that was written by somebody."
    row = "| `tpustarter setup tuning` | shows settings |"
    other = "| `tpustarter setup tuning` | shows more settings |"

    assert [line] == said_twice(f"{line}\nmore\n{line}\n")
    assert ["| `tpustarter setup tuning`"] == said_twice(f"{row}\n{other}\n")
    assert [] == said_twice(f"```\n{line}\n```\n{line}\n")
