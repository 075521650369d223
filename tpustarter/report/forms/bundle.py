"""The files of a report: `report.md`, `report.json`, reproducers, a manifest, and an archive.

The archive identifies nobody: it contains no owner, no host, and no time except the report's.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import re
import tarfile
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.json_values import items_of_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.report.collect import check_runs
from tpustarter.report.forms import markdown_form, reproducer_files
from tpustarter.report.forms.report_view import ReportView
from tpustarter.report.make_report import BugReport

MANIFEST_SCHEMA = "tpustarter.bug-report-manifest/1"


def make_bundle_files(report: BugReport) -> dict[str, bytes]:
    """Return the contents of all files by name; the manifest lists the other files."""
    document = report.document
    made = {
        "report.md": markdown_form.render_markdown(document).encode(),
        "report.json": (json.dumps(document, indent=1, allow_nan=False) + "\n").encode(),
        **reproducer_files.collect_reproducer_files(ReportView(document).facts),
    }
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "made": document["made"],
        "tool": document["tool"],
        "files": [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in made.items()
        ],
        "sections": [
            {"name": one["name"], "state": one["state"], "seconds": one["seconds"]}
            for one in items_of_type(document["sections"], dict[str, object])
        ],
        "left_out": document["left_out"],
        "replacements": document["replacements"],
    }
    made["manifest.json"] = (json.dumps(manifest, indent=1, allow_nan=False) + "\n").encode()
    return made


def make_bundle_name(document: dict[str, object]) -> str:
    """Return the name of a report's folder, from the time at which the report was made."""
    moment = re.sub(r"[^0-9T]", "", str(document["made"]).partition("+")[0]).replace("T", "-")
    return f"tpustarter-report-{moment}"


def make_archive(name: str, made: dict[str, bytes]) -> bytes:
    """Return a .tar.gz of the files, in a folder with this name."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for file, data in made.items():
            member = tarfile.TarInfo(f"{name}/{file}")
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    outer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=outer, mtime=0) as packed:
        packed.write(inner.getvalue())
    return outer.getvalue()


def write_bundle(report: BugReport, folder: Path) -> Path:
    """Write a report into a folder, and save its pseudonyms in the state folder.

    Raises:
        Problem: A file cannot be written, or the report's folder already exists.
    """
    name, made = make_bundle_name(report.document), make_bundle_files(report)
    place = folder / name
    try:
        locations.make_folders(folder)
        place.mkdir()
    except OSError as error:
        why = error.strerror or str(error)
        raise Problem(f"cannot make `{place}`: {why}", code=ExitCode.OUTPUT) from error
    locations.chown_to_caller(place)
    check_runs.save_pseudonyms(report.names.list_pseudonyms())
    for file, data in made.items():
        with contextlib.suppress(OSError):  # `_write_file` then raises a Problem
            locations.make_folders((place / file).parent)
        _write_file(place / file, data)
    packed = folder / f"{name}.tar.gz"
    _write_file(packed, make_archive(name, made))
    return packed


def _write_file(path: Path, data: bytes) -> None:
    with locations.convert_output_errors(path):
        locations.replace_file(path, data, 0o644)
