"""Code shown twice on a path: lessons share code in files of `code/` instead."""

from __future__ import annotations

import re
from itertools import combinations

from tpustarter.core import content
from tpustarter.learning.content.paths import read_paths

LINES = 6
"""So many lines in a row are a repetition, and no idiom that every program has."""
BLOCK = re.compile(r"^```python (?:run|try)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def runs_of_lines(text: str) -> set[tuple[str, ...]]:
    """Return all runs of code lines that a lesson runs, without imports and comments."""
    runs: set[tuple[str, ...]] = set()
    for block in BLOCK.findall(text):
        stripped = (line.strip() for line in block.splitlines())
        lines = [line for line in stripped if line and not line.startswith(("import", "from", "#"))]
        runs |= {tuple(lines[at : at + LINES]) for at in range(len(lines) - LINES + 1)}
    return runs


def shown_twice(texts: dict[str, str], paths: list[tuple[str, ...]]) -> list[str]:
    """Return each pair of lessons of a path with shared code, and its first line."""
    runs = {lesson: runs_of_lines(text) for lesson, text in texts.items()}
    together = {pair for path in paths for pair in combinations(sorted(set(path)), 2)}
    return sorted(
        f"{one} and {other}: {min(runs[one] & runs[other])[0]}"
        for one, other in together
        if runs[one] & runs[other]
    )


def test_no_path_shows_the_same_code_twice() -> None:
    """Two lessons of one path share only a few lines of code."""
    texts = {lesson.id: lesson.text for lesson in content.read_lessons()}

    assert [] == shown_twice(texts, [path.lessons for path in read_paths()])


def test_repetition_counts_only_on_one_path() -> None:
    """Six equal lines count only if one path has both lessons, whatever their comments."""
    code = "\n".join(f"line_{number} = {number}" for number in range(LINES))
    texts = {
        "jax/one": f"```python run id=a\nimport jax\n{code}\n```\n",
        "jax/two": f"```python try id=b\n# again\n{code}\n```\n",
        "jax/text": f"```python\n{code}\n```\n",
    }

    assert ["jax/one and jax/two: line_0 = 0"] == shown_twice(texts, [tuple(texts)])
    assert [] == shown_twice(texts, [("jax/one", "jax/text"), ("jax/two",)])
