"""The command line as a process: stdout, stderr and exit code of the installed program."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support import copies
from tests.support.machines import lay_out
from tests.support.places import REPOSITORY, TESTS
from tests.support.processes import HANG_S, until
from tests.support.sessions import SAMPLES, drive
from tests.support.stubs import make_python
from tests.support.tutor import write_checks
from tpustarter.cli import COMMANDS
from tpustarter.core import locations
from tpustarter.learning.progress import lesson_progress

MACHINE_CHECKS = TESTS / "samples" / "machine_checks"
SCHEMA = json.loads(resources.files("tpustarter.checking").joinpath("schema.json").read_text())


def tpustarter(
    *arguments: str, checks: Path = SAMPLES, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line on sample checks and return what it did."""
    return copies.run(drive(*arguments, checks=checks), env={**os.environ, **(env or {})})


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("check", "host.passes"), 0, ""),
        (("check", "host.fails"), 1, "host.fails failed. Next: count again"),
        (
            ("check", "--level", "deep"),
            2,
            "error: invalid value for '--level': 'deep' is not one of",
        ),
        (("check", "--levl", "quick"), 2, "error: there is no option `--levl`"),
        (("check", "--levl", "quick"), 2, "did you mean `--level`"),
        (("check", "--zzzz"), 2, "hint: run `tpustarter check --help` for what it takes"),
        (("--zzzz",), 2, "hint: run `tpustarter --help` for what it takes"),
        (("check", "--minutes", "5"), 2, "--minutes only works with checks of level soak"),
        (("check", "--level", "soak", "--minutes", "0"), 2, "error: invalid value for '--minutes'"),
        (("check", "host.raises"), 3, "host.raises has no verdict (exception: RuntimeError"),
        (("check", "host.warns", "--fail-on", "warn"), 4, "there are warnings"),
        (
            ("check", "host.passes", "--require", "tpu"),
            69,
            "`--require tpu` was given, and this run would use cpu",
        ),
        (("check", "host.syntax_error"), 78, "line 6: invalid syntax"),
        (("check", "host.passes", "--python", "/bin/cat"), 78, "did not answer as a Python"),
        (
            ("check", "host.passes", "--python", "/nope"),
            2,
            "there is no program at `/nope` that you may run",
        ),
        (("check", "host.nope"), 2, "there is no check `host.nope`"),
        (("check", "--json", "--ndjson"), 2, "give either --json or --ndjson, not both"),
        (("learn", "jax/precison"), 2, "did you mean `jax/precision`?"),
        (("nope",), 2, "there is no command `nope`"),
        (("chek",), 2, "did you mean `tpustarter check`?"),
    ],
)
def test_each_exit_code_has_reason_on_stderr(
    arguments: tuple[str, ...], code: int, said: str
) -> None:
    """Each exit code is reached, and a non-zero one says what, why and what next on stderr."""
    done = tpustarter(*arguments)

    assert code == done.returncode, done.stderr
    assert said in done.stderr
    assert (code == 0) == (done.stderr == "")


def test_machine_without_framework_exits_5(tmp_path: Path) -> None:
    """Nothing was shown on a device, and the next command is named."""
    make_python(tmp_path / "env")
    done = tpustarter("check", "--python", str(tmp_path / "env"), checks=MACHINE_CHECKS)

    assert done.returncode == 5
    assert "no framework yet" in done.stderr
    assert "none" == (lesson_progress.read_last_check_run() or {})["verified_on"]


def test_missing_framework_of_literal_id_is_named(tmp_path: Path) -> None:
    """A literal id without its framework is skipped as `missing-resource`; exit code 5."""
    make_python(tmp_path / "env")
    python = str(tmp_path / "env")
    done = tpustarter(
        "check", "jax.every_device", "--python", python, "--json", checks=MACHINE_CHECKS
    )
    (result,) = json.loads(done.stdout)["results"]

    assert 5 == done.returncode
    assert ("skip", "missing-resource") == (result["status"], result["reason"])
    assert "no framework yet" in result["detail"]


def test_check_that_changes_framework_is_error(tmp_path: Path) -> None:
    """A check that changes a framework setting is an error; the next gets a fresh process."""
    make_python(tmp_path / "env", jax="0.12.0.1")
    names = ["jax.changes_settings", "jax.every_device"]
    done = tpustarter(
        "check", *names, "--python", str(tmp_path / "env"), "--json", checks=MACHINE_CHECKS
    )
    results = {one["id"]: one for one in json.loads(done.stdout)["results"]}
    changed = results["jax.changes_settings"]

    assert 3 == done.returncode
    assert ("error", "protocol") == (changed["status"], changed["reason"])
    assert changed["detail"] == "left changed: jax_enable_x64 None to True"
    assert "pass" == results["jax.every_device"]["status"]


@pytest.mark.parametrize(("settings", "code"), [({"lock": "live"}, 75), ({"denied": True}, 77)])
def test_busy_tpu_exits_75_and_denied_tpu_77(
    settings: dict[str, object], code: int, tmp_path: Path
) -> None:
    """A busy TPU exits with 75, and one without permission with 77."""
    denied = settings.pop("denied", False)
    (tmp_path / "machine").mkdir()
    machine = lay_out(
        tmp_path / "machine", "v5e", chips=1, uid=1000 if denied else None, **settings
    )
    for node in (machine.root / "dev/vfio").iterdir() if denied else ():
        node.chmod(0o600)
    make_python(tmp_path / "env", jax="0.12.0.1", libtpu="0.0.50.1")
    python = str(tmp_path / "env")
    done = copies.run(drive("check", "--python", python, checks=MACHINE_CHECKS, machine=machine))

    assert done.returncode == code, done.stdout + done.stderr


def test_bug_exits_70_and_writes_report(home: Path) -> None:
    """Anything unexpected is a bug: said in one line, with a report that holds no secret."""
    program = (
        "import sys; sys.argv = ['tpustarter', 'check']\n"
        "from tpustarter.core import content\n"
        "def broken(*_): raise ZeroDivisionError('key=' + __import__('os').environ['MY_TOKEN'])\n"
        "content.read_checks = broken\n"
        "from tpustarter.__main__ import main; main()\n"
    )
    env = {**os.environ, "MY_TOKEN": "s3cr3t-value", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env
    )
    (report,) = (home / "state").glob("bug-*.md")

    assert done.returncode == 70
    assert "tpustarter itself broke: ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr
    assert "ZeroDivisionError" in report.read_text()
    assert "s3cr3t-value" not in report.read_text() + done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_signal_ends_run_with_json_report(number: int, code: int, tmp_path: Path) -> None:
    """A stopped run reports what it has as JSON, and leaves no process."""
    checks = write_checks(tmp_path, "fails", "ignores_term", "passes")
    names = ("host.fails", "host.ignores_term", "host.passes")
    words = drive("check", *names, "--ndjson", checks=checks)
    events = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == "started" and events[-1]["id"] == "host.ignores_term":
                process.send_signal(number)
        process.wait(timeout=HANG_S)
    last = events[-1]

    assert code == process.returncode == last["exit_code"]
    assert "finished" == last["event"]
    assert (1, 2) == (last["counts"]["fail"], last["counts"]["notrun"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_second_signal_exits_by_signal_not_failure(number: int, code: int, tmp_path: Path) -> None:
    """A second signal exits by the signal, never with the code of a failed check."""
    checks = write_checks(tmp_path / "checks", "ignores_term")
    check, hangs, asked = checks / "host/ignores_term.py", tmp_path / "hangs", tmp_path / "asked"
    hears = f"lambda *_: open({str(asked)!r}, 'w'))\n    open({str(hangs)!r}, 'w'"
    code_of_check = check.read_text().replace("signal.SIG_IGN", hears)
    # Python hears a signal between two sleeps, and one that comes just before a sleep at its end.
    in_steps = code_of_check.replace("time.sleep(600)", "[time.sleep(0.1) for _ in range(6000)]")
    check.write_text(in_steps)
    words = drive("check", "host.ignores_term", "--ndjson", checks=checks)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        until(hangs.exists, "the check")
        process.send_signal(number)
        until(asked.exists, "the TERM that it does not follow")
        process.send_signal(number)
        process.communicate(timeout=HANG_S)

    assert code == process.returncode


def test_second_ctrl_c_ends_soaking_check_with_report() -> None:
    """The first lets it end by itself, the second ends it: what it told is never lost."""
    words = drive("check", "host.soaks_deaf", "--minutes", "60", "--ndjson")
    events = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] in ("finding", "waiting") and len(events) < 6:
                process.send_signal(signal.SIGINT)
        process.wait(timeout=HANG_S)

    assert 130 == process.returncode == events[-1]["exit_code"]
    assert ("finished", 1) == (events[-1]["event"], events[-1]["counts"]["notrun"])


def test_signal_before_first_answer_is_no_bug(tmp_path: Path) -> None:
    """A Python that never answers can be interrupted with Ctrl-C, which is no bug."""
    hanging, runs = tmp_path / "python", tmp_path / "runs"
    hanging.write_text(f"#!/bin/sh\n: >{shlex.quote(str(runs))}\nexec sleep 600\n")
    hanging.chmod(0o755)
    words = drive("check", "host.passes", "--python", str(hanging))
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    until(runs.exists, "the Python")
    process.send_signal(signal.SIGINT)
    process.wait(timeout=HANG_S)
    said = process.stderr.read()
    process.stderr.close()

    assert 130 == process.returncode, said
    assert "stopped before anything was run" in said


def test_closed_pipe_is_no_failed_check() -> None:
    """`tpustarter check | head -1` ends with the shell's code for a closed pipe."""
    words = drive("check", "host.passes", "host.warns", "-v")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    process.stdout.close()

    assert 128 + signal.SIGPIPE == process.wait(timeout=HANG_S)


def test_secret_in_command_line_of_holder_is_hidden(tmp_path: Path) -> None:
    """The process that holds the TPU is named without the token in its command line."""
    command = "python train.py --api_key=hf_abcdefghijklmnopqrst"
    (tmp_path / "machine").mkdir()
    holder = {"pid": 4242, "command": command}
    machine = lay_out(tmp_path / "machine", "v5e", chips=1, holder=holder)
    make_python(tmp_path / "env", jax="0.12.0.1", libtpu="0.0.50.1")
    python = str(tmp_path / "env")
    done = copies.run(drive("check", "--python", python, "--json", checks="-", machine=machine))

    assert "hf_abcdefghijklmnopqrst" not in done.stdout + done.stderr
    assert "4242" in done.stderr


def test_json_fits_schema_when_checks_break() -> None:
    """Stdout is one document whatever the checks did to their own stdout."""
    names = ["host.segfaults", "host.writes_markup", "host.half_line", "host.syntax_error"]
    done = tpustarter("check", *names, "--json")
    fields = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(fields)

    assert {*names} == {one["id"] for one in fields["results"]}
    assert fields["exit_code"] == done.returncode == 78
    assert "\\x1b" not in done.stdout
    assert "\x1b" not in done.stdout


def test_unknown_check_is_json_error_too() -> None:
    """A usage error of our own is a JSON document too."""
    done = tpustarter("check", "host.nope", "--json")
    fields = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(fields)

    assert fields["exit_code"] == done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        (("check", "--nope", "--json"), "report"),
        (("check", "--json", "--ndjson"), "report"),
        (("nope", "--json"), "report"),
        (("learn", "jax/precision", "--devices", "x", "--json"), "learn"),
        (("learn", "--json", "--old", "x"), "learn"),
        (("learn", "--json", "--search", ""), "search"),
        (("setup", "jax", "too-much", "--json"), "setup"),
    ],
)
def test_refused_command_line_is_json_too(arguments: tuple[str, ...], schema: str) -> None:
    """A command line that click refuses is one JSON document on stdout; stderr has the text."""
    done = tpustarter(*arguments)
    fields = json.loads(done.stdout)

    assert (2, 2) == (fields["exit_code"], done.returncode)
    assert f"tpustarter.{schema}/1" == fields["schema"]
    assert fields["error"]["what"] in done.stderr


@pytest.mark.parametrize("arguments", [("host.nope",), ("host.passes", "--nope")])
def test_error_is_event_of_ndjson_stream(arguments: tuple[str, ...]) -> None:
    """An error is an event of the `--ndjson` stream."""
    (line,) = tpustarter("check", *arguments, "--ndjson").stdout.splitlines()

    assert ("error", 2) == (json.loads(line)["event"], json.loads(line)["exit_code"])
    assert "event" not in json.loads(tpustarter("check", *arguments, "--json").stdout)


@pytest.mark.parametrize("command", ["check", "learn"])
def test_deleted_working_folder_is_single_problem(command: str, tmp_path: Path) -> None:
    """A deleted working folder is a single problem, in JSON as well."""
    words = drive(command, "--json")
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD" && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )

    assert 78 == done.returncode == json.loads(done.stdout)["exit_code"]
    assert "the current folder cannot be used" in done.stderr


def test_ndjson_agrees_with_json() -> None:
    """Events and document agree, result by result."""
    names = ["host.passes", "host.fails", "host.raises"]
    events = [
        json.loads(line) for line in tpustarter("check", *names, "--ndjson").stdout.splitlines()
    ]
    document = json.loads(tpustarter("check", *names, "--json").stdout)
    ended = [event for event in events if event["event"] == "ended"]
    vary = {"seconds", "event", "log"}

    assert ["began", "finished"] == [events[0]["event"], events[-1]["event"]]
    assert [{k: v for k, v in one.items() if k not in vary} for one in document["results"]] == [
        {k: v for k, v in one.items() if k not in vary} for one in ended
    ]
    assert document["verified_on"] == events[-1]["verified_on"]


def test_junit_is_written_beside_report(tmp_path: Path) -> None:
    """`--junit FILE` writes the file; one that cannot be written is a clear error."""
    path = tmp_path / "junit.xml"
    done = tpustarter("check", "host.passes", "--junit", str(path))

    assert 0 == done.returncode
    assert b"testcase" in path.read_bytes()
    done = tpustarter("check", "host.passes", "--junit", str(tmp_path / "no" / "junit.xml"))
    assert 74 == done.returncode
    assert "cannot write" in done.stderr


def test_pipe_gets_no_colour_or_cursor_movement() -> None:
    """Text in a pipe holds no escape sequence."""
    done = tpustarter("check", "host.passes", "host.fails", "host.writes_markup", "-v")

    assert "\x1b" not in done.stdout + done.stderr


def on_a_terminal(
    *arguments: str, env: dict[str, str], columns: int = 80, through: tuple[str, ...] = ()
) -> str:
    """Run the command line on a pseudo-terminal and return what it wrote there.

    Args:
        arguments: Its own.
        env: Variables beside those of this process.
        columns: Of the terminal.
        through: A shell with a script, whose `"$@"` is the command line.
    """
    words = [*through, *drive(*arguments)]
    main, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        words, stdin=secondary, stdout=secondary, stderr=secondary, env={**os.environ, **env}
    )
    os.close(secondary)
    written = b""
    while select.select([main], [], [], HANG_S)[0]:
        try:
            data = os.read(main, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not data:
            break
        written += data
    process.wait(timeout=HANG_S)
    os.close(main)
    return written.decode()


def test_colour_needs_terminal_and_honours_no_color() -> None:
    """On a terminal words are coloured; with NO_COLOR, or TERM=dumb for progress, they are not."""
    coloured = on_a_terminal("check", "host.fails", env={"TERM": "xterm-256color", "NO_COLOR": ""})
    plain = on_a_terminal("check", "host.fails", env={"TERM": "dumb", "NO_COLOR": "1"})

    assert "\x1b[31mFAIL" in coloured
    assert "\x1b" not in plain
    assert "FAIL" in plain


def test_progress_line_is_gone_before_pipe_output() -> None:
    """In a pipe such as `| head`, the progress line is erased before the report appears."""
    through = ("sh", "-c", '"$@" | cat', "sh")
    asked = ("check", "host.passes", "host.fails", "host.warns")
    told = on_a_terminal(*asked, env={"TERM": "xterm-256color"}, through=through)

    progress, report = told.rsplit("\x1b[K", 1)
    assert " of " in progress
    assert "claims" not in progress
    # `cat` may write after stderr, which goes to the terminal itself.
    assert "\npython " in "\n" + report.replace("\r", "")
    assert "claims" in report


def test_terminal_without_cursor_gets_overview_and_reason() -> None:
    """A terminal without cursor movement gets the overview and the reason."""
    told = " ".join(on_a_terminal(env={"TERM": "dumb", "CI": ""}).split())

    assert told.startswith("The tutor does not open, because TERM says")
    assert "This machine" in told
    assert "The tutor does not open" not in tpustarter(env={"TERM": "dumb"}).stdout


@pytest.mark.parametrize("command", [(), ("learn",)])
def test_narrow_terminal_breaks_no_word(command: tuple[str, ...]) -> None:
    """A narrow terminal breaks no word; columns shrink, and then rows are wrapped."""
    told = on_a_terminal(*command, env={"TERM": "dumb"}, columns=48).splitlines()

    assert any(line.startswith("  ") for line in told)
    assert [] == [line for line in told if len(line) > 48]


@pytest.mark.parametrize("command", [(), *((name,) for name in sorted(COMMANDS))])
def test_help_has_example_and_fits_80_columns(command: tuple[str, ...]) -> None:
    """Every command has help with an example."""
    done = tpustarter(*command, "--help", env={"COLUMNS": "80"})

    assert 0 == done.returncode
    assert "Example: tpustarter" in " ".join(done.stdout.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_overview_names_next_command() -> None:
    """`tpustarter` alone shows an overview of this machine and the next command."""
    done = tpustarter()

    assert 0 == done.returncode
    assert "tpustarter check" in done.stdout
    assert "CPU device" in done.stdout or "TPU" in done.stdout
    assert re.search(r"\nYour path\n  I .*: 0 of \d+ lessons, \d+ h", done.stdout)
    assert re.search(r"  tpustarter learn start/\S+  On .*, \d+ min\n", done.stdout)


def test_learn_lists_and_prints_lessons() -> None:
    """Each lesson in the list can be printed."""
    listed = tpustarter("learn", "-v").stdout
    printed = tpustarter("learn", "jax/precision").stdout

    assert " jax/precision " in listed
    assert printed.startswith("Lesson jax/precision, ")


def test_version_and_origin_are_one_line() -> None:
    """`--version` answers with the version and where it comes from."""
    done = tpustarter("--version")

    assert re.fullmatch(r"tpustarter \d+\.\d+\.\d+ \(.+\)\n", done.stdout)


def test_unwritable_state_folder_is_single_problem() -> None:
    """An unwritable state folder is a single problem with advice."""
    done = tpustarter("check", "host.passes", env={"TPUSTARTER_HOME": "/proc/nowhere"})

    assert 78 == done.returncode
    assert "cannot write to the state folder `/proc/nowhere`" in done.stderr
    assert "TPUSTARTER_HOME" in done.stderr


@pytest.mark.first_use
@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can be the root that sudo makes.")
def test_files_under_sudo_belong_to_caller(home: Path) -> None:
    """Files written under sudo belong to the user who called it."""
    user = 65534
    env = {"SUDO_UID": str(user), "SUDO_GID": str(user), "SUDO_USER": "nobody"}
    done = tpustarter("check", "host.passes", "host.fails", "host.raises", env=env)
    files = [home / "state", *(home / "state").rglob("*")]

    assert 1 == done.returncode
    assert len(files) > 3
    assert {user} == {path.stat().st_uid for path in files}


def test_environment_mistake_is_listed_before_its_error() -> None:
    """A host check's mistake is listed before the error of JAX that names the same variable."""
    asked = ("check", "jax.devices_visible", "host.environment")
    done = tpustarter(
        *asked, checks=locations.content_folder("checks"), env={"JAX_PLATFORMS": "tpu"}
    )
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line[:1].isupper()]

    assert [["WARN", "host.environment"], ["ERROR", "jax.devices_visible"]] == rows
    assert "because of host.environment: JAX_PLATFORMS selects the TPU" in done.stdout
    assert "because of host.environment" in done.stderr
    assert "`unset JAX_PLATFORMS`" in done.stderr.splitlines()[0]
