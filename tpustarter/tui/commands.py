"""The command palette: every action, and the plain command that does the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.app import SystemCommand
from textual.screen import Screen

from tpustarter.tui.screens.page import Help, Page
from tpustarter.tui.widgets import valid_keys

if TYPE_CHECKING:
    from tpustarter.selfcheck import Request
    from tpustarter.tui.app import Starter


def offered(app: Starter, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Yield what works on this screen, then what works anywhere."""
    told: set[str] = set()
    for active in valid_keys(screen):
        binding = active.binding
        if binding.action == "command_palette":
            continue
        told.add(binding.tooltip)
        title = f"{binding.description[:1].upper()}{binding.description[1:]}"
        run = partial(app.run_action, binding.action, active.node)
        yield SystemCommand(f"{title} ({app.get_key_display(binding)})", binding.tooltip, run)
    for title, command, run in _anywhere(app):
        if command not in told:
            yield SystemCommand(title, command, run)


def _anywhere(app: Starter) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Yield what works on every screen: title, plain command, action."""
    from tpustarter.selfcheck import Request

    yield "Check this machine", "tpustarter check", partial(open_checks, app)
    for level, how in (("static", "nothing is started, safe beside a job"), ("full", "with speed"),
                       ("soak", "with ten minutes of repeated work")):  # fmt: skip
        request = Request(level=level, devices=app.choices.devices)
        command = f"tpustarter check --level {level}"
        yield f"Check this machine, {level}: {how}", command, partial(open_checks, app, request)
    yield "Lessons", "tpustarter learn", partial(open_lessons, app)
    yield "Rehearse for a TPU that is not here", "tpustarter rehearse", partial(open_rehearse, app)
    yield "Set up an environment", "tpustarter setup jax", partial(open_setup, app)
    setup = partial(open_setup, app, "rehearse")
    yield "Set up the TPU compiler, to rehearse", "tpustarter setup rehearse", setup
    command = "tpustarter check --python PATH --devices N"
    yield "Settings", command, partial(open_settings, app)


def open_checks(app: Starter, request: Request | None = None, title: str = "") -> None:
    """Run checks on a screen of their own; the lesson's process ends first."""
    from tpustarter.selfcheck import Request
    from tpustarter.tui.screens.checks import Checks

    app.push_screen(Checks(request or Request(devices=app.choices.devices), title))


def open_lessons(app: Starter) -> None:
    """Show all lessons."""
    from tpustarter.tui.screens.lessons import Lessons

    app.push_screen(Lessons())


def open_lesson(app: Starter, lesson: str, *, at: str = "") -> None:
    """Show one lesson, from a line of it if one is given."""
    from tpustarter.tui.screens.reader import Reader

    app.push_screen(Reader(lesson, at=at))


def open_exercise(app: Starter, exercise: str) -> None:
    """Work on an exercise."""
    from tpustarter.tui.screens.exercise import ExercisePage

    app.push_screen(ExercisePage(exercise))


def go_back_to_lesson(app: Starter, lesson: str) -> bool:
    """Return to a lesson that is open below what is in front; returns whether one is."""
    from tpustarter.tui.screens.reader import Reader

    opened = [one for one in app.screen_stack if isinstance(one, Reader) and one.lesson == lesson]
    while opened and app.screen is not opened[-1]:
        app.pop_screen()
    return bool(opened)


def open_instead(app: Starter, lesson: str) -> None:
    """Show a lesson in the place of the screen in front."""
    from tpustarter.tui.screens.reader import Reader

    cast("Any", app).switch_screen(Reader(lesson))


def open_setup(app: Starter, profile: str = "jax") -> None:
    """Show the plan of a set-up; nothing is run for that."""
    from tpustarter.tui.screens.setup import SetupPlan

    app.push_screen(SetupPlan(profile))


def open_rehearse(app: Starter) -> None:
    """Choose programs and TPUs; the app keeps the screen, and with it what was chosen."""
    from tpustarter.tui.screens.rehearse import NAME, Rehearse

    screens = cast("Any", app)
    if not screens.is_screen_installed(NAME):
        screens.install_screen(Rehearse(), NAME)
    kept = screens.get_screen(NAME)
    if kept not in screens.screen_stack:
        screens.push_screen(NAME)
    while screens.screen is not kept:
        screens.pop_screen()


def open_settings(app: Starter) -> None:
    """Show what can be chosen."""
    from tpustarter.tui.screens.settings import Choices

    app.push_screen(Choices())


def open_search(app: Starter) -> None:
    """Show all lessons, ready to type what is looked for."""
    from tpustarter.tui.screens.lessons import Lessons

    if isinstance(app.screen, Lessons):
        app.screen.action_find()
    else:
        app.push_screen(Lessons(find=True))


def open_palette(app: Starter) -> None:
    """Offer every action, to be found by typing."""
    from tpustarter.tui.screens.palette import Palette

    app.push_screen(Palette(id="--command-palette"))


def open_help(app: Starter) -> None:
    """Show the help of the screen in front."""
    if isinstance(app.screen, Page):
        app.push_screen(Help(app.screen, app.screen.HELP or ""))
