"""Runs the command line in its own process, on sample checks or a laid-out machine.

`drive.py CHECKS ROOT ENV UID ARGUMENT...`: the folder of checks or `-`, the root of the machine,
its environment as JSON or `-` for this process's, and the user whose rights are judged or `-`.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support import kept_archives
from tpustarter import __main__
from tpustarter.checking import machine_check
from tpustarter.core import content, locations
from tpustarter.machine import host

if __name__ == "__main__":
    kept_archives.keep_archives()
    folder, root, env, uid, *arguments = sys.argv[1:]
    checks = locations.content_folder("checks") if folder == "-" else Path(folder)
    machine = host.Machine(
        Path(root),
        dict(os.environ) if env == "-" else json.loads(env),
        None if uid == "-" else int(uid),
    )
    of_machine = functools.partial(machine_check.MachineCheck, machine=machine, checks=checks)
    machine_check.MachineCheck = of_machine
    read_checks = content.read_checks
    content.read_checks = lambda *_: read_checks(checks)
    sys.argv = ["tpustarter", *arguments]
    __main__.main()
