"""`tpustarter learn --which`: three questions, and the library to take, with reasons and sources.

The questions are asked on stderr, and where nobody can be asked the options answer them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from tpustarter import content
from tpustarter.cli import onward
from tpustarter.cli.endings import json_even_if_it_breaks, print_result
from tpustarter.cli.saying import say
from tpustarter.content import Lesson
from tpustarter.learning import which
from tpustarter.learning.paths import LessonPath, read_paths
from tpustarter.learning.which import Advice, Guide, Question, Row
from tpustarter.machine import host
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import paint_for, visible, wrap

READ_ON = "pytorch/which-library"
"""The lesson that compares the libraries at length."""
_COLOURS = {"answer": "green", "heading": "cyan"}


def recommend(given: Mapping[str, str | None], *, as_json: bool) -> None:
    """Print the library for these answers; what was not given is asked for.

    Args:
        given: What was typed for each question's option, by its name; None where nothing was.
        as_json: Print one JSON document.
    """
    with json_even_if_it_breaks(which.SCHEMA, wanted=as_json):
        guide = which.read()
        answers = {
            question.id: which.parse_answer(question, typed)
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
        advice = which.advise(guide, answers)
        if as_json:
            print_result(which.document(advice))
            return
        paths = read_paths()
        say(_describe(advice, content.read_lessons(), paths, onward.path_here(paths)))


def _nobody_to_ask(guide: Guide, unanswered: Sequence[Question]) -> Problem:
    """Return the error that lists the options which are missing, with their values."""
    missing = [f"`--{question.id}`" for question in unanswered]
    example = " ".join(f"--{question.id} {question.choices[-1].id}" for question in guide.questions)
    lines = [
        "answer the questions with options, for example",
        f"  tpustarter learn --which {example}",
    ]
    for question in unanswered:
        names = ", ".join(one.id for one in question.choices)
        more = f", {which.EXAMPLE}" if question.takes_tpus else ""
        lines.append(f"  --{question.id:<5} {names}{more}")
    is_or_are = "is" if len(missing) == 1 else "are"
    return Problem(
        f"there is no terminal to ask on, and {', '.join(missing)} {is_or_are} missing",
        hint="\n".join(lines),
        code=ExitCode.USAGE,
    )


def _ask(question: Question) -> str:
    """Ask until there is an answer, and return its id; raises Problem at the end of input."""
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
        if found := which.choice(question, typed.strip() or str(number_here or "")):
            return found.id
        names = f"one of {', '.join(one.id for one in question.choices)}"
        given = visible(typed.strip()[:40])
        refusal = f"`{given}` is not an answer. " if given else ""
        for line in wrap(f"{refusal}Type {expected}, or {names}."):
            click.echo(line, err=True)


def _number_of_this_machine(question: Question, machine: host.Machine | None = None) -> int | None:
    """Return the number of the answer that names the TPU in this machine; None without one."""
    generation = host.generation(machine or host.Machine())
    for number, one in enumerate(question.choices, 1):
        if generation and generation.name in one.generations:
            return number
    return None


def _describe(
    advice: Advice,
    lessons: Sequence[Lesson],
    paths: Sequence[LessonPath],
    followed: LessonPath | None = None,
) -> Iterator[str]:
    """Yield the recommendation: what, why, what to know, what to type and what to read.

    Args:
        advice: The recommendation.
        lessons: What there is to read.
        paths: The orders in which to read.
        followed: The one that the learner follows, if any.
    """
    paint = paint_for(_COLOURS)
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
        yield from wrap(visible(titles.get(lesson, "")), f"  tpustarter learn {lesson}  ", "      ")
    yield from _describe_path(names, advice, paths, followed)
    options = " ".join(f"--{name} {answer}" for name, answer in advice.answers.items())
    yield f"\n{paint('The same without questions', 'heading')}"
    yield f"  tpustarter learn --which {options}"


def _describe_path(
    names: Sequence[str],
    advice: Advice,
    paths: Sequence[LessonPath],
    followed: LessonPath | None,
) -> Iterator[str]:
    """Yield which path the first of these lessons is on: the learner's own before any other."""
    advised = [path for path in paths if path.id == advice.start.path]
    candidates = [*filter(None, [followed]), *advised, *paths]
    path = next((path for path in candidates if names[0] in path.lessons), None)
    if not path:
        return
    both = len(names) > 1 and names[1] in path.lessons
    what = "Both are" if both else "The first one is" if len(names) > 1 else "It is"
    whose = "your" if path is followed else "the"
    yield from wrap(visible(f'{what} on {whose} path "{path.title}".'), "  ")


def _describe_rows(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield from wrap(visible(row.text), "  * ", "    ")
        yield f"    {row.source} (read {row.read})"
