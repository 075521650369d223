"""Shortened tracebacks: frames of packages are folded, and marks stay below their code."""

from __future__ import annotations

import pytest

from tpustarter.learning.run.tracebacks import fold_installed_calls, shorten_code

JAX = """before
Traceback (most recent call last):
  File "block 1", line 3, in <module>
    print(x @ x)
          ~~^~~
  File "/home/you/env/lib/python3.11/site-packages/jax/_src/numpy/array_methods.py", line 880, in f
    return tensor_contractions.matmul(self)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/you/env/lib/python3.11/site-packages/jax/_src/lax/lax.py", line 269, in matmul
    out = lax.dot_general(
TypeError: dot_general requires (3,) and (4,).
after"""


def test_frames_of_packages_are_one_line() -> None:
    """The learner's frames and all other lines stay; frames of packages become one line."""
    before, begin, *own, left_out, error, after = fold_installed_calls(JAX).split("\n")

    assert JAX.split("\n")[2:5] == own
    assert "  ... 2 calls inside jax ..." == left_out
    assert error.startswith("TypeError: dot_general")
    assert ("before", "after") == (before, after)
    assert begin.startswith("Traceback")


def test_callback_from_package_stays_between_its_lines() -> None:
    """The user's frames between package frames stay, with Windows paths too."""
    back = '  File "block 1", line 1, in step\n    return x @ x\n'
    other = '  File "C:\\env\\Lib\\site-packages\\flax\\core.py", line 2, in call\n'
    text = JAX.replace("TypeError", f"{back}{other}TypeError")

    assert fold_installed_calls(text).count("  ... ") == 2
    assert (
        "... 2 calls inside jax ...\n" + back + "  ... 1 call inside flax ...\nType"
        in fold_installed_calls(text)
    )


def test_other_text_stays_unchanged() -> None:
    """Output that looks like part of a traceback is unchanged."""
    text = JAX.partition("):\n")[2]

    assert text == fold_installed_calls(text)


@pytest.mark.parametrize("width", [40, 60, 76])
@pytest.mark.parametrize("marked", ["first", "middle", "last"])
def test_marks_stand_below_marked_code_at_any_width(width: int, marked: str) -> None:
    """Long lines are shortened around their marks, and others are unchanged."""
    code = "    first = sum(value for value in values) + middle * larger + another / last"
    column = code.index(marked)
    text = f'  File "a.py", line 3\n{code}\n{" " * column}{"^" * len(marked)}\nValueError: no'

    head, line, marks, end = shorten_code(text, width).split("\n")

    assert max(map(len, (line, marks))) <= width
    assert marked == line[marks.index("^") : marks.rindex("^") + 1]
    assert ("..." in line) == (len(code) > width)
    assert (head, end) == ('  File "a.py", line 3', "ValueError: no")
    assert shorten_code(text, 200) == text


def test_marks_wider_than_screen_show_their_beginning() -> None:
    """Code and marks wider than the screen are cut at the right."""
    text = "    " + "abcde" * 30 + "\n    " + "^" * 150
    line, marks = shorten_code(text, 60).split("\n")

    assert line.startswith("    abcde")
    assert marks.startswith("    ^")
    assert max(len(line), len(marks)) <= 60


def test_long_lines_without_marks_stay_whole() -> None:
    """Long lines without marks are left to wrap."""
    text = "    " + "word " * 30 + "\n    and more"

    assert shorten_code(text, 60) == text


@pytest.mark.parametrize("width", [40, 60, 75, 76])
def test_mark_after_line_end_stands_behind_line(width: int) -> None:
    """A mark behind the last character stays there when the line is shortened."""
    code = "    if " + "x + " * 16 + "last"  # 75 signs, and no colon
    text = f'  File "a.py", line 3\n{code}\n{" " * len(code)}^\nSyntaxError: no'

    _, line, marks, _ = shorten_code(text, width).split("\n")

    assert line.endswith("last")
    assert marks == f"{' ' * len(line)}^"
    assert len(marks) <= width
