"""Errors that lessons name under "If it fails": told in the lesson's own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tutor import write_lessons
from tpustarter import content
from tpustarter.explain import explaining, explanation, known, scanning, taught
from tpustarter.explain.explanation import Explanation

FAILS = """# Hello

## If it fails

* **`Glue is dry`, or `SlowError`.** Stir it, as [The glue](02-glue.md) says,
  before `pour()`.
* **`The pot ... is broken`** means that somebody dropped it.
* **The glue is blue.** That is as it should be.
* **`KeyError`, `debug_glue` or `RESOURCE_EXHAUSTED`.** Too little to tell one error from another.

## What you learned

* **`Not a failure at all`.** Nothing.
"""


def explained(folder: Path | None, last: str, lesson: str = "") -> Explanation:
    """Return the explanation of a traceback that ends with a line."""
    log = f'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n{last}\n'
    taken = scanning.Scanner(known.read()).begin()
    taken.take(log.encode())
    return explaining.from_log(taken.end(), lessons=folder, lesson=lesson)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("ValueError: Glue  is dry now", "Stir it, as “The glue” says, before `pour()`."),
        ("glue.core.SlowError: 9 s", "Stir it"),
        ("RuntimeError: The pot on the left is broken", "`The pot ... is broken` means that"),
    ],
)
def test_an_error_that_a_lesson_names_is_told_in_its_words(
    tmp_path: Path, error: str, said: str
) -> None:
    """With the reader's own line, the lesson to read, and nothing about slices or reports."""
    found = explained(write_lessons(tmp_path, hello=FAILS), error)
    text = " ".join(explanation.text(found).split())

    assert "The lesson “Hello” names this error." in text
    assert said in text
    assert "where train.py, line 3" in text
    assert text.endswith("learn start/hello")
    assert "slice" not in text
    mistake = explanation.document(found)["mistake"]
    assert (mistake["fix"], mistake["source"], mistake["lesson"]) == (None, None, "start/hello")


@pytest.mark.parametrize(
    "error",
    ["RuntimeError: debug_glue", "RuntimeError: Not a failure at all", "RuntimeError: The pot is"],
)
def test_what_no_lesson_names_word_by_word_is_not_told_in_its_words(
    tmp_path: Path, error: str
) -> None:
    """A single name may stand in any error, and only one section speaks of failures."""
    assert explained(write_lessons(tmp_path, hello=FAILS), error).mistake is None


def test_the_words_of_the_lesson_it_happened_in_come_first(tmp_path: Path) -> None:
    """Else those of the one that quotes most of it."""
    longer = FAILS.replace("`Glue is dry`", "`Glue is dry now`").replace("Stir it", "Heat it")
    folder = write_lessons(tmp_path, hello=FAILS, longer=longer)
    error = "ValueError: Glue is dry now"

    def lesson(first: str = "") -> str:
        mistake = explained(folder, error, first).mistake
        return mistake.mistake.read if mistake else ""

    assert lesson() == "start/longer"
    assert lesson("start/hello") == "start/hello"


def test_a_known_mistake_comes_before_and_what_holds_for_many_after(tmp_path: Path) -> None:
    """A misspelt keyword of one library is told as that, and a shape as a shape."""
    text = "* **`no attribute 'slow'`.** It was renamed.\n* **`cannot reshape array`.** No.\n"
    folder = write_lessons(tmp_path, hello=f"# Hello\n\n## If it fails\n\n{text}")

    renamed = explained(folder, "AttributeError: module 'glue' has no attribute 'slow'")
    assert "It was renamed." in explanation.text(renamed)
    shape = explained(folder, "TypeError: cannot reshape array of size 6 into shape (4, 2)")
    assert "keeps the number of elements" in explanation.text(shape)


def test_lessons_that_cannot_be_read_cost_nothing_else(tmp_path: Path) -> None:
    """The command has other things to say."""
    folder = write_lessons(tmp_path, hello=FAILS)
    (folder / "start" / "0002-broken.md").write_text("no header\n")

    assert explained(folder, "RuntimeError: Glue is dry").mistake is None


def test_the_shipped_lessons_name_errors() -> None:
    """Of three frameworks, and what a guard of transfers raises."""
    rows = [row for lesson in content.read_lessons() for row in taught.of_lesson(lesson)]

    assert {"jax", "pytorch", "tensorflow", "setup", "slices"} <= {
        row.read.partition("/")[0] for row in rows
    }
    for row in rows:
        assert row.means[-1] in ".?!)`", row.means
    last = "JaxRuntimeError: INVALID_ARGUMENT: Disallowed host-to-device transfer: aval=float32[8]"
    assert "A transfer guard is on" in explanation.text(explained(None, last))
