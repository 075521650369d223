"""The probe archive: a zip file that any Python 3.10 or newer can run unchanged."""

from __future__ import annotations

import io
import json
import marshal
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

from tpustarter.core import cache, locations
from tpustarter.probe.slice.standalone_host import REQUEST

MAIN_FILE = "probe/zip_main.py"
COMPILED = ("tpustarter/machine/", "tpustarter/probe/", "tpustarter/checks/host/")
"""Modules that nearly every probe imports, included as bytecode too; other Pythons ignore it."""
HASHED_UNCHECKED = 1
"""Flag for bytecode that is not checked against its source, see PEP 552: the zip contains both."""
DATE = (2026, 1, 1, 0, 0, 0)
"""Date of all its files, because a zip must not depend on when it was built."""


def build_probe_archive(
    path: Path, checks: Path | None = None, request: Mapping[str, object] | None = None
) -> Path:
    """Write the zip file with the probe and the checks, and return its path.

    Args:
        path: The zip file to write.
        checks: Folder of the checks; None for this program's own.
        request: The run for hosts without tpustarter, which `standalone_host.py` reads.
    """
    with locations.convert_write_errors(path):
        files = _files(checks or locations.content_folder("checks"))
        if request is not None:
            files[REQUEST] = json.dumps(request).encode()
        listing = b"".join(
            b"%s %d\n%s" % (name.encode(), len(data), data) for name, data in files.items()
        )
        data = cache.read_or_build(
            "probe", listing, __file__, lambda: _zipped(files, compiled=True)
        )
        path.write_bytes(data or _zipped(files, compiled=False))
    path.chmod(0o644)
    locations.chown_to_caller(path)
    return path


def _files(checks: Path) -> dict[str, bytes]:
    package = locations.PACKAGE
    sources = [package / name for name in ("__init__.py", "version.py")]
    sources += sorted(
        path for name in ("machine", "probe") for path in (package / name).rglob("*.py")
    )
    files = {"__main__.py": (package / MAIN_FILE).read_bytes()}
    for source in sources:
        files[f"tpustarter/{source.relative_to(package).as_posix()}"] = source.read_bytes()
    for source in sorted(checks.glob("*/*.py")):
        name = f"tpustarter/checks/{source.parent.name}/{source.name}"
        files[name] = source.read_bytes()
    return files


def _zipped(files: dict[str, bytes], *, compiled: bool) -> bytes:
    # The zip is not compressed, because it is read once from the same disk. Folders have entries,
    # by which `zipimport` finds packages without an `__init__.py`.
    import zipfile  # slow to import, and not needed for a cached archive

    stream = io.BytesIO()
    folders = {
        f"{name.rpartition('/')[0]}/" for name in files if name.startswith("tpustarter/checks/")
    }
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for folder in sorted({"tpustarter/checks/", *folders}):
            archive.writestr(zipfile.ZipInfo(folder, DATE), b"")
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), data)
            if compiled and name.startswith(COMPILED) and (bytecode := _bytecode(name, data)):
                archive.writestr(zipfile.ZipInfo(f"{name}c", DATE), bytecode)
    return stream.getvalue()


def _bytecode(name: str, source: bytes) -> bytes | None:
    try:
        code = compile(source, f"probe.pyz/{name}", "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the importing process gets the error
    flags = HASHED_UNCHECKED.to_bytes(4, "little")
    return MAGIC_NUMBER + flags + source_hash(source) + marshal.dumps(code)
