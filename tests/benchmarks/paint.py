"""First paint on a terminal, as medians in one run, against a Textual app with one Markdown widget.

    python tests/benchmarks/paint.py [--repeat N]

Both run in this Python. The clock stops when the words wanted are on the terminal. Prints a
table; asserts nothing, for machines are noisy. Wanted: first paint at most 0.9 x, all known 1.15 x.

Where the processor's time goes, of 220 ms of the minimal app and as much of ours: importing
Textual, Rich and asyncio 155 ms, this program's own modules 25 ms, style sheets 13 ms, composing,
layout and paint 25 ms. All known takes 95 ms more: 30 ms import what knows machines, set-ups and
the ledger, 15 ms read lessons and environments, 45 ms are layout and paint of three frames.
A minimal app that shows a `Static` takes 0.70 times the time of this one with `Markdown`, so 0.9
leaves 45 ms for all of ours; modules take 25 to 40 ms of it, none of them more than 4.
Slow until December 2026: the first paint compiled the patterns of redaction and imported the
report's types and the drawings of blocks (25 ms), read the style sheets of all screens (13 ms), and
laid out and painted each screen a second time, when the classes of its size arrived.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import usage

MINIMAL = """
from textual.app import App
from textual.widgets import Markdown

class Minimal(App):
    def compose(self):
        yield Markdown("# Minimal\\n\\nThis machine is what it is.\\n")

Minimal().run()
"""
ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]")


def paint(words: list[str], wanted: bytes, env: dict[str, str]) -> usage.Usage:
    """Start a program on a terminal, and end it when it has painted what is wanted."""
    master, slave = pty.openpty()
    began = time.perf_counter()
    process = subprocess.Popen(
        words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env
    )
    os.close(slave)
    seen = b""
    while wanted not in ESCAPES.sub(b"", seen):
        if not select.select([master], [], [], 30)[0]:
            raise SystemExit(f"{words[-1][:40]} painted no {wanted!r}")
        seen += os.read(master, 65536)
    seconds = time.perf_counter() - began
    process.kill()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = -signal.SIGKILL
    os.close(master)
    return usage.Usage(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20, seen)


def main() -> None:
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    program = [sys.executable, "-m", "tpustarter"]
    programs = {
        "a minimal Textual app": ([sys.executable, "-c", MINIMAL], b"This machine", "home"),
        "tpustarter, first paint": (program, b"This machine", "home"),
        "tpustarter, all known": (program, b"Path: ", "home"),
        "first start, first paint": (program, b"Which of these describes you", "new"),
        "first start, all known": (program, b"I only have a laptop", "new"),
    }
    found: dict[str, list[usage.Usage]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder) / name for name in ("home", "new")}
        for home in homes.values():
            home.mkdir()
        (homes["home"] / "settings.json").write_text('{"path": "laptop"}')
        variables = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        env = {**os.environ, **variables}
        for name in ("CI", "PYTHONDONTWRITEBYTECODE"):  # which only developers set
            env.pop(name, None)
        for _ in range(repeat + 1):  # in turn, so that noise hits all of them; the first warms up
            for name, (words, wanted, home) in programs.items():
                own = {**env, "TPUSTARTER_HOME": str(homes[home])}
                found[name].append(paint(words, wanted, own))
    usage.print_ratios("program", {name: every[1:] for name, every in found.items()})


if __name__ == "__main__":
    main()
