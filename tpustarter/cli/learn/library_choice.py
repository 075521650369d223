"""`tpustarter learn --which`: three questions and a library, with reasons and sources.

The questions are asked on stderr; without a terminal, the options must answer them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content import library_choice
from tpustarter.learning.content.library_choice import (
    AdviceRow,
    LibraryAdvice,
    LibraryQuestion,
    LibraryQuestionnaire,
)
from tpustarter.learning.content.paths import LessonPath, read_paths
from tpustarter.machine import host
from tpustarter.text import phrases
from tpustarter.text.terminal import choose_paint, escape_text, wrap

READ_ON = "pytorch/which-library"
"""The lesson that compares the libraries in detail."""
_COLOURS = {"answer": "green", "heading": "cyan"}


def print_recommendation(given: Mapping[str, str | None], *, as_json: bool) -> None:
    """Print the library for the given answers, and ask the user for missing ones.

    Args:
        given: The text typed for each question's option, by name; None if nothing was typed.
        as_json: True to print one JSON document.
    """
    with print_errors_as_json(library_choice.SCHEMA, wanted=as_json):
        guide = library_choice.read_questionnaire()
        answers = {
            question.id: library_choice.parse_answer(question, typed)
            for question in guide.questions
            if (typed := given.get(question.id)) is not None
        }
        unanswered = [question for question in guide.questions if question.id not in answers]
        if unanswered and not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise _nobody_to_ask(guide, unanswered)
        for number, question in enumerate(unanswered, 1):
            if len(unanswered) > 1:
                click.echo(f"\nQuestion {number} of {len(unanswered)}", err=True, nl=False)
            answers[question.id] = _ask(question)
        advice = library_choice.recommend_library(guide, answers)
        if as_json:
            print_result(library_choice.make_json_document(advice))
            return
        paths = read_paths()
        echo_lines(
            _describe(
                advice, content.read_lessons(), paths, learn_next_step.find_learning_path(paths)
            )
        )


def _nobody_to_ask(guide: LibraryQuestionnaire, unanswered: Sequence[LibraryQuestion]) -> Problem:
    missing = [f"`--{question.id}`" for question in unanswered]
    example = " ".join(f"--{question.id} {question.choices[-1].id}" for question in guide.questions)
    lines = [
        "answer the questions with options, for example",
        f"  tpustarter learn --which {example}",
    ]
    for question in unanswered:
        names = ", ".join(one.id for one in question.choices)
        more = f", {library_choice.EXAMPLE}" if question.takes_tpus else ""
        lines.append(f"  --{question.id:<5} {names}{more}")
    are = phrases.choose_plural(len(missing), "is", "are")
    return Problem(
        f"there is no terminal to ask on, and {phrases.join_words(missing)} {are} missing",
        hint="\n".join(lines),
        code=ExitCode.USAGE,
    )


def _ask(question: LibraryQuestion) -> str:
    """Ask until there is a valid answer, and return its id; raises Problem at the end of input."""
    number_here = _number_of_this_machine(question)
    click.echo(f"\n{question.ask}", err=True)
    for number, one in enumerate(question.choices, 1):
        here = "  (this machine)" if number == number_here else ""
        click.echo(f"  {number}  {one.title}{here}", err=True)
    expected = f"a number from 1 to {len(question.choices)}"
    default = f", or press Enter for {number_here}" if number_here else ""
    while True:
        click.echo(f"Type {expected}{default}: ", err=True, nl=False)
        typed = sys.stdin.readline()
        if not typed:
            click.echo(err=True)
            raise Problem(
                f"the question about `--{question.id}` was not answered",
                hint=f"run `tpustarter learn --which` again, or answer it with `--{question.id}`",
                code=ExitCode.USAGE,
            )
        if found := library_choice.find_choice(question, typed.strip() or str(number_here or "")):
            return found.id
        names = f"one of {', '.join(one.id for one in question.choices)}"
        given = escape_text(typed.strip()[:40])
        refusal = f"`{given}` is not an answer. " if given else ""
        for line in wrap(f"{refusal}Type {expected}, or {names}."):
            click.echo(line, err=True)


def _number_of_this_machine(
    question: LibraryQuestion, machine: host.Machine | None = None
) -> int | None:
    generation = host.find_generation(machine or host.Machine())
    for number, one in enumerate(question.choices, 1):
        if generation and generation.name in one.generations:
            return number
    return None


def _describe(
    advice: LibraryAdvice,
    lessons: Sequence[Lesson],
    paths: Sequence[LessonPath],
    followed: LessonPath | None = None,
) -> Iterator[str]:
    paint = choose_paint(_COLOURS)
    titles = {lesson.id: lesson.title for lesson in lessons}
    yield f"Take {paint(advice.library.title, 'answer')}."
    yield f"\n{paint('Why', 'heading')}"
    yield from _describe_rows(advice.reasons)
    if advice.notes:
        yield f"\n{paint('What to know', 'heading')}"
        yield from _describe_rows(advice.notes)
    yield f"\n{paint('Install it', 'heading')}"
    for command in advice.library.install:
        yield f"  {command}"
    yield f"\n{paint('Begin with', 'heading')}"
    names = list(dict.fromkeys((advice.start.lesson, READ_ON)))
    for lesson in names:
        yield from wrap(
            escape_text(titles.get(lesson, "")), f"  tpustarter learn {lesson}  ", "      "
        )
    yield from _describe_path(names, advice, paths, followed)
    options = " ".join(f"--{name} {answer}" for name, answer in advice.answers.items())
    yield f"\n{paint('The same without questions', 'heading')}"
    yield f"  tpustarter learn --which {options}"


def _describe_path(
    names: Sequence[str],
    advice: LibraryAdvice,
    paths: Sequence[LessonPath],
    followed: LessonPath | None,
) -> Iterator[str]:
    """Yield the path that contains the first lesson, preferring the learner's own path."""
    advised = [path for path in paths if path.id == advice.start.path]
    candidates = [*filter(None, [followed]), *advised, *paths]
    path = next((path for path in candidates if names[0] in path.lessons), None)
    if not path:
        return
    both = len(names) > 1 and names[1] in path.lessons
    what = "Both are" if both else "The first one is" if len(names) > 1 else "It is"
    whose = "your" if path is followed else "the"
    yield from wrap(escape_text(f'{what} on {whose} path "{path.title}".'), "  ")


def _describe_rows(rows: Sequence[AdviceRow]) -> Iterator[str]:
    for row in rows:
        yield from wrap(escape_text(row.text), "  * ", "    ")
        yield from wrap(f"{row.source} (read {row.read})", "    ")
