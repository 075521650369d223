"""The host allocates memory with tcmalloc."""

import re
from pathlib import Path

from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 240
ESTIMATE_S = 0.1
LESSON = "setup/install-torchtpu"
SOURCE = "https://github.com/google-pytorch/torch_tpu"
OPTIONAL = True

LIBRARY = re.compile(r"/(libtcmalloc[^/\s]*)$", re.MULTILINE)
PLACES = ("usr/lib/x86_64-linux-gnu", "usr/lib", "usr/local/lib")


def loaded(maps):
    """Return the tcmalloc among a process's mapped files, or None; `maps` as in /proc."""
    match = LIBRARY.search(maps)
    return match[1] if match else None


def on_disk(root):
    """Return a tcmalloc that is installed and could be loaded, or None."""
    for place in PLACES:
        for path in sorted((root / place).glob("libtcmalloc*.so.4")):
            return f"/{path.relative_to(root)}"
    return None


def run(maps=None):
    """Look at the libraries of this process, as torch_tpu does when it is imported."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8") if maps is None else maps
    library = loaded(maps)
    file = on_disk(target().root)
    install = "run `sudo apt-get install libtcmalloc-minimal4`, then start your program with "
    preload = f"LD_PRELOAD={file or '/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4'}"
    yield Finding(
        code="TTPU-ALLOCATOR-TCMALLOC",
        name="tcmalloc in this process",
        verdict="ok" if library else "warn",
        found=library or "not loaded",
        expected="libtcmalloc",
        hint=None if library else f"{'' if file else install}`{preload} python ...`",
    )
