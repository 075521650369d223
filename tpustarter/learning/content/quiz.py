"""Questions in a lesson: one right answer, each answer explained, and none blocks the reader.

A fence `quiz id=NAME` contains a question, then its answers. `(x)` marks the right one, `( )` the
others; the indented lines below an answer explain it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FEWEST, MOST = 2, 5
"""Limits on the number of answers; each is chosen with a digit."""
_ANSWER = re.compile(r"\((x| )\) +(.+)")


@dataclass(frozen=True)
class QuizAnswer:
    """An answer to a question, with the reason why it is right or wrong."""

    text: str
    is_right: bool
    why: str


@dataclass(frozen=True)
class Quiz:
    """A question with its answers."""

    id: str
    question: str
    answers: tuple[QuizAnswer, ...]
    line: int
    """Line number of the fence in the lesson's file."""

    @property
    def right_number(self) -> int:
        """Return which answer is right, counted from 1."""
        return 1 + next(n for n, answer in enumerate(self.answers) if answer.is_right)


def parse_quiz(name: str, text: str, line: int) -> Quiz:
    """Parse the content of a quiz fence.

    Raises:
        ValueError: The question is malformed.
    """
    question: list[str] = []
    drafts: list[tuple[str, bool, list[str]]] = []
    for row in filter(str.strip, text.split("\n")):
        match = _ANSWER.fullmatch(row.rstrip())
        if match:
            drafts.append((match[2], match[1] == "x", []))
        elif row.startswith("("):
            raise ValueError(f"found `{row.strip()[:40]}`, expected `( ) TEXT` or `(x) TEXT`")
        elif not drafts:
            question.append(row.strip())
        elif row[0] != " ":
            raise ValueError(f"`{row.strip()[:40]}` says why, and is not indented")
        else:
            drafts[-1][2].append(row.strip())
    answers = tuple(
        QuizAnswer(wording, is_right, " ".join(why)) for wording, is_right, why in drafts
    )
    if not question:
        raise ValueError("a question has no text")
    if not FEWEST <= len(answers) <= MOST:
        raise ValueError(f"a question has {len(answers)} answers, expected {FEWEST} to {MOST}")
    if sum(answer.is_right for answer in answers) != 1:
        raise ValueError("a question has not exactly one right answer")
    if unexplained := [answer.text for answer in answers if not answer.why]:
        raise ValueError(f"the answer `{unexplained[0]}` does not say why")
    return Quiz(name, " ".join(question), answers, line)
