"""The linter for lessons, which reports each problem as one sentence with its line.

A rule is a function that takes a lesson and yields complaints. Rules about all lessons together
(ids, paths, the glossary) run once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tpustarter.checking.plan import framework_plan, interpreters
from tpustarter.core import content, locations
from tpustarter.core.content import Lesson
from tpustarter.core.json_values import as_object, is_array, items_of_type
from tpustarter.core.problem import Problem
from tpustarter.learning.content import (
    block_names,
    code_files,
    exercises,
    library_choice,
    tutorial_claims,
)
from tpustarter.learning.content.blocks import ANSWER, HINT, list_blocks, parse_lesson
from tpustarter.learning.content.markdown import (
    find_links,
    list_anchors,
    parse_tokens,
    source_lines,
    token_line_range,
)
from tpustarter.learning.content.paths import LessonPath, read_paths
from tpustarter.learning.lint import documented_commands, synonyms_file_mistakes
from tpustarter.machine import frameworks

MAX_COLUMNS = 100
MAX_CODE_COLUMNS = 74
"""Maximum width of code and output, so that a terminal of 80 columns shows them whole."""
MAX_MINUTES = 45
MAX_STAGE = 8
"""Maximum lessons per stage: Home lists them on 24 lines together with the next step."""
MAX_STAGE_TITLE = 34
"""Maximum characters: 80 columns fit it with its lessons and its time."""
FORBIDDEN = re.compile(
    r"\b(simply|just|obviously|oops|please(?! provide a TPU Name)|something went wrong)\b",
    re.IGNORECASE,
)
"""Words that patronise or mean nothing; TensorFlow's own message is allowed, because people search
for it.
"""
_CHECK_COMMAND = re.compile(r"tpustarter check ((?:'?[a-z_]+\.[\w*]+'? ?)+)")
_ALLOWED_NEEDS = (
    "`framework`, or one with its oldest version, a list of `packages`, and a number of `devices` "
    f"from 2 to {framework_plan.VIRTUAL_DEVICES}"
)
_REQUIRED = ("title", "minutes", "needs", "checks", "sources")

Complaints = Iterator[tuple[int, str]]
"""A line number and the problem found there."""


def list_lesson_mistakes(folder: Path | None = None) -> list[str]:
    """Return all problems in a folder of lessons, including lessons that cannot be read."""
    folder = folder or locations.content_folder("lessons")
    results = [_read_lesson(path) for path in sorted(folder.glob("*/*.md"))]
    lessons = [result for result in results if isinstance(result, Lesson)]
    unreadable = [result.full_text for result in results if isinstance(result, Problem)]
    check_ids = {check.id for check in content.read_checks()}
    messages = lint_lessons(lessons, check_ids)
    claim_messages = tutorial_claims.find_claim_mistakes(
        tutorial_claims.read_claims(folder), lessons, check_ids
    )
    return [
        *unreadable,
        *messages,
        *_lint_paths(folder, [lesson.id for lesson in lessons]),
        *claim_messages,
        *_lint_which(folder, [lesson.id for lesson in lessons]),
        *synonyms_file_mistakes.find_synonyms_file_mistakes(folder, lessons),
    ]


def _read_lesson(path: Path) -> Lesson | Problem:
    try:
        return content.read_lesson(path)
    except Problem as problem:
        return problem


def lint_lessons(lessons: Sequence[Lesson], check_ids: set[str]) -> list[str]:
    """Return the problems of lessons that could be read."""
    ids = [lesson.id for lesson in lessons]
    messages = [
        f"{lesson_id}: {ids.count(lesson_id)} lessons have this id"
        for lesson_id in sorted(set(ids))
        if ids.count(lesson_id) > 1
    ]
    commands = (
        documented_commands.read_documented_commands(lessons[0].path.parents[1]) if lessons else []
    )
    for lesson in lessons:
        rules: list[Callable[[], Complaints]] = [
            lambda lesson=lesson: _lint_header(lesson, check_ids),
            lambda lesson=lesson: _lint_blocks(lesson),
            lambda lesson=lesson: _lint_code(lesson),
            lambda lesson=lesson: _lint_links(lesson.path, lesson.text, lesson.first_line),
            lambda lesson=lesson: _lint_prose(lesson),
            lambda lesson=lesson: _lint_check_commands(lesson, check_ids),
            lambda lesson=lesson: documented_commands.find_undocumented_commands(lesson, commands),
            lambda lesson=lesson: _lint_exercises(lesson),
        ]
        name = f"{lesson.path.parent.name}/{lesson.path.name}"
        complaints = [complaint for rule in rules for complaint in rule()]
        messages += [f"{name}:{line}: {what}" for line, what in sorted(complaints)]
    for glossary in sorted({lesson.path.parents[1] / "glossary.md" for lesson in lessons}):
        text = _read_text(glossary)
        if text is None and os.path.lexists(glossary):
            messages.append("glossary.md: cannot be read")
        elif text is not None:
            messages += [
                f"glossary.md:{line}: {what}" for line, what in _lint_links(glossary, text, 1)
            ]
            messages += [
                f"glossary.md:{line}: {what}" for line, what in _lint_words(text.split("\n"), 1)
            ]
    return messages


def _lint_header(lesson: Lesson, check_ids: set[str]) -> Complaints:
    header = lesson.header
    yield from _lint_keys(header)
    minutes = header.get("minutes")
    if isinstance(minutes, int) and not 1 <= minutes <= MAX_MINUTES:
        yield 1, f"`minutes` is {minutes}, expected 1 to {MAX_MINUTES}"
    yield from _lint_needs(header.get("needs"))
    for check in _strings(header.get("checks")):
        if check not in check_ids:
            yield 1, f"there is no check `{check}`"
    for steps in as_object(header.get("setups")).values():
        yield from _lint_proofs(steps, check_ids)
    for source in _strings(header.get("sources")):
        if not source.startswith("https://"):
            yield 1, f"the source `{source}` is not a public address"
    for line in _strings([header.get("title")]):
        for word in FORBIDDEN.findall(line):
            yield 1, f"`{word}` in the title"


def _lint_keys(header: dict[str, object]) -> Complaints:
    for key in sorted(set(_REQUIRED) - set(header)):
        yield 1, f"the header has no `{key}`"
    for key in header:
        if key not in content.HEADER:
            yield 1, f"`{key}` in the header is not one of {', '.join(content.HEADER)}"


def _lint_needs(needs: object) -> Complaints:
    for key, value in as_object(needs).items():
        if key == "framework":
            names, allowed = [str(value)], tuple(frameworks.FRAMEWORKS)
        elif key == "packages" and is_array(value):
            names, allowed = _strings(value), tuple(interpreters.PACKAGES)
        else:
            names, allowed = [], ()
            if not _is_sound_number(key, value):
                yield 1, f"`needs` has `{key}: {value}`, expected {_ALLOWED_NEEDS}"
        for name in names:
            if name not in allowed:
                yield 1, f"`{name}` is not one of {', '.join(allowed)}"


def _is_sound_number(key: str, value: object) -> bool:
    """Return whether a value is a framework's oldest version or a number of devices."""
    if key == "devices":
        return value in range(2, framework_plan.VIRTUAL_DEVICES + 1)
    return key in frameworks.FRAMEWORKS and bool(re.fullmatch(r"\d+(\.\d+)*", str(value)))


def _lint_proofs(steps: object, check_ids: set[str]) -> Complaints:
    for step in items_of_type(steps, dict[str, object]):
        proof = step.get("proof")
        if proof is not None and proof not in check_ids:
            yield 1, f"there is no check `{proof}` to prove a step"


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if is_array(value) else []


def _lint_blocks(lesson: Lesson) -> Complaints:
    try:
        blocks = list_blocks(lesson)
    except Problem as problem:
        yield 1, problem.full_text
        return
    yield from block_names.find_unavailable_names(blocks)
    yield from _lint_hints(lesson)
    for block in blocks:
        if block.expected_on("cpu") is None:
            yield block.line, f"the block `{block.id}` has no output for `any` or `cpu`"
        for expected in block.expected:
            prefix = f"On a {expected.platform.upper()}"  # GitHub does not show `on=`
            if expected.platform in ("tpu", "gpu") and not expected.label.startswith(prefix):
                message = f"an output of `{block.id}` holds on {expected.platform} alone"
                yield expected.line, f"{message}, expected `*{prefix}:*`, or more words, above it"
        for what in _lint_imports(lesson, block.code):
            yield block.line, f"the block `{block.id}` {what}"


def _lint_hints(lesson: Lesson) -> Complaints:
    """Yield each task without exactly one hint between it and its answer."""
    task, folds = None, list[str]()
    for part in parse_lesson(lesson):
        if part.block and part.block.is_try:
            task, folds = part.block, []
        elif task and part.fold:
            folds.append(part.fold)
        if task and part.fold == ANSWER:
            if folds != [HINT, ANSWER]:
                what = f"`<details><summary>{HINT}</summary>`"
                yield task.line, f"the task `{task.id}` has no {what} alone above its answer"
            task = None


def _lint_code(lesson: Lesson) -> Complaints:
    for what in code_files.find_code_file_mistakes(lesson):
        yield 1, what
    for name in lesson.code_names:
        text = _read_text(lesson.path.parent / "code" / name) or ""
        for what in _lint_imports(lesson, text) if name.endswith(".py") else ():
            yield 1, f"`{name}` {what}"


def _lint_imports(lesson: Lesson, code: str) -> Iterator[str]:
    for name, module in interpreters.PACKAGES.items():
        import_pattern = rf"^\s*(import|from) {module}\b"
        if name not in lesson.packages and re.search(import_pattern, code, re.MULTILINE):
            yield f"imports `{module}`, expected `{name}` in the `packages` of `needs`"


def _lint_links(path: Path, text: str, first_line: int) -> Complaints:
    for line, target in find_links(text):
        if target.startswith("https://"):
            continue
        name, _, heading = target.partition("#")
        linked_text = _read_text((path.parent / name) if name else path)
        if ":" in name or linked_text is None:
            yield first_line + line, f"the link `{target}` leads nowhere"
        elif heading and heading not in list_anchors(linked_text):
            yield first_line + line, f"the link `{target}` names a heading that is not there"


def _read_text(path: Path) -> str | None:
    try:
        return locations.read_text(path)
    except (OSError, ValueError):
        return None


def _lint_prose(lesson: Lesson) -> Complaints:
    lines = source_lines(lesson)
    headings = [line for line in lines if line.startswith("# ")]
    if headings[:1] != [f"# {lesson.title}"]:
        yield lesson.first_line, f"the first heading is not the title, `# {lesson.title}`"
    limits: dict[int, int] = {}
    for token in parse_tokens("\n".join(lines)):
        if token.type == "fence":  # a question is wrapped for display
            limit = MAX_COLUMNS if token.info.startswith("quiz") else MAX_CODE_COLUMNS
            start, end = token_line_range(token)
            limits |= dict.fromkeys(range(start + 1, end), limit)
    for number, line in enumerate(lines):
        limit = limits.get(number, MAX_COLUMNS)
        if len(line) > limit and not line.startswith("|"):
            file_line = lesson.first_line + number
            yield file_line, f"{len(line)} characters in a line, expected {limit} at most here"
    yield from _lint_words(lines, lesson.first_line)


def _lint_words(lines: Sequence[str], first_line: int) -> Complaints:
    for number, line in enumerate(lines):
        for word in FORBIDDEN.findall(line):
            yield first_line + number, f"the word `{word}`"


def _lint_check_commands(lesson: Lesson, check_ids: set[str]) -> Complaints:
    for number, line in enumerate(source_lines(lesson)):
        for arguments in _CHECK_COMMAND.findall(line):
            for name in arguments.replace("'", "").split():
                if not any(fnmatchcase(check_id, name) for check_id in check_ids):
                    yield lesson.first_line + number, f"`tpustarter check {name}` matches no check"


def _lint_exercises(lesson: Lesson) -> Complaints:
    try:
        for exercise in exercises.read_exercises(lesson):
            if not exercise.learned:
                what = f"no last paragraph `{exercises.LEARNED}...` above its solution"
                yield 1, f"the exercise `{exercise.id}` has {what}"
    except Problem as problem:
        yield 1, problem.full_text


def _lint_paths(folder: Path, lesson_ids: Iterable[str]) -> list[str]:
    try:
        paths = read_paths(folder)
    except Problem as problem:
        return [problem.full_text]
    known_ids = set(lesson_ids)
    messages = [
        f"paths.yml: `{path.id}` names `{lesson_id}`, which does not exist"
        for path in paths
        for lesson_id in path.lessons
        if lesson_id not in known_ids
    ]
    messages += [
        f"paths.yml: `{path.id}` names a lesson twice"
        for path in paths
        if len(set(path.lessons)) < len(path.lessons)
    ]
    messages += [f"paths.yml: `{path.id}`: {what}" for path in paths for what in _lint_stages(path)]
    path_ids = [path.id for path in paths]
    messages += [
        f"paths.yml: a second path `{path_id}`"
        for path_id in sorted(set(path_ids))
        if path_ids.count(path_id) > 1
    ]
    on_a_path = {lesson_id for path in paths for lesson_id in path.lessons}
    return [
        *messages,
        *(
            f"paths.yml: no path leads to `{lesson_id}`"
            for lesson_id in sorted(known_ids - on_a_path)
        ),
    ]


def _lint_stages(path: LessonPath) -> Iterator[str]:
    titles = [stage.title for stage in path.stages]
    for stage in path.stages:
        count = len(stage.lessons)
        if not 1 <= count <= MAX_STAGE:
            yield f"{count} lessons in the stage `{stage.title}`, expected 1 to {MAX_STAGE}"
        if not stage.title and len(titles) > 1:
            yield f"`{stage.lessons[0]}` is in no stage"
        if len(stage.title) > MAX_STAGE_TITLE:
            length = len(stage.title)
            yield f"the stage `{stage.title}` has {length} characters, expected {MAX_STAGE_TITLE}"
    for title in sorted({title for title in titles if titles.count(title) > 1}):
        yield f"a second stage `{title}`"


def _lint_which(folder: Path, lesson_ids: Collection[str]) -> list[str]:
    if not (folder / library_choice.FILE).exists():
        return []
    try:
        path_ids = [path.id for path in read_paths(folder)]
        return list(
            library_choice.find_library_guide_mistakes(
                library_choice.read_questionnaire(folder), lesson_ids, path_ids
            )
        )
    except Problem as problem:
        return [problem.full_text]
