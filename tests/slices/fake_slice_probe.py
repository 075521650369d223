"""A stand-in for the probe that `probe.pyz slice` runs on a host, in one file.

It sends events, starts a child, and lives as long as its lifeline does. What else it does is
written into the file, by the number of the host.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """
import ctypes, json, os, select, signal, subprocess, sys, time
DOES = {does!r}
words = sys.argv[1:]
lifeline = "--no-lifeline" not in words
words = [word for word in words if word != "--no-lifeline"]
option = dict(zip(words[1::2], words[2::2]))
ranks = ("FAKE_HOST", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
host = int(option.get("--host", next(filter(None, map(os.environ.get, ranks)), -1)))
does = json.loads(DOES).get(str(host), {{}})
def say(event, **more):
    print(json.dumps({{"event": event, "host": host, **more}}), flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))
why, code = "done", does.get("code", 0)
try:
    say("hello", words=words, pid=os.getpid(), folder=os.path.dirname(os.path.abspath(__file__)))
    print(f"log of {{host}}", file=sys.stderr, flush=True)
    for number in range(does.get("lines", 0)):
        say("line", number=number, fill="x" * does.get("width", 1000))
    if does.get("die"):
        os.kill(os.getpid(), does["die"])
    began = time.monotonic()
    while time.monotonic() - began < does.get("sleep", 0):
        left_s = does["sleep"] - (time.monotonic() - began)
        silence_s = float(option.get("--lifeline-s", 1e6))
        ready, _, _ = select.select([0] * lifeline, [], [], max(0, min(silence_s, left_s)))
        if ready and not os.read(0, 4096):
            why, code = "lifeline ended", 4
            break
        if not ready and silence_s <= left_s:
            why, code = "silence", 5
            break
finally:
    child.kill()
    child.wait()
say("end", why=why)
sys.exit(code)
"""
PADDING = "# padding of a probe that is larger than a pipe\n"


def write_probe(path: Path, *, size: int = 200_000, **does: Any) -> Path:
    """Write the probe; `h3={"sleep": 60}` has host 3 run for a minute, or until it is ended."""
    by_number = {name[1:]: one for name, one in does.items()}
    text = PROGRAM.format(does=json.dumps(by_number))
    path.write_text(text + PADDING * (max(0, size - len(text)) // len(PADDING)))
    return path


def events(lines: list[str]) -> list[dict[str, Any]]:
    """Return the events among some lines."""
    return [json.loads(line) for line in lines if line.startswith('{"event":')]
