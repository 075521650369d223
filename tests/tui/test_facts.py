"""What Home says of a Python it did not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpustarter.tui.facts import python_version

PYTHONS = {
    "environment": ({"pyvenv.cfg": "version = 3.12.1\n", "bin/python": ""}, "3.12.1"),
    "by-name": ({"bin/python3.11": ""}, "3.11"),
    "by-library": ({"bin/python": "", "lib/python3.13/os.py": ""}, "3.13"),
    "two-libraries": (
        {"bin/python": "", "lib/python3.13/os.py": "", "lib/python3.9/os.py": ""},
        "version unknown",
    ),
    "shim": ({"bin/python3": "#!/usr/bin/env bash\nexec pyenv exec python3\n"}, "version unknown"),
    "nothing": ({}, "version unknown"),
}


@pytest.mark.parametrize("name", PYTHONS)
def test_a_version_is_known_or_said_to_be_unknown(name: str, tmp_path: Path) -> None:
    """Never a part of it, such as `3`, which says nothing."""
    files, expected = PYTHONS[name]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    program = next((file for file in files if file.startswith("bin/")), "bin/python")

    assert expected == python_version(tmp_path / program)
