"""The set-ups that lessons need, for how many of them, and whether a Python here does without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.core.content import Lesson
from tpustarter.setup.environment.needed_setups import (
    LessonPythons,
    describe_missing_packages,
    find_needed_setups,
    find_setup_for_lesson,
    read_lesson_pythons,
)


def make(name: str, **needs: object) -> Lesson:
    """Return a lesson that needs a framework."""
    return Lesson(name, Path(), {"needs": needs}, "")


def pythons(tmp_path: Path, *, on_tpu: bool = False, **versions: str) -> LessonPythons:
    """Return one Python with frameworks, and none without any."""
    python = Interpreter(tmp_path / "bin/python", "made", versions)
    return read_lesson_pythons((python,) if versions else (), on_tpu=on_tpu)


ANY, NEW = make("jax/any", framework="jax"), make("jax/new", jax="0.10")
PACKAGE = make("jax/flax", jax="0.10", packages=["flax", "optax"])
TORCH, NONE = make("pytorch/some", torch_xla="2.9"), make("start/none")


@pytest.mark.parametrize(
    ("versions", "blocked", "older"),
    [
        ({}, ("jax/any", "jax/new"), ""),
        ({"torch": "2.9.0"}, ("jax/any", "jax/new"), ""),
        ({"jax": "0.6.2"}, ("jax/new",), "JAX 0.6.2"),
        ({"jax": "0.10.0"}, (), ""),
    ],
)
def test_lessons_are_blocked_by_version(
    versions: dict[str, str], blocked: tuple[str, ...], older: str, tmp_path: Path
) -> None:
    """A framework that is missing blocks all of its lessons, an old one only some."""
    [needed] = find_needed_setups([ANY, NONE, NEW], pythons(tmp_path, **versions))

    assert (blocked, older) == (needed.blocked, needed.older)
    assert (("jax/any", "jax/new"), "jax") == (needed.lessons, needed.profile.name)


def test_missing_framework_comes_first(tmp_path: Path) -> None:
    """A missing framework comes before installed ones, each as a row of its own."""
    needed = find_needed_setups([ANY, TORCH], pythons(tmp_path, jax="0.10.2"))

    assert ["pytorch-xla", "jax"] == [setup.profile.name for setup in needed]


@pytest.mark.parametrize("lessons", [(ANY, TORCH, TORCH), (TORCH, ANY, TORCH)])
def test_framework_of_most_lessons_comes_first(lessons: tuple[Lesson, ...], tmp_path: Path) -> None:
    """Whichever lesson a path begins with."""
    needed = find_needed_setups(lessons, pythons(tmp_path))

    assert ["pytorch-xla", "jax"] == [setup.profile.name for setup in needed]


def test_missing_packages_come_with_their_command(tmp_path: Path) -> None:
    """Missing packages come with their command, if the lesson's framework is installed."""
    site = tmp_path / "lib/python3.12/site-packages"
    (site / "flax-0.12.0.dist-info").mkdir(parents=True)
    (site / "pip").mkdir()
    found = describe_missing_packages(PACKAGE, pythons(tmp_path, jax="0.10.2"))

    assert f"optax is not installed in {tmp_path}/bin/python" in found
    assert f"`{tmp_path}/bin/python -m pip install optax` adds" in found
    for lesson, versions in ((PACKAGE, {"jax": "0.6.2"}), (PACKAGE, {}), (NEW, {"jax": "0.10.2"})):
        assert "" == describe_missing_packages(lesson, pythons(tmp_path, **versions))


def test_tpu_has_a_larger_download(tmp_path: Path) -> None:
    """The sizes are those of the packages for this kind of machine."""
    [here], [on_tpu] = (
        find_needed_setups([TORCH], pythons(tmp_path, on_tpu=on_tpu)) for on_tpu in (False, True)
    )

    assert ("4.2 GB", "8 GB") == (here.download, here.space)
    assert ("4.4 GB", "8 GB") == (on_tpu.download, on_tpu.space)


def test_missing_packages_are_counted(tmp_path: Path) -> None:
    """Packages beyond a set-up are named with the number of lessons that need them."""
    site = tmp_path / "lib/python3.12/site-packages"
    (site / "flax-0.12.0.dist-info").mkdir(parents=True)
    [needed] = find_needed_setups([NEW, PACKAGE], pythons(tmp_path, jax="0.10.2"))

    assert (("optax",), 1) == (needed.packages, needed.with_packages)


def test_packages_are_read_only_once(tmp_path: Path) -> None:
    """Screens ask for every path that is marked, and a shared disk can take seconds."""
    site = tmp_path / "lib/python3.12/site-packages"
    (site / "flax-0.12.0.dist-info").mkdir(parents=True)
    here = pythons(tmp_path, jax="0.10.2")
    shutil.rmtree(tmp_path / "lib")

    assert ("optax",) == find_needed_setups([PACKAGE], here)[0].packages


def test_only_blocked_lesson_has_a_setup(tmp_path: Path) -> None:
    """A lesson that can run, or that needs no framework, is offered none."""
    here = pythons(tmp_path, jax="0.6.2")
    found = [find_setup_for_lesson(lesson, here) for lesson in (NONE, ANY, NEW, TORCH)]

    assert [None, None, "jax", "pytorch-xla"] == [one and one.profile.name for one in found]
