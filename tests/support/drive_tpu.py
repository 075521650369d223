"""Runs `tpustarter tpu run` and `ssh-config`, whether or not the group knows them yet."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    from tpustarter import __main__
    from tpustarter.cli import tpu

    tpu.VERBS.update({"run": "tpu_run", "ssh-config": "tpu_ssh_config"})
    __main__.main()
