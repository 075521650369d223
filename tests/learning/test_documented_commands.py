"""Commands in lessons, compared with their documented forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.made_lessons import make_lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.lint import documented_commands

ENTRIES = """
- command: gcloud compute tpus tpu-vm ssh
  flags: [--zone, --worker]
  changes: nothing
  source: https://docs.cloud.google.com/sdk/gcloud/reference/compute/tpus/tpu-vm/ssh
- command: ssh
  flags: [-L]
  changes: nothing
  source: https://man.openbsd.org/ssh
"""


def complaints(folder: Path, commands: str, entries: str = ENTRIES) -> list[tuple[int, str]]:
    """Return the complaints about a lesson that shows some commands; its fence is line 11."""
    (folder / "commands.yml").write_text(entries)
    lesson = make_lesson(folder, f"```sh\n{commands}\n```\n")
    return list(
        documented_commands.find_undocumented_commands(
            lesson, documented_commands.read_documented_commands(folder)
        )
    )


@pytest.mark.parametrize(
    "command",
    [
        "gcloud compute tpus tpu-vm ssh my-tpu --zone=us-central1-a --worker all",
        "gcloud compute tpus tpu-vm ssh my-tpu --zone $ZONE -- -N -v -L 8888:localhost:8888",
        "gcloud compute tpus tpu-vm ssh my-tpu \\\n  --zone us-central1-a",
        "ssh -L 8888:localhost:8888 my-tpu  # a comment --with-a-flag",
        "JAX_PLATFORMS=cpu python train.py --steps 3",
        "cd ~/work && ls -la | grep -c py > count.txt",
        "sudo systemctl status x",
        "tpustarter check --level static",
        "export ZONE=us-central1-a",
        "",
    ],
)
def test_documented_commands_have_no_complaint(tmp_path: Path, command: str) -> None:
    """Flags in any place, words after `--`, pipes, assignments and comments are accepted."""
    assert complaints(tmp_path, command) == []


@pytest.mark.parametrize(
    ("command", "line", "what"),
    [
        ("gcloud compute tpus tpu-vm ssh my-tpu --gpu", 12, "has no flag `--gpu`"),
        ("ls\ngcloud compute tpus tpu-vm \\\n  ssh x --zoom=1", 13, "has no flag `--zoom`"),
        ("gcloud compute tpus list", 12, "`gcloud compute tpus list` is not in"),
        ("ls && /usr/bin/mosh my-tpu", 12, "`mosh my-tpu` is not in"),
        ("ssh -X my-tpu", 12, "has no flag `-X`"),
        ("echo 'open", 12, "a shell could not read this command"),
    ],
)
def test_undocumented_command_is_named_with_its_line(
    tmp_path: Path, command: str, line: int, what: str
) -> None:
    """An unknown flag, subcommand or program, and an open quote, are reported with their line."""
    [(where, said)] = complaints(tmp_path, command)

    assert line == where
    assert what in said


def test_fences_of_other_kinds_are_no_commands(tmp_path: Path) -> None:
    """Only fences marked `sh` are checked."""
    lesson = make_lesson(tmp_path, "```text\nmosh my-tpu\n```\n")

    assert [] == list(documented_commands.find_undocumented_commands(lesson, []))


@pytest.mark.parametrize(
    "entries",
    [
        "- command: ssh\n  changes: nothing\n  source: no address\n",
        "- command: ssh\n  changes: nothing\n",
        "- ssh\n",
        "- command: ssh\n  costs: 3\n  changes: x\n  source: https://x.y\n",
        "{",
    ],
)
def test_a_broken_list_is_one_problem(tmp_path: Path, entries: str) -> None:
    """A broken list of commands is one problem that names the file."""
    with pytest.raises(Problem, match=r"cannot read the commands in .*commands\.yml"):
        complaints(tmp_path, "ls", entries)
