"""Tracebacks in every form that launchers, notebooks and consoles print."""

from __future__ import annotations

import pytest

from tpustarter.explain import tracebacks
from tpustarter.explain.tracebacks import TracebackFrame

PLAIN = """Traceback (most recent call last):
  File "/home/ann/train.py", line 3, in <module>
    step(x)
    ~~~~^^^
  File "/v/lib/python3.12/site-packages/lib/core.py", line 9, in step
    raise ValueError("no")
ValueError: no
"""
FRAMES = (
    TracebackFrame("/home/ann/train.py", 3, "<module>", "step(x)"),
    TracebackFrame(
        "/v/lib/python3.12/site-packages/lib/core.py", 9, "step", 'raise ValueError("no")'
    ),
)
COLAB = """---------------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
<ipython-input-11-06e85c7e5c31> in <cell line: 0>()
      8 x = 1
----> 9 step(x)
     10

1 frames
[/usr/local/lib/python3.11/dist-packages/lib/core.py](https://localhost:8080/#) in step(x, *rest)
    301     # why
--> 303     raise ValueError("no")
    304

ValueError: no
"""
IPYTHON = """ValueError                                Traceback (most recent call last)
Cell In[5], line 3
      1 x = 1
----> 3 step(x)

File ~/v/lib/python3.10/site-packages/lib/core.py:9, in Net.step(self, x)
      7 def step(self, x):
----> 9     raise ValueError("no")

ValueError: no
"""
RICH = """╭───────────────── Traceback (most recent call last) ─────────────────╮
│ /home/ann/train.py:3 in <module>                                    │
│                                                                     │
│   2                                                                 │
│ ❱ 3 step(x)                                                         │
│                                                                     │
│ /v/lib/python3.12/site-packages/lib/core.py:9 in step               │
│ ❱ 9 │   raise ValueError("no")                                      │
╰─────────────────────────────────────────────────────────────────────╯
ValueError: no
"""


def prefixed(prefix: str, text: str = PLAIN) -> str:
    """Return a text with a prefix before each line, and a line of another process in between."""
    lines = [f"{prefix}{line}\n" for line in text.splitlines()]
    return "".join((*lines[:3], "another process prints this\n", *lines[3:]))


@pytest.mark.parametrize(
    "log",
    [
        PLAIN,
        prefixed("(EngineCore_DP0 pid=289) ERROR 09-13 10:00:00 [core.py:330] "),
        prefixed("ERROR 06-02 12:00:00 [core.py:500] "),
        prefixed("[rank0]: "),
        prefixed("[pod/train-0-0-x7k2p/jax-tpu] "),
        prefixed("2026-11-22 10:00:00,123 ERROR train: "),
    ],
)
def test_launcher_prefix_hides_no_frame(log: str) -> None:
    """A launcher's prefix hides neither a frame nor the error in the last line."""
    [found] = tracebacks.read_tracebacks(f"before\n{log}after\n", 50)

    assert (FRAMES, "ValueError: no") == (found.frames, found.error)


def test_prefix_with_changing_time_is_removed() -> None:
    """Digits differ from line to line."""
    log = "".join(
        f"ERROR 06-02 12:00:{second:02} [core.py:500] {line}\n"
        for second, line in enumerate(PLAIN.splitlines())
    )
    [found] = tracebacks.read_tracebacks(log, log.count("\n"))

    assert (FRAMES, 7) == (found.frames, found.line)


@pytest.mark.parametrize("log", [COLAB, IPYTHON, RICH], ids=["Colab", "IPython", "Rich"])
def test_notebook_and_rich_frames_are_read(log: str) -> None:
    """Tracebacks of notebooks and of Rich are read, with the source line that an arrow marks."""
    [found] = tracebacks.read_tracebacks(log, log.count("\n"))
    own, library = found.frames

    assert "ValueError: no" == found.error
    assert "step(x)" == own.code
    assert library.file.endswith("-packages/lib/core.py")
    assert library.name.endswith("step")
    assert 'raise ValueError("no")' == library.code
    assert library.line in (9, 303)


def test_chained_tracebacks_are_read_apart() -> None:
    """Chained tracebacks are read separately, each with its own error and line."""
    log = f"{PLAIN}\nDuring handling of the above exception, another exception occurred:\n\n{PLAIN}"
    found = tracebacks.read_tracebacks(log.replace("no\n", "yes\n", 1), log.count("\n"))

    assert [7, 17] == [one.line for one in found]


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("".join(PLAIN.splitlines(keepends=True)[1:]), ["ValueError: no", "OSError: gone"]),
        ('  File "a.py", line 3, in f\nINFO: started\n', ["OSError: gone"]),
        ("ValueError: no\n", ["OSError: gone"]),
    ],
)
def test_traceback_without_its_first_line_counts(above: str, expected: list[str]) -> None:
    """A pasted log may begin in the middle of one, and the next one only follows from it."""
    log = f'{above}Traceback (most recent call last):\n  File "b.py", line 1\nOSError: gone\n'
    found = tracebacks.read_tracebacks(log, log.count("\n"))

    assert expected == [one.error for one in found]
    assert expected == [log.split("\n")[one.line - 1] for one in found]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("\nFor simplicity, JAX has removed its internal frames from the traceback", True),
        ("\nanything else", False),
    ],
)
def test_frames_hidden_by_jax_are_noticed(log: str, expected: bool) -> None:
    """The last frame that is left did not raise the error."""
    [found] = tracebacks.read_tracebacks(f"{PLAIN}--------------------{log}\n", 20)

    assert expected == found.hides_jax


def test_crash_names_innermost_frame() -> None:
    """Faulthandler prints the innermost call first, and other threads above."""
    log = (
        "Fatal Python error: Segmentation fault\n\nThread 0x2 (most recent call first):\n"
        '  File "/v/lib/python3.11/threading.py", line 5 in wait\n\n'
        "Current thread 0x1 (most recent call first):\n"
        '  File "/v/lib/python3.11/site-packages/torch_xla/a.py", line 9 in mark_step\n'
        '  File "train.py", line 3 in <module>\n'
    )
    found = tracebacks.read_crash(log)

    assert found
    assert (9, "mark_step") == (found.line, found.name)
    assert tracebacks.read_crash(PLAIN) is None


BODY = PLAIN.rpartition("ValueError")[0]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (PLAIN, False),
        (BODY, True),
        (BODY.replace('    raise ValueError("no")\n', ""), True),
        ("Traceback (most recent call last", True),
        (f"{BODY}lower.case: of an exception\n", False),
        (f"{PLAIN}\nDuring handling of the above exception\n\n{BODY}", True),
        (COLAB.rpartition("ValueError")[0], True),
        (RICH.rpartition("ValueError")[0], True),
        (prefixed("ERROR 06-02 12:00:00 [core.py:500] ", BODY), True),
    ],
)
def test_cut_off_traceback_is_noticed(log: str, expected: bool) -> None:
    """A traceback is cut off if only code follows its last frame."""
    found = tracebacks.read_tracebacks(log, log.count("\n"))

    assert expected == found[-1].is_cut


@pytest.mark.parametrize(
    ("log", "error", "is_cut"),
    [
        (PLAIN.partition("\n")[2], "ValueError: no", False),
        (BODY.partition("\n")[2], "", True),
        ("ERROR 01-26 17:51:44 engine.py:387] ".join(PLAIN.splitlines(keepends=True)[1:]),
         "ValueError: no", False),
        ("no frame at all\n", "", False),
    ],
)  # fmt: skip
def test_error_below_bare_frames_is_read(log: str, error: str, is_cut: bool) -> None:
    """Their first line may be lost."""
    found = tracebacks.read_bare_frames(log)

    assert (error, is_cut) == (found.error, found.is_cut)
