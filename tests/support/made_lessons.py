"""Writes lessons for tests and runs their blocks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.learning.content.blocks import Block, list_blocks
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import LessonSession
from tpustarter.machine import host

HEADER = """---
title: Sample
minutes: 3
needs: {needs}
checks: []
sources: [https://docs.python.org/3/]
---

# Sample

"""


TASK_AND_QUESTION = """```python try id=turn
print(...)
```

```python answer of=turn
print(3)
```

```quiz id=why
Why?

( ) No.
    It is.
(x) Yes.
    It is so.
```
"""
"""An unsolved task, and a question."""


def make_lesson(folder: Path, text: str, *, needs: str = "{}", name: str = "01-sample") -> Lesson:
    """Write a lesson of the track `made` and read it back."""
    path = folder / "made" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.replace("{needs}", needs) + text, encoding="utf-8")
    return content.read_lesson(path)


def fence(code: str, output: str | None = None, *, name: str = "one", more: str = "") -> str:
    """Return a block that runs, with its expected output on any machine."""
    text = f"```python run id={name} {more}\n{code}\n```\n\n"
    return text + (f"```output of={name}\n{output}\n```\n\n" if output is not None else "")


def make_session(lesson: Lesson, **more: Any) -> LessonSession:
    """Return a session of this Python."""
    return LessonSession(lesson, python=sys.executable, **more)


def run_block(session: LessonSession, block: Block, code: str | None = None) -> BlockResult:
    """Run one block to its end, and assert that exactly the last event is its result."""
    *outputs, result = session.run(block, code)

    assert isinstance(result, BlockResult)
    assert not any(isinstance(one, BlockResult) for one in outputs)
    return result


def run_lesson(lesson: Lesson, **more: Any) -> dict[str, BlockResult]:
    """Run every block of a lesson; returns the results by block."""
    session = make_session(lesson, **more)
    try:
        return {block.id: run_block(session, block) for block in list_blocks(lesson)}
    finally:
        session.close()


def laptop(env: dict[str, str]) -> host.Machine:
    """Return this machine with other variables added to its environment."""
    return host.Machine(Path("/"), {**os.environ, **env})
