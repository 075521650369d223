"""The worker's side of a job, called through a shell of this machine in place of ssh."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import is_running, until
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs.worker_calls import (
    AnswerFrame,
    CallError,
    ConnectionSettings,
    WorkerCall,
)

NODE = TpuNode("my-project", "us-central1-b", "bert", "v6e-8", "READY", workers=1)
WORKER = Worker(NODE, 0, "w0")
JOB = "bert-20261129-220000"
needs_tmux = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="Without systemd a job needs tmux."
)


def pack(**files: str) -> bytes:
    """Return a compressed tar file; `__` in a name stands for a slash, and `DOTS` for two dots."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("DOTS", ".."))
            member.size, member.mode = len(text), 0o755
            tar.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


@dataclass
class Far:
    """A worker: its home, and the program that its calls go through."""

    home: Path
    program: Path

    def call(
        self, do: str, payload: bytes = b"", number: int = 0, **more: Any
    ) -> list[AnswerFrame]:
        """Return the answer to a call, or raise CallError."""
        path = self.home.parent / "payload"
        path.write_bytes(payload)
        fields = {"do": do, "job": JOB, "number": number, **more}
        route = ConnectionSettings(Project("my-project", ""), str(self.program))
        call = WorkerCall(route, WORKER, fields, path)
        try:
            return list(call.frames())
        finally:
            call.close()

    def place(self, payload: bytes, number: int = 0, **more: object) -> list[AnswerFrame]:
        """Send a folder to the worker."""
        about = {
            "bytes": len(payload),
            "sha256": hashlib.sha256(payload).hexdigest(),
            "tpu": "bert",
            "workers": 1,
            "command": ["true"],
        }
        return self.call("place", payload, number, **{**about, **more})

    def begin(self, *command: str, number: int = 0) -> list[AnswerFrame]:
        """Send a folder, and start a command in it."""
        from tpustarter.cloud.jobs.worker_calls import read_worker_program

        self.place(pack(train="echo"), number, command=command)
        return self.call("begin", number=number, source=read_worker_program(), path=[])

    def follow(self, number: int = 0, offset: int = 0) -> tuple[bytes, dict[str, Any]]:
        """Return the rest of the log, and the end."""
        frames = self.call("follow", number=number, offset=offset, follow=True)
        data = b"".join(one.data for one in frames if one.event == "log")
        return data, dict(frames[-1].fields)

    @property
    def jobs(self) -> Path:
        """Return the folder of all jobs."""
        return self.home / "tpustarter-jobs"


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    """Return a worker whose login script is talkative; what runs there afterwards is ended."""
    program, home = tmp_path / "gcloud", tmp_path / "far"
    home.mkdir()
    program.write_text(
        f"#!/bin/sh\nexport HOME={home}\necho welcome to this worker\n"
        'for last; do :; done\nexec sh -c "${last#--command=}"\n'
    )
    program.chmod(0o755)
    worker = Far(home, program)
    yield worker
    for path in worker.jobs.glob("*/w*/pid"):
        pid = int(path.read_text())
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        until(lambda pid=pid: not is_running(pid), "the end of a job")


def test_folder_arrives_or_nothing_stays(far: Far) -> None:
    """A folder arrives whole, as its hash shows, or nothing of it is kept."""
    good = pack(train="x", sub__deep="y")
    for payload, more in (
        (good, {"sha256": "0" * 64}),
        (good[:-20], {}),
        (pack(DOTS__train="x"), {}),
        (pack(__etc__train="x"), {}),
        (b"no archive", {}),
    ):
        with pytest.raises(CallError):
            far.place(payload, 0, **more)
        assert [] == list(far.jobs.iterdir())

    far.place(good)

    assert "y" == (far.jobs / JOB / "code/sub/deep").read_text()
    with pytest.raises(CallError) as raised:
        far.place(good)
    assert raised.value.is_refused


def test_shared_home_takes_the_folder_once(far: Far) -> None:
    """Workers with a shared home take the folder once, and have separate logs."""
    for number in range(3):
        far.place(pack(train="x"), number)

    assert {"code", "w0", "w1", "w2"} == {path.name for path in (far.jobs / JOB).iterdir()}


@needs_tmux
def test_command_keeps_its_words_and_code(far: Far) -> None:
    """No shell reads several words; one word is for the shell."""
    far.begin("python3", "-c", "import sys; print(sys.argv[1:]); sys.exit(7)", "a b", "$HOME", "*")
    assert (b"['a b', '$HOME', '*']\n", 7) == (far.follow()[0], far.follow()[1]["code"])
    far.begin("echo $((1+1)); kill -9 $$", number=1)
    data, end = far.follow(1)
    assert (b"2\n", 137, "ended") == (data, end["code"], end["state"])
    far.begin("no-such-command", "x", number=2)
    assert (127, "ended") == (far.follow(2)[1]["code"], far.follow(2)[1]["state"])


@needs_tmux
def test_log_is_continued_at_its_offset(far: Far) -> None:
    """A log continues at its byte offset, even within a character."""
    far.begin("printf 'h\\303\\251llo'")
    whole = far.follow()[0]

    assert "héllo".encode() == whole
    assert whole == whole[:2] + far.follow(offset=2)[0]


@needs_tmux
def test_killed_runner_leaves_no_code(far: Far) -> None:
    """A killed runner leaves no exit code, and a new job may start once its rest is stopped."""
    far.begin("sleep 600")
    with pytest.raises(CallError, match="still running"):
        far.place(pack(train="x"), job="bert-2")
    pid = int((far.jobs / JOB / "w0/pid").read_text())
    os.kill(pid, signal.SIGKILL)
    until(lambda: far.call("status")[0].fields["state"] == "lost", "that it is seen as lost")

    (stopped,) = far.call("stop")

    assert ("lost", None) == (stopped.fields["state"], stopped.fields["code"])
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True
    )
    assert f"{JOB} 0" not in listed.stdout
    far.place(pack(train="x"), job="bert-2")


@needs_tmux
def test_only_files_of_the_folder_are_fetched(far: Far, tmp_path: Path) -> None:
    """Only files of the folder are fetched; patterns and links can't lead elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret").write_text("secret")
    far.place(pack(out__a="aa", out__b="b", train="x"))
    code = far.jobs / JOB / "code"
    (code / "out/link").symlink_to(tmp_path / "elsewhere/secret")
    (code / "way").symlink_to(tmp_path / "elsewhere")

    have = {"out/b": hashlib.sha256(b"b").hexdigest()}
    frames = far.call("fetch", patterns=["out", "way/*", "*.none"], have=have)

    assert ["file", "data", "same", "done"] == [one.event for one in frames]
    assert ("out/a", b"aa") == (frames[0].fields["path"], frames[1].data)
    for pattern in ("../**", "/etc/*"):
        with pytest.raises(CallError) as raised:
            far.call("fetch", patterns=[pattern], have={})
        assert raised.value.is_refused


def test_environment_is_made_once(far: Far, tmp_path: Path) -> None:
    """The environment is made once, with uv, and is then reused."""
    uv = far.home / ".local/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(
        '#!/bin/sh\necho "uv $*" >>"$HOME/uv.log"\n'
        f'if [ "$1" = venv ]; then mkdir -p "$5/bin"; cp {tmp_path}/python "$5/bin/python"; fi\n'
        'if [ "$1" = pip ]; then touch "$HOME/tpu/has"; fi\n'
    )
    uv.chmod(0o755)
    (tmp_path / "python").write_text('#!/bin/sh\n[ -e "$HOME/tpu/has" ] || echo jax\n')
    (tmp_path / "python").chmod(0o755)
    about = {"folder": "tpu", "wheel": ["jax[tpu]"], "packages": ["jax"], "version": "3.12"}
    search = far.program.read_text().replace("exec sh", "PATH=/usr/bin:/bin exec sh")
    far.program.write_text(search)

    first, second = far.call("prepare", **about), far.call("prepare", **about)

    assert (True, False) == (first[-1].fields["made"], second[-1].fields["made"])
    python = far.home / "tpu/bin/python"
    assert [
        f"uv venv --seed --python 3.12 {far.home}/tpu",
        f"uv pip install --python {python} jax[tpu]",
    ] == (far.home / "uv.log").read_text().splitlines()


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("answer", ["", "hello\n", "tpustarter-job 1\nno json\n"])
def test_answer_that_is_none_is_an_error(far: Far, answer: str, code: int) -> None:
    """An answer in another form is an error, such as that of a worker without Python."""
    far.program.write_text(f"#!/bin/sh\nprintf '{answer}'\nexit {code}\n")

    with pytest.raises(CallError):
        far.call("status")


@pytest.mark.parametrize("code", [0, 255])
def test_broken_answer_is_no_end(far: Far, code: int) -> None:
    """A frame that is cut off is not taken for the end."""
    head = json.dumps({"event": "log", "size": 10, "at": 0})
    far.program.write_text(f"#!/bin/sh\nprintf 'tpustarter-job 1\\n{head}\\nabc'\nexit {code}\n")

    with pytest.raises(CallError):
        far.call("status")


SYSTEMD = """#!/bin/sh
echo "${0##*/} $*" >>"$HOME/systemd.log"
case "$0 $*" in
*loginctl\\ show-user*) cat "$HOME/linger" 2>/dev/null || echo no ;;
*sudo*) echo yes >"$HOME/linger" ;;
*loginctl\\ enable*) exit 1 ;;
*systemd-run*) while [ "$1" != -- ]; do shift; done; shift; setsid "$@" >/dev/null 2>&1 & ;;
esac
"""


def test_systemd_keeps_the_command_once_it_lingers(far: Far, tmp_path: Path) -> None:
    """A user's systemd ends with the last session, unless it was told to stay."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("systemd-run", "loginctl", "systemctl", "sudo"):
        (tools / name).write_text(SYSTEMD)
        (tools / name).chmod(0o755)
    text = far.program.read_text().replace("exec sh", f"PATH={tools}:$PATH exec sh")
    far.program.write_text(text)

    (begun,) = far.begin("echo kept")

    assert "systemd" == begun.fields["keeper"]
    assert b"kept\n" == far.follow()[0]
    called = (far.home / "systemd.log").read_text().splitlines()
    user = os.getuid()
    assert f"sudo -n loginctl enable-linger {user}" in called
    start = next(line for line in called if line.startswith("systemd-run"))
    assert f"--user --quiet --collect --unit=tpustarter-{JOB}-w0 --setenv=PATH=" in start
