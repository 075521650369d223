"""Runs Python programs of the tests in copies of one process that has imported this program.

A start of the command line takes a fifth of a second of a core, most of it for imports. A copy
has its own arguments, environment, folder and streams, and ends as a Python does. What is tried
before or beside `main` (a terminal, a signal, a closed stream, imports) needs a real start.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
MESSAGE = 1 << 20
LEARNED = ("tpustarter.", "tests.support.")
"""Modules that later copies find imported, when an earlier one had to import them."""
NEVER = ("tpustarter.__main__", "tpustarter.checks", "tpustarter.tui")
"""Exceptions: a program itself, what starts threads that a copy would lack, and rare imports."""
CLOUD = ("google.cloud.tpu_v2", "google.auth.credentials", "tpustarter.cloud.api.cloud_client")
"""What `tpustarter tpu` imports, half a second of a core; other commands get copies without it."""


@cache
def _server(libraries: tuple[str, ...]) -> socket.socket:
    """Start the process that is copied; it ends with this one, whose end of the line closes."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, str(Path(__file__)), str(its.fileno()), *libraries]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, env=env, cwd="/", pass_fds=[its.fileno()]
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def run(
    words: Sequence[str],
    *,
    stdin: bytes | None = None,
    cwd: str | Path | None = None,
    env: dict[str, str] | None = None,
    text: bool = True,
    libraries: tuple[str, ...] = (),
    started: Callable[[int], object] = id,
) -> subprocess.CompletedProcess[Any]:
    """Run `sys.executable` with a script, `-m` or `-c` and arguments; return the outcome.

    Args:
        words: The command.
        stdin: The bytes that it reads.
        cwd: Its folder, if not this process's.
        env: Its environment, if not this process's.
        text: Return its output as text.
        libraries: Modules that the copied process has imported before, such as `CLOUD`.
        started: A function that gets the id of the process as it starts.
    """
    assert sys.executable == words[0]
    ends = [os.pipe() for _ in range(3)]  # (read, write) of each stream
    ask = {"words": [*words[1:]], "env": env or {**os.environ}, "cwd": str(cwd or Path.cwd())}
    theirs = [ends[0][0], ends[1][1], ends[2][1]]
    server = _server(libraries)
    socket.send_fds(server, [json.dumps(ask).encode()], theirs)
    for number in theirs:
        os.close(number)
    read = ["", b"", b""]

    def write_input() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(ends[0][1], "wb") as stream:
            stream.write(stdin or b"")

    def read_stream(number: int) -> None:
        with os.fdopen(ends[number][0], "rb") as stream:
            read[number] = stream.read()

    works = [threading.Thread(target=write_input)]
    works += [threading.Thread(target=read_stream, args=(number,)) for number in (1, 2)]
    for work in works:
        work.start()
    started(int(server.recv(MESSAGE)))
    code = int(server.recv(MESSAGE))
    for work in works:
        work.join()
    out, err = (one.decode().replace("\r\n", "\n") if text else one for one in read[1:])
    return subprocess.CompletedProcess(words, code, out, err)


def _become_copy(server: socket.socket, libraries: Sequence[str]) -> list[str]:
    """Copy this process for each request; returns the words of one, in its copy."""
    for name in libraries:
        importlib.import_module(name)
    never = NEVER if libraries else (*NEVER, "tpustarter.cloud")
    while True:
        data, streams, _, _ = socket.recv_fds(server, MESSAGE, 3)
        if not data:
            os._exit(0)
        ask = json.loads(data)
        names = os.memfd_create("modules")  # that the copy has imported
        gc.freeze()  # a collection in a copy would write to all of its memory
        pid = os.fork()
        if not pid:
            server.close()
            _take_streams(streams)
            os.environ.clear()
            os.environ.update(ask["env"])
            os.chdir(ask["cwd"])
            _tell_imports(names, never)
            return ask["words"]
        server.send(str(pid).encode())
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(pid, 0)
        server.send(str(os.waitstatus_to_exitcode(status)).encode())
        with os.fdopen(names) as file:
            file.seek(0)
            for name in json.loads(file.read() or "[]"):
                with contextlib.suppress(Exception):  # then the next copy imports it itself
                    importlib.import_module(name)


def _take_streams(streams: list[int]) -> None:
    """Make them the standard streams, as Python does when it starts."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", errors="backslashreplace", buffering=1, closefd=False
    )


def _tell_imports(names: int, never: tuple[str, ...]) -> None:
    """Write at the end of this copy which modules it has imported."""
    known, pid = {*sys.modules}, os.getpid()

    def tell() -> None:
        if os.getpid() == pid:
            found = [
                name
                for name in sys.modules
                if name not in known and name.startswith(LEARNED) and not name.startswith(never)
            ]
            os.write(names, json.dumps(found).encode())

    atexit.register(tell)


def _run_program(words: list[str]) -> None:
    """Run a program as `python WORDS` does."""
    first, *rest = words
    if first == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = str(Path(first).parent)
        sys.argv = words
        runpy.run_path(first, run_name="__main__")


def _end_at_once(code: int) -> None:
    """End as Python does, but without visiting every object that is shared with the server.

    Each visit writes to a page of memory, which the kernel must copy first: that took two thirds
    of the processor time of a short command.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    gc.disable()  # until the first copy, whose own objects alone it then visits
    program = _become_copy(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    gc.enable()
    try:
        _run_program(program)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _end_at_once((end.code or 0) & 0xFF)
        raise
    _end_at_once(0)
