"""Assertions on shipped content, run in this Python: blocks of lessons, and exercises."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import resources

import jsonschema

from tests.support.compiler_flags import fast_compiler
from tests.support.made_lessons import run_block
from tests.support.processes import HANG_S
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.learning.content import exercises
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.run import lesson_run_text
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import BlockPlots, LessonSession
from tpustarter.learning.run.lessons_run import BlockStarted, LessonsRun, LessonStarted
from tpustarter.machine import host

SCHEMA = json.loads(resources.files("tpustarter.learning").joinpath("schema.json").read_text())
SEARCH_SCHEMA = json.loads(
    resources.files("tpustarter.learning").joinpath("search.schema.json").read_text()
)

MOST_ID, MOST_TITLE = 32, 60
"""Maximum length in characters of a check's id and of its title: 80 columns show the id and the
seconds, and a title if it fits."""
DEFAULT = (None, "jax")
"""Frameworks of the lessons that the default suite runs; the others have their own lanes."""


def lessons(*frameworks: str | None) -> list[Lesson]:
    """Return the shipped lessons of some frameworks; None selects those that need none."""
    return [one for one in content.read_lessons() if one.framework in frameworks]


def shipped_exercises(*frameworks: str | None) -> list[Exercise]:
    """Return the exercises of those lessons."""
    return [one for lesson in lessons(*frameworks) for one in exercises.read_exercises(lesson)]


RESTARTS = "project/killed-and-resumed"
"""A lesson that starts one program eight times."""
TRAIN = (
    "project/generate",
    "project/input-with-grain",
    "project/int8",
    "project/mixed-precision",
    "project/train-it",
    RESTARTS,
)
"""Lessons with dozens or hundreds of training steps."""


def compiler_for(lesson: Lesson) -> dict[str, str]:
    """Return the variables for the blocks of a lesson.

    There are none for the compiler's figures of work, which differ by a few thousandths. What it
    says of memory is the same.
    """
    if lesson.framework != "jax" or "cost_analysis" in lesson.text:
        return {}
    kept = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"} if lesson.id == RESTARTS else {}
    return {**fast_compiler(int(lesson.id in TRAIN)), **kept}


def patient(block: Block) -> Block:
    """Return a block with a timeout that only a hang reaches, even on a busy machine."""
    return replace(block, timeout_s=max(block.timeout_s, 4 * HANG_S))


def every_block_holds(lesson: Lesson, env: Mapping[str, str], *, devices: int = 8) -> None:
    """Run a lesson, and assert that all its blocks match and that no TPU counts as tested.

    A block for the reader to change runs twice, as shipped and then with its answer, because the
    unchanged block must not pass.
    """
    machine = host.Machine(env={**env, **compiler_for(lesson)})
    practice = LessonsRun([lesson], python=sys.executable, machine=machine, devices=devices)
    practice.blocks[lesson.id] = [patient(block) for block in practice.blocks[lesson.id]]
    unchanged = {}
    for event in practice.events():
        if isinstance(event, LessonStarted):
            session = event.session
        elif isinstance(event, BlockStarted) and event.block.is_try and not session.blocked:
            unchanged[event.block.id] = run_block(session, event.block).status
    document = lesson_run_text.make_json_document(practice)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    [told] = document["lessons"]
    places = [block["ran_on"] for block in told["blocks"] if block["ran_on"]]

    assert [] == [block for block in told["blocks"] if block["status"] != "pass"]
    assert [] == [name for name, status in unchanged.items() if status not in ("fail", "error")]
    assert 0 == document["exit_code"] or not told["blocks"]
    virtual = devices > 1
    kind = "virtual-cpu" if virtual else "cpu"
    assert all((devices, virtual) == (one["count"], one["virtual"]) for one in places)
    assert (kind if places else "none") == document["verified_on"]
    assert (
        lesson.id in lesson_progress.list_done_lessons() | lesson_progress.list_read_lessons()
        or not told["blocks"]
    )
    assert places or lesson.framework is None or not lesson.id.startswith(("jax/", "pytorch/"))


STATE = Block(
    "state",
    """
import os, sys
jax = sys.modules.get("jax")
settings = jax and (sorted(map(str, jax.config.values.items())), jax.sharding.get_abstract_mesh())
print(hash(str((sorted(os.environ.items()), settings))))
""",
    1,
    60.0,
    (),
    alone=True,
)
"""A block that prints a hash of the process state that an exercise could change for the next."""


NUMBERS = re.compile(r"found(?: \w+)* (\[[][\d., -]+), expected(?: \w+)* (\[[][\d., -]+)")
"""Lists of numbers in a verdict, found and expected."""


def exercise_is_judged(one: Exercise, session: LessonSession) -> None:
    """Judge an exercise as shipped, which must fail with an explanation, and as solved."""

    def run(block: Block) -> Iterator[OutputChunk | BlockPlots | BlockResult]:
        return session.run(patient(block))

    framework = one.lesson.framework
    run_block(session, STATE, f"import {framework}" if framework else "pass")
    before = run_block(session, STATE).output
    *_, wrong = exercises.judge_answer(one, run, one.gap)
    *_, right = exercises.judge_answer(one, run, one.solution)
    if run_block(session, STATE).output != before:
        session.close()  # the next exercise gets a fresh process

    assert isinstance(wrong, AnswerVerdict)
    assert wrong.result.status == "fail", wrong.result.output
    assert wrong.why
    for sides in NUMBERS.findall(wrong.why):
        assert 1 == len({"." in side for side in sides}), wrong.why  # both have the same form
    assert isinstance(right, AnswerVerdict)
    assert right.is_right, right.result.output
