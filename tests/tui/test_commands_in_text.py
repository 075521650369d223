"""Commands in lesson texts when the command that starts the program is long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tutor import press, tutor
from tpustarter.tui.lesson.page import lesson_commands
from tpustarter.tui.lesson.page.lesson_commands import split_at_command

LESSON = """# Commands

Some words come first.

* Look with `tpustarter check host.chips`,
  or with `tpustarter check jax.permute`.

* Another item.

Now prove it with `tpustarter check`:

```sh
tpustarter check host.space
```
"""


@pytest.mark.usefixtures("long_command")
async def test_sentence_has_short_command_and_launch_hint_once(tmp_path: Path) -> None:
    """Sentences name the short command; how to launch it is explained once."""
    async with tutor(tmp_path, lessons={"t": LESSON}) as pilot:
        seen = " ".join((await press(pilot, "enter")).split())
        assert "Look with tpustarter check host.chips, or with" in seen
        assert "Now prove it with tpustarter check: python3 -m uv run tpustarter" in seen
        how = "To run such a command here, type python3 -m uv run tpustarter in place of"
        assert 1 == seen.count(how)
        assert seen.index("Another item") < seen.index(how) < seen.index("Now prove")


@pytest.mark.usefixtures("long_command")
@pytest.mark.parametrize("text", ["No command.", "```sh\ntpustarter check\n```", "`tpustarter`"])
def test_text_without_command_has_no_launch_hint(text: str) -> None:
    """A fence or the bare name needs no hint on how to launch the program."""
    assert split_at_command(text) is None


def test_installed_program_needs_no_launch_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the program is installed, no hint explains how to launch it."""
    monkeypatch.setattr(lesson_commands, "tpustarter_command", lambda: "tpustarter")

    assert split_at_command("Type `tpustarter check`.") is None
