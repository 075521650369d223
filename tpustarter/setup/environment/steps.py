"""Read the steps of an environment's set-up from a lesson's header, with their states."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.core import content, locations
from tpustarter.core.content import Lesson
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import Problem
from tpustarter.setup import server_commands
from tpustarter.setup.environment.environment_facts import EnvironmentFacts, shorten_path
from tpustarter.setup.environment.setup_profiles import SIZES, SetupProfile
from tpustarter.text import phrases

State = Literal["todo", "done", "running", "failed", "blocked", "undone", "manual"]
"""The state of a step; the user does `manual` steps, in another place."""

OTHER_FOLDER_HINT = "`tpustarter setup {} --folder PATH` makes one in another folder"
HOW_TO_GET_A_PYTHON = """\
the tool uv fetches one, without administrator rights:
  curl -LsSf https://astral.sh/uv/install.sh | sh
or, on Ubuntu 22.04 and with administrator rights:
  sudo add-apt-repository ppa:deadsnakes/ppa
  sudo apt install python3.12 python3.12-venv"""


@dataclass(frozen=True)
class SetupStep:
    """One set-up command with its reason, its changes, and its state."""

    id: str
    title: str
    why: str
    command: tuple[str, ...]
    """Program and arguments; empty for a step without a command."""
    changes: str
    needs: tuple[str, ...]
    proof: str | None
    """The check that proves that the step is done."""
    state: State = "todo"
    note: str = ""
    """The reason for the state done, blocked or failed, then on further lines what can be done."""
    file: str = ""
    """The file that tpustarter itself writes."""
    writes: tuple[str, ...] = ()
    """The lines that it writes to the file."""


def format_note(reason: str, hint: str | None) -> str:
    """Return a step's note: the reason, and the hint on further lines."""
    return "\n".join(filter(None, (reason, hint)))


class _StepFields(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    title: str
    why: str
    command: list[str] = []
    without_uv: list[str] = []
    changes: str = "nothing"
    needs: list[str] = []
    proof: str | None = None
    file: str = ""
    writes: tuple[str, ...] = ()


def find_setup_lesson(profile: SetupProfile, lessons: Path | None = None) -> Lesson:
    """Return the lesson whose header contains a profile's steps.

    Raises:
        Problem: No lesson contains them.
    """
    for lesson in content.read_lessons(lessons):
        if profile.name in as_object(lesson.header.get("setups")):
            return lesson
    raise Problem(f"no lesson holds the steps of the set-up profile `{profile.name}`")


def list_steps(lesson: Lesson, facts: EnvironmentFacts) -> list[SetupStep]:
    """Return the steps in a lesson's header, with their states on this machine.

    Raises:
        Problem: The header is invalid.
    """
    try:
        return [
            _make_step(fields, facts)
            for fields in msgspec.convert(
                as_object(lesson.header["setups"])[facts.profile.name], list[_StepFields]
            )
        ]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Problem(
            f"the steps in the header of `{lesson.path}` are broken: {error!r}"
        ) from error


def _make_step(fields: _StepFields, facts: EnvironmentFacts) -> SetupStep:
    values = _values(facts)
    several = {
        "{wheel}": facts.wheel.split(),
        "{jupyter}": server_commands.jupyter_command(facts.folder),
        "{profiler}": server_commands.profiler_command(facts.folder),
        "{colab}": server_commands.jupyter_command(facts.folder, origin=server_commands.COLAB),
    }
    wheels = phrases.join_words(facts.wheel.split())
    shown_values = {**values, "folder": facts.folder_text, "wheel": wheels}
    words = fields.command
    if facts.uv is None and words[:1] == ["{uv}"]:
        words = fields.without_uv
    filled = (several.get(word) or [word.format(**values)] for word in words)
    file = fields.file.format(**values)
    if file:
        state, note = _written_state(file, fields.writes, facts)
    else:
        state, note = _STATE_FUNCTIONS[fields.id](facts)
    return SetupStep(
        id=fields.id,
        title=fields.title.format(**shown_values),
        why=fields.why.format(**shown_values),
        command=tuple(filter(None, chain.from_iterable(filled))),
        changes=fields.changes.format(**shown_values),
        needs=tuple(need.format(**shown_values) for need in fields.needs),
        proof=fields.proof,
        state=state,
        note=note,
        file=file,
        writes=fields.writes,
    )


def _values(facts: EnvironmentFacts) -> dict[str, str]:
    download, space = SIZES[facts.wheel]
    first = facts.profile.versions[0]
    return {
        "uv": str(facts.uv),
        "python": str(facts.python or (first if facts.uv else f"python{first}")),
        "folder": str(facts.folder),
        "wheel": facts.wheel,
        "beside": "--beside-tpu" if facts.on_tpu else "",
        "anew": "--reinstall" if facts.is_half_installed else "",
        "download": download,
        "space": space,
        "programs": str(server_commands.PROGRAMS),
        "site": str(facts.site),
        "platform": "tpu" if facts.on_tpu else "cpu",
    }


def _python_state(facts: EnvironmentFacts) -> tuple[State, str]:
    profile = facts.profile
    if profile.system not in (None, facts.system):
        wheels = profile.framework or "libtpu"
        return (
            "blocked",
            f"this machine is {facts.system}, and {wheels} exists only for {profile.system}",
        )
    if facts.generation and (instead := profile.not_on.get(facts.generation.name)):
        return "blocked", f"{profile.supports} does not run on {facts.generation.title}\n{instead}"
    if facts.version:
        return "done", f"Python {facts.version} is in {facts.folder_text}"
    if facts.python:
        return "done", f"{facts.python.name} found at {shorten_path(facts.python, facts.home)}"
    here = (
        f"; the Python {phrases.join_words(facts.unfit)} here does not fit" if facts.unfit else ""
    )
    if facts.uv:
        return "todo", f"none found{here}; uv at {shorten_path(facts.uv, facts.home)} fetches one"
    ordered = sorted(profile.versions, key=lambda version: int(version.removeprefix("3.")))
    versions = phrases.join_words(ordered, "or")
    why = f"{profile.supports} needs it{here}"
    return "blocked", f"no Python {versions} was found here, and {why}\n{HOW_TO_GET_A_PYTHON}"


def _environment_state(facts: EnvironmentFacts) -> tuple[State, str]:
    if facts.version:
        return "done", f"{facts.folder_text} has Python {facts.version}"
    if facts.occupied:
        return "blocked", f"{facts.occupied}\n{OTHER_FOLDER_HINT.format(facts.profile.name)}"
    if facts.half_made:
        return "todo", f"{facts.folder_text} has no Python that works, so it is removed first"
    return "todo", ""


def _install_state(facts: EnvironmentFacts) -> tuple[State, str]:
    if (
        "install" in facts.done
        and facts.needed_versions
        and facts.recorded_requirements
        in (
            facts.wheel,
            facts.profile.tpu_wheel,
        )
    ):
        return "done", f"{facts.folder_text} has {phrases.join_words(facts.needed_versions)}"
    return "todo", ""


def _written_state(file: str, lines: tuple[str, ...], facts: EnvironmentFacts) -> tuple[State, str]:
    with contextlib.suppress(OSError, Problem):
        if locations.read_text(Path(file)).splitlines() == list(lines):
            return "done", f"{shorten_path(Path(file), facts.home)} is there"
    return "todo", ""


def _proof_state(facts: EnvironmentFacts) -> tuple[State, str]:
    proof = facts.proof
    if proof is None or not facts.installed or proof.frameworks != facts.installed:
        return "todo", ""
    if proof.on_tpu == facts.on_tpu and _install_state(facts)[0] == "done":
        return "done", proof.text
    return "todo", ""


def _remember_state(facts: EnvironmentFacts) -> tuple[State, str]:
    if facts.is_registered and _proof_state(facts)[0] == "done":
        return "done", facts.profile.registered_text.format(folder=facts.folder_text)
    return "todo", ""


_STATE_FUNCTIONS = {
    "python": _python_state,
    "environment": _environment_state,
    "install": _install_state,
    "prove": _proof_state,
    "remember": _remember_state,
}
"""The functions that determine each step's state from the facts."""
