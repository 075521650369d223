"""Errors that lessons list under "If it fails", explained in the lesson's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain import measure
from tests.support.failures import explain
from tests.support.tutor import write_lessons
from tpustarter.core import content
from tpustarter.explain import (
    explain_output,
    explanation_document,
    explanation_text,
    lesson_failures,
)
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
    return explain(log, lessons=folder, lesson=lesson)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("ValueError: Glue  is dry now", "Stir it, as “The glue” says, before `pour()`."),
        ("glue.core.SlowError: 9 s", "Stir it"),
        ("RuntimeError: The pot on the left is broken", "`The pot ... is broken` means that"),
    ],
)
def test_error_named_by_lesson_uses_lesson_text(tmp_path: Path, error: str, said: str) -> None:
    """A lesson that names the error explains it, with the user's line and the lesson's name."""
    found = explained(write_lessons(tmp_path, hello=FAILS), error)
    text = " ".join(explanation_text.render_explanation(found).split())

    assert "The lesson “Hello” names this error." in text
    assert said in text
    assert "where train.py, line 3" in text
    assert text.endswith("learn start/hello")
    assert "slice" not in text
    mistake = explanation_document.make_json_document(found)["mistake"]
    assert (mistake["fix"], mistake["source"], mistake["lesson"]) == (None, None, "start/hello")


@pytest.mark.parametrize(
    "error",
    ["RuntimeError: debug_glue", "RuntimeError: Not a failure at all", "RuntimeError: The pot is"],
)
def test_error_outside_lessons_uses_no_lesson_text(tmp_path: Path, error: str) -> None:
    """A name alone, or text outside of "If it fails", doesn't select a lesson."""
    assert explained(write_lessons(tmp_path, hello=FAILS), error).mistake is None


def test_lesson_of_error_comes_before_others(tmp_path: Path) -> None:
    """The lesson that was run comes first, or else the one that quotes most of the error."""
    longer = FAILS.replace("`Glue is dry`", "`Glue is dry now`").replace("Stir it", "Heat it")
    folder = write_lessons(tmp_path, hello=FAILS, longer=longer)
    error = "ValueError: Glue is dry now"

    def lesson(first: str = "") -> str:
        mistake = explained(folder, error, first).mistake
        return mistake.mistake.read if mistake else ""

    assert lesson() == "start/longer"
    assert lesson("start/hello") == "start/hello"


def test_lesson_ranks_between_specific_and_general_mistakes(tmp_path: Path) -> None:
    """A lesson ranks after specific mistakes, such as a misspelt keyword, before general ones."""
    text = "* **`no attribute 'slow'`.** It was renamed.\n* **`cannot reshape array`.** No.\n"
    folder = write_lessons(tmp_path, hello=f"# Hello\n\n## If it fails\n\n{text}")

    renamed = explained(folder, "AttributeError: module 'glue' has no attribute 'slow'")
    assert "It was renamed." in explanation_text.render_explanation(renamed)
    shape = explained(folder, "TypeError: cannot reshape array of size 6 into shape (4, 2)")
    assert "keeps the number of elements" in explanation_text.render_explanation(shape)


def test_unreadable_lessons_leave_other_explanations(tmp_path: Path) -> None:
    """If the lessons can't be read, the other explanations remain."""
    folder = write_lessons(tmp_path, hello=FAILS)
    (folder / "start" / "0002-broken.md").write_text("no header\n")

    assert explained(folder, "RuntimeError: Glue is dry").mistake is None


def test_shipped_lessons_name_errors() -> None:
    """The shipped lessons name errors of three frameworks, of set-up and of slices."""
    rows = [
        row
        for lesson in content.read_lessons()
        for row in lesson_failures.list_lesson_failures(lesson)
    ]

    assert {"jax", "pytorch", "tensorflow", "setup", "slices"} <= {
        row.read.partition("/")[0] for row in rows
    }
    for row in rows:
        assert row.means[-1] in ".?!)`", row.means
    last = "JaxRuntimeError: INVALID_ARGUMENT: Disallowed host-to-device transfer: aval=float32[8]"
    assert "A transfer guard is on" in explanation_text.render_explanation(explained(None, last))


ABSL = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
IN_TORCH = '  File "/v/lib/python3.11/site-packages/torch/a.py", line 9, in f\n    raise\n'


def from_text(log: str, code: int = 0) -> Explanation:
    """Return the explanation of a program's output that ended with an exit code."""
    return explain(log, end=explain_output.CommandEnd(code) if code else None)


@pytest.mark.parametrize(
    ("log", "code", "failure", "exit_code"),
    [
        (
            (
                "F0000 00:00:1764000000.123456 12345 pjrt_computation_client.cc:700] "
                "Check failed: pjrt_device == pjrt_data->buffer->device() (0x5 vs. 0x6)\n"
            ),
            0,
            "torchxla-tensors-on-two-devices",
            0,
        ),
        ("F0929 17:42:48.594200 10445 a.cc:22] Check failed: x\n", 0, "library-check-failed", 0),
        ("F0929 17:42:48.594200 10445 a.cc:22] Check failed: x\n", 134, "library-check-failed", 0),
        ('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: 3\n', 1, "", 5),
        ('Traceback (most recent call last):\n  File "a.py", line 3\nKeyError: 3\n', 0, "", 5),
        ("the program left\n", 3, "", 5),
        ("", 0, "harmless-absl-log", 0),
    ],
)
def test_harmless_line_hides_no_failure(log: str, code: int, failure: str, exit_code: int) -> None:
    """A fatal line ranks before the harmless notice above it."""
    found = from_text(ABSL + log, code)

    assert exit_code == found.code
    assert found.is_explained == bool(failure)
    assert not failure or found.matches[0].failure.id == failure
    assert (found.mistake is not None) == ("Traceback" in log)
    shown = [part.text for part in explanation_text.explanation_parts(found)]
    assert ("Harmless here:" in shown) == (failure not in ("", "harmless-absl-log"))


@pytest.mark.parametrize(
    ("name", "lesson", "mistake"),
    [
        ("torch-load-xla-file", "pytorch/save-and-load", "has not imported torch_xla"),
        ("torch-conv-input-not-on-xla", "pytorch/first-tensors", "device or dtype differs"),
        ("torch-model-not-on-xla", "pytorch/first-tensors", "the other way round"),
        ("torch-old-compile-backend", "pytorch/old-names", "has been removed"),
    ],
)
def test_torch_errors_name_their_lesson(name: str, lesson: str, mistake: str) -> None:
    """PyTorch 2.9.0 raised them in its own files, and printed these logs."""
    [log] = measure.LOGS.glob(f"*/{name}.log")
    found = from_text(log.read_text(encoding="utf-8"))

    assert found.mistake
    assert lesson == found.mistake.mistake.read
    assert mistake in found.mistake.mistake.means
    assert (found.mistake.place or "").startswith("train.py, line ")


def test_unknown_backend_names_its_lesson() -> None:
    """An unknown backend names the lesson about its import, which may be missing."""
    error = "torch._dynamo.exc.InvalidBackend: Invalid backend: 'openxla', see"
    found = from_text(
        f'Traceback (most recent call last):\n  File "a.py", line 3\n    f()\n{IN_TORCH}{error}\n'
    )

    assert found.mistake
    assert "pytorch/old-names" == found.mistake.mistake.read


@pytest.mark.parametrize(
    ("module", "variable"),
    [
        ("torch", "PT_XLA_DEBUG_LEVEL=2"),
        ("torch_xla", "PT_XLA_DEBUG_LEVEL=2"),
        ("jaxlib", "JAX_TRACEBACK_FILTERING=off"),
        ("tensorflow", "TF_CPP_MIN_LOG_LEVEL=0"),
        ("glue", "JAX_TRACEBACK_FILTERING=off"),
    ],
)
def test_advice_is_for_named_framework(module: str, variable: str) -> None:
    """Another framework doesn't read its variables."""
    found = from_text(f"/v/site-packages/{module}/a.py: it is unheard of\n")
    variables = next(
        part.text for part in explanation_text.explanation_parts(found) if part.is_literal
    ).split()

    assert ["export", variable] == variables[:2]


def test_package_error_matches_lesson_before_general_row(tmp_path: Path) -> None:
    """Though a general row fits too, which holds for lines of the program alone."""
    text = "* **`cannot import name ... from 'glue'`.** Stir it.\n"
    folder = write_lessons(tmp_path, hello=f"# Hello\n\n## If it fails\n\n{text}")
    error = "ImportError: cannot import name 'pot' from 'glue' (unknown location)"
    found = explained(folder, f"{IN_TORCH}{error}")

    assert found.mistake
    assert "Stir it." in found.mistake.mistake.means
