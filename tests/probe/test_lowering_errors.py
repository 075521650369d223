"""The place of an error in the user's file, which the command line names as data."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tpustarter.probe.rehearse.lowering_errors import (
    UnmetRequestError,
    describe_error_with_line,
    find_user_line,
)


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("def f():\n    int('x')\n\nf()\n", "mine.py:2"),
        ("x = 1\ny = (\n", "mine.py:2"),
        ("import json\n\njson.loads('{')\n", "mine.py:3"),
    ],
)
def test_place_is_last_line_of_own_file(code: str, place: str, tmp_path: Path) -> None:
    """The place is the last line of the user's own file, even below library calls."""
    path = tmp_path / "mine.py"
    path.write_text(code)
    with pytest.raises((ValueError, SyntaxError)) as caught:
        runpy.run_path(str(path))

    assert place == find_user_line(caught.value, path)


def test_request_error_has_no_place(tmp_path: Path) -> None:
    """An unmet request isn't the file's fault and has no line, wherever it was raised."""
    assert "" == find_user_line(UnmetRequestError("no torchax"), tmp_path / "mine.py")


@pytest.mark.parametrize("is_own", [True, False])
def test_error_without_message_shows_own_line(tmp_path: Path, *, is_own: bool) -> None:
    """The user's line, also where a library raised below it; without one, the library's."""
    library, mine = tmp_path / "library.py", tmp_path / "mine.py"
    library.write_text("def f(function):\n    assert function is None\n")
    mine.write_text(f"import runpy\n\nrunpy.run_path({str(library)!r})['f'](print)\n")
    with pytest.raises(AssertionError) as caught:
        runpy.run_path(str(mine))

    told = describe_error_with_line(caught.value, mine if is_own else tmp_path / "another.py")
    line = (mine if is_own else library).read_text().splitlines()[-1].strip()
    assert told.endswith(f"`{line}`")
    assert is_own == told.startswith("mine.py:3: ")
