"""`tpustarter setup` as a process: text, JSON, exit codes, and SIGKILL at any moment."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support import copies
from tests.support.fake_tools import behave, calls, lay_tools
from tests.support.machines import lay_out
from tests.support.places import SUPPORT
from tpustarter.checking.plan import environments
from tpustarter.machine import host
from tpustarter.setup.environment.environment_setup import EnvironmentSetup

SCHEMA = json.loads(resources.files("tpustarter.setup").joinpath("schema.json").read_text())


@pytest.fixture
def machine(tmp_path: Path) -> host.Machine:
    """Return a laptop with a fake uv."""
    (tmp_path / "machine").mkdir()
    (tmp_path / "home").mkdir()
    tools = lay_tools(tmp_path / "tools", uv=True, python=True)
    env = {"PATH": str(tools), "HOME": str(tmp_path / "home")}
    return lay_out(tmp_path / "machine", env=env)


def words(machine: host.Machine, kill: str, *arguments: str) -> list[str]:
    """Return the command that runs `tpustarter setup` on a laid-out machine."""
    env = json.dumps(dict(machine.env))
    driver = [sys.executable, str(SUPPORT / "drive_setup.py"), str(machine.root), env, kill]
    return [*driver, *arguments]


def setup(
    machine: host.Machine, *arguments: str, kill: str = "-"
) -> subprocess.CompletedProcess[str]:
    """Run `tpustarter setup` and return what it did."""
    env = {**os.environ, "HOME": machine.env["HOME"], "COLUMNS": "80"}
    return copies.run(words(machine, kill, *arguments), env=env)


def tools_of(machine: host.Machine) -> Path:
    """Return the folder of the fake tools."""
    return Path(machine.env["PATH"])


def states(machine: host.Machine) -> list[str]:
    """Return the states of a new plan."""
    return [step.state for step in EnvironmentSetup(machine=machine, own=[]).steps]


def test_plan_is_shown_and_nothing_runs(machine: host.Machine) -> None:
    """The plan is shown in 80 columns and nothing runs; the last line is the next command."""
    done, dry = setup(machine), setup(machine, "--yes", "--dry-run")

    assert 0 == done.returncode == dry.returncode
    assert "Nothing was run." in done.stdout
    assert done.stdout == dry.stdout
    for word in ("why", "changes", "needs", "venv --allow-existing", "pip install", "'~/tpu'"):
        assert (word in done.stdout) == (word != "'~/tpu'"), word
    assert (
        "To run the steps that are left: tpustarter setup jax --yes" == done.stdout.splitlines()[-1]
    )
    prose = [line for line in done.stdout.splitlines() if not line.startswith("        ")]
    assert all(len(line) <= 80 for line in prose)
    assert [] == calls(tools_of(machine))
    assert not Path(machine.env["HOME"], "tpu").exists()


def test_partial_plan_names_command_for_other_steps(machine: host.Machine) -> None:
    """No line of the plan is too wide but what is copied: commands, and the lines of a file."""
    (machine.root / machine.env["HOME"].lstrip("/")).mkdir(parents=True)
    whole = setup(machine, "editor").stdout.splitlines()
    part = setup(machine, "editor", "--only", "tmux-lines").stdout

    assert [] == [
        line for line in whole if len(line) > 80 and "$ " not in line and "| " not in line
    ]
    assert "todo    tmux-lines   Keep more output in tmux, and scroll through it with the\n" in part
    assert part.endswith(" --only tmux-lines --yes\n")

    done = setup(machine, "editor", "--only", "tmux-lines", "--yes").stdout

    assert "What you asked for is done.\nTo see the other steps: tpustarter setup editor\n" in done


def test_yes_runs_steps_live_and_names_next(machine: host.Machine) -> None:
    """With `--yes` each step and its output are shown live, and the next command is named."""
    done = setup(machine, "jax", "--yes")

    assert (0, "") == (done.returncode, done.stderr)
    assert "        | pip works" in done.stdout
    assert "~/tpu is ready. Next: tpustarter check" in done.stdout
    assert ": tpustarter learn\n" in done.stdout
    assert "Everything is done." in setup(machine).stdout
    assert 0 == setup(machine, "--yes").returncode


def test_failed_step_exits_1_with_output_and_log(machine: host.Machine) -> None:
    """A failed step shows the tool's last output, a hint, the log and one line on stderr."""
    behave(tools_of(machine), pip={"say": "\x1b[31mNo space left on device\n", "code": 1})
    done = setup(machine, "--yes")

    assert 1 == done.returncode
    assert "        | No space left on device\n" in done.stdout
    assert "FAIL    install" in done.stdout
    assert "the disk is full: `df -h ~/tpu`" in done.stdout
    *_, log, why = done.stdout.splitlines()
    assert log.startswith("        log  ")
    explained = copies.run([sys.executable, "-m", *shlex.split(why.partition("why  ")[2])])
    assert "No space left on device" in explained.stdout
    assert 0 == explained.returncode
    assert done.stderr.startswith("exit 1: install: ended with exit code 1. Next: `")
    assert "\x1b" not in done.stdout + done.stderr


def test_json_fits_schema_in_every_state(machine: host.Machine) -> None:
    """Plan, failure, success, undone and a refusal are each one document on stdout."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    behave(tools_of(machine), pip={"code": 3})
    seen = []
    for arguments in ([], ["--yes"], ["--yes"], ["--undo"], ["--undo", "--yes"], ["--undo"]):
        done = setup(machine, *arguments, "--json")
        fields = json.loads(done.stdout)
        validator.validate(fields)
        if "--yes" in arguments:
            behave(tools_of(machine))
        seen.append((done.returncode, [one["state"] for one in fields.get("steps", [])][2:3]))

        assert fields["exit_code"] == done.returncode
        assert "error" in fields or machine.env["HOME"] not in done.stdout
    assert [
        (0, ["todo"]),
        (1, ["failed"]),
        (0, ["done"]),
        (0, ["done"]),
        (0, ["undone"]),
        (3, []),
    ] == seen


def test_undo_previews_and_refuses_foreign_files(machine: host.Machine) -> None:
    """Without `--yes` nothing goes; a folder with other files stays; then all of it goes."""
    folder = Path(machine.env["HOME"], "tpu")
    setup(machine, "--yes")
    shown = setup(machine, "--undo")

    assert "the folder ~/tpu" in shown.stdout
    assert "To remove it: tpustarter setup jax --undo --yes" == shown.stdout.splitlines()[-1]
    (folder / "mine").write_text("")
    refused = setup(machine, "--undo", "--yes")
    assert (3, True) == (refused.returncode, "did not make: `mine`" in refused.stderr)
    (folder / "mine").unlink()
    assert 0 == setup(machine, "--undo", "--yes").returncode
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing"], 2, "there is no set-up profile `nothing`"),
        (["torch"], 2, "did you mean one of these?\n  pytorch-xla"),
        (["kers"], 2, "did you mean `tpustarter setup keras`?"),
        (["--folder", "/proc/1/x/y", "--yes"], 3, "the folder `/proc/1/x` does not exist"),
        (["--undo", "--yes"], 3, "does not exist, so there is nothing to undo"),
        (["--folder", "~nobody-here/x", "--yes"], 3, "~nobody-here` does not exist"),
        (["--folder", "/", "--yes"], 3, "exit 3: environment: `/` is not empty"),
        (["--folder", "/dev/null/x", "--yes"], 3, "setup jax --folder /dev/null/x --yes`"),
    ],
)
def test_impossible_request_has_reason_and_exit_code(
    arguments: list[str], code: int, said: str, machine: host.Machine
) -> None:
    """An impossible request, such as an unknown profile, has a reason and an exit code."""
    done = setup(machine, *arguments)

    assert (code, True) == (done.returncode, said in done.stderr), done.stderr


def test_shown_commands_can_be_pasted(machine: host.Machine) -> None:
    """Shown commands can be pasted: `~` is never quoted, and the rest is quoted as needed."""
    folder = Path(machine.env["HOME"], "my env")
    told = setup(machine, "--folder", str(folder), "--yes").stdout

    assert "source ~/'my env/bin/activate'" == told.splitlines()[-1].partition("shell: ")[2]
    assert machine.env["HOME"] not in told
    (Path(machine.env["HOME"]) / "tpu").write_text("")
    assert "`~/tpu` is not a folder" in setup(machine).stdout


def test_help_has_example(machine: host.Machine) -> None:
    """Help says what is done and gives an example."""
    assert "Example: tpustarter setup jax --yes" in setup(machine, "--help").stdout


@pytest.mark.skipif(
    os.environ.get("TPUSTARTER_NETWORK") != "1",
    reason="This makes a real environment from the package index; TPUSTARTER_NETWORK=1 allows it.",
)
def test_real_environment_is_made_proved_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest JAX of the package index computes in an environment of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    made = EnvironmentSetup(folder=tmp_path / "tpu", machine=host.Machine(env={**os.environ}))
    ended = list(made.run())

    assert ["done"] * 5 == [step.state for step in made.steps], ended[-1]
    assert tmp_path / "tpu" == environments.find_proved_environment()
    list(made.undo())
    assert not (tmp_path / "tpu").exists()


def test_blocked_plan_says_so_and_explains_placeholders(machine: host.Machine) -> None:
    """A blocked plan says so, and explains placeholders such as BUCKET."""
    done = setup(machine, "gcs")

    assert (0, "") == (done.returncode, done.stderr)
    assert "This is the plan to change this machine. Nothing was run." in done.stdout
    assert "| BUCKET /mnt/BUCKET gcsfuse rw" in done.stdout
    assert done.stdout.endswith(
        "BUCKET is the name of your bucket, without gs://.\n"
        "Nothing of it can be done on this machine; `package` says why.\n"
        "To read what it is for: tpustarter learn setup/a-bucket-as-a-folder\n"
    )
