"""The command printed is the one that works: whatever started the program, and in every text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support import copies
from tpustarter import cli
from tpustarter.core.problem import Problem
from tpustarter.text import invocation, terminal
from tpustarter.text.terminal import LEAST, WIDTH, wrap

UV = "python3 -m uv run tpustarter"


def program(path: Path) -> str:
    """Make a file that can be run; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Lay out a project as `uv run` has it, with a Python and a uv on the user's own PATH."""
    program(tmp_path / "home/project/.venv/bin/tpustarter")
    (tmp_path / "home/project/pyproject.toml").write_text("")
    program(tmp_path / "bin/python3")
    program(tmp_path / "bin/uv")
    return tmp_path / "home/project"


def by_uv(project: Path, **more: str) -> str:
    """Return the command for the variables that `uv run` sets."""
    root = project.parents[1]
    environ = {
        "UV_RUN_RECURSION_DEPTH": "1",
        "VIRTUAL_ENV": f"{project}/.venv",
        "PWD": str(project),
        "PATH": f"{project}/.venv/bin:{root}/bin",
        "HOME": str(root / "home"),
        **more,
    }
    started = f"{project}/.venv/bin/tpustarter"
    return invocation.find_launch_command(environ, started, prefix=f"{project}/.venv")


def test_command_in_a_cell_begins_with_its_mark(project: Path) -> None:
    """A command can be pasted into the next cell, and marked text stays as it is."""
    kernel = {"JPY_PARENT_PID": "4242", "TERM": "xterm-color"}

    assert "!uv run tpustarter" == by_uv(project, **kernel)
    assert "uv run tpustarter" == by_uv(project, **{**kernel, "TERM": "xterm-256color"})


def test_uv_command_is_shown_as_typed(project: Path) -> None:
    """`uv run` and `python3 -m uv run` set different variables."""
    python = f"{project.parents[1]}/bin/python3"

    assert "uv run tpustarter" == by_uv(project)
    assert UV == by_uv(project, UV_INTERNAL__PARENT_INTERPRETER=python)


def test_uv_of_environment_is_shown_with_its_path(project: Path) -> None:
    """If uv is in an environment of its own, it is shown with its path."""
    python = program(project.parent / "uv/bin/python3")

    command = by_uv(project, UV_INTERNAL__PARENT_INTERPRETER=python)

    assert "~/uv/bin/python3 -m uv run tpustarter" == command


def test_uv_outside_path_is_shown_with_its_path(project: Path) -> None:
    """The program of such an environment was started itself, as README has it for Debian."""
    uv = program(project.parent / "uv/bin/uv")

    assert "uv run tpustarter" == by_uv(project, UV=uv)
    (project.parents[1] / "bin/uv").unlink()
    assert "~/uv/bin/uv run tpustarter" == by_uv(project, UV=uv)


def test_undiscoverable_project_is_named(project: Path) -> None:
    """`uv run --project` was typed in another folder, and the shell is still there."""
    assert "uv run tpustarter" == by_uv(project, PWD=f"{project}/deeper")
    assert "uv run --project ~/project tpustarter" == by_uv(project, PWD=str(project.parent))


def test_a_command_for_another_folder_names_the_project(project: Path) -> None:
    """The reader is sent elsewhere, and uv finds no project there."""
    environ = {
        "UV_RUN_RECURSION_DEPTH": "1",
        "VIRTUAL_ENV": f"{project}/.venv",
        "PWD": str(project),
        "PATH": f"{project}/.venv/bin:{project.parents[1]}/bin",
        "HOME": str(project.parent),
    }
    started, prefix = f"{project}/.venv/bin/tpustarter", f"{project}/.venv"

    assert "uv run tpustarter" == invocation.find_launch_command(environ, started, prefix)
    command = invocation.find_launch_command(environ, started, prefix, anywhere=True)
    assert "uv run --project ~/project tpustarter" == command
    environ["PATH"] = f"{project}/.venv/bin:{environ['PATH']}"
    assert "tpustarter" == invocation.find_launch_command(environ, started, prefix, anywhere=True)


def test_an_active_environment_needs_no_uv(project: Path) -> None:
    """An active environment needs no uv: it is on the shell's own PATH after uv's entry."""
    root = project.parents[1]
    path = f"{project}/.venv/bin:{project}/.venv/bin:{root}/bin"

    assert "tpustarter" == by_uv(project, PATH=path)


@pytest.mark.parametrize(
    ("record", "given"),
    [
        ("", ""),
        ("[]", ""),
        ('{"url": "file:///dist/t%200.whl", "archive_info": {}}', "--from '/dist/t 0.whl' "),
        ('{"url": "https://x.org/t.whl", "archive_info": {}}', "--from https://x.org/t.whl "),
        (
            '{"url": "https://x.org/t", "vcs_info": {"vcs": "git", "commit_id": "1a"}}',
            "--from git+https://x.org/t@1a ",
        ),
        (
            '{"url": "https://x.org/t", "vcs_info": {"vcs": "git", "requested_revision": "v1"}}',
            "--from git+https://x.org/t@v1 ",
        ),
    ],
)
def test_uvx_is_told_the_source_again(record: str, given: str, tmp_path: Path) -> None:
    """A uvx command repeats its source, because the name alone wouldn't find this program."""
    prefix, uv = tmp_path / "cache/archive-v0/x", program(tmp_path / "bin/uv")
    started = program(prefix / "bin/tpustarter")
    info = prefix / "lib/python3.12/site-packages/tpustarter-0.2.0.dist-info"
    info.mkdir(parents=True)
    (info / "direct_url.json").write_text(record)
    environ = {"PATH": f"{prefix}/bin:{tmp_path}/bin", "UV": uv, "VIRTUAL_ENV": "/another"}

    def found(**more: str) -> str:
        return invocation.find_launch_command({**environ, **more}, started, prefix=str(prefix))

    assert f"uvx {given}tpustarter" == found()
    python = program(tmp_path / "bin/python3")
    assert f"python3 -m uv tool run {given}tpustarter" == found(
        UV_INTERNAL__PARENT_INTERPRETER=python
    )
    (tmp_path / "bin/tpustarter").symlink_to(started)
    assert "tpustarter" == found()


def test_without_uv_command_is_name_or_path(project: Path, tmp_path: Path) -> None:
    """A link on the PATH, as pipx makes one, is the name; a path that was typed stays one."""
    started, home = f"{project}/.venv/bin/tpustarter", str(project.parent)
    linked = tmp_path / "links/tpustarter"
    linked.parent.mkdir()
    linked.symlink_to(started)

    def found(path: object, started: str = started) -> str:
        environ = {"PATH": str(path), "HOME": home}
        return invocation.find_launch_command(environ, started, prefix=f"{project}/.venv")

    assert "tpustarter" == found(linked.parent)
    assert "tpustarter" == found(f"{project}/.venv/bin")
    assert "~/project/.venv/bin/tpustarter" == found("/usr/bin")
    as_module = found("/nowhere", "/lib/tpustarter/__main__.py")
    assert f"{sys.executable} -m tpustarter" == as_module
    assert "tpustarter" == found("/nowhere", "/work/train.py")


TEXTS = {
    "tpustarter check host.chips -v": f"{UV} check host.chips -v",
    "run `tpustarter check`": f"run `{UV} check`",
    "cat log | tpustarter explain": f"cat log | {UV} explain",
    "open the tutor: `tpustarter`": f"open the tutor: `{UV}`",
    "JAX_PLATFORMS=tpu tpustarter --version": f"JAX_PLATFORMS=tpu {UV} --version",
    "python3 -m uv run tpustarter learn": f"{UV} learn",
    "uv run tpustarter learn": "uv run tpustarter learn",
    "uv run --project ~/a tpustarter learn": "uv run --project ~/a tpustarter learn",
    "uv run --project '/a b' tpustarter learn": "uv run --project '/a b' tpustarter learn",
    "~/bin/tpustarter check": "~/bin/tpustarter check",
    "which a newer tpustarter made": "which a newer tpustarter made",
    "tpustarter checks nothing": "tpustarter checks nothing",
    "tpustarter itself broke": "tpustarter itself broke",
    "`tpustarter tpu` is built that way": "`tpustarter tpu` is built that way",
    "`tpustarter tpu list`": f"`{UV} tpu list`",
}


@pytest.fixture
def started_by_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be one that `python3 -m uv run` started."""
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: UV)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.usefixtures("started_by_uv")
def test_commands_are_replaced_and_sentences_are_not(text: str) -> None:
    """Commands are replaced and sentences aren't; a second pass changes nothing."""
    once = invocation.format_commands(text)

    assert TEXTS[text] == once
    assert once == invocation.format_commands(once)


@pytest.mark.usefixtures("started_by_uv")
def test_replaced_command_is_not_replaced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts may pass through twice; the longest form begins like no other."""
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: "uv run --project ~/a tpustarter")

    text = invocation.format_commands(
        invocation.format_commands("`tpustarter check` and `tpustarter learn`")
    )

    assert (
        "`uv run --project ~/a tpustarter check` and `uv run --project ~/a tpustarter learn`"
        == text
    )


COMMANDS = (
    UV,
    "uv run --project ~/a tpustarter",
    "~/a/.venv/bin/tpustarter",
    "python3 -m tpustarter",
)


def test_every_command_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command is rewritten in the form that works here."""
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: UV)
    lines = [f"run tpustarter {name} first" for name in cli.COMMANDS]

    assert [line.replace("tpustarter", UV) for line in lines] == [
        invocation.format_commands(line) for line in lines
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_wrapped_text_gets_command_once(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a line ends, and whether it was put in before that or comes after it."""
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: command)
    text = "Go there and type `tpustarter rehearse`, or `uv run tpustarter learn`. " * 3
    text += "See tpustarter learn. " * 3
    typed = invocation.format_commands(text)
    monkeypatch.setattr(terminal, "tpustarter_command", lambda: command)
    for width in range(LEAST, WIDTH + 1):
        monkeypatch.setattr(terminal, "line_width", lambda width=width: width)
        given = textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False)

        whole = invocation.format_commands(invocation.format_commands("\n".join(given)))
        lines = [invocation.format_commands(line) for line in wrap(text, "  ")]

        assert typed.split() == whole.split() == " ".join(lines).split(), width


@pytest.mark.usefixtures("started_by_uv")
def test_problems_and_wrapped_lines_show_command() -> None:
    """Problems and wrapped lines show the command in that form."""
    shown = str(Problem("no", hint="`tpustarter learn` lists them", read="jax/precision"))
    lines = wrap("so run `tpustarter check` " * 6)

    assert f"error: no\n\nhint: `{UV} learn` lists them\nread: `{UV} learn jax/precision`" == shown
    assert 6 == " ".join(lines).count(UV)
    assert max(map(len, lines)) <= WIDTH


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as if uv had started it."""
    env = {**os.environ, "TPUSTARTER_COMMAND": UV}
    command = [sys.executable, "-m", "tpustarter", *words]
    return copies.run(command, env=env)


def test_help_errors_and_endings_show_command(home: Path) -> None:
    """Help, errors and endings show the command in that form."""
    command_help = run("check", "--help").stdout
    error = run("learn", "jax/precisio").stderr
    ending = run("check", "host.space", "--require", "gpu").stderr

    assert command_help.startswith(f"Usage: {UV} check")
    assert f"  Example:\n    {UV} check 'jax.*' --python ~/tpu/bin/python -v\n" in command_help
    assert max(map(len, command_help.splitlines())) <= WIDTH
    assert "tpustarter" not in error.replace(UV, "")
    assert UV in ending
    assert "tpustarter " not in ending.replace(UV, "")
    assert f"{UV} learn" in run().stdout
    assert re.search(rf"\nNext: .*\n  {UV} learn \S+\n", run("learn").stdout)


@pytest.mark.parametrize(
    "words", [("rehearse",), ("setup",), ("tpu", "create"), ("tpu", "ssh-config")]
)
def test_help_breaks_no_word_and_no_line(words: tuple[str, ...]) -> None:
    """Help breaks no word, and an example that is too long continues after a backslash."""
    lines = run(*words, "--help").stdout.splitlines()
    texts = [line for line in lines if line.strip() and not line.startswith("Usage")]

    assert max(map(len, lines)) <= WIDTH
    assert [] == [line for line in texts if re.search(r"\w-$", line)]
    assert re.search(r"Example:\s+\S", "\n".join(lines))


def test_documents_contain_only_program_name(home: Path) -> None:
    """JSON is for programs, on whichever machine they read it."""
    document = run("check", "no.such", "--json").stdout

    assert "`tpustarter check --list`" in document
    assert UV not in document
