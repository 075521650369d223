"""The lines of the learner's code that a verdict names."""

from __future__ import annotations

import pytest

from tpustarter.learning.run.lines_at_fault import find_changed_lines, find_raising_line

SHIPPED = "import math\n\n\ndef area(r):\n    return r  # your code here\n\n\n"
AREA = "    return r  # your code here"


def test_innermost_learner_line_of_error_is_named() -> None:
    """The innermost line in the learner's part is named, without the judge's and empty lines."""
    named = find_raising_line(SHIPPED, [40, 3, 5, 1])

    assert named
    assert ((5,), "line 5: return r  # your code here") == (named.numbers, named.words)
    assert find_raising_line(SHIPPED, [40, 41]) is None
    assert find_raising_line(SHIPPED, []) is None


@pytest.mark.parametrize(
    ("answer", "numbers", "words"),
    [
        (SHIPPED, (5,), f"yours to change is line 5: {AREA.strip()}"),
        (SHIPPED.replace(AREA, "    return 3 * r"), (5,), "you changed line 5: return 3 * r"),
        (
            SHIPPED.replace("return r ", "return r * r "),
            (5,),
            "you changed line 5: return r * r",
        ),
        (
            SHIPPED.replace(AREA, "    return sum(['#', r]  # mine"),
            (5,),
            "you changed line 5: return sum(['#', r]",
        ),
        (SHIPPED.replace(AREA, "    # left out"), (5,), "you changed line 5: # left out"),
        (
            SHIPPED.replace(AREA, "    r = r * r\n\n    return r").replace("math", "cmath"),
            (1, 5, 7),
            "you changed lines 1, 5 and 7",
        ),
        (SHIPPED.replace(AREA, "    a = 1\n    return a"), (5, 6), "you changed lines 5 to 6"),
        (SHIPPED + "\n\n", (5,), f"yours to change is line 5: {AREA.strip()}"),
    ],
)
def test_changed_lines_of_wrong_answer_are_named(
    answer: str, numbers: tuple[int, ...], words: str
) -> None:
    """The verdict names the changed lines, or the lines to change; blank lines do not count."""
    named = find_changed_lines(answer, SHIPPED)

    assert named
    assert (numbers, words) == (named.numbers, named.words)


def test_first_unchanged_line_of_several_is_named() -> None:
    """The first of several unchanged lines is named by its present line number."""
    two = SHIPPED.replace("import math", "import math\nside = 1  # your code here")
    named = find_changed_lines(two.replace("1  # your code here", "(\n    2\n)"), two)

    assert named
    assert ((8,), f"still to change is line 8: {AREA.strip()}") == (named.numbers, named.words)
    whole = find_changed_lines(two.replace("  # your code here", ""), two)
    assert whole
    assert whole.words == "you changed lines 2 and 6"


def test_line_with_its_comment_is_named_whole() -> None:
    """A line of the usual formatted length is quoted whole, with its comment."""
    line = f"return r  # your code here: {'what stays as it is, ' * 3}r"
    named = find_changed_lines(
        SHIPPED.replace(AREA, f"    {line}"), SHIPPED.replace(AREA, f"    {line}")
    )

    assert named
    assert f"yours to change is line 5: {line}" == named.words


def test_only_deleted_line_is_not_named() -> None:
    """A deletion alone names no line."""
    assert find_changed_lines(SHIPPED.replace(f"{AREA}\n", ""), SHIPPED) is None
