"""Runs command after command of `tpustarter tpu`, each in a process that a test may kill.

All are forks of this process, which has imported the libraries: a day of a hundred commands costs
seconds. Each line of stdin is a JSON list of words, and is answered with the exit code, which is
negative for a signal. The folder that is the only argument has the clock, and gets the output.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.file_clock import FileClock
from tpustarter import __main__
from tpustarter.cli.tpu.command import VERBS
from tpustarter.cloud.api.clock import WallClock

LIBRARIES = ("google.cloud.tpu_v2", "google.auth.credentials", "tpustarter.cloud.api.cloud_client")


def run(words: list[str], folder: Path) -> None:
    """Run a command in this process, with its output in files of a folder."""
    (folder / "pid").write_text(str(os.getpid()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["tpustarter", "tpu", *words]
    try:
        __main__.main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(int(end.code or 0))  # taking the imported libraries down would cost a second


def main() -> None:
    """Answer line by line, until stdin ends."""
    folder = Path(sys.argv[1])
    clock = FileClock(folder / "clock")
    WallClock.now = lambda _: clock.now()  # type: ignore[method-assign]
    WallClock.sleep = lambda _, seconds: clock.sleep(seconds)  # type: ignore[method-assign]
    for module in (*LIBRARIES, *(f"tpustarter.cli.tpu.{name}" for name in VERBS.values())):
        importlib.import_module(module)
    gc.freeze()  # a collection in a copy would write to all of its memory
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            run(json.loads(line), folder)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
