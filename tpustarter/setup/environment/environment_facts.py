"""Facts about the machine and the folder in which set-up creates an environment.

Nothing is started, and nothing is written.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.machine.generations import Generation
from tpustarter.setup.environment import made_environment
from tpustarter.setup.environment.made_environment import EnvironmentProofRecord
from tpustarter.setup.environment.setup_profiles import SetupProfile


@dataclass(frozen=True)
class EnvironmentFacts:
    """The facts about this machine that determine the remaining steps."""

    profile: SetupProfile
    folder: Path
    home: Path
    system: str
    """System and processor, as `uname -sm` prints them."""
    generation: Generation | None
    """The TPU generation of this machine."""
    occupied: str | None
    """Why the environment may not be created in the folder; None if it may."""
    half_made: bool
    """True if the folder contains an environment that set-up has not completed."""
    uv: Path | None
    python: Path | None
    """A Python on this machine that can create the profile's environment."""
    unfit: tuple[str, ...]
    """Other Pythons on PATH, such as `3.14`."""
    version: str | None
    """Version of the environment's Python; None if there is no complete environment."""
    installed: tuple[str, ...]
    """Frameworks and other needed packages in the environment, as `name version`."""
    done: tuple[str, ...]
    """Steps whose command succeeded, according to the folder's marker."""
    recorded_requirements: str
    """The packages that the marker records as installed."""
    proof: EnvironmentProofRecord | None
    """The proof that the marker records."""
    is_registered: bool
    on_tpu: bool

    @property
    def wheel(self) -> str:
        """The requirement to install on this machine: the TPU build on a TPU."""
        return self.profile.tpu_wheel if self.on_tpu else self.profile.wheel

    @property
    def needed_versions(self) -> list[str]:
        """Names and versions of the packages the profile needs; empty unless all are installed."""
        by_name = {package.split()[0]: package for package in self.installed}
        names = self.profile.packages
        return [by_name[name] for name in names] if by_name.keys() >= set(names) else []

    @property
    def site(self) -> Path:
        """The environment's folder of packages, which may not exist."""
        first = self.python.name if self.python else f"python{self.profile.versions[0]}"
        libraries = self.folder / "lib"
        there = [path.name for path in _list_folder(libraries) if path.name.startswith("python3")]
        return libraries / min(there, default=first) / "site-packages"

    @property
    def folder_text(self) -> str:
        """The folder's path for display, with `~` for the home folder."""
        return shorten_path(self.folder, self.home)

    @property
    def is_half_installed(self) -> bool:
        """True if an interrupted installation left packages that may lack files."""
        if not self.version or "install" in self.done:
            return False
        return any(
            package.split()[0] != "pip" for package in made_environment.list_packages(self.folder)
        )


def collect_environment_facts(
    profile: SetupProfile, folder: Path, machine: host.Machine, own: Sequence[Path] | None = None
) -> EnvironmentFacts:
    """Return the facts; `own` are the program folders of the Python that runs this program.

    Raises:
        Problem: The folder contains the environment of another profile.
    """
    home = find_home(machine)
    marker = made_environment.read_marker(folder)
    if marker and marker.profile not in (None, profile.name):
        raise Problem(
            f"`{folder}` is the environment of `tpustarter setup {marker.profile}`",
            hint="name another folder with `--folder PATH`",
            code=ExitCode.INCONCLUSIVE,
        )
    done = tuple(marker.done) if marker else ()
    complete = "environment" in done and environments.has_python(folder)
    short = partial(shorten_path, home=home)
    version = interpreters.read_python_version(folder / "bin/python") or "of an unknown version"

    return EnvironmentFacts(
        profile=profile,
        folder=folder,
        home=home,
        system=" ".join((os.uname().sysname, os.uname().machine)),
        generation=host.find_generation(machine),
        occupied=None if complete else made_environment.explain_occupied_folder(folder, short),
        half_made=bool(marker) and not complete and made_environment.has_installed_files(folder),
        uv=find_uv(machine.env, home, own),
        python=find_python(machine.env, home, folder, profile.versions),
        unfit=_unfit_pythons(machine.env, profile.versions),
        version=version if complete else None,
        installed=_find_packages(folder, profile) if complete else (),
        done=done if complete else (),
        recorded_requirements=str(marker and marker.wheel),
        proof=marker and marker.proof,
        is_registered=environments.find_proved_environment(profile.key) == folder,
        on_tpu=host.guess_platform(machine) == "tpu",
    )


def find_home(machine: host.Machine) -> Path:
    """Return the user's home folder; under sudo, that of the calling user."""
    return locations.sudo_caller_home() or Path(machine.env.get("HOME") or Path.home())


def shorten_path(path: Path, home: Path) -> str:
    """Return a path in the form that a person would type, with `~` for the home folder."""
    return interpreters.format_path(path, {"HOME": str(home)})


def format_command(command: Sequence[str], home: Path) -> str:
    """Return a command that can be pasted into a shell, with `~` for the home folder."""
    short_words = (
        shorten_path(Path(word), home) if word.startswith("/") else word for word in command
    )
    # A shell expands `~` only where it is not quoted.
    return " ".join(
        f"~/{shlex.quote(word[2:])}"
        if word.startswith("~/")
        else word
        if word == "~"
        else shlex.quote(word)
        for word in short_words
    )


def find_uv(env: Mapping[str, str], home: Path, own: Sequence[Path] | None = None) -> Path | None:
    """Return uv's path, from the `UV` variable, PATH, this Python's folders or the home folder."""
    if own is None:
        own = (Path(sys.prefix, "bin"), Path(sys.base_prefix, "bin"))
    folders = [*_path_folders(env), *own, home / ".local/bin", home / ".cargo/bin"]
    candidates = [Path(env["UV"])] if env.get("UV") else []
    return _first_executable([*candidates, *(folder / "uv" for folder in folders)])


def find_python(
    env: Mapping[str, str], home: Path, folder: Path, versions: Sequence[str]
) -> Path | None:
    """Return a Python of one of these versions, from PATH, pyenv or uv.

    A Python inside `folder` does not count, because recreating the environment removes it.
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
    paths = (path for folder in _path_folders(env) for path in _list_folder(folder))
    names = {path.resolve().name for path in paths if path.name.startswith("python3")}
    found = {name.removeprefix("python") for name in names if re.fullmatch(r"python3\.\d+", name)}
    return tuple(sorted(found - set(versions), key=lambda version: int(version[2:])))


def _path_folders(env: Mapping[str, str]) -> list[Path]:
    # Programs in pyenv's shims folder may not lead to a Python.
    folders = [Path(name) for name in env.get("PATH", "").split(os.pathsep) if name.startswith("/")]
    return [folder for folder in folders if folder.name != "shims"]


def _list_folder(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _first_executable(paths: Sequence[Path]) -> Path | None:
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)  # noqa: PTH113  does not raise for paths that this user may not read


def _find_packages(folder: Path, profile: SetupProfile) -> tuple[str, ...]:
    frameworks = [
        f"{name} {version}"
        for name, version in interpreters.read_framework_versions(folder).items()
    ]
    packages = (
        package for package in made_environment.list_packages(folder) if package not in frameworks
    )
    return (
        *frameworks,
        *(package for package in packages if package.split()[0] in profile.packages),
    )
