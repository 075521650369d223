"""What is shown of a lesson where something was found: a sentence, not what lines of files hold."""

from __future__ import annotations

import pytest

from tpustarter.learning.excerpts import sentence
from tpustarter.learning.passages import BEGIN, END


@pytest.mark.parametrize(
    ("lines", "at", "expected"),
    [
        (["One is here. Two is", "<found> there. Three."], 1, "Two is <found> there."),
        (["Is it <found> or", "is it not? Four."], 0, "Is it <found> or is it not?"),
        (["One. A <found> b. Two."], 0, "A <found> b."),
        (["One <found>. It <found>. Two."], 0, "One <found>. It <found>."),
        (["a long one that", "goes <found> and", "ever on"], 1, "... goes <found> and ..."),
        (["That was it:", "<found>", ""], 1, "<found>"),
        (["orbax  <found> and kept  0.12", "grain  data"], 0, "orbax: <found> and kept, 0.12"),
        (["orbax  kept", "<found> ends here."], 1, "<found> ends here."),
        (["It ends <found>.", "Other text"], 0, "It ends <found>."),
    ],
)
def test_the_sentence_is_whole_where_its_lines_are_near(
    lines: list[str], at: int, expected: str
) -> None:
    """Over one end of a line; dots say that it goes on; a row of a table is no sentence."""
    marked = [line.replace("<", BEGIN).replace(">", END) for line in lines]
    shown = sentence(marked, range(len(lines)), at)

    assert shown.replace(BEGIN, "<").replace(END, ">") == expected


def test_a_gap_between_lines_ends_a_paragraph() -> None:
    """Lines that stand apart in the file are not one sentence."""
    lines = ["of another", f"{BEGIN}found{END} at last"]

    assert sentence(lines, [4, 6], 1) == lines[1]
    assert sentence(lines, [4, 5], 1) == f"... {lines[1]}"
