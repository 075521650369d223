"""Runs a command through `running.passthrough`, for its tests."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tpustarter.running import passthrough

with contextlib.suppress(OSError):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C reaches the session that owns the terminal
sys.exit(passthrough.run_command(sys.argv[1:], os.environ, lambda _: None))
