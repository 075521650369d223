"""Proves a folder that another machine shares: files that this user writes to it are read back.

    python -IB prove_shared_folder.py FOLDER SOURCE

It needs only the standard library, and leaves no file behind, even if it is killed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

LARGE_MB = 64
SMALL = 50


def read_mount(folder: str) -> tuple[str, str]:
    """Return the source and type of the mount on a folder, from the kernel's list."""
    with open("/proc/self/mounts", encoding="utf-8") as lines:  # noqa: PTH123
        mounts = [line.split() for line in lines]
    on_it = [(source, kind) for source, place, kind, *_ in mounts if place == folder]
    return on_it[-1] if on_it else ("nothing", "")


def measure_large_file(folder: str) -> str:
    """Write a large file, read it back over the network, and return text with both rates."""
    block = os.urandom(1_000_000)
    with tempfile.TemporaryFile(dir=folder) as file:
        began = time.perf_counter()
        for number in range(LARGE_MB):
            file.write(number.to_bytes(4, "big") + block[4:])
        file.flush()
        os.fsync(file.fileno())
        written = time.perf_counter()
        # This machine's cached pages are dropped, so that the data come from the server.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        began_reading = time.perf_counter()
        for number in range(LARGE_MB):
            if file.read(len(block)) != number.to_bytes(4, "big") + block[4:]:
                sys.exit(f"{folder} gives back other bytes than were written")
        read = time.perf_counter()
    rates = [LARGE_MB / (written - began), LARGE_MB / (read - began_reading)]
    return f"{LARGE_MB} MB written at {rates[0]:.0f} MB/s, and read at {rates[1]:.0f} MB/s"


def measure_small_files(folder: str) -> str:
    """Write small files, each flushed to the server, and return text with the time per file."""
    began = time.perf_counter()
    for _ in range(SMALL):
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * 1000)
            file.flush()
            os.fsync(file.fileno())
    each_ms = (time.perf_counter() - began) / SMALL * 1000
    return f"a file of 1 kB takes {each_ms:.1f} ms"


def main(folder: str, source: str) -> None:
    """Print a line for each proof; exit if one fails."""
    found, kind = read_mount(folder)
    if found != source or kind not in ("nfs", "nfs4"):
        sys.exit(f"{folder} shows {found}{kind and f' as {kind}'}, expected {source} as nfs4")
    try:
        print(measure_large_file(folder))
        print(measure_small_files(folder))
    except OSError as error:
        sys.exit(f"this user cannot write to {folder}: {error.strerror or error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
