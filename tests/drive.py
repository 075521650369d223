"""Runs the command line as a process of its own, on sample checks or a laid-out machine.

`python tests/drive.py CHECKS ROOT ENV ARGUMENT...`: folder of checks or `-`, root of the machine,
its environment as JSON or `-` for this process's.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tpustarter import __main__, content, host, locations
from tpustarter.cli import check
from tpustarter.selfcheck import SelfCheck

if __name__ == "__main__":
    folder, root, env, *arguments = sys.argv[1:]
    checks = locations.content("checks") if folder == "-" else Path(folder)
    machine = host.Machine(root=Path(root), env=dict(os.environ) if env == "-" else json.loads(env))
    check.SelfCheck = functools.partial(SelfCheck, machine=machine, checks=checks)
    check.content.read_checks = functools.partial(content.read_checks, checks)
    sys.argv = ["tpustarter", *arguments]
    __main__.main()
