"""Runs the command line on the terminal it is given, as the leader of a session of its own."""

from __future__ import annotations

import fcntl
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C of this terminal is ours to hear
    from tpustarter import __main__

    __main__.main()
