"""Requirements of tests that a machine may lack, as marks that skip them with a reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.fake_tpu_vm import AS_NOBODY
from tests.support.places import SUPPORT

LIBTPU_PYTHON = os.environ.get("TPUSTARTER_LIBTPU_PYTHON")
"""A Python that has jax and libtpu."""


def can_fake() -> bool:
    """Return whether this process may create namespaces."""
    tools = all(shutil.which(tool) for tool in ("unshare", "ip", "setpriv", "mount"))
    if not tools or os.geteuid() != 0:
        return False
    words = ["unshare", "-m", "-p", "-f", "-n", "--mount-proc", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def readable_by_nobody() -> bool:
    """Return whether an ordinary user may run this Python and read this checkout."""
    program = "import os, sys; sys.exit(not all(os.access(path, os.R_OK) for path in sys.argv[1:]))"
    paths = [os.path.realpath(sys.executable), str(SUPPORT / "drive.py")]
    words = [*AS_NOBODY, sys.executable, "-c", program, *paths]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


FAKED_VM = [
    pytest.mark.root,
    pytest.mark.skipif(
        not can_fake(),
        reason="Faking a TPU VM from outside needs root and Linux namespaces, and they are not "
        "to be had here.",
    ),
]
LIBTPU = pytest.mark.skipif(
    LIBTPU_PYTHON is None,
    reason="Starting the real libtpu needs a Python that has it, and TPUSTARTER_LIBTPU_PYTHON "
    "names none.",
)
