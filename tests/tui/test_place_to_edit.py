"""Where typing begins in code that a learner is to change."""

from __future__ import annotations

import pytest
from textual.document._document import Document

from tpustarter.tui.editor import place_to_edit


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("    return x  # your code here", "return x"),
        ("    total = 0.0  # your code here", "total = 0.0"),
        ("    self.step += 1  # your code here", "self.step += 1"),
        ("    y = f(x, ...)", "..."),
        ("    with path.open() as file:  # your code here", ""),
        ("    )  # your code here", ""),
        ("    size = 256  # change to 512", ""),
    ],
)
def test_typing_replaces_what_stands_for_the_learners_own(line: str, replaced: str) -> None:
    """A gap or a statement is marked; what is changed in parts stays."""
    code = f"def clean(x):\n{line}\n"
    place = place_to_edit(code)

    assert place is not None
    assert 1 == place.start[0]
    assert replaced == Document(code).get_text_range(place.start, place.end)
    assert replaced or 4 == place.start[1]
