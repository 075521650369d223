"""Proves that a trace can be viewed: `prove_profiler.py PLATFORM COMMAND...`, in its environment.

It traces a JAX program into the folder that the command names with `--logdir=`, starts the command,
which is the one that `tpustarter serve` starts, and requests the trace as the page would. Each
printed line is a claim that held; the first that does not ends the program with exit code 1.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from _server import find_listening_ports, is_answering, require_claim, send_request, start_server

PROFILE = "/data/plugin/profile"
"""Path of XProf's plug-in. Source: https://github.com/openxla/xprof (read 2026-11)."""
NAME = "traced-by-tpustarter"
PROGRAM = """\
import sys, jax
with jax.profiler.trace(sys.argv[1]), jax.profiler.TraceAnnotation(sys.argv[2]):
    jax.numpy.ones((256, 256)).sum().block_until_ready()
print(jax.__version__, jax.default_backend())
"""


def main(platform: str, command: list[str]) -> None:
    """Trace, serve, request the trace, and end; exit if a claim fails."""
    folder = Path(next(word for word in command if "--logdir=" in word).partition("=")[2])
    shutil.rmtree(folder, ignore_errors=True)
    version, found = trace_program(folder)
    require_claim(found == platform, f"it traces on the platform {platform}: found {found}")
    with start_server(command) as (server, port):
        require_claim(
            find_listening_ports(server) == {("127.0.0.1", port)}, "it listens on 127.0.0.1 alone"
        )
        runs = fetch_json(port, "runs")
        require_claim(len(runs) == 1, f"it shows one trace: {', '.join(runs)}")
        run = runs[0]
        tools = fetch_json(port, f"run_tools?run={quote(run)}")
        require_claim("overview_page" in tools, f"{len(tools)} tools of XProf can open it")
        host = fetch_json(port, f"hosts?run={quote(run)}&tag=trace_viewer%40")[0]["hostname"]
        address = f"data?run={quote(run)}&tag=trace_viewer%40&host={quote(host)}"
        events = fetch_json(port, address)["traceEvents"]
        require_claim(
            any(one.get("name") == NAME for one in events), "the viewer has what was traced"
        )
    require_claim(not is_answering(port), "the server has ended, and its port is closed")
    shutil.rmtree(folder)
    print(f"TensorBoard shows a trace of jax {version} on {platform}")


def trace_program(folder: Path) -> tuple[str, str]:
    """Trace a small program in a separate process; return JAX's version and platform."""
    words = [sys.executable, "-c", PROGRAM, str(folder), NAME]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    require_claim(done.returncode == 0, "it traces a program")
    version, platform = done.stdout.splitlines()[-1].split()
    return version, platform


def fetch_json(port: int, what: str) -> Any:
    """Return the plug-in's JSON answer, whose form depends on the path."""
    status, _, text = send_request(port, "GET", f"{PROFILE}/{what}")
    require_claim(status == 200, f"it answers {what.partition('?')[0]}")
    return json.loads(text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
