"""Tests of `tpustarter explain` and `tpustarter run` as commands."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support import copies
from tests.support.places import TESTS
from tests.support.processes import HANG_S
from tests.support.sessions import drive
from tests.support.stubs import make_python
from tests.support.terminal import terminal
from tpustarter.cli import explain as explain_command
from tpustarter.cli.command_end import format_explain_command
from tpustarter.core.problem import ExitCode
from tpustarter.text.terminal import WIDTH

SCHEMA = json.loads(resources.files("tpustarter.explain").joinpath("schema.json").read_text())
HELD = (
    "I1122 10:00:00 1 step 1\n"
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by "
    "process with pid 4242. Not attempting to load libtpu.so in this process.\n"
)
TPUSTARTER = (sys.executable, "-m", "tpustarter")


def typed(
    *arguments: str | Path, log: str | bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line, with a log on stdin where there is one."""
    data = log.encode() if isinstance(log, str) else log
    return copies.run([*TPUSTARTER, *map(str, arguments)], stdin=data, text=False)


def test_log_is_explained_with_line_and_fix(tmp_path: Path) -> None:
    """A log from a file or a pipe is explained with its line and a fix."""
    log = tmp_path / "train.log"
    log.write_text(HELD)
    done = typed("explain", log)
    lines = done.stdout.decode().splitlines()

    assert (0, b"") == (done.returncode, done.stderr)
    assert lines[0].endswith("(likely)")
    assert any(line.startswith("line 2  RuntimeError") for line in lines)
    assert any(line.startswith("do ") for line in lines)
    assert any(line.startswith("source  https://") for line in lines)
    assert [] == [
        line for line in lines if len(line) > WIDTH and not line.startswith(("do", "or", "source"))
    ]
    assert done.stdout == typed("explain", log="".join(HELD)).stdout
    assert done.stdout == typed("explain", "-", log=HELD).stdout


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("host.raises",), 'raise RuntimeError("no TPU for you")'),
        (("host.segfaults", "--isolate"), "Fatal Python error: Segmentation fault"),
    ],
)
def test_check_without_verdict_names_command_for_log(ids: tuple[str, ...], expected: str) -> None:
    """A check without a verdict names a command for its log, which exists."""
    done = copies.run(drive("check", *ids))
    command = done.stderr.splitlines()[-1].partition("tpustarter ")[2]
    log = Path(shlex.split(command)[-1]).expanduser()

    assert expected in log.read_text()
    assert typed("explain", log).returncode in (0, 5)


@pytest.mark.parametrize("name", ["passes", "fails"])
def test_check_with_verdict_names_no_log_command(name: str) -> None:
    """A check with a verdict names no command for its log, because the report has its findings."""
    done = copies.run(drive("check", f"host.{name}"))

    assert "explain" not in done.stderr


def test_path_is_shortened_and_quoted_for_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home folder is shortened to `~` in a path, and a path with spaces is quoted."""
    monkeypatch.setenv("HOME", "/home/me")

    assert "tpustarter explain ~/a.log" == format_explain_command([Path("/home/me/a.log")])
    assert "tpustarter explain '/home/me/a b.log'" == format_explain_command(
        [Path("/home/me/a b.log")]
    )
    logs = [Path("/x/logs/1/a.log"), Path("/x/logs/1/b.log")]
    assert "cat /x/logs/1/* | tpustarter explain" == format_explain_command(logs)


def test_process_named_by_log_alone_is_not_ended() -> None:
    """A process that only the log names isn't ended, because it may be on another machine."""
    shown = typed("explain", log=HELD).stdout.decode()

    assert "Another process holds the TPU" in shown
    assert "kill 4242" not in shown


def test_environment_of_uv_gets_working_command(tmp_path: Path) -> None:
    """An environment made by uv gets a `uv pip` command, because it has no pip."""
    python = make_python(tmp_path / ".venv")
    log = (
        f"{tmp_path}/.venv/lib/python3.12/site-packages/jax/a.py:3: UserWarning: slow\n"
        "RuntimeError: Backend 'tpu' failed to initialize: INTERNAL: Failed to open libtpu.so\n"
    )

    done = copies.run([*TPUSTARTER, "explain"], cwd=tmp_path, stdin=log.encode(), text=False)
    shown = done.stdout.decode()

    assert f'uv pip install --python {python} -U "jax[tpu]"\n' in shown
    assert "-m pip" not in shown
    assert python.is_file()


def test_json_holds_same_matches_and_sources() -> None:
    """The JSON document holds every match, its role and its sources."""
    done = typed("explain", "--json", log=HELD)
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)

    first = document["matches"][0]
    assert ("tpu-in-use-by-pid", "likely", 2) == (first["id"], first["confidence"], first["line"])
    assert 0 == done.returncode == document["exit_code"]


@pytest.mark.parametrize("log", ["", "step 1 loss 0.5\n", b"\0\xff\xfe" * 999])
def test_unknown_log_gets_next_things_to_collect(log: str | bytes) -> None:
    """An unknown log ends with a list of what to collect next."""
    done = typed("explain", log=log)
    document = json.loads(typed("explain", "--json", log=log).stdout)
    jsonschema.validate(document, SCHEMA)

    assert 5 == done.returncode == document["exit_code"]
    assert [] == document["matches"]
    assert b"No known failure" in done.stdout or b"is empty" in done.stdout


def test_secrets_and_escape_sequences_are_removed() -> None:
    """Secrets and escape sequences in a log are removed."""
    secrets = [f"ghp_{letter * 36}" for letter in "ab"]
    error = HELD.splitlines()[1]
    log = f"\x1b]0;title\x07token {secrets[0]} \x1b[31m{error} \x9b2J {secrets[1]}\n"
    for extra in ((), ("--json",)):
        shown = typed("explain", *extra, log=log).stdout
        assert b"ghp_" not in shown
        assert b"\x1b" not in shown
        assert "\x9b".encode() not in shown


def test_logs_of_workers_name_the_first(tmp_path: Path) -> None:
    """Among the workers' logs, the first failure is named, in several files or in one."""
    logs = sorted((TESTS / "samples" / "worker_logs" / "key-error").glob("*.log"))
    done = typed("explain", *logs)
    assert (0, b"") == (done.returncode, done.stderr)
    assert done.stdout.startswith(b"Of 3 workers, worker 2 failed first")
    together = "".join(
        f"[rank{rank}]: {line}\n"
        for rank, log in enumerate(logs)
        for line in log.read_text().splitlines()
    )
    (tmp_path / "all.log").write_text(together)
    said = json.loads(typed("explain", "--json", tmp_path / "all.log").stdout)
    jsonschema.validate(said, SCHEMA)
    assert said["first"] == "rank 2"
    assert said["mistake"]["error"] == "KeyError: 6"
    assert ["quiet", "lost", "failed"] == [one["state"] for one in said["workers"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("a.log", "-"), "the logs of several workers are files"),
        (("a.log", "b.log"), "`a.log` cannot be read: No such file or directory"),
    ],
)
def test_workers_logs_that_cannot_be_read(arguments: tuple[str, ...], expected: str) -> None:
    """If a worker's log can't be read, an error names it."""
    done = typed("explain", *arguments)
    assert (2, b"") == (done.returncode, done.stdout)
    assert expected in done.stderr.decode()


def test_successful_command_output_is_unchanged() -> None:
    """The output of a successful command is unchanged."""
    done = typed(
        "run", "--", "sh", "-c", f"printf '%s' \"{'in use by process with pid 1'}\"; echo e >&2"
    )

    assert (0, b"in use by process with pid 1", b"e\n") == (
        done.returncode,
        done.stdout,
        done.stderr,
    )


def test_failed_command_is_explained_on_stderr() -> None:
    """A failed command is explained on stderr, and its output and exit code stay the same."""
    done = typed("run", "--", sys.executable, "-c", f"print({HELD!r}, end=''); raise SystemExit(9)")

    assert (9, HELD.encode()) == (done.returncode, done.stdout)
    assert b"ended with exit code 9" in done.stderr
    assert b"pid 4242" in done.stderr
    done = typed("run", sys.executable, "-c", "raise SystemExit(9)")
    assert (9, b"") == (done.returncode, done.stdout)
    assert b"Nothing in its output" in done.stderr


@pytest.mark.parametrize(
    "command",
    [("sh", "-c", "kill -9 $$"), ("bash", "-c", "sh -c 'kill -9 $$'; exit $?")],
    ids=["itself", "in a shell"],
)
def test_signal_is_explained_from_shell_or_process(command: tuple[str, ...]) -> None:
    """A signal is explained both from a shell's 137 and from the process itself."""
    done = typed("run", "--", *command)

    assert 137 == done.returncode
    assert b"the command was killed by SIGKILL (exit code 137)" in done.stderr
    assert b"oom_kill" in done.stderr


def test_forwarded_signal_is_not_explained() -> None:
    """A signal that `tpustarter run` forwards is not explained."""
    ready = "import time; print('ready', flush=True); time.sleep(600)  # until it is ended"
    with subprocess.Popen(
        [*TPUSTARTER, "run", "--", sys.executable, "-c", ready],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        _, stderr = process.communicate(timeout=HANG_S)

    assert (143, b"") == (process.returncode, stderr)


def test_unstartable_command_exits_as_in_shell(tmp_path: Path) -> None:
    """A command that can't be started exits with 127 or 126, as in a shell."""
    plain = tmp_path / "plain"
    plain.write_text("no program")

    assert 127 == typed("run", "--", "no-such-command").returncode
    assert 126 == typed("run", "--", plain).returncode
    assert 2 == typed("run").returncode


def test_pasted_error_in_terminal_is_explained() -> None:
    """The terminal explains how to end a pasted error, and then explains the error."""
    with terminal("explain", drive="drive_cli.py") as tty:
        tty.until(lambda text: "and then Ctrl-D" in text)
        assert b"| tpustarter explain" in tty.written
        tty.press("NameError: name 'batch' is not defined\n\x04")
        tty.until(lambda text: "had no value yet" in text)

        assert ExitCode.NOTHING_VERIFIED == tty.end()
        assert "a name that had no value yet" in tty.text


def test_ctrl_c_before_paste_exits_130() -> None:
    """Ctrl-C before the paste exits with 130 and no traceback."""
    with terminal("explain", "-", drive="drive_cli.py") as tty:
        tty.until(lambda text: "tpustarter explain" in text)
        tty.until_asleep()
        tty.press("\x03")

        assert ExitCode.INTERRUPTED == tty.end()
        assert b"Traceback" not in tty.written


def test_run_names_line_of_program_mistake(tmp_path: Path) -> None:
    """`run` names the line of a program's mistake, as `explain` does."""
    program = tmp_path / "train.py"
    program.write_text("config = {}\nconfig['lr']\n")
    done = typed("run", "--", sys.executable, str(program))

    assert 1 == done.returncode
    assert b"a mistake in the program" in done.stderr
    assert b"train.py, line 2: config['lr']" in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trian.log", "did you mean `tpustarter explain {folder}/train.log`?"),
        ("nothing-like-it", "run the program again in a pipe: `python train.py 2>&1 | tpustarter"),
        ("", "`cat {folder}/* | tpustarter explain` explains all that is in it"),
    ],
)
def test_missing_or_wrong_log_path_gets_command(tmp_path: Path, name: str, hint: str) -> None:
    """A missing or wrong path gets a command that helps."""
    (tmp_path / "train.log").write_text(HELD)
    done = typed("explain", tmp_path / name)

    assert ExitCode.USAGE == done.returncode
    said = done.stderr.decode().replace(f"{sys.executable} -m ", "").replace("python3 -m ", "")
    assert hint.format(folder=tmp_path) in said.replace("python -m ", "")


def test_forbidden_log_gets_command_with_sudo() -> None:
    """A log without read permission gets a sudo command, which is not run."""
    error = PermissionError(13, "Permission denied")
    hint = explain_command._unreadable("/var/log/a b", error).hint

    assert "read it as its owner: `sudo cat '/var/log/a b' | tpustarter explain`" == hint
