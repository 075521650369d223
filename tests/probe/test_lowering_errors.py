"""The place of an error in the user's file, which the command line names as data."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tpustarter.probe.rehearse.lowering_errors import RequestError, find_error_place


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("def f():\n    int('x')\n\nf()\n", "mine.py:2"),
        ("x = 1\ny = (\n", "mine.py:2"),
        ("import json\n\njson.loads('{')\n", "mine.py:3"),
    ],
)
def test_place_is_last_line_of_own_file(code: str, place: str, tmp_path: Path) -> None:
    """Of a call chain through libraries, and of a file that is not Python."""
    path = tmp_path / "mine.py"
    path.write_text(code)
    with pytest.raises((ValueError, SyntaxError)) as caught:
        runpy.run_path(str(path))

    assert place == find_error_place(caught.value, path)


def test_request_error_has_no_place(tmp_path: Path) -> None:
    """It is not the file's fault, wherever it was raised."""
    assert "" == find_error_place(RequestError("no torchax"), tmp_path / "mine.py")
