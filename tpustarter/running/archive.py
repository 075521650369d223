"""Builds the probe: one zip file that any Python 3.10 or newer runs as it is."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tpustarter import locations

ENTRY = "probe/zip_main.py"


def build(path: Path, checks: Path | None = None) -> Path:
    """Write the probe to `path`, with the checks below `checks`; returns `path`.

    Stored, not compressed: it is read once, from the same disk. Folders have entries of their
    own, for `zipimport` finds packages without an `__init__.py` by them.
    """
    package = locations.PACKAGE
    checks = checks or locations.content("checks")
    sources = [package / name for name in ("__init__.py", "version.py")]
    sources += sorted(
        path for name in ("machine", "probe") for path in (package / name).glob("*.py")
    )
    with (
        locations.writing(path),
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, strict_timestamps=False) as archive,
    ):
        archive.write(package / ENTRY, "__main__.py")
        for source in sources:
            archive.write(source, f"tpustarter/{source.relative_to(package).as_posix()}")
        folders = sorted({source.parent.name for source in checks.glob("*/*.py")})
        for folder in ("", *(f"{name}/" for name in folders)):
            archive.writestr(f"tpustarter/checks/{folder}", b"")
        for source in sorted(checks.glob("*/*.py")):
            archive.write(source, f"tpustarter/checks/{source.parent.name}/{source.name}")
    path.chmod(0o644)
    locations.give_to_caller(path)
    return path
