"""Runs the command line on its terminal, as the leader of its own session."""

from __future__ import annotations

import fcntl
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C on this terminal reaches us
    from tpustarter import __main__

    __main__.main()
