"""Says what is wrong with lessons before a learner meets it: one sentence each, with file and line.

A rule is a function that takes a lesson and yields complaints. What all lessons share (ids, paths,
the glossary) is looked at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from tpustarter import content, locations
from tpustarter.checking import interpreters
from tpustarter.content import Lesson
from tpustarter.learning import documented, exercises, then_now
from tpustarter.learning.blocks import blocks_of
from tpustarter.learning.markdown import anchors, links, source_lines, tokens
from tpustarter.problem import Problem

MAX_COLUMNS = 100
MAX_CODE_COLUMNS = 74
"""Of code and what it prints: a terminal of 80 columns shows it whole."""
MAX_MINUTES = 30
FORBIDDEN = re.compile(
    r"\b(simply|just|obviously|oops|please|something went wrong)\b", re.IGNORECASE
)
"""Words that patronise, or say nothing."""
_CHECKED = re.compile(r"tpustarter check ((?:'?[a-z_]+\.[\w*]+'? ?)+)")
_REQUIRED = ("title", "minutes", "needs", "checks", "sources")

Complaints = Iterator[tuple[int, str]]
"""Line of the file, and what is wrong there."""


def everything(folder: Path | None = None) -> list[str]:
    """Return what is wrong in a folder of lessons: those that cannot be read as well."""
    folder = folder or locations.content("lessons")
    read = [_read(path) for path in sorted(folder.glob("*/*.md"))]
    lessons = [one for one in read if isinstance(one, Lesson)]
    unreadable = [one.what for one in read if isinstance(one, Problem)]
    check_ids = {check.id for check in content.read_checks()}
    found = lint(lessons, check_ids)
    claims = then_now.complaints(then_now.read(folder), lessons, check_ids)
    return [*unreadable, *found, *_paths(folder, [lesson.id for lesson in lessons]), *claims]


def _read(path: Path) -> Lesson | Problem:
    try:
        return content.read_lesson(path)
    except Problem as problem:
        return problem


def lint(lessons: Sequence[Lesson], check_ids: set[str]) -> list[str]:
    """Return what is wrong with lessons that could be read."""
    ids = [lesson.id for lesson in lessons]
    found = [f"{one}: {ids.count(one)} lessons have this id" for one in sorted(set(ids))
             if ids.count(one) > 1]  # fmt: skip
    commands = documented.read(lessons[0].path.parents[1]) if lessons else []
    for lesson in lessons:
        rules: list[Callable[[], Complaints]] = [
            lambda lesson=lesson: _header(lesson, check_ids, set(ids)),
            lambda lesson=lesson: _blocks(lesson),
            lambda lesson=lesson: _links(lesson.path, lesson.text, lesson.first_line),
            lambda lesson=lesson: _prose(lesson),
            lambda lesson=lesson: _checks_to_run(lesson, check_ids),
            lambda lesson=lesson: documented.complaints(lesson, commands),
            lambda lesson=lesson: _exercises(lesson),
        ]
        name = f"{lesson.path.parent.name}/{lesson.path.name}"
        complaints = [complaint for rule in rules for complaint in rule()]
        found += [f"{name}:{line}: {what}" for line, what in sorted(complaints)]
    for glossary in sorted({lesson.path.parents[1] / "glossary.md" for lesson in lessons}):
        text = _text(glossary)
        if text is None and os.path.lexists(glossary):
            found.append("glossary.md: cannot be read")
        elif text is not None:
            found += [f"glossary.md:{line}: {what}" for line, what in _links(glossary, text, 1)]
            found += [f"glossary.md:{line}: {what}" for line, what in _words(text.split("\n"), 1)]
    return found


def _header(lesson: Lesson, check_ids: set[str], lesson_ids: set[str]) -> Complaints:
    header = lesson.header
    yield from _keys(header)
    minutes = header.get("minutes")
    if isinstance(minutes, int) and not 1 <= minutes <= MAX_MINUTES:
        yield 1, f"`minutes` is {minutes}, expected 1 to {MAX_MINUTES}"
    yield from _needs(header.get("needs"))
    for check in _texts(header.get("checks")):
        if check not in check_ids:
            yield 1, f"there is no check `{check}`"
    yield from _proofs(header.get("steps"), check_ids)
    following = header.get("next")
    if isinstance(following, str) and following not in lesson_ids:
        yield 1, f"the next lesson `{following}` does not exist"
    for source in _texts(header.get("sources")):
        if not source.startswith("https://"):
            yield 1, f"the source `{source}` is no public address"
    for line in _texts([header.get("title")]):
        for word in FORBIDDEN.findall(line):
            yield 1, f"`{word}` in the title"


def _keys(header: dict[str, Any]) -> Complaints:
    for key in sorted(set(_REQUIRED) - set(header)):
        yield 1, f"the header has no `{key}`"
    for key in header:
        if key not in content.HEADER:
            yield 1, f"`{key}` in the header is not one of {', '.join(content.HEADER)}"


def _needs(needs: Any) -> Complaints:
    for key, value in cast("dict[str, Any]", needs).items() if isinstance(needs, dict) else ():
        if key == "framework":
            named, known = [str(value)], tuple(interpreters.FRAMEWORKS)
        elif key == "packages" and isinstance(value, list):
            named, known = _texts(value), tuple(interpreters.PACKAGES)
        else:
            yield 1, f"`needs` has `{key}: {value}`, expected `framework`, and a list of `packages`"
            continue
        for name in named:
            if name not in known:
                yield 1, f"`{name}` is not one of {', '.join(known)}"


def _proofs(steps: Any, check_ids: set[str]) -> Complaints:
    for step in cast("list[Any]", steps) if isinstance(steps, list) else ():
        proof = cast("dict[str, Any]", step).get("proof") if isinstance(step, dict) else None
        if proof is not None and proof not in check_ids:
            yield 1, f"there is no check `{proof}` to prove a step"


def _texts(value: Any) -> list[str]:
    return [str(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []


def _blocks(lesson: Lesson) -> Complaints:
    try:
        blocks = blocks_of(lesson)
    except Problem as problem:
        yield 1, problem.what
        return
    for block in blocks:
        if block.expected_on("cpu") is None:
            yield block.line, f"the block `{block.id}` has no output for `any` or `cpu`"
        for one in block.expected:
            begin = f"On a {one.on.upper()}"
            if one.on in ("tpu", "gpu") and not one.label.startswith(begin):  # no `on=` on GitHub
                found = f"an output of `{block.id}` holds on {one.on} alone"
                yield one.line, f"{found}, expected `*{begin}:*`, or more words, above it"
        for name, module in interpreters.PACKAGES.items():
            imported = rf"^\s*(import|from) {module}\b"
            if name not in lesson.packages and re.search(imported, block.code, re.MULTILINE):
                told = f"the block `{block.id}` imports `{module}`"
                yield block.line, f"{told}, expected `{name}` in the `packages` of `needs`"


def _links(path: Path, text: str, first_line: int) -> Complaints:
    for line, target in links(text):
        if target.startswith("https://"):
            continue
        name, _, heading = target.partition("#")
        told = _text((path.parent / name) if name else path)
        if ":" in name or told is None:
            yield first_line + line, f"the link `{target}` leads nowhere"
        elif heading and heading not in anchors(told):
            yield first_line + line, f"the link `{target}` names a heading that is not there"


def _text(path: Path) -> str | None:
    """Return the text of a file; None where there is none that can be read."""
    try:
        return locations.read_text(path)
    except (OSError, ValueError):
        return None


def _prose(lesson: Lesson) -> Complaints:
    lines = source_lines(lesson)
    headings = [line for line in lines if line.startswith("# ")]
    if headings[:1] != [f"# {lesson.title}"]:
        yield lesson.first_line, f"the first heading is not the title, `# {lesson.title}`"
    limits: dict[int, int] = {}
    for one in tokens("\n".join(lines)):
        if one.type == "fence":  # a question is wrapped where it is shown
            most = MAX_COLUMNS if one.info.startswith("quiz") else MAX_CODE_COLUMNS
            limits |= dict.fromkeys(range(one.map[0] + 1, one.map[1]), most)
    for number, line in enumerate(lines):
        most = limits.get(number, MAX_COLUMNS)
        if len(line) > most and not line.startswith("|"):
            where = lesson.first_line + number
            yield where, f"{len(line)} characters in a line, expected {most} at most here"
    yield from _words(lines, lesson.first_line)


def _words(lines: Sequence[str], first_line: int) -> Complaints:
    for number, line in enumerate(lines):
        for word in FORBIDDEN.findall(line):
            yield first_line + number, f"the word `{word}`"


def _checks_to_run(lesson: Lesson, check_ids: set[str]) -> Complaints:
    for number, line in enumerate(source_lines(lesson)):
        for told in _CHECKED.findall(line):
            for name in told.replace("'", "").split():
                if not any(fnmatchcase(one, name) for one in check_ids):
                    yield lesson.first_line + number, f"`tpustarter check {name}` matches no check"


def _exercises(lesson: Lesson) -> Complaints:
    try:
        exercises.read(lesson)
    except Problem as problem:
        yield 1, problem.what


def _paths(folder: Path, lesson_ids: Iterable[str]) -> list[str]:
    try:
        paths = content.read_paths(folder)
    except Problem as problem:
        return [problem.what]
    known = set(lesson_ids)
    found = [f"paths.yml: `{path.id}` names `{one}`, which does not exist"
             for path in paths for one in path.lessons if one not in known]  # fmt: skip
    found += [f"paths.yml: `{path.id}` names a lesson twice"
              for path in paths if len(set(path.lessons)) < len(path.lessons)]  # fmt: skip
    ids = [path.id for path in paths]
    found += [f"paths.yml: a second path `{one}`" for one in sorted(set(ids)) if ids.count(one) > 1]
    on_a_path = {one for path in paths for one in path.lessons}
    return [*found, *(f"paths.yml: no path leads to `{one}`" for one in sorted(known - on_a_path))]
