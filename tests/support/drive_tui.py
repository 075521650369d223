"""Runs the app on the terminal it is given, as the leader of a session of its own.

`drive_tui.py` runs what is installed; `... LESSONS CHECKS` takes other content.
"""

from __future__ import annotations

import fcntl
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # a hang-up of this terminal is ours to hear
    from tpustarter import __main__
    from tpustarter.tui import launch

    content, sys.argv = sys.argv[1:], sys.argv[:1]
    if not content:
        __main__.main()
    else:
        sys.exit(launch.run(launch.TerminalApp(lessons=Path(content[0]), checks=Path(content[1]))))
