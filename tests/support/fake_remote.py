"""Fakes gcloud and ssh for many workers, and the workers' nodes.

    tools = lay_remote(tmp_path / "tools")
    behave(tools, w3={"sleep": 3600}, w5={"code": 255, "error": "Connection timed out"})

Each program records its arguments in `calls/`, then does what `behave.json` lists for the worker:
write a text, write so many bytes, sleep, wait for the end of stdin, exit with a code or a signal.
Without an entry it prints hello.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from google.cloud import tpu_v2

from tpustarter.slices.starting.launch_request import PLACED, REACHED

UNREACHED = {"code": 255, "error": "ssh: connect to host 192.0.2.2: Connection timed out\n"}
"""A worker that gcloud cannot reach."""

PROGRAM = """#!{python} -IS
import json, os, re, signal, sys, time
tools, words = {tools!r}, sys.argv
number = next((w[9:] for w in words if w.startswith("--worker=")), None)
number = number or re.search(r"-w([0-9]+)[.]", " ".join(words))[1]
begun = f"{{tools}}/{{os.getpid()}}.begun"  # it may be killed while it writes
with open(begun, "w") as file:
    json.dump({{"worker": int(number), "words": words, "pid": os.getpid(), "env": dict(os.environ),
               "stdin": os.readlink("/proc/self/fd/0"), "group": os.getpgid(0),
               "at": time.monotonic()}}, file)
os.rename(begun, f"{{tools}}/calls/{{os.getpid()}}.json")
does = json.load(open(f"{{tools}}/behave.json"))
does = does.get("w" + number, does.get("all", {{}}))
if does.get("ignore_term"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, does.get("say", f"hello from {{number}}\\n").encode("latin-1"))
os.write(2, does.get("error", "").encode("latin-1"))
block = (b"x" * 99 + b"\\n") * 640
for _ in range(does.get("bytes", 0) // len(block)):
    rest = block
    while rest:
        rest = rest[os.write(1, rest):]
open(f"{{tools}}/started-{{number}}", "w").close()
until = does.get("until")
while until and sum(n.startswith("started-") for n in os.listdir(tools)) < until:
    time.sleep(0.01)  # until the others have started
if does.get("child"):
    os.fork()
while does.get("lifeline") and os.read(0, 65536):
    pass  # lives as long as its stdin
time.sleep(does.get("sleep", 0))  # hangs where a test says so
if does.get("signal"):
    os.kill(os.getpid(), does["signal"])
os._exit(does.get("code", 0))
"""


def lay_remote(folder: Path, *names: str) -> Path:
    """Create a folder for PATH with a `gcloud` and an `ssh`, or with the named programs."""
    (folder / "calls").mkdir(parents=True)
    behave(folder)
    for name in names or ("gcloud", "ssh"):
        program = folder / name
        program.write_text(PROGRAM.format(python=sys.executable, tools=str(folder)))
        program.chmod(0o755)
    return folder


def behave(folder: Path, **workers: Any) -> None:
    """Set the behaviour of each worker; `all` is for those that are not named."""
    (folder / "behave.json").write_text(json.dumps(workers))


def told(host: int, *events: dict[str, Any]) -> str:
    """Return a worker's output in a run on all hosts: its marks, then the probe's events."""
    lines = [
        json.dumps({"event": one["event"], "from": host, "host": host, **one}) for one in events
    ]
    return "\n".join([REACHED, PLACED, *lines, ""])


def calls(folder: Path) -> list[dict[str, Any]]:
    """Return the calls, sorted by worker."""
    rows = [json.loads(path.read_text()) for path in (folder / "calls").iterdir()]
    return sorted(rows, key=lambda row: row["worker"])


def node(
    name: str = "bert",
    *,
    workers: int = 1,
    external: bool = True,
    zone: str = "us-central1-b",
    state: str = "READY",
    queued_resource: str = "",
    made: str = "2026-11-22T08:00:00Z",
) -> Any:
    """Return a node as Google's service returns it."""
    parent = f"projects/my-project/locations/{zone}"
    endpoints = [
        tpu_v2.NetworkEndpoint(
            ip_address=f"10.0.0.{number + 2}",
            access_config=tpu_v2.AccessConfig(external_ip=f"192.0.2.{number + 1}")
            if external
            else None,
        )
        for number in range(workers)
    ]
    return tpu_v2.Node(
        name=f"{parent}/nodes/{name}",
        accelerator_type=f"v6e-{workers * 4}",
        state=tpu_v2.Node.State[state],
        queued_resource=f"{parent}/queuedResources/{queued_resource}" if queued_resource else "",
        network_endpoints=endpoints,
        create_time=made,
    )
