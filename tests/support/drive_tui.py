"""Runs the app on its terminal, as the leader of its own session.

`drive_tui.py` runs it with the installed content, and `... LESSONS CHECKS` with other content.
"""

from __future__ import annotations

import fcntl
import functools
import os
import signal
import sys
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # a hang-up of this terminal reaches us
    if os.environ.get("TPUSTARTER_TEST") in ("ignore-hang-up", "start-without-terminal"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from tests.support import telling
    from tpustarter import __main__
    from tpustarter.tui.app import launch

    telling.install()
    if os.environ.get("TPUSTARTER_TEST") == "start-without-terminal":
        print("ready", flush=True)
        while sys.stdin.isatty():
            time.sleep(0.01)  # until the terminal is gone
    if os.environ.get("TPUSTARTER_TEST") == "give-up-soon":
        launch.GIVE_UP_S = 3.0
    content, sys.argv = [Path(folder) for folder in sys.argv[1:]], sys.argv[:1]
    if content:
        launch.TerminalApp = functools.partial(  # type: ignore[misc]  called, and nothing else
            launch.TerminalApp, lessons=content[0], checks=content[1]
        )
    __main__.main()
