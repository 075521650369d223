"""Proves that a mounted folder keeps files: `prove_folder.py FOLDER`, as the user who will use it.

It writes a small file, reads it back and removes it. Each printed line is a claim that held; the
first that does not ends the program with exit code 1. No other file in the folder is opened.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

SIZE = 1024


def main(folder: Path) -> None:
    """Write, read and remove a file; exit if a claim fails."""
    require_claim(folder.is_mount(), f"a file system is mounted on {folder}")
    data = os.urandom(SIZE)
    path = folder / f"tpustarter-proof-{secrets.token_hex(8)}"
    try:
        with path.open("xb") as file:
            file.write(data)
        require_claim(path.stat().st_size == SIZE, f"a file of {SIZE} bytes was written there")
        require_claim(path.read_bytes() == data, "it reads back as it was written")
        require_claim(path.name in os.listdir(folder), "the folder lists it")  # noqa: PTH208 -- its names
        path.unlink()
        require_claim(not path.exists(), "it has been removed")
    except OSError as error:
        path.unlink(missing_ok=True)
        sys.exit(f"`{path}`: {error.strerror or error}")


def require_claim(holds: object, text: str) -> None:
    """Print a claim that holds; exit with an error for one that does not."""
    if not holds:
        sys.exit(f"not so: {text}")
    print(text, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
