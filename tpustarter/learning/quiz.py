"""Questions in a lesson: one is right, every answer says why; none is ever a gate.

A fence `quiz id=NAME` holds a question, then its answers. `(x)` marks the right one, `( )` the
others; the indented lines below an answer say why it is right or wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FEWEST, MOST = 2, 5
"""Answers of a question: each has a digit."""
_ANSWER = re.compile(r"\((x| )\) +(.+)")


@dataclass(frozen=True)
class Answer:
    """One answer to choose."""

    text: str
    is_right: bool
    why: str


@dataclass(frozen=True)
class Quiz:
    """One question with its answers."""

    id: str
    question: str
    answers: tuple[Answer, ...]
    line: int
    """Line of its fence in the lesson's file."""

    @property
    def right(self) -> int:
        """Return the number of the right answer; the first one is 1."""
        return 1 + next(n for n, one in enumerate(self.answers) if one.is_right)


def parse(name: str, text: str, line: int) -> Quiz:
    """Return the question that a fence holds; raises ValueError that says what is wrong with it."""
    question: list[str] = []
    answers: list[tuple[str, bool, list[str]]] = []
    for one in filter(str.strip, text.split("\n")):
        found = _ANSWER.fullmatch(one.rstrip())
        if found:
            answers.append((found[2], found[1] == "x", []))
        elif one.startswith("("):
            raise ValueError(f"found `{one.strip()[:40]}`, expected `( ) TEXT` or `(x) TEXT`")
        elif not answers:
            question.append(one.strip())
        elif one[0] != " ":
            raise ValueError(f"`{one.strip()[:40]}` says why, and is not indented")
        else:
            answers[-1][2].append(one.strip())
    made = tuple(Answer(said, is_right, " ".join(why)) for said, is_right, why in answers)
    if not question:
        raise ValueError("a question has no text")
    if not FEWEST <= len(made) <= MOST:
        raise ValueError(f"a question has {len(made)} answers, expected {FEWEST} to {MOST}")
    if sum(one.is_right for one in made) != 1:
        raise ValueError("a question has not exactly one right answer")
    if silent := [one.text for one in made if not one.why]:
        raise ValueError(f"the answer `{silent[0]}` does not say why")
    return Quiz(name, " ".join(question), made, line)
