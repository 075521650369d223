"""The worker program of a job: receives the folder, runs the command, and sends its log.

It is sent with every call and needs only Python 3.9, so tpustarter need not be installed on a
worker. Its files are in `~/tpustarter-jobs/JOB/`: the folder that was sent in `code/`, and the log
and exit code of worker N in `wN/`.

A call is one line of JSON on stdin, followed by `bytes` bytes. The answer is the line `HELLO`, then
frames, each of which is one line of JSON followed by `size` bytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

HELLO = b"tpustarter-job 1\n"
"""First line of an answer; any output before it is a login script's."""
FOLDER = "tpustarter-jobs"
"""Folder of all jobs, in the worker's home."""
MARK = "TPUSTARTER_JOB"
"""Environment variable that marks a job's processes; it holds the job's `wN/` folder."""
NO_CODE = b"    "
"""Placeholder in the file `exit`, which the code overwrites so that a full disk cannot lose it."""
STOPPED = 143
BEGIN_S = 30.0
"""Seconds to wait for a started command to show that it runs."""
END_S = 10.0
"""Seconds between TERM and KILL."""
LOOK_S = 0.3
"""Seconds between two polls of a log that doesn't grow."""
JOB_FIELDS = ("job", "tpu", "number", "workers", "command")
"""Fields of a call that describe the job."""
_CHUNK = 256 * 1024

Fields = dict[str, Any]
"""A JSON object from the caller or from one of the job's files."""


class RefusedError(Exception):
    """Raised to refuse a call; the message is sent to the caller as the reason."""


class WorkerFiles:
    """The files of one job on one worker."""

    def __init__(self, job: str, number: int) -> None:
        self.root = Path.home() / FOLDER / job
        self.code = self.root / "code"
        self.own = self.root / f"w{number}"
        self.mark = str(self.own)
        self.description = self.own / "job.json"
        self.log = self.own / "log"
        self.exit = self.own / "exit"
        self.lock = self.own / "lock"
        self.pid = self.own / "pid"

    def is_running(self) -> bool:
        """Return whether the job's runner is alive, which it is as long as its lock is held."""
        try:
            with self.lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def exit_code(self) -> int | None:
        """Return the exit code of the command, or None until it has one."""
        with contextlib.suppress(OSError, ValueError):
            return int(self.exit.read_bytes())
        return None

    def describe(self) -> Fields:
        """Return the state of the job on this worker."""
        fields: Fields = json.loads(self.description.read_text("utf-8"))
        running = self.is_running()  # first, because an ended job has already written its code
        code = self.exit_code()
        state = "placed"
        if self.exit.exists():
            state = "running" if running else "lost" if code is None else "ended"
        return {
            **{name: fields[name] for name in JOB_FIELDS},
            "state": state,
            "code": code if state == "ended" else None,
            "began": self.pid.stat().st_mtime if self.pid.exists() else None,
            "ended": self.exit.stat().st_mtime if state == "ended" else None,
            "log_bytes": self.log.stat().st_size if self.log.exists() else 0,
            "restarted": fields["boot"] != read_boot_id(),
            "is_stopped": (self.own / "stopped").exists(),
        }


def read_boot_id() -> str:
    """Return the id of the machine's current boot; empty if the system has none."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""


def send_frame(event: str, data: bytes = b"", **fields: object) -> None:
    """Write one frame."""
    line = json.dumps({"event": event, "size": len(data), **fields}).encode()
    sys.stdout.buffer.write(line + b"\n" + data)
    sys.stdout.buffer.flush()


def save_uploaded_folder(call: Fields, stream: BinaryIO) -> None:
    """Unpack the uploaded folder of a job; a failure leaves no part of it."""
    files = WorkerFiles(call["job"], call["number"])
    require_no_other_job(call["number"])
    try:
        files.own.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise RefusedError(f"a job called `{call['job']}` is there already") from None
    try:
        new = files.root / f"code.{files.own.name}"
        unpack_archive(save_uploaded_file(files.own / "code.tar.gz", call, stream), new)
        try:
            new.rename(files.code)
        except OSError:  # several workers share this home, and another one was faster
            if not files.code.is_dir():
                raise
            shutil.rmtree(new)
        fields = {name: call[name] for name in JOB_FIELDS}
        files.description.write_text(json.dumps({**fields, "boot": read_boot_id()}), "utf-8")
    except BaseException:
        remove_files(files)
        raise
    send_frame("placed", folder=str(files.code))


def remove_files(files: WorkerFiles) -> None:
    """Remove a job's files; the folder that was sent stays while another worker has it."""
    shutil.rmtree(files.own, ignore_errors=True)
    shutil.rmtree(files.root / f"code.{files.own.name}", ignore_errors=True)
    if not any(files.root.glob("w*")):
        shutil.rmtree(files.root, ignore_errors=True)


def require_no_other_job(number: int) -> None:
    """Refuse a second job, because a TPU's chips can be used by only one program at a time."""
    for other in list_worker_jobs(number):
        if other.is_running():
            raise RefusedError(f"the job `{other.root.name}` is still running")


def list_worker_jobs(number: int) -> Iterator[WorkerFiles]:
    """Yield all jobs of a worker, oldest first."""
    for path in sorted((Path.home() / FOLDER).glob(f"*/w{number}/job.json")):
        yield WorkerFiles(path.parent.parent.name, number)


def save_uploaded_file(path: Path, call: Fields, stream: BinaryIO) -> Path:
    """Write the bytes that follow the call to a file; refuse them if their SHA-256 differs."""
    hashed, left = hashlib.sha256(), int(call["bytes"])
    with path.open("wb") as file:
        while left:
            data = stream.read(min(left, _CHUNK))
            if not data:
                raise RefusedError("the connection ended before the folder was here")
            hashed.update(data)
            file.write(data)
            left -= len(data)
    if hashed.hexdigest() != call["sha256"]:
        raise RefusedError("what arrived is not what was sent: its hash is another one")
    return path


def unpack_archive(archive: Path, folder: Path) -> None:
    """Unpack files, folders and links into a new folder, and nothing outside it."""
    folder.mkdir()
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts:
                raise RefusedError(f"{member.name!r} is outside the folder")
            target = folder / path
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                target.symlink_to(member.linkname)
                continue
            content = tar.extractfile(member)
            if content is None:
                raise RefusedError(f"{member.name!r} is no file")
            with target.open("xb") as file:
                shutil.copyfileobj(content, file, _CHUNK)
            target.chmod(member.mode & 0o777)
    archive.unlink()


def create_environment(call: Fields, _: BinaryIO) -> None:
    """Create the environment of a set-up profile, unless it exists with all its packages."""
    folder = Path.home() / call["folder"]
    python = folder / "bin" / "python"
    lacking = find_missing_packages(python, call["packages"])
    if lacking is None or lacking:
        uv = find_uv()
        commands = [[uv, "pip", "install", "--python", str(python), *call["wheel"]]]
        if lacking is None:
            commands.insert(0, [uv, "venv", "--seed", "--python", call["version"], str(folder)])
        for command in commands:
            send_frame("output", (" ".join(command) + "\n").encode())
            run_step(command)
        if find_missing_packages(python, call["packages"]) != []:
            raise RefusedError(f"`{folder}` lacks {', '.join(call['packages'])} after its set-up")
    send_frame("prepared", folder=str(folder), made=lacking is None or bool(lacking))


def find_missing_packages(python: Path, packages: list[str]) -> list[str] | None:
    """Return the packages that an environment lacks, or None if its Python cannot be run."""
    look = (  # vllm_tpu is a distribution, whose module has another name
        "import sys, importlib.metadata as m, importlib.util as u; print(*[n for n in sys.argv[1:] "
        "if not (u.find_spec(n) or any(m.distributions(name=n)))])"
    )
    try:
        done = subprocess.run([str(python), "-c", look, *packages], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode().split()


def find_uv() -> str:
    """Return the path of uv, installing it for this user if it is missing."""
    own = Path.home() / ".local" / "bin" / "uv"
    found = shutil.which("uv") or (str(own) if own.exists() else "")
    if not found:
        run_step([sys.executable, "-m", "pip", "install", "--user", "--quiet", "uv"])
        found = str(own)
    return found


def run_step(command: list[str]) -> None:
    """Run a command of the set-up, and send its output to the caller."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        for line in process.stdout or ():
            send_frame("output", line)
    if process.returncode:
        raise RefusedError(f"`{' '.join(command)}` ended with {process.returncode}")


def start_job(call: Fields, _: BinaryIO) -> None:
    """Start the command under systemd or tmux, so that it survives this connection."""
    files = WorkerFiles(call["job"], call["number"])
    require_no_other_job(call["number"])
    program = files.own / "worker_program.py"
    program.write_text(call["source"], "utf-8")
    about = json.loads(files.description.read_text("utf-8"))
    files.description.write_text(json.dumps({**about, "path": call["path"]}), "utf-8")
    files.exit.write_bytes(NO_CODE)
    words = [sys.executable, "-I", str(program), "run", call["job"], str(call["number"])]
    keeper, command = choose_keeper(files, words)
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    until = time.monotonic() + BEGIN_S
    while not done.returncode and time.monotonic() < until:
        if files.is_running() or files.exit_code() is not None:
            send_frame("begun", keeper=keeper, **files.describe())
            return
        time.sleep(LOOK_S / 10)
    files.exit.unlink()
    why = (done.stderr or done.stdout).strip() or "it showed no sign of life"
    raise RefusedError(f"{keeper} did not start the command: {why}")


def choose_keeper(files: WorkerFiles, words: list[str]) -> tuple[str, list[str]]:
    """Return the name of the program that keeps the command running, and its command line."""
    if is_lingering_enabled():
        path = f"--setenv=PATH={os.environ.get('PATH', os.defpath)}"
        unit = f"--unit=tpustarter-{files.root.name}-{files.own.name}"
        options = ("--user", "--quiet", "--collect", unit, path)
        return "systemd", ["systemd-run", *options, "--", *words]
    if tmux := shutil.which("tmux"):
        # A separate server gets this session's environment variables and ends with the command.
        # Several words are executed without a shell. The name is a hash, because a socket's name
        # is limited to about a hundred characters.
        name = f"tpustarter-{hashlib.sha256(files.mark.encode()).hexdigest()[:12]}"
        return "tmux", [tmux, "-L", name, "new-session", "-d", "-s", "job", *words]
    raise RefusedError(
        "neither systemd for users nor tmux is there to keep the command running; "
        "`sudo apt install tmux` installs one"
    )


def is_lingering_enabled() -> bool:
    """Return whether systemd keeps this user's programs after logout, enabling it if needed."""
    if not (shutil.which("systemd-run") and shutil.which("loginctl")):
        return False
    me = str(os.getuid())
    show = ["loginctl", "show-user", me, "--property=Linger", "--value"]
    for enable in ([], ["loginctl", "enable-linger"], ["sudo", "-n", "loginctl", "enable-linger"]):
        if enable and not command_succeeds([*enable, me]):
            continue
        if command_succeeds(show, b"yes"):
            return command_succeeds(["systemctl", "--user", "show", "--property=Version"])
    return False


def command_succeeds(command: list[str], output: bytes = b"") -> bool:
    """Return whether a command can be run, exits with 0, and its stdout contains `output`."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0 and output in done.stdout


def run_job(job: str, number: int) -> None:
    """Run a job's command to its end, in a process that systemd or tmux keeps."""
    files = WorkerFiles(job, number)
    if not files.exit.exists():
        return  # the start was given up meanwhile
    fields = json.loads(files.description.read_text("utf-8"))
    files.pid.write_text(str(os.getpid()), "ascii")
    lock = files.lock.open("wb")  # not inherited by the command; released at this process's end
    fcntl.flock(lock, fcntl.LOCK_EX)
    state: Fields = {"process": None, "stopped": False}

    def stop(_: int, __: object) -> None:
        state["stopped"] = True
        if state["process"] is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(state["process"].pid, signal.SIGTERM)

    for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(one, stop)
    with files.log.open("ab", buffering=0) as log:
        code = 0
        try:
            state["process"] = start_command(fields, files, log)
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            with contextlib.suppress(OSError):
                log.write(f"the command could not be started: {error}\n".encode())
        if state["process"] is not None:
            code = wait_for_end(state)
    if state["stopped"]:
        end_processes(files.mark)
    with files.exit.open("r+b") as file:
        file.write(b"%4d" % code)


def start_command(fields: Fields, files: WorkerFiles, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the command in the folder that was sent, in its own session."""
    words = fields["command"]
    path = [str(Path.home() / one) for one in (*fields["path"], ".local/bin")]
    path = os.pathsep.join([*path, os.environ.get("PATH", os.defpath)])
    env = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", MARK: files.mark}
    for name in ("TMUX", "TMUX_PANE", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY"):
        env.pop(name, None)
    return subprocess.Popen(
        ["/bin/sh", "-c", words[0]] if len(words) == 1 else words,
        cwd=files.code,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def wait_for_end(state: Fields) -> int:
    """Wait for the command, kill it if it ignores TERM, and return its exit code as in a shell."""
    process = state["process"]
    until = None
    while process.poll() is None:
        if state["stopped"]:
            until = until or time.monotonic() + END_S
            if time.monotonic() > until:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
    if state["stopped"]:
        return STOPPED
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def end_processes(mark: str) -> None:
    """Kill the remaining processes of a job, found by their mark."""
    wanted = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def stop_job(call: Fields, _: BinaryIO) -> None:
    """End the command and all its processes."""
    files = WorkerFiles(call["job"], call["number"])
    if not files.description.exists():
        raise RefusedError(f"there is no job called `{call['job']}`")
    about = files.describe()
    if about["state"] == "placed":  # never started, so nothing is worth keeping
        remove_files(files)
    elif about["state"] == "running":
        (files.own / "stopped").touch()
        os.kill(int(files.pid.read_text("ascii")), signal.SIGTERM)
        until = time.monotonic() + 2 * END_S
        while files.is_running() and time.monotonic() < until:
            time.sleep(LOOK_S / 10)
        if files.is_running():
            os.kill(int(files.pid.read_text("ascii")), signal.SIGKILL)
        about = files.describe()
    end_processes(files.mark)
    send_frame("stopped", **about)


def send_states(call: Fields, _: BinaryIO) -> None:
    """Send the states of all jobs on this worker, oldest first."""
    for files in list_worker_jobs(call["number"]):
        with contextlib.suppress(OSError, ValueError, KeyError):
            send_frame("job", **files.describe())
    send_frame("done")


def follow_log(call: Fields, stream: BinaryIO) -> None:
    """Send the log from an offset on, until the job's end if `follow` is set."""
    files = WorkerFiles(call["job"], call["number"])
    if not files.description.exists():
        raise RefusedError(f"there is no job called `{call['job']}`")
    offset = int(call["offset"])
    while True:
        about = files.describe()  # before the read, because an ended job has written its whole log
        with contextlib.suppress(FileNotFoundError), files.log.open("rb") as log:
            log.seek(offset)
            while data := log.read(_CHUNK):
                send_frame("log", data, at=offset)
                offset += len(data)
        if about["state"] != "running" or not call["follow"]:
            send_frame("end", **about)
            return
        readable, _, _ = select.select([stream], [], [], LOOK_S)
        if readable and not os.read(stream.fileno(), 1):
            return  # the caller is gone


def send_results(call: Fields, _: BinaryIO) -> None:
    """Send the files of the folder that match the patterns, each with its hash."""
    files = WorkerFiles(call["job"], call["number"])
    if not files.code.is_dir():
        raise RefusedError(f"there is no job called `{call['job']}`")
    for path in match_files(files.code, call["patterns"]):
        name = path.relative_to(files.code).as_posix()
        with path.open("rb") as file:
            hashed = hashlib.sha256()
            while data := file.read(_CHUNK):
                hashed.update(data)
            digest, left = hashed.hexdigest(), file.tell()
            if call["have"].get(name) == digest:
                send_frame("same", path=name)
                continue
            send_frame(
                "file", path=name, bytes=left, sha256=digest, mode=path.stat().st_mode & 0o777
            )
            file.seek(0)
            while left:
                data = file.read(min(left, _CHUNK))
                if not data:
                    raise RefusedError(f"{name!r} became shorter while it was sent")
                send_frame("data", data)
                left -= len(data)
    send_frame("done")


def match_files(folder: Path, patterns: list[str]) -> list[Path]:
    """Return the files that patterns match, and all files in folders that they match."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise RefusedError(f"{pattern!r} is not a pattern below the folder of the job")
        for path in sorted(folder.glob(pattern)):
            inside = sorted(path.rglob("*")) if path.is_dir() else [path]
            for one in inside:
                if one.is_file() and folder in (one.resolve(), *one.resolve().parents):
                    found[one] = None
    return list(found)


OPERATIONS = {
    "place": save_uploaded_folder,
    "prepare": create_environment,
    "begin": start_job,
    "stop": stop_job,
    "status": send_states,
    "follow": follow_log,
    "fetch": send_results,
}


def main(stream: BinaryIO) -> int:
    """Carry out the call on stdin."""
    sys.stdout.buffer.write(HELLO)
    try:
        call = json.loads(stream.readline())
        OPERATIONS[call["do"]](call, stream)
    except BrokenPipeError:
        os._exit(1)
    except (RefusedError, OSError, ValueError) as error:  # ValueError: an invalid pattern
        send_frame("refused", what=str(error))
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run_job(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(sys.stdin.buffer))
