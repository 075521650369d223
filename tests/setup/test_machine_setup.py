"""Set-up of the machine itself: what it sees, changes, records and restores; never as root."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.damage import DAMAGES, damage
from tests.support.machine_setups import STATUS, declare, home_file, machine, run, with_apt
from tpustarter.core import state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.setup.machine import change_record, machine_setup, marked_lines
from tpustarter.setup.machine.machine_settings import HUGE_PAGES, LOGS, TCMALLOC
from tpustarter.setup.machine.machine_setup import MachineSetup
from tpustarter.setup.setup_plan import StepEnded, StepStarted

IDS = ["huge-pages", "after-restart", "locked-memory", "logs", "tcmalloc"]
TMPFILES, LIMITS = "/etc/tmpfiles.d/tpustarter.conf", "/etc/security/limits.d/tpustarter.conf"
STATUSES = "/proc/self/status"
SYSTEMD = {"/run/systemd/system/": ""}
LOGIN = {"/etc/security/limits.d/": "", "/proc/self/limits": "Max locked memory  8  8  bytes"}
CAPABILITIES = "CapEff:\t0000000000000000\nCapBnd:\t{}\nCapAmb:\t0000000000000000\n"
"""As the kernel tells them; bit 24 of the second may raise a limit."""


@pytest.mark.parametrize(
    ("step", "files", "expected"),
    [
        ("huge-pages", {HUGE_PAGES: "always [madvise] never\n"}, "todo"),
        ("huge-pages", {HUGE_PAGES: "[always] madvise never\n"}, "done"),
        ("huge-pages", {}, "blocked"),
        ("after-restart", {}, "blocked"),
        ("after-restart", {**SYSTEMD, "/etc/tmpfiles.d/": ""}, "todo"),
        ("after-restart", {**SYSTEMD, TMPFILES: "# mine\n"}, "blocked"),
        ("locked-memory", {"/etc/security/limits.d/": ""}, "todo"),
        ("locked-memory", {LIMITS: "* - memlock unlimited\n"}, "done"),
        ("locked-memory", {"/proc/self/limits": "Max locked memory  unlimited  -"}, "done"),
        ("locked-memory", {**LOGIN, STATUSES: CAPABILITIES.format("000001ffffffffff")}, "todo"),
        ("locked-memory", {**LOGIN, STATUSES: CAPABILITIES.format("000001fffeffffff")}, "blocked"),
        (
            "locked-memory",
            {
                **LOGIN,
                STATUSES: CAPABILITIES.format("000001fffeffffff"),
                LIMITS: "* - memlock unlimited\n",
            },
            "blocked",
        ),
        (
            "locked-memory",
            {
                **LOGIN,
                STATUSES: CAPABILITIES.format("000001fffeffffff"),
                "/proc/self/limits": "Max locked memory  8  unlimited  bytes",
            },
            "todo",
        ),
        ("logs", {}, "done"),
        ("logs", {f"{LOGS}/": ""}, "todo"),
        ("tcmalloc", {TCMALLOC: ""}, "done"),
        ("tcmalloc", {}, "blocked"),
    ],
)
def test_step_states_match_machine(
    step: str, files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    """Step states match the machine: others' files stay, and an undone step has a note."""
    setup = MachineSetup("tuning", machine=machine(tmp_path, files))
    (found,) = [one for one in setup.steps if one.id == step]

    assert expected == found.state
    assert found.note or found.state == "todo"


def test_no_root_command_runs_without_permission(tmp_path: Path) -> None:
    """Without permission no root command runs, and each of these steps has a note."""
    here = machine(tmp_path, {HUGE_PAGES: "always [madvise] never\n", f"{LOGS}/": ""})
    setup = MachineSetup("tuning", machine=here)
    before = [step.state for step in setup.steps]
    ended = [event for event in setup.run() if isinstance(event, StepEnded)]

    assert IDS == [step.id for step in setup.steps]
    assert ["todo", "blocked", "blocked", "todo"] == before[:4]
    assert {"blocked"} == {event.step.state for event in ended}
    assert "`--root` allows" in ended[0].step.note
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    assert not setup.log.exists()
    with pytest.raises(Problem, match="has changed nothing on this machine"):
        setup.undo()


BEFORE = {"empty": "", "ended": "set -g mouse on\n", "unended": "set -g mouse on", "absent": None}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_lines_are_written_between_marks_once(before: str | None, tmp_path: Path) -> None:
    """Lines are written once between marks, as the user, and a second run changes nothing."""
    here = machine(tmp_path)
    path = home_file(here, ".tmux.conf")
    if before is not None:
        path.write_text(before)
        path.chmod(0o640)
    look = {"lines": "~/.tmux.conf", "text": "set -g history-limit 50000\nset -g a '#{b}'\n"}
    lessons = declare(tmp_path, {"id": "tmux", "look": look})
    setup = MachineSetup("tuning", machine=here, lessons=lessons)
    (step,) = setup.steps

    assert {"tmux": "done"} == run(setup)
    assert step.writes == tuple(path.read_text().removeprefix(before or "").split("\n"))[-5:-1]
    assert path.read_text().startswith(before or "# >>> tpustarter: tuning tmux >>>\n")
    assert before is None or 0o640 == path.stat().st_mode & 0o777
    again = MachineSetup("tuning", machine=here, lessons=lessons)
    assert {} == run(again)
    assert "the lines are in `~/.tmux.conf`" == again.steps[0].note


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_undo_restores_file_to_byte(before: str | None, tmp_path: Path) -> None:
    """Undo restores a file to the byte, or removes one that didn't exist."""
    here = machine(tmp_path)
    path = home_file(here, ".zshrc")
    if before is not None:
        path.write_text(before)
    lessons = declare(tmp_path, {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "a=1"}})
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    run(MachineSetup("tuning", machine=here, lessons=lessons), undo=True)

    assert before == (path.read_text() if path.exists() else None)
    assert {} == state.load_state(change_record.STATE)["tuning"]


def test_undo_keeps_text_added_around_our_lines(tmp_path: Path) -> None:
    """Above and below; the line end that was added for our lines stays where it is needed."""
    here = machine(tmp_path)
    path = home_file(here, ".zshrc")
    path.write_text("mine")
    lessons = declare(tmp_path, {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "a=1"}})
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    path.write_text(f"above\n{path.read_text()}below\n")
    run(MachineSetup("tuning", machine=here, lessons=lessons), undo=True)

    assert "above\nmine\nbelow\n" == path.read_text()


def test_older_lines_are_replaced_and_damaged_marks_kept(tmp_path: Path) -> None:
    """Lines of an older set-up are replaced, but a file with a damaged mark isn't changed."""
    here = machine(tmp_path)
    path = home_file(here, ".zshrc")
    begin, end = marked_lines.format_marks("tuning zsh")
    path.write_text(f"one\n{begin}\nold\n{end}\ntwo\n")
    lessons = declare(tmp_path, {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "new"}})
    run(MachineSetup("tuning", machine=here, lessons=lessons))

    assert f"one\n{begin}\nnew\n{end}\ntwo\n" == path.read_text()
    path.write_text(f"{end}\none\n{begin}\n")
    setup = MachineSetup("tuning", machine=here, lessons=lessons)
    assert {"zsh": "blocked"} == run(setup)
    assert "damaged: found them in line 1, 3" in setup.steps[0].note


def test_created_file_is_removed_only_if_unchanged(tmp_path: Path) -> None:
    """Undo removes a created file only if it is unchanged, or else fails."""
    here = machine(tmp_path, {"/etc/tpu/": ""})
    look = {"file": "/etc/tpu/a.conf", "text": "one\ntwo"}
    lessons = declare(tmp_path, {"id": "a", "look": look})
    path = here.root / "etc/tpu/a.conf"

    assert {"a": "done"} == run(MachineSetup("tuning", machine=here, lessons=lessons))
    assert "one\ntwo\n" == path.read_text()
    path.write_text("one\nmine\n")
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)
    assert {"a": "failed"} == run(undoing, undo=True)
    assert ExitCode.FAILED == undoing.exit_code
    path.write_text("one\ntwo\n")
    assert {"a": "undone"} == run(MachineSetup("tuning", machine=here, lessons=lessons), undo=True)
    assert not path.exists()


def test_undo_removes_exactly_the_packages_that_came(tmp_path: Path) -> None:
    """Undo removes the step's packages and their dependencies, not those installed meanwhile."""
    here = with_apt(tmp_path, "bash")
    (here.root / "kernel-comes").touch()  # while apt-get works
    step = {"id": "tmux", "look": {"package": ["bash", "tmux"]}}
    lessons = declare(tmp_path, step)
    setup = MachineSetup("tuning", machine=here, lessons=lessons)

    assert {"tmux": "done"} == run(setup), setup.steps
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)
    assert undoing.removed_by_undo()[0].endswith(" dpkg libtmux tmux")
    assert "dpkg --purge" in undoing.removed_by_undo()[0]
    assert {"tmux": "undone"} == run(undoing, undo=True)
    (again,) = MachineSetup("tuning", machine=here, lessons=lessons).steps
    assert "todo" == again.state
    assert "Package: kernel" in (here.root / STATUS.lstrip("/")).read_text()


def test_package_needed_by_another_stays(tmp_path: Path) -> None:
    """A package that another one needs isn't removed by undo."""
    here = with_apt(tmp_path, "bash")
    lessons = declare(tmp_path, {"id": "tmux", "look": {"package": "tmux"}})
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    with (here.root / STATUS.lstrip("/")).open("a") as stream:
        for name, needs in {"other": "bash | libtmux", "mine": "libtmux | none, bash"}.items():
            undoing = MachineSetup("tuning", machine=here, lessons=lessons)
            assert undoing.removed_by_undo()[0].endswith(" dpkg libtmux tmux")
            stream.write(f"Package: {name}\nStatus: install ok installed\nDepends: {needs}\n\n")
            stream.flush()
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)

    assert undoing.removed_by_undo()[0].endswith(" dpkg tmux")
    assert {"tmux": "undone"} == run(undoing, undo=True)


def test_half_installed_package_is_completed_first(tmp_path: Path) -> None:
    """A half-installed package is first completed by `dpkg --configure`."""
    here = with_apt(tmp_path, "bash")
    status = here.root / STATUS.lstrip("/")
    lessons = declare(tmp_path, {"id": "tmux", "look": {"package": "tmux"}})
    (whole,) = MachineSetup("tuning", machine=here, lessons=lessons).steps
    status.write_text(status.read_text() + "Package: tmux\nStatus: install ok unpacked\n\n")
    (broken,) = MachineSetup("tuning", machine=here, lessons=lessons).steps

    assert "todo" == broken.state
    assert not whole.command[2].startswith("dpkg --configure -a; ")
    assert broken.command[2].startswith("dpkg --configure -a; ")
    assert ("--reinstall", "tmux") == broken.command[-2:]
    status.write_text("Package: bash\nStatus: install ok installed\n\n")
    journal = here.root / "var/lib/dpkg/updates/0001"
    journal.parent.mkdir()
    journal.touch()
    (killed,) = MachineSetup("tuning", machine=here, lessons=lessons).steps
    assert killed.command[2].startswith("dpkg --configure -a; ")


def test_failed_step_stops_only_dependent_steps(tmp_path: Path) -> None:
    """A failed step stops only the steps after it; the next run continues, and undo skips it."""
    here = with_apt(tmp_path, "bash")
    (here.root / "fails").touch()
    lessons = declare(
        tmp_path,
        {"id": "tmux", "look": {"package": "tmux"}},
        {"id": "sub", "look": {"folder": "~/sub/deep"}, "after": ["folder-of-sub"]},
        {"id": "folder", "look": {"folder": "~/folder"}},
        {"id": "proof", "look": "proof", "command": ["true"], "after": ["tmux", "folder"]},
    )
    with pytest.raises(Problem, match="are broken: KeyError"):
        MachineSetup("tuning", machine=here, lessons=lessons)
    lessons = declare(
        tmp_path,
        {"id": "tmux", "look": {"package": "tmux"}},
        {"id": "folder", "look": {"folder": "~/folder"}},
        {"id": "sub", "look": {"file": "~/folder/sub", "text": "x"}, "after": ["folder"]},
        {"id": "proof", "look": "proof", "command": ["true"], "after": ["tmux", "folder"]},
    )
    setup = MachineSetup("tuning", machine=here, lessons=lessons)

    assert ["todo"] * 4 == [step.state for step in setup.steps]
    assert {"tmux": "failed", "folder": "done", "sub": "done", "proof": "blocked"} == run(setup)
    assert "`tmux` comes first" in setup.steps[3].note
    assert ExitCode.FAILED == setup.exit_code
    (here.root / "fails").unlink()
    again = MachineSetup("tuning", machine=here, lessons=lessons)
    assert {"tmux": "done", "proof": "done"} == run(again)
    assert {} == run(MachineSetup("tuning", machine=here, lessons=lessons))
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)
    assert ["sub", "folder", "tmux"] == list(run(undoing, undo=True))
    states = [one.state for one in MachineSetup("tuning", machine=here, lessons=lessons).steps]
    assert ["todo"] * 4 == states


def test_proof_expires_when_proved_state_changes(tmp_path: Path) -> None:
    """A proof is run again when a step before it has changed; one that fails isn't kept."""
    here = machine(tmp_path)
    lines = {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "one"}}
    proof = {"id": "proof", "look": "proof", "command": ["test", "-e", "{home}/.zshrc"]}
    proof["command"][2] = str(home_file(here, ".zshrc"))
    lessons = declare(tmp_path, lines, proof)

    assert {"zsh": "done", "proof": "done"} == run(
        MachineSetup("tuning", machine=here, lessons=lessons)
    )
    home_file(here, ".zshrc").unlink()
    setup = MachineSetup("tuning", machine=here, lessons=lessons)
    assert ["todo", "todo"] == [step.state for step in setup.steps]
    fails = declare(tmp_path, {**proof, "command": ["false"]})
    assert {"proof": "failed"} == run(MachineSetup("tuning", machine=here, lessons=fails))


VALUES = {
    "bucket": {"meaning": "the bucket that is mounted", "matches": "[a-z0-9._-]+"},
    "mode": {"meaning": "who may read it", "matches": "[0-7]{3}", "default": 700},
}
MOUNT: dict[str, Any] = {
    "id": "mount",
    "title": "Mount {bucket}",
    "changes": "~/.mounts",
    "look": {"lines": "~/.mounts", "text": "{bucket} {mode} {other}"},
}


def test_missing_value_is_requested(tmp_path: Path) -> None:
    """A missing value is shown in the plan, and a run is refused with the option to type."""
    here = machine(tmp_path)
    lessons = declare(tmp_path, MOUNT, values=VALUES)
    setup = MachineSetup("tuning", machine=here, lessons=lessons)

    assert ("Mount BUCKET", "BUCKET 700 {other}") == (
        setup.steps[0].title,
        setup.steps[0].writes[1],
    )
    assert ["bucket"] == [one.name for one in setup.missing_values]
    with pytest.raises(Problem) as raised:
        setup.run()
    assert ExitCode.USAGE == raised.value.code
    assert "bucket: the bucket that is mounted" in raised.value.full_text
    assert "--set bucket=BUCKET --yes" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"bucket": "a b"}, "bucket is `a b`, expected the bucket that is mounted"),
        ({"bucket": "-o"}, "bucket is `-o`"),
        ({"bucket": "a\n"}, "bucket is"),
        ({"bucket": ""}, "bucket is ``"),
        ({"bukket": "a"}, "has no value `bukket`"),
    ],
)
def test_invalid_value_is_refused(told: dict[str, str], said: str, tmp_path: Path) -> None:
    """Before anything is planned with it."""
    lessons = declare(tmp_path, MOUNT, values=VALUES)
    with pytest.raises(Problem) as raised:
        MachineSetup("tuning", machine=machine(tmp_path), lessons=lessons, values=told)

    assert said in raised.value.full_text
    assert ExitCode.USAGE == raised.value.code


def test_values_are_remembered_until_undo(tmp_path: Path) -> None:
    """Values are remembered until undo, and a different value has to wait for it."""
    here = machine(tmp_path)
    lessons = declare(tmp_path, MOUNT, values=VALUES)
    path = home_file(here, ".mounts")
    run(MachineSetup("tuning", machine=here, lessons=lessons, values={"bucket": "data"}))

    assert "data 700 {other}" in path.read_text()
    again = MachineSetup("tuning", machine=here, lessons=lessons)
    assert ([], ["done"]) == (again.missing_values, [step.state for step in again.steps])
    with pytest.raises(Problem, match="was run with bucket `data`"):
        MachineSetup("tuning", machine=here, lessons=lessons, values={"bucket": "other"})
    run(again, undo=True)
    assert not path.exists()
    other = MachineSetup("tuning", machine=here, lessons=lessons, values={"bucket": "other"})
    assert {"mount": "done"} == run(other)


def test_value_never_becomes_part_of_script(tmp_path: Path) -> None:
    """A value never becomes part of a script, but is passed as its argument."""
    here = machine(tmp_path)
    values = {"name": {"meaning": "a name", "matches": ".*"}}
    look = {"file": "~/made", "text": "x"}
    script = {"id": "a", "look": look, "command": ["sh", "-c", "touch {name}"]}
    with pytest.raises(Problem, match=r"`\{name\}` stands in a script"):
        MachineSetup("tuning", machine=here, lessons=declare(tmp_path, script, values=values))
    proof = {
        "id": "a",
        "look": "proof",
        "command": ["sh", "-c", 'test "$1" = "\'; false"', "sh", "{name}"],
    }
    lessons = declare(tmp_path, proof, values=values)
    setup = MachineSetup("tuning", machine=here, lessons=lessons, values={"name": "'; false"})

    assert {"a": "done"} == run(setup), setup.steps


def test_step_for_another_place_is_shown_not_run(tmp_path: Path) -> None:
    """A step for another machine is shown but not run, and the set-up is complete without it."""
    step = {"id": "ssh", "where": "on your computer", "command": ["tpustarter", "tpu"]}
    setup = MachineSetup("tuning", machine=machine(tmp_path), lessons=declare(tmp_path, step))

    assert [("manual", "you do this on your computer", ("tpustarter", "tpu"))] == [
        (one.state, one.note, one.command) for one in setup.steps
    ]
    assert {} == run(setup)
    assert ExitCode.OK == setup.exit_code


@pytest.mark.parametrize(
    "step",
    [
        {"look": {"packages": "tmux"}},
        {"look": {"package": "tmux", "folder": "/a"}},
        {"look": {"lines": "~/a"}},
        {"look": {"package": "tmux", "text": "a"}},
        {"look": {"setting": "no-such"}},
        {"look": {"folder": "relative"}},
        {"look": {"command": "docker"}},
        {"look": {"package": "tmux"}, "unknown": 1},
        {},
    ],
)
def test_broken_header_is_named(step: dict[str, Any], tmp_path: Path) -> None:
    """Whoever writes a lesson learns which file it is."""
    lessons = declare(tmp_path, {"id": "a", **step})

    with pytest.raises(Problem, match=r"01-test\.md` are broken"):
        MachineSetup("tuning", machine=machine(tmp_path), lessons=lessons)


def test_only_selected_steps_and_their_prerequisites_run(tmp_path: Path) -> None:
    """Only the selected steps and their prerequisites are run or undone."""
    here = machine(tmp_path)
    lessons = declare(
        tmp_path,
        {"id": "folder", "look": {"folder": "~/a/b"}},
        {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "a"}},
        {"id": "file", "look": {"file": "~/a/b/c", "text": "a"}, "after": ["folder"]},
    )
    setup = MachineSetup("tuning", machine=here, lessons=lessons, only=["file"])

    assert {"folder": "done", "file": "done"} == run(setup)
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)
    assert ["todo"] == [step.state for step in undoing.steps if step.id == "zsh"]
    assert {"file": "undone", "folder": "undone"} == run(undoing, undo=True)
    assert not home_file(here, "a").exists()
    with pytest.raises(Problem, match="has no step `flie`") as raised:
        MachineSetup("tuning", machine=here, lessons=lessons, only=["flie"])
    assert "its steps are folder, zsh, file" == raised.value.hint


def test_non_empty_folder_stays(tmp_path: Path) -> None:
    """A folder that isn't empty is kept with its parents, and undo still succeeds."""
    here = machine(tmp_path)
    lessons = declare(tmp_path, {"id": "folder", "look": {"folder": "~/a/b"}})
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    home_file(here, "a/mine").touch()
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)

    assert {"folder": "undone"} == run(undoing, undo=True)
    assert (True, False) == (home_file(here, "a/mine").exists(), home_file(here, "a/b").exists())


def test_mounts_are_read_from_kernel_list(tmp_path: Path) -> None:
    r"""A path with a blank is written there as `\\040`."""
    here = machine(
        tmp_path, {"/proc/self/mounts": "bucket /home/alice/my\\040data fuse.x rw 0 0\n"}
    )
    step = {"id": "a", "look": {"mounted": "~/my data"}, "command": ["true"]}
    (seen,) = MachineSetup("tuning", machine=here, lessons=declare(tmp_path, step)).steps

    assert ("done", "bucket is mounted there, as fuse.x") == (seen.state, seen.note)
    other = {"id": "a", "look": {"mounted": "~/my"}, "command": ["true"]}
    (seen,) = MachineSetup("tuning", machine=here, lessons=declare(tmp_path, other)).steps
    assert "todo" == seen.state


def test_kill_between_change_and_note_can_be_undone(tmp_path: Path) -> None:
    """A set-up killed before it noted a change can be continued, and undo reverts the change."""
    here = with_apt(tmp_path, "bash")
    lessons = declare(
        tmp_path,
        {"id": "tmux", "look": {"package": "tmux"}},
        {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "a"}},
    )
    for event in (events := MachineSetup("tuning", machine=here, lessons=lessons).run()):
        if isinstance(event, StepStarted) and event.step.id == "zsh":
            events.close()  # pyright: ignore[reportAttributeAccessIssue]
            break
    stored = state.load_state(change_record.STATE)
    stored["tuning"]["tmux"] = {"installed": ["bash"]}  # as it was before the command ended
    state.save_state(change_record.STATE, stored)

    assert {"zsh": "done"} == run(MachineSetup("tuning", machine=here, lessons=lessons))
    assert {"came": ["libtmux", "tmux"]} == state.load_state(change_record.STATE)["tuning"]["tmux"]
    run(MachineSetup("tuning", machine=here, lessons=lessons), undo=True)
    assert not home_file(here, ".zshrc").exists()
    assert "tmux" not in (here.root / STATUS.lstrip("/")).read_text()


@pytest.mark.parametrize(
    "kind",
    [
        *DAMAGES,
        '{"tuning": 5}',
        '{"values": 5}',
        '{"proved": {"tuning": 5}}',
        '{"tuning": {"zsh": 5}}',
        '{"tuning": {"zsh": null, "tmux": null}}',
        '{"tuning": {"tmux": {"came": 5}}}',
        '{"tuning": {"tmux": {"installed": [5]}}}',
        '{"tuning": {"tmux": {}}}',
    ],
)
def test_unreadable_record_stops_setup_and_undo(kind: str, tmp_path: Path) -> None:
    """A record that can't be read stops set-up and undo, so that no earlier state is lost."""
    here = with_apt(tmp_path, "bash")
    lessons = declare(
        tmp_path,
        {"id": "tmux", "look": {"package": "tmux"}},
        {"id": "zsh", "look": {"lines": "~/.zshrc", "text": "a"}},
    )
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    place = state.prepare_state_path(change_record.STATE)
    if kind in DAMAGES:
        damage(place, kind)
    else:
        place.write_text(kind)
    for undo in (False, True):
        with pytest.raises(Problem) as caught:
            run(MachineSetup("tuning", machine=here, lessons=lessons), undo=undo)
        assert ExitCode.CONFIGURATION == caught.value.code

    assert os.path.lexists(place)
    assert home_file(here, ".zshrc").exists()
    place.rename(f"{place}.broken")
    assert "done" == run(MachineSetup("tuning", machine=here, lessons=lessons)).get("zsh", "done")


def test_the_document_fits_its_schema(tmp_path: Path) -> None:
    """The document matches its schema, with values, lines and manual steps."""
    import jsonschema

    step = {"id": "ssh", "where": "on your computer", "command": ["tpustarter", "tpu"]}
    lessons = declare(tmp_path, MOUNT, step, values=VALUES)
    setup = MachineSetup("tuning", machine=machine(tmp_path), lessons=lessons)
    path = Path(machine_setup.__file__).parents[1] / "schema.json"

    jsonschema.validate(setup.fields(), json.loads(path.read_text()))
    assert [None, "700"] == [one["value"] for one in setup.fields()["values"]]
    assert os.path.isabs(str(setup.fields()["steps"][0]["file"]).replace("~", "/home"))  # noqa: PTH117


def test_stopped_run_and_undo_can_be_continued(tmp_path: Path) -> None:
    """A stopped run or undo leaves the remaining steps as they were, and can be continued."""
    here = machine(tmp_path)
    steps = [
        {"id": name, "look": {"file": f"~/{name}", "text": "x"}, "after": after}
        for name, after in {"one": [], "two": ["one"], "three": ["two"]}.items()
    ]
    lessons = declare(tmp_path, *steps)
    setup = MachineSetup("tuning", machine=here, lessons=lessons)
    for event in setup.run():
        if isinstance(event, StepEnded):
            setup.stop()

    assert ["done", "todo", "todo"] == [step.state for step in setup.steps]
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    again = run(MachineSetup("tuning", machine=here, lessons=lessons))
    assert {"two": "done", "three": "done"} == again
    undo = MachineSetup("tuning", machine=here, lessons=lessons)
    for event in undo.undo():
        if isinstance(event, StepEnded):
            undo.stop()
    assert ExitCode.INCONCLUSIVE == undo.exit_code
    run(MachineSetup("tuning", machine=here, lessons=lessons), undo=True)
    assert not home_file(here, "one").exists()


def test_run_without_root_skips_steps_after_root(tmp_path: Path) -> None:
    """A run without root skips the steps that depend on root steps."""
    steps = [
        {"id": name, "look": {"file": f"~/{name}", "text": "x"}, "after": after, "needs": needs}
        for name, after, needs in (
            ("root", [], ["root"]),
            ("mine", [], []),
            ("next", ["mine"], []),
            ("waits", ["root"], []),
        )
    ]
    setup = MachineSetup("tuning", machine=machine(tmp_path), lessons=declare(tmp_path, *steps))

    assert ["mine", "next"] == [step.id for step in setup.list_rootless_steps()]


def test_stored_proof_keeps_its_names(tmp_path: Path) -> None:
    """Another version of tpustarter reads the same record."""
    here, step = machine(tmp_path), {"id": "tmux", "look": {"package": "tmux"}}
    [planned] = MachineSetup("tuning", machine=here, lessons=declare(tmp_path, step)).steps
    changes = change_record.RecordedChanges("tuning")
    changes.store_proof(planned, (), "it works")

    stored = state.load_state(change_record.STATE)["proved"]["tuning"]  # type: ignore[index]
    assert {"tmux": {"of": [[*planned.command], []], "said": "it works"}} == stored
    assert "it works" == changes.proved()["tmux"].output
