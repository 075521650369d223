"""What set-up will do here: the steps of a lesson's header, and how far each is, by looking.

Nothing is started and nothing is written here.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast

from tpustarter import content, locations
from tpustarter.checking import environments, interpreters
from tpustarter.content import Lesson
from tpustarter.machine import host
from tpustarter.machine.generations import Generation
from tpustarter.problem import ExitCode, Problem
from tpustarter.setup import environment, servers
from tpustarter.setup.profiles import SIZES, Profile

State = Literal["todo", "done", "running", "failed", "blocked", "undone", "manual"]
"""How far a step is; one that is `manual` is for a person to do, in another place."""

ELSEWHERE = "`tpustarter setup {} --folder PATH` makes one in another folder"
HOW_TO_GET_A_PYTHON = """\
the tool uv fetches one, without administrator rights:
  curl -LsSf https://astral.sh/uv/install.sh | sh
or, on Ubuntu 22.04 and with administrator rights:
  sudo add-apt-repository ppa:deadsnakes/ppa
  sudo apt install python3.12 python3.12-venv"""


@dataclass(frozen=True)
class Step:
    """One set-up command with its reason, what it changes, and how far it is."""

    id: str
    title: str
    why: str
    command: tuple[str, ...]
    """Program and arguments; empty for a step that runs none."""
    changes: str
    needs: tuple[str, ...]
    proof: str | None
    """The check that proves the step done."""
    state: State = "todo"
    note: str = ""
    """What makes it done, blocked or failed: a sentence, and below it what can be done."""
    file: str = ""
    """The file into which tpustarter itself writes."""
    writes: tuple[str, ...] = ()
    """The lines that it writes there, as they will stand in it."""


@dataclass(frozen=True)
class Facts:
    """What was found on this machine that decides what is left to do."""

    profile: Profile
    folder: Path
    home: Path
    system: str
    """System and processor, as `uname -sm` tells."""
    generation: Generation | None
    """Of the TPU in this machine."""
    occupied: str | None
    """Why the environment may not be made there."""
    half_made: bool
    """Whether an environment of ours is there that has no Python which could be started."""
    uv: Path | None
    python: Path | None
    """A Python on this machine that the profile can be made with."""
    unfit: tuple[str, ...]
    """Other Pythons on PATH, such as `3.14`."""
    version: str | None
    """Version of the Python in the environment; null while there is none that is complete."""
    installed: tuple[str, ...]
    """Frameworks in the environment, and what else the profile needs, as `name version`."""
    done: tuple[str, ...]
    """Steps whose command ended well, as the folder's marker says."""
    wheel_inside: str
    """What was installed."""
    proof: Mapping[str, Any]
    """What was proved, and with which versions."""
    remembered: bool
    on_tpu: bool

    @property
    def wheel(self) -> str:
        """Return what to install on this machine."""
        return self.profile.tpu_wheel if self.on_tpu else self.profile.wheel

    @property
    def needed(self) -> list[str]:
        """Return name and version of what the profile needs, if all of it is there."""
        by_name = {package.split()[0]: package for package in self.installed}
        names = self.profile.packages
        return [by_name[name] for name in names] if by_name.keys() >= set(names) else []

    @property
    def shown(self) -> str:
        """Return the folder as a person would type it."""
        return self.short(self.folder)

    def short(self, path: Path) -> str:
        """Return a path as a person would type it."""
        return interpreters.shown(path, {"HOME": str(self.home)})

    def pasted(self, command: Sequence[str]) -> str:
        """Return a command as it can be pasted into a shell, the home folder as `~`."""
        short_words = (self.short(Path(word)) if word.startswith("/") else word for word in command)
        # A shell expands `~` only where it is not quoted.
        return " ".join(
            f"~/{shlex.quote(word[2:])}"
            if word.startswith("~/")
            else word
            if word == "~"
            else shlex.quote(word)
            for word in short_words
        )

    @property
    def half_installed(self) -> bool:
        """Return whether an installation was interrupted, and left packages that may lack files."""
        if not self.version or "install" in self.done:
            return False
        return any(package.split()[0] != "pip" for package in environment.packages(self.folder))


def look(
    profile: Profile, folder: Path, machine: host.Machine, own: Sequence[Path] | None = None
) -> Facts:
    """Return the facts; `own` are folders of programs of the Python this program runs in.

    Raises:
        Problem: the folder holds the environment of another profile.
    """
    home = home_of(machine)
    marker = environment.marker(folder) or {}
    if (marked_profile := marker.get("profile", profile.name)) != profile.name:
        raise Problem(
            f"`{folder}` is the environment of `tpustarter setup {marked_profile}`",
            hint="name another folder with `--folder PATH`",
            code=ExitCode.INCONCLUSIVE,
        )
    done = tuple(str(name) for name in marker.get("done") or ())
    complete = "environment" in done and environments.has_python(folder)

    def short(path: Path) -> str:
        return interpreters.shown(path, {"HOME": str(home)})

    return Facts(
        profile=profile,
        folder=folder,
        home=home,
        system=" ".join((os.uname().sysname, os.uname().machine)),
        generation=host.generation(machine),
        occupied=None if complete else environment.occupied(folder, short),
        half_made=bool(marker) and not complete and environment.is_filled(folder),
        uv=find_uv(machine.env, home, own),
        python=find_python(machine.env, home, folder, profile.versions),
        unfit=_unfit_pythons(machine.env, profile.versions),
        version=_read_version(folder) if complete else None,
        installed=_find_packages(folder, profile) if complete else (),
        done=done if complete else (),
        wheel_inside=str(marker.get("wheel")),
        proof=marker.get("proof") or {},
        remembered=environments.proved(profile.key) == folder,
        on_tpu=host.platform_hint(machine) == "tpu",
    )


def home_of(machine: host.Machine) -> Path:
    """Return the home of the person this is done for: under sudo, of the one who called it."""
    if sudo := locations.caller():
        import pwd

        return Path(pwd.getpwuid(sudo[0]).pw_dir)
    return Path(machine.env.get("HOME") or Path.home())


def find_uv(env: Mapping[str, str], home: Path, own: Sequence[Path] | None = None) -> Path | None:
    """Return uv: the one that runs this program, on PATH, beside this Python, or in the home."""
    if own is None:
        own = (Path(sys.prefix, "bin"), Path(sys.base_prefix, "bin"))
    folders = [*_path_folders(env), *own, home / ".local/bin", home / ".cargo/bin"]
    candidates = [Path(env["UV"])] if env.get("UV") else []
    return _first_executable([*candidates, *(folder / "uv" for folder in folders)])


def find_python(
    env: Mapping[str, str], home: Path, folder: Path, versions: Sequence[str]
) -> Path | None:
    """Return a Python of one of these versions: on PATH, of pyenv, or one that uv keeps.

    One inside `folder` does not count: it goes when the environment is made anew.
    """
    path_folders = [path for path in _path_folders(env) if not path.is_relative_to(folder)]
    pyenv = Path(env.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    data_folder = Path(env.get("XDG_DATA_HOME") or home / ".local/share")
    uv_folder = Path(env.get("UV_PYTHON_INSTALL_DIR") or data_folder / "uv/python")
    candidates: list[Path] = []
    for version in versions:
        candidates += [path / f"python{version}" for path in path_folders]
        for parent, pattern in ((pyenv, r"{}\.\d+"), (uv_folder, r"cpython-{}(\.\d+)?-.*")):
            name_pattern = re.compile(pattern.format(re.escape(version)))
            installs = [path for path in _list_folder(parent) if name_pattern.fullmatch(path.name)]
            ordered = sorted(
                installs, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)]
            )
            candidates += [path / "bin" / f"python{version}" for path in reversed(ordered)]
    return _first_executable(candidates)


def _unfit_pythons(env: Mapping[str, str], versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions of the Pythons on PATH that are none of these, by their names."""
    paths = (path for folder in _path_folders(env) for path in _list_folder(folder))
    names = {path.resolve().name for path in paths if path.name.startswith("python3")}
    found = {name.removeprefix("python") for name in names if re.fullmatch(r"python3\.\d+", name)}
    return tuple(sorted(found - set(versions), key=lambda version: int(version[2:])))


def _path_folders(env: Mapping[str, str]) -> list[Path]:
    """Return the folders on PATH; those of pyenv's shims hold programs that may lead nowhere."""
    folders = [Path(name) for name in env.get("PATH", "").split(os.pathsep) if name.startswith("/")]
    return [folder for folder in folders if folder.name != "shims"]


def _list_folder(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _first_executable(paths: Sequence[Path]) -> Path | None:
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)  # noqa: PTH113  answers for what this user may not look at


def _find_packages(folder: Path, profile: Profile) -> tuple[str, ...]:
    """Return the frameworks in an environment, and what else the profile needs."""
    frameworks = interpreters.installed(folder)
    packages = (package for package in environment.packages(folder) if package not in frameworks)
    return (
        *frameworks,
        *(package for package in packages if package.split()[0] in profile.packages),
    )


def _read_version(folder: Path) -> str:
    """Return the version in an environment's `pyvenv.cfg`, as venv or uv write it."""
    try:
        text = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "of an unknown version"
    match = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+(?:\.\d+)*)", text)
    return match[1] if match else "of an unknown version"


def lesson_of(profile: Profile, lessons: Path | None = None) -> Lesson:
    """Return the lesson whose header holds the steps of a profile; raises Problem for none."""
    for lesson in content.read_lessons(lessons):
        if profile.name in lesson.header.get("setups", {}):
            return lesson
    raise Problem(f"no lesson holds the steps of the set-up profile `{profile.name}`")


def steps_of(lesson: Lesson, facts: Facts) -> list[Step]:
    """Return the steps in a lesson's header as they stand on this machine; raises Problem."""
    try:
        return [
            _make_step(cast("dict[str, Any]", fields), facts)
            for fields in lesson.header["setups"][facts.profile.name]
        ]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Problem(
            f"the steps in the header of `{lesson.path}` are broken: {error!r}"
        ) from error


def _make_step(fields: dict[str, Any], facts: Facts) -> Step:
    unknown = set(fields) - {"id", "title", "why", "command", "without_uv", "changes", "needs",
                             "proof"}  # fmt: skip
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    download, space = SIZES[facts.wheel]
    first = facts.profile.versions[0]
    values = {
        "uv": str(facts.uv),
        "python": str(facts.python or (first if facts.uv else f"python{first}")),
        "folder": str(facts.folder),
        "wheel": facts.wheel,
        "beside": "--beside-tpu" if facts.on_tpu else "",
        "anew": "--reinstall" if facts.half_installed else "",
        "download": download,
        "space": space,
        "programs": str(servers.PROGRAMS),
        "platform": "tpu" if facts.on_tpu else "cpu",
    }
    several = {
        "{wheel}": facts.wheel.split(),
        "{jupyter}": servers.jupyter_words(facts.folder),
        "{profiler}": servers.profiler_words(facts.folder),
        "{colab}": servers.jupyter_words(facts.folder, origin=servers.COLAB),
    }
    *others, last = facts.wheel.split()
    wheels = " and ".join(filter(None, [", ".join(others), last]))
    shown_values = {**values, "folder": facts.shown, "wheel": wheels}
    words = fields.get("command", [])
    if facts.uv is None and words[:1] == ["{uv}"]:
        words = fields.get("without_uv", [])
    filled = (several.get(word) or [str(word).format(**values)] for word in words)
    state, note = _STATE_FUNCTIONS[fields["id"]](facts)
    return Step(
        id=fields["id"],
        title=fields["title"].format(**shown_values),
        why=fields["why"].format(**shown_values),
        command=tuple(filter(None, chain.from_iterable(filled))),
        changes=fields.get("changes", "nothing").format(**shown_values),
        needs=tuple(str(need).format(**shown_values) for need in fields.get("needs", [])),
        proof=fields.get("proof"),
        state=state,
        note=note,
    )


def _python_state(facts: Facts) -> tuple[State, str]:
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
        return "done", f"Python {facts.version} is in {facts.shown}"
    if facts.python:
        return "done", f"{facts.python.name} found at {facts.short(facts.python)}"
    here = f"; the Python {' and '.join(facts.unfit)} here does not fit" if facts.unfit else ""
    if facts.uv:
        return "todo", f"none found{here}; uv at {facts.short(facts.uv)} fetches one"
    ordered = sorted(profile.versions, key=lambda version: int(version.removeprefix("3.")))
    versions = f"{', '.join(ordered[:-1])} or {ordered[-1]}"
    why = f"{profile.supports} needs it{here}"
    return "blocked", f"no Python {versions} was found here, and {why}\n{HOW_TO_GET_A_PYTHON}"


def _environment_state(facts: Facts) -> tuple[State, str]:
    if facts.version:
        return "done", f"{facts.shown} has Python {facts.version}"
    if facts.occupied:
        return "blocked", f"{facts.occupied}\n{ELSEWHERE.format(facts.profile.name)}"
    if facts.half_made:
        return "todo", f"{facts.shown} has no Python that works, so it is removed first"
    return "todo", ""


def _install_state(facts: Facts) -> tuple[State, str]:
    if (
        "install" in facts.done
        and facts.needed
        and facts.wheel_inside
        in (
            facts.wheel,
            facts.profile.tpu_wheel,
        )
    ):
        return "done", f"{facts.shown} has {' and '.join(facts.needed)}"
    return "todo", ""


def _proof_state(facts: Facts) -> tuple[State, str]:
    proved = facts.proof.get("frameworks") == list(facts.installed) and facts.installed
    if proved and facts.proof.get("on_tpu") == facts.on_tpu and _install_state(facts)[0] == "done":
        return "done", str(facts.proof.get("text", ""))
    return "todo", ""


def _remember_state(facts: Facts) -> tuple[State, str]:
    if facts.remembered and _proof_state(facts)[0] == "done":
        return "done", facts.profile.remembered.format(folder=facts.shown)
    return "todo", ""


_STATE_FUNCTIONS = {
    "python": _python_state,
    "environment": _environment_state,
    "install": _install_state,
    "prove": _proof_state,
    "remember": _remember_state,
}
"""How to tell the state of each step by looking."""
