"""The choice of a library: three questions, and rules that turn answers into a recommendation.

The questions, reasons, notes and first lessons are data, in `lessons/which-library.yml`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import content, locations, yaml_rows
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus

SCHEMA = "tpustarter.which/1"
FILE = "which-library.yml"
EXAMPLE = "v6e-8"
"""A TPU name as users type it."""

Answers = Mapping[str, str]
"""The id of the chosen answer by the id of its question."""


class QuestionChoice(msgspec.Struct, frozen=True):
    """An answer to a question about libraries."""

    id: str
    title: str
    names: tuple[str, ...] = msgspec.field(default=(), name="also")
    """Other names that users may type for its id."""
    generations: tuple[str, ...] = ()
    """TPU generations that it covers, so that `v6e-8` selects it."""


class LibraryQuestion(msgspec.Struct, frozen=True):
    """A question with all its answers."""

    id: str
    """The name of its command-line option, without dashes."""
    ask: str
    choices: tuple[QuestionChoice, ...]

    @property
    def takes_tpus(self) -> bool:
        """Return whether the question can be answered with the name of a TPU."""
        return any(one.generations for one in self.choices)


class RecommendedLibrary(msgspec.Struct, frozen=True):
    """A library that can be recommended."""

    id: str
    title: str
    install: tuple[str, ...]
    """Shell commands, in order."""


class AdviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for a library, or a note, that applies to certain answers."""

    when: dict[str, tuple[str, ...]] = {}
    """The answers that it applies to, keyed by question; a missing question matches any answer."""
    library: str = ""
    """The library that it is a reason for; empty for a note."""
    text: str
    source: str = ""
    read: str = ""
    """The date on which the source was read, such as 2026-11-22."""


class FirstLesson(msgspec.Struct, frozen=True, kw_only=True):
    """The path and lesson to begin with."""

    when: dict[str, tuple[str, ...]] = {}
    path: str
    lesson: str


class LibraryQuestionnaire(msgspec.Struct, frozen=True):
    """The content of `which-library.yml`: questions, libraries, reasons and first lessons."""

    questions: tuple[LibraryQuestion, ...]
    libraries: tuple[RecommendedLibrary, ...]
    reasons: tuple[AdviceRow, ...]
    notes: tuple[AdviceRow, ...]
    starts: tuple[FirstLesson, ...]


@dataclass(frozen=True)
class LibraryAdvice:
    """The recommendation for a set of answers."""

    answers: Answers
    library: RecommendedLibrary
    reasons: tuple[AdviceRow, ...]
    """At least one reason; the first decided."""
    notes: tuple[AdviceRow, ...]
    start: FirstLesson


def read_questionnaire(folder: Path | None = None) -> LibraryQuestionnaire:
    """Read the questions, libraries and rules from `which-library.yml`.

    Raises:
        Problem: The file cannot be used.
    """
    file = (folder or locations.content_folder("lessons")) / FILE
    try:
        return yaml_rows.convert_value(
            content.read_yaml(locations.read_text(file)), LibraryQuestionnaire
        )
    except (OSError, ValueError) as error:
        raise Problem(f"cannot read the rules in `{file}`: {error}") from error


def find_choice(question: LibraryQuestion, typed: str) -> QuestionChoice | None:
    """Return the answer that a user typed as its number, id, another name, or a TPU name."""
    word = typed.strip().casefold()
    if word.isdigit():
        numbers = {str(number): one for number, one in enumerate(question.choices, 1)}
        return numbers.get(word)
    for one in question.choices:
        if word in (one.id, *one.names):
            return one
    for family in (word, word.rpartition("-")[0]):
        try:
            generation = tpus.find_generation(family).name
        except LookupError:
            continue
        return next((one for one in question.choices if generation in one.generations), None)
    return None


def parse_answer(question: LibraryQuestion, typed: str) -> str:
    """Return the id of the answer that a user typed.

    Raises:
        Problem: It is not one of the answers.
    """
    found = find_choice(question, typed)
    if found:
        return found.id
    choices = "\n".join(f"  {one.id:<12}{one.title}" for one in question.choices)
    more = f", or a TPU such as `{EXAMPLE}`" if question.takes_tpus else ""
    raise Problem(
        f"`{typed[:40]}` is not an answer to `--{question.id}`",
        hint=f"give one of these{more}\n{choices}",
        code=ExitCode.USAGE,
    )


def recommend_library(guide: LibraryQuestionnaire, answers: Answers) -> LibraryAdvice:
    """Return the recommendation for one answer to each question.

    Raises:
        Problem: No rule fits.
    """
    fitting = [row for row in guide.reasons if _fits(row.when, answers)]
    known = {**answers, "library": fitting[0].library if fitting else ""}
    library = next((one for one in guide.libraries if one.id == known["library"]), None)
    start = next((one for one in guide.starts if _fits(one.when, known)), None)
    if library is None or start is None:
        given = ", ".join(answers.values())
        raise Problem(f"no rule in `{FILE}` fits {given}", hint="install tpustarter again")
    return LibraryAdvice(
        answers=dict(answers),
        library=library,
        reasons=tuple(row for row in fitting if row.library == library.id),
        notes=tuple(row for row in guide.notes if _fits(row.when, known)),
        start=start,
    )


def _fits(when: Mapping[str, tuple[str, ...]], known: Answers) -> bool:
    return all(known.get(name) in choices for name, choices in when.items())


def make_json_document(advice: LibraryAdvice) -> dict[str, object]:
    """Return the recommendation as a JSON document."""

    def told(rows: Sequence[AdviceRow]) -> list[dict[str, str]]:
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


def find_library_guide_mistakes(
    guide: LibraryQuestionnaire, lessons: Collection[str], paths: Collection[str]
) -> Iterator[str]:
    """Yield a sentence for each set of answers without advice, and each broken name or source."""
    for what in (
        *_ambiguous_names(guide),
        *_unknown_answers(guide),
        *(_broken_source(row) for row in (*guide.reasons, *guide.notes)),
        *(
            f"the lesson `{one.lesson}` does not exist"
            for one in guide.starts
            if one.lesson not in lessons
        ),
        *(f"the path `{one.path}` does not exist" for one in guide.starts if one.path not in paths),
        *(_without_advice(guide, answers) for answers in list_answer_combinations(guide)),
    ):
        if what:
            yield f"{FILE}: {what}"


def _ambiguous_names(guide: LibraryQuestionnaire) -> Iterator[str]:
    for question in guide.questions:
        names = [
            name for one in question.choices for name in {one.id, *one.names, *one.generations}
        ]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"`{name}` stands for two answers to `{question.id}`"


def _unknown_answers(guide: LibraryQuestionnaire) -> Iterator[str]:
    known = {question.id: {one.id for one in question.choices} for question in guide.questions}
    known["library"] = {one.id for one in guide.libraries}
    for row in (*guide.reasons, *guide.notes, *guide.starts):
        for name, choices in row.when.items():
            for choice_id in sorted(set(choices) - known.get(name, set())):
                yield f"a row is for `{name}: {choice_id}`, which is not an answer"


def _broken_source(row: AdviceRow) -> str | None:
    if not row.source.startswith("https://"):
        return f"`{row.text[:40]}` has no public source"
    if not re.fullmatch(r"20\d\d-\d\d-\d\d", row.read):
        return f"`{row.text[:40]}` does not say when its source was read"
    return None


def _without_advice(guide: LibraryQuestionnaire, answers: Answers) -> str | None:
    try:
        recommend_library(guide, answers)
    except Problem as problem:
        return problem.full_text
    return None


def list_answer_combinations(guide: LibraryQuestionnaire) -> Iterator[Answers]:
    """Yield every combination of answers."""
    names = [question.id for question in guide.questions]
    for chosen in itertools.product(*(question.choices for question in guide.questions)):
        yield dict(zip(names, (one.id for one in chosen), strict=True))
