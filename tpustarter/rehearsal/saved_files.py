"""The folder of `--save`: what a rehearsal leaves there, and in which file.

`rehearsal.json` and `rehearsal.md` hold the whole report. Each program has a folder of its own in
that of its TPU, with `before.mlir` (StableHLO), `after.hlo` (what the compiler made of it) and
`memory.txt`. The compiler's process writes the first two, and none is deleted.
"""

from __future__ import annotations

import errno
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
        with locations.convert_output_errors(self.folder):
            if self.folder.exists() and not self.folder.is_dir():
                raise Problem(f"`{name}` is no folder, as `--save` needs", code=ExitCode.USAGE)
            locations.make_missing_folders(self.folder)

    def make_tpu_folder(self, tpu: str, check: str | None) -> Path:
        """Make the folder for the files of one TPU, or of one check on that TPU.

        Raises:
            Problem: it cannot be made, or a link in it would lead elsewhere.
        """
        folder = self._find_tpu_folder(tpu, check)
        with locations.convert_output_errors(folder):
            self._refuse_links(folder)
            locations.make_missing_folders(folder)
        return folder

    def write_program(self, result: Fields, memory: str) -> None:
        """Write the memory of one program beside its texts, which become the caller's own.

        Args:
            result: The compiler's answer.
            memory: Its memory as text; empty if it is unknown.

        Raises:
            Problem: it cannot be written.
        """
        folder = self._find_tpu_folder(result["tpu"], result["check"])
        folder /= format_folder_name(result["program"])
        with locations.convert_output_errors(folder):
            self._refuse_links(folder)
        for path in (folder, folder / "before.mlir", folder / "after.hlo"):
            locations.chown_to_caller(path)
        if memory:
            self._write(folder / "memory.txt", memory)

    def write_report(self, document: Fields, table: str) -> None:
        """Write the JSON document, and the table in Markdown; raises Problem."""
        self._write(self.folder / "rehearsal.json", json.dumps(document, indent=1) + "\n")
        self._write(self.folder / "rehearsal.md", table)

    def _find_tpu_folder(self, tpu: str, check: str | None) -> Path:
        # The name of a check may come from the process that runs the user's code.
        folder = self.folder / tpu.replace(":", "-")
        return folder / format_folder_name(check) if check else folder

    def _write(self, path: Path, text: str) -> None:
        with locations.convert_output_errors(path):
            self._refuse_links(path)
            locations.make_missing_folders(path.parent)
        locations.write_user_file(path, text)

    def _refuse_links(self, path: Path) -> None:
        # Under sudo, a link that the user's code made would lead root to any file.
        above = [path, *path.parents][: len(path.relative_to(self.folder).parts)]
        for one in (*above, *path.rglob("*")):
            if one.is_symlink():
                raise OSError(errno.ELOOP, f"`{one.relative_to(self.folder)}` is a link")
