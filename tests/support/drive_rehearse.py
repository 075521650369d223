"""Runs `tpustarter rehearse` in its own process, on sample checks and a laid-out machine.

`drive_rehearse.py CHECKS ROOT ARGUMENT...`: the folder of checks, and the root of the machine,
which has this process's environment.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support import kept_archives
from tpustarter import __main__
from tpustarter.core import content
from tpustarter.machine import host
from tpustarter.rehearsal import run as rehearsal

if __name__ == "__main__":
    kept_archives.keep_archives()
    folder, root, *arguments = sys.argv[1:]
    machine = host.Machine(Path(root), dict(os.environ))
    checks = Path(folder)
    rehearsal.Rehearsal = functools.partial(rehearsal.Rehearsal, machine=machine, checks=checks)
    read_checks = content.read_checks
    content.read_checks = lambda *_: read_checks(checks)
    sys.argv = ["tpustarter", "rehearse", *arguments]
    __main__.main()
