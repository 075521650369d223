"""The folder of `--save`: what a rehearsal leaves there, and in which file.

`rehearsal.json` and `rehearsal.md` hold the whole report. Each program has a folder of its own in
that of its TPU, with `before.mlir` (StableHLO), `after.hlo` (what the compiler made of it) and
`memory.txt`. The compiler's process writes the first two, and none is deleted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.probe.rehearse.rehearsal import format_folder_name

Fields = dict[str, Any]


class SavedFiles:
    """A folder of the user that gets the files of one rehearsal."""

    def __init__(self, name: str) -> None:
        """Make the folder.

        Raises:
            Problem: it cannot be made.
        """
        self.folder = locations.expand_path(name).absolute()
        if self.folder.exists() and not self.folder.is_dir():
            raise Problem(f"`{name}` is no folder, as `--save` needs", code=ExitCode.USAGE)
        with locations.convert_write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        locations.chown_to_caller(self.folder)

    def tpu_folder(self, tpu: str, check: str | None) -> Path:
        """Return the folder for the files of one TPU, or of one check on that TPU."""
        folder = self.folder / format_folder_name(tpu)
        return folder / check if check else folder

    def write_memory(self, result: Fields, text: str) -> None:
        """Write the memory of one program beside its texts."""
        folder = self.tpu_folder(result["tpu"], result["check"])
        self._write(folder / format_folder_name(result["program"]) / "memory.txt", text)

    def write_report(self, document: Fields, table: str) -> None:
        """Write the JSON document, and the table in Markdown."""
        self._write(self.folder / "rehearsal.json", json.dumps(document, indent=1) + "\n")
        self._write(self.folder / "rehearsal.md", table)

    def _write(self, path: Path, text: str) -> None:
        with locations.convert_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        locations.chown_to_caller(path)
