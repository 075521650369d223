"""One driver for all hosts of a Ray cluster, run by the Python under test, which has Ray.

The driver, `programs/ray_driver.py`, starts an actor on each host, which starts the probe. JAX
detects nothing from Ray, so each host is given its number.

Options of the request: `address`, the cluster's address as Ray takes it; `python-there`, a Python
on the hosts other than that of Ray's workers.

Source: https://docs.ray.io/en/latest/ray-core/actors.html (read 2026-11).
"""

from __future__ import annotations

import re
from pathlib import Path

from tpustarter.slices.starting.labelled_output import LabelFormat
from tpustarter.slices.starting.launch_request import (
    ENDED,
    LIFELINE_S,
    PLACED,
    REACHED,
    HostCommand,
    LaunchRequest,
)

LABELS = LabelFormat(re.compile(rb"host (\d{1,9}): "))
DRIVER = Path(__file__).with_name("programs") / "ray_driver.py"


def build_commands(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """Return the driver's command; nothing is run."""
    options = {
        "--address": request.options.get("address"),
        "--count": str(request.count) if request.count else None,
        "--python": request.options.get("python-there"),
    }
    words = [
        str(Path(request.python).expanduser()) if "/" in request.python else request.python,
        str(DRIVER),
        str(request.archive.stat().st_size),
        str(request.port),
        *(part for name, value in options.items() if value for part in (name, value)),
        "--lifeline-s",
        str(LIFELINE_S),
        "--marks",
        REACHED,
        PLACED,
        ENDED,
    ]
    return (
        HostCommand(
            words=tuple(words), name="Ray", archive=request.archive, marks=True, labels=LABELS
        ),
    )
