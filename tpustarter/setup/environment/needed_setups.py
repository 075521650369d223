"""The set-ups that lessons need, with their sizes, and whether a Python here can do without them.

Both front ends show them: for a path before it is chosen, and for a lesson whose blocks would all
be skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking.plan import framework_plan, interpreters
from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.run.run_target import can_run
from tpustarter.machine import frameworks, host
from tpustarter.setup.environment.setup_profiles import PROFILES, SIZES, SetupProfile
from tpustarter.text import phrases


@dataclass(frozen=True)
class LessonPythons:
    """The Pythons that could run lessons here, and the kind of machine."""

    pythons: tuple[Interpreter, ...]
    """The preferred one first."""
    on_tpu: bool
    """True if this machine has a TPU, for which set-up downloads more."""
    packages: Mapping[Path, frozenset[str]]
    """The packages that each of them has, by its path."""
    env: Mapping[str, str] | None = None
    """The environment variables, which say where a system Python has further packages."""

    def list_missing_packages(self, python: Interpreter, names: Iterable[str]) -> list[str]:
        """Return the install names of the packages that a Python lacks."""
        installed = self.packages[python.path]
        return [name for name in names if name.replace("-", "_") not in installed]


@dataclass(frozen=True)
class NeededSetup:
    """A set-up that lessons need for their framework."""

    profile: SetupProfile
    framework: str
    """The framework's title, with the oldest version for all lessons if an older one is here."""
    lessons: tuple[str, ...]
    """The ids of the lessons that need the framework."""
    blocked: tuple[str, ...]
    """The ids of those whose blocks are skipped, because no Python here can run them."""
    older: str
    """The version in the Python that would run them, if it is too old; or else empty."""
    download: str
    """The size of the download, such as `4.2 GB`."""
    space: str
    """The space on the disk, with the download cache."""
    packages: tuple[str, ...]
    """Further packages that some of the lessons need and that the Python here lacks."""
    with_packages: int
    """The number of lessons that need them."""

    @property
    def command(self) -> str:
        """The command that shows the set-up's plan."""
        return f"tpustarter setup {self.profile.name}"

    @property
    def cost(self) -> str:
        """Return text such as `a download of 4.2 GB, and 8 GB on the disk`."""
        return f"a download of {self.download}, and {self.space} on the disk"

    @property
    def state(self) -> str:
        """Return a clause about the framework on this machine: `which is not here yet`."""
        if not self.blocked:
            return "which is here"
        if not self.older:
            return "which is not here yet"
        return f"and the Python here has {self.older}"

    def describe(self, total: int) -> str:
        """Return sentences on the lessons of a path that need it, of `total`, and on its cost."""
        many = len(self.blocked or self.lessons)
        need = phrases.choose_plural(many, "needs", "need")
        text = f"{many} of {total} lessons {need} {self.framework}, {self.state}."
        if self.blocked:
            text += f" `{self.command}` {self.purpose}: {self.cost}."
        if self.packages:
            count = f"{self.with_packages} of them"
            need = phrases.choose_plural(self.with_packages, "needs", "need")
            names = phrases.join_words(self.packages)
            text += f" {count} also {need} {names}, which pip installs."
        return text

    def describe_briefly(self, total: int) -> str:
        """Return a sentence like that of `describe`, without the command and the packages."""
        many = len(self.blocked or self.lessons)
        need = phrases.choose_plural(many, "needs", "need")
        cost = f": {self.download} to download" if self.blocked else ""
        return f"{many} of {total} lessons {need} {self.framework}, {self.state}{cost}."

    def describe_for_lesson(self) -> str:
        """Return two sentences for a lesson that is blocked: the reason, and the set-up."""
        text = f"This lesson needs {self.framework}, {self.state}, so its blocks are skipped."
        return f"{text} `{self.command}` {self.purpose}: {self.cost}."

    @property
    def purpose(self) -> str:
        """Return the effect of the set-up as a verb with its object: `installs PyTorch/XLA`."""
        if self.older:
            python = f"Python {self.profile.versions[0]}"
            return f"makes an environment with {python}, which {self.profile.supports} needs"
        return f"installs {self.profile.title}"


def find_lesson_pythons(machine: host.Machine) -> LessonPythons:
    """Return the Pythons of a machine that could run lessons; nothing is started."""
    on_tpu = host.guess_platform(machine) == "tpu"
    try:
        chosen, others = interpreters.choose_interpreter(None, machine.env, Path.cwd())
    except Problem:  # there is no Python at all
        return read_lesson_pythons((), on_tpu=on_tpu)
    return read_lesson_pythons((chosen, *others), on_tpu=on_tpu, env=machine.env)


def read_lesson_pythons(
    pythons: tuple[Interpreter, ...], *, on_tpu: bool, env: Mapping[str, str] | None = None
) -> LessonPythons:
    """Return the Pythons with their packages, which are read from the disk only here."""
    packages = {
        one.path: interpreters.list_packages(one.path.parent.parent, env) for one in pythons
    }
    return LessonPythons(pythons, on_tpu, packages, env)


def find_needed_setups(lessons: Iterable[Lesson], here: LessonPythons) -> list[NeededSetup]:
    """Return the set-ups that lessons need, one for each framework.

    Those not done yet come first, and among them the framework that most of the lessons need.
    """
    by_framework: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if lesson.framework:
            by_framework.setdefault(lesson.framework, []).append(lesson)
    needed = [_make_needed_setup(name, some, here) for name, some in by_framework.items()]
    return sorted(needed, key=lambda setup: (not setup.blocked, -len(setup.lessons)))


def find_setup_for_lesson(lesson: Lesson, here: LessonPythons) -> NeededSetup | None:
    """Return the set-up without which all blocks of a lesson are skipped, or None."""
    return next((one for one in find_needed_setups([lesson], here) if one.blocked), None)


def describe_missing_packages(lesson: Lesson, here: LessonPythons) -> str:
    """Return sentences with the command that adds what a lesson lacks beside its framework.

    They are empty unless all blocks of the lesson are skipped for these packages alone.
    """
    name = lesson.framework
    python = next((one for one in here.pythons if name and one.has_framework(name)), None)
    if python is None or not can_run(lesson, python):
        return ""
    missing = here.list_missing_packages(python, lesson.packages)
    if not missing:
        return ""
    shown = interpreters.format_path(python.path, here.env or {}, Path.cwd())
    lack = framework_plan.explain_missing_packages(missing, shown)
    return f"The blocks of this lesson are skipped, because {lack.what}. {lack.hint}."


def describe_need(lesson: Lesson, here: LessonPythons) -> str:
    """Return sentences on what a lesson's blocks lack here; empty if they can run."""
    needed = find_setup_for_lesson(lesson, here)
    return needed.describe_for_lesson() if needed else describe_missing_packages(lesson, here)


def _make_needed_setup(name: str, lessons: Sequence[Lesson], here: LessonPythons) -> NeededSetup:
    known = frameworks.FRAMEWORKS[name]
    python = next((python for python in here.pythons if python.has_framework(name)), None)
    blocked = [lesson for lesson in lessons if not (python and can_run(lesson, python))]
    oldest = max(
        (lesson.frameworks[name] for lesson in blocked or lessons), key=frameworks.parse_version
    )
    older = f"{known.title} {python.frameworks[name]}" if python and blocked else ""
    title = f"{known.title} {oldest} or newer" if older else known.title
    packages = dict.fromkeys(package for lesson in lessons for package in lesson.packages)
    if python:
        packages = dict.fromkeys(here.list_missing_packages(python, packages))
    download, space = SIZES[known.tpu_wheel if here.on_tpu else known.wheel]
    return NeededSetup(
        PROFILES[known.profile],
        title,
        tuple(lesson.id for lesson in lessons),
        tuple(lesson.id for lesson in blocked),
        older,
        download,
        space,
        tuple(packages),
        sum(any(one in packages for one in lesson.packages) for lesson in lessons),
    )
