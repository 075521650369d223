"""The processes that use the TPU are listed, and listing them changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.checks.host_sabotage import SOUND, run
from tests.support.machines import lay_out
from tpustarter.machine import command_line, host
from tpustarter.probe.finding import NoAnswer


def test_holder_has_user_command_and_age(tmp_path: Path) -> None:
    """A holder has a pid, user, command and age; control characters and passwords are removed."""
    command = f"python tr\x1b]0;title\x07{'x' * 500}.py --password hunter2"
    machine = lay_out(tmp_path, "v5e", holder={"pid": 4242, "command": command, "age_s": 7500})
    (holder,) = host.list_tpu_processes(machine)

    assert (holder.pid, holder.user, holder.zombie) == (4242, "alice", False)
    assert holder.age_s == pytest.approx(7500, abs=1)
    assert host.format_duration(holder.age_s or 0).startswith("2 h")
    assert holder.nodes == ("/dev/vfio/0",)
    assert holder.command == "python tr ]0;title ..."


COMMANDS = [
    # the words of a command line, and what is shown of them
    ("python train.py --password hunter2", "python train.py"),
    (
        "/home/ada/tpu/bin/python3.12 -u -W ignore /home/ada/x/train.py --key=a",
        "python3.12 train.py",
    ),
    ("python -Xdev -Bm torch.distributed.run --token a t.py", "python -m torch.distributed.run"),
    ("python -mipykernel_launcher -f /run/kernel-1.json", "python -m ipykernel_launcher"),
    ("python -c import(os);key='hunter2'", "python -c"),
    ("python -Ic key='hunter2'", "python -c"),
    ("python --check-hash-based-pycs always train.py a", "python train.py"),
    ("python - a", "python -"),
    ("python", "python"),
    ("bash -xe ./run.sh --token a", "bash run.sh"),
    ("/bin/sh -c TOKEN=hunter2 python", "sh -c"),
    ("-bash", "-bash"),
    ("env TOKEN=hunter2 python train.py", "env"),
    ("./serve --password hunter2", "serve"),
    ("", ""),
]


@pytest.mark.parametrize(("words", "shown"), COMMANDS)
def test_no_argument_of_another_process_is_shown(words: str, shown: str) -> None:
    """Only the program and its script are shown; the arguments may be secret."""
    assert shown == command_line.shorten_command_line(words.replace(" ", "\0") + "\0")
    if "-c" not in words:  # a title that the process gave itself is one word with blanks
        assert shown == command_line.shorten_command_line(words)


def test_dead_leader_with_living_threads_is_holder(tmp_path: Path) -> None:
    """A zombie's own list of open files is empty; its threads' lists are not."""
    machine = lay_out(tmp_path, "v4", holder={"pid": 4242, "state": "Z"})
    (holder,) = host.list_tpu_processes(machine)

    assert (holder.zombie, holder.command) == (True, "[python]")


@contextmanager
def opened_below(root: Path) -> Iterator[list[tuple[str, int]]]:
    """Collect every path below `root` that this process opens, with the flags."""
    opened: list[tuple[str, int]] = []
    watching = [True]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and str(arguments[0]).startswith(str(root)):
            assert isinstance(arguments[2], int)
            opened.append((str(arguments[0]), arguments[2]))

    sys.addaudithook(hook)
    try:
        yield opened
    finally:
        watching.clear()


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """Return the time of the last change and the size of everything below a folder."""
    paths = [root, *root.rglob("*")]
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size) for p in paths}


def test_inspection_changes_nothing_and_opens_no_node(tmp_path: Path) -> None:
    """The inspection opens no device node, writes nothing and creates no lock file."""
    busy = lay_out(tmp_path / "busy", "v5e", holder={"pid": 4242}, lock="live", container="docker")
    idle = lay_out(tmp_path / "idle", "v5e")
    left = lay_out(tmp_path / "left", "v4", lock="stale")
    before = tree(tmp_path)
    with opened_below(tmp_path) as opened:
        for machine in (busy, idle, left):
            host.list_chips(machine)
            host.list_device_nodes(machine)
            host.list_tpu_processes(machine)
            host.read_libtpu_lock(machine)
            host.detect_container(machine)
            host.count_visible_devices(machine)
            host.find_slice(machine, host.metadata(machine))
            for check in SOUND.keys() - {"slice_alike", "slice_arrived"}:  # of no machine
                with suppress(NoAnswer):
                    run(check, machine)

    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert tree(tmp_path) == before
    assert [path for path, _ in opened if "/dev/" in path] == []
    assert [path for path, flags in opened if flags & writing] == []
    assert any(path.endswith("/proc/locks") for path, _ in opened)


def test_the_watcher_sees_a_file_opened_for_writing(tmp_path: Path) -> None:
    """The test above can fail: an opened node and a created file are both noticed."""
    before = tree(tmp_path)
    with opened_below(tmp_path) as opened:
        (tmp_path / "node").write_text("")

    assert opened[0][1] & os.O_WRONLY
    assert tree(tmp_path) != before
