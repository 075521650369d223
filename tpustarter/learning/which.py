"""Which library to take: three questions, and rules that turn the answers into one advice.

Questions, reasons, notes and lessons to begin with are data, in `lessons/which-library.yml`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter import content, locations
from tpustarter.machine import tpus
from tpustarter.problem import ExitCode, Problem

SCHEMA = "tpustarter.which/1"
FILE = "which-library.yml"
EXAMPLE = "v6e-8"
"""A TPU's name as people type it."""

Answers = Mapping[str, str]
"""The id of a choice by the id of its question."""


@dataclass(frozen=True)
class Choice:
    """One answer to a question."""

    id: str
    title: str
    names: tuple[str, ...]
    """What people type for it too, beside its id."""
    generations: tuple[str, ...]
    """Generations of TPUs that it stands for, so that `v6e-8` is understood."""


@dataclass(frozen=True)
class Question:
    """What is asked, with all its answers."""

    id: str
    """The name of its option, without the dashes."""
    ask: str
    choices: tuple[Choice, ...]

    @property
    def takes_tpus(self) -> bool:
        """Return whether the name of a TPU answers it."""
        return any(one.generations for one in self.choices)


@dataclass(frozen=True)
class Library:
    """A library that can be recommended."""

    id: str
    title: str
    install: tuple[str, ...]
    """Commands, in order."""


@dataclass(frozen=True)
class Row:
    """What holds for some answers: a reason for a library, or a note on it."""

    when: Mapping[str, tuple[str, ...]]
    """Choices by question; a question that is not there may have any answer."""
    library: str
    """The library that it speaks for; nothing for a note."""
    text: str
    source: str
    read: str
    """The day on which the source was read, such as 2026-11-22."""


@dataclass(frozen=True)
class Start:
    """Where to begin."""

    when: Mapping[str, tuple[str, ...]]
    path: str
    lesson: str


@dataclass(frozen=True)
class Guide:
    """All of the file."""

    questions: tuple[Question, ...]
    libraries: tuple[Library, ...]
    reasons: tuple[Row, ...]
    notes: tuple[Row, ...]
    starts: tuple[Start, ...]


@dataclass(frozen=True)
class Advice:
    """The one recommendation for three answers."""

    answers: Answers
    library: Library
    reasons: tuple[Row, ...]
    """At least one; the first decided."""
    notes: tuple[Row, ...]
    start: Start


def read(folder: Path | None = None) -> Guide:
    """Return the questions and the rules; raises Problem naming what cannot be used."""
    file = (folder or locations.content("lessons")) / FILE
    try:
        fields = cast(
            "dict[str, list[dict[str, Any]]]", content.read_yaml(locations.read_text(file))
        )
        return Guide(
            questions=tuple(map(_parse_question, fields["questions"])),
            libraries=tuple(
                Library(str(one["id"]), str(one["title"]), _texts(one["install"]))
                for one in fields["libraries"]
            ),
            reasons=tuple(map(_parse_row, fields["reasons"])),
            notes=tuple(map(_parse_row, fields["notes"])),
            starts=tuple(
                Start(_parse_when(one), str(one["path"]), str(one["lesson"]))
                for one in fields["starts"]
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"cannot read the rules in `{file}`: {error}") from error


def _parse_question(fields: dict[str, Any]) -> Question:
    choices = tuple(
        Choice(str(one["id"]), str(one["title"]),
               _texts(one.get("also", ())), _texts(one.get("generations", ())))
        for one in fields["choices"]
    )  # fmt: skip
    return Question(str(fields["id"]), str(fields["ask"]), choices)


def _parse_row(fields: dict[str, Any]) -> Row:
    text = " ".join(str(fields["text"]).split())
    library, source, read_on = (str(fields.get(key, "")) for key in ("library", "source", "read"))
    return Row(_parse_when(fields), library, text, source, read_on)


def _parse_when(fields: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {str(name): _texts(choices) for name, choices in fields.get("when", {}).items()}


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise TypeError(f"`{values}` is not a list")
    return tuple(map(str, values))


def choice(question: Question, typed: str) -> Choice | None:
    """Return the answer that was meant: by its number, an id, another name, or a TPU's name."""
    word = typed.strip().casefold()
    if word.isdigit():
        numbers = {str(number): one for number, one in enumerate(question.choices, 1)}
        return numbers.get(word)
    for one in question.choices:
        if word in (one.id, *one.names):
            return one
    for family in (word, word.rpartition("-")[0]):
        try:
            generation = tpus.generation(family).name
        except LookupError:
            continue
        return next((one for one in question.choices if generation in one.generations), None)
    return None


def parse_answer(question: Question, typed: str) -> str:
    """Return the id of the answer that was meant; raises Problem that lists the answers."""
    found = choice(question, typed)
    if found:
        return found.id
    choices = "\n".join(f"  {one.id:<12}{one.title}" for one in question.choices)
    more = f", or a TPU such as `{EXAMPLE}`" if question.takes_tpus else ""
    raise Problem(
        f"`{typed[:40]}` is not an answer to `--{question.id}`",
        hint=f"give one of these{more}\n{choices}",
        code=ExitCode.USAGE,
    )


def advise(guide: Guide, answers: Answers) -> Advice:
    """Return the recommendation for an answer to each question; raises Problem for no rule."""
    fitting = [row for row in guide.reasons if _fits(row.when, answers)]
    known = {**answers, "library": fitting[0].library if fitting else ""}
    library = next((one for one in guide.libraries if one.id == known["library"]), None)
    start = next((one for one in guide.starts if _fits(one.when, known)), None)
    if library is None or start is None:
        given = ", ".join(answers.values())
        raise Problem(f"no rule in `{FILE}` fits {given}", hint="install tpustarter again")
    return Advice(
        answers=dict(answers),
        library=library,
        reasons=tuple(row for row in fitting if row.library == library.id),
        notes=tuple(row for row in guide.notes if _fits(row.when, known)),
        start=start,
    )


def _fits(when: Mapping[str, tuple[str, ...]], known: Answers) -> bool:
    return all(known.get(name) in choices for name, choices in when.items())


def document(advice: Advice) -> dict[str, Any]:
    """Return the recommendation as JSON."""

    def told(rows: Sequence[Row]) -> list[dict[str, str]]:
        return [{"text": row.text, "source": row.source, "read": row.read} for row in rows]

    return {
        "schema": SCHEMA,
        "answers": dict(advice.answers),
        "library": {"id": advice.library.id, "title": advice.library.title},
        "reasons": told(advice.reasons),
        "notes": told(advice.notes),
        "install": list(advice.library.install),
        "path": advice.start.path,
        "lesson": advice.start.lesson,
        "exit_code": 0,
    }


def complaints(guide: Guide, lessons: Collection[str], paths: Collection[str]) -> Iterator[str]:
    """Yield what is wrong: answers without advice, and names or sources that lead nowhere."""
    for what in (
        *_ambiguous_names(guide),
        *_unknown_answers(guide),
        *(_broken_source(row) for row in (*guide.reasons, *guide.notes)),
        *(f"the lesson `{one.lesson}` does not exist"
          for one in guide.starts if one.lesson not in lessons),
        *(f"the path `{one.path}` does not exist" for one in guide.starts if one.path not in paths),
        *(_without_advice(guide, answers) for answers in every_answer(guide)),
    ):  # fmt: skip
        if what:
            yield f"{FILE}: {what}"


def _ambiguous_names(guide: Guide) -> Iterator[str]:
    for question in guide.questions:
        names = [
            name for one in question.choices for name in {one.id, *one.names, *one.generations}
        ]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"`{name}` stands for two answers to `{question.id}`"


def _unknown_answers(guide: Guide) -> Iterator[str]:
    known = {question.id: {one.id for one in question.choices} for question in guide.questions}
    known["library"] = {one.id for one in guide.libraries}
    for row in (*guide.reasons, *guide.notes, *guide.starts):
        for name, choices in row.when.items():
            for choice_id in sorted(set(choices) - known.get(name, set())):
                yield f"a row is for `{name}: {choice_id}`, which is not an answer"


def _broken_source(row: Row) -> str | None:
    if not row.source.startswith("https://"):
        return f"`{row.text[:40]}` has no public source"
    if not re.fullmatch(r"20\d\d-\d\d-\d\d", row.read):
        return f"`{row.text[:40]}` does not say when its source was read"
    return None


def _without_advice(guide: Guide, answers: Answers) -> str | None:
    try:
        advise(guide, answers)
    except Problem as problem:
        return problem.what
    return None


def every_answer(guide: Guide) -> Iterator[Answers]:
    """Yield every combination of answers."""
    names = [question.id for question in guide.questions]
    for chosen in itertools.product(*(question.choices for question in guide.questions)):
        yield dict(zip(names, (one.id for one in chosen), strict=True))
