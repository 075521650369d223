"""The program of one host of `tpustarter watch --all-hosts`, which prints what its TPU does.

It is the `__main__.py` of a zip, and needs tpustarter in the Python that runs it. An event is a
line with the document of `tpustarter watch --json`, or with the reason why there is none. It ends
with its stdin, or if no byte has come from there for the given time.

Usage: `slice [--lifeline-s S] ...`; options that are about meeting other hosts are ignored.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import threading
import time
import zipfile
from pathlib import Path

REQUEST = "request.json"
"""Member of the zip with `once` and the `seconds` between two looks."""


def main(arguments: list[str]) -> int:
    """Print one event, or one after the other until stdin ends."""
    parser = argparse.ArgumentParser(prog="watch.pyz slice")
    parser.add_argument("--lifeline-s", type=float)
    options = parser.parse_known_args(arguments[1:])[0]
    with zipfile.ZipFile(sys.argv[0]) as archive:
        request = json.loads(archive.read(REQUEST))
    if options.lifeline_s:
        threading.Thread(target=_end_with_stdin, args=(options.lifeline_s,), daemon=True).start()
    try:
        from tpustarter.machine import host
        from tpustarter.watch.tpu_watch import TpuWatch
        from tpustarter.watch.watch_document import make_json_document
    except ImportError as error:
        _send({"problem": f"`{sys.executable}` has no tpustarter that can watch: {error}"})
        return 1
    tpu = TpuWatch(host.Machine(), Path.cwd(), python=sys.executable, pause_s=request["seconds"])
    try:
        while True:
            reading = tpu.look_whole() if request["once"] else tpu.look()
            _send({"document": make_json_document(reading, tpu.python, tpu.problem)})
            if request["once"]:
                return 0
            time.sleep(request["seconds"])
    finally:
        tpu.close()


def _send(fields: dict[str, object]) -> None:
    print(json.dumps({"event": "watched", **fields}, default=str), flush=True)


def _end_with_stdin(limit_s: float) -> None:
    while select.select([0], [], [], limit_s)[0] and os.read(0, 4096):
        pass
    os._exit(1)  # the main thread may hang in gRPC; the SDK's process ends with its own stdin


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
