"""Runs the command line with a test's checks: `drive_slice.py CHECKS [WORD...]`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    from tpustarter import __main__
    from tpustarter.core import locations

    own, whole = Path(sys.argv.pop(1)), locations.content_folder
    locations.content_folder = lambda name: own if name == "checks" else whole(name)
    __main__.main()
