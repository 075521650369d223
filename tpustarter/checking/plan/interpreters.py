"""The choice of the Python under test, based on files only: no interpreter is started."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from tpustarter.checking.plan import environments
from tpustarter.core import locations, state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import frameworks, shell

PACKAGES = {
    "accelerate": "accelerate",
    "flax": "flax",
    "grain": "grain",
    "msgpack": "msgpack",
    "optax": "optax",
    "orbax-checkpoint": "orbax",
    "safetensors": "safetensors",
    "transformers": "transformers",
}
"""Packages that lessons need besides a framework: each one's module by its install name."""
VERSIONS = {"accelerate": "1.15.*", "transformers": "5.23.*"}
"""Pinned versions, because the newest transformers drops the torch of torch_xla 2.9."""
GPU_PLUGINS = "jax_cuda*_plugin"
"""Glob for the distributions that make an NVIDIA GPU JAX's default backend."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that could be tested, with its frameworks and its origin."""

    path: Path
    """Path of its executable, with links unresolved, as a virtual environment requires."""
    why: str
    """The reason why it is a candidate, such as `--python` or `active environment`."""
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions of its frameworks, from metadata in its package folders."""

    def has_framework(self, framework: str) -> bool:
        """Return whether a framework and the libraries that it computes with are installed."""
        return framework in self.frameworks and not frameworks.list_missing_frameworks(
            framework, self.frameworks
        )

    @property
    def frameworks_text(self) -> str:
        """Its frameworks and their versions, such as `jax 0.12.0, torch 2.9.0`; often empty."""
        return ", ".join(f"{name} {version}" for name, version in self.frameworks.items())

    @property
    def has_gpu_plugin(self) -> bool:
        """Return whether JAX in this Python would use an NVIDIA GPU by default."""
        return self._has_distribution(GPU_PLUGINS)

    @property
    def has_torch(self) -> bool:
        """Return whether this Python has PyTorch, for any device."""
        return self._has_distribution("torch")

    def _has_distribution(self, distribution: str) -> bool:
        pattern = f"lib/python3*/site-packages/{distribution}-*.dist-info"
        return any(True for _ in self.path.parent.parent.glob(pattern))


def choose_interpreter(
    explicit: str | None,
    env: Mapping[str, str],
    folder: Path,
    wanted: str | None = None,
    *,
    option: str = "--python",
) -> tuple[Interpreter, list[Interpreter]]:
    """Return the Python under test, and the other candidates that have a framework.

    Candidates with the `wanted` framework come before those without it. `option` is the
    command-line option that named `explicit`, for messages.

    Raises:
        Problem: `explicit` is not a Python, or there is none at all.
    """
    candidates = list(_candidates(env, folder))
    saved = None if explicit is not None else _read_saved_choice()
    in_order = [saved, *candidates] if saved else candidates
    if explicit is not None:
        chosen = _explicit(explicit, option)
    elif in_order:
        having = (candidate for candidate in in_order if wanted and candidate.has_framework(wanted))
        chosen = next(having, in_order[0])
    else:
        raise Problem(
            "there is no Python to test: no environment is active, and `python3` is not on PATH",
            hint="name one with `--python PATH`",
        )
    others = [
        candidate
        for candidate in candidates
        if candidate.frameworks and candidate.path != chosen.path
    ]
    return chosen, others


def _read_saved_choice() -> Interpreter | None:
    with contextlib.suppress(ValueError):  # no path contains a NUL byte
        path = Path(str(state.load_state("settings").get("python") or ""))
        if path.is_absolute() and os.access(path, os.X_OK) and path.is_file():
            return Interpreter(
                path, "chosen in the settings", read_framework_versions(path.parents[1])
            )
    return None


def find_pythons_with_libtpu(env: Mapping[str, str], folder: Path) -> Iterator[Interpreter]:
    """Yield each Python that has JAX and libtpu: set-up's first, then the saved one."""
    proved = environments.find_proved_environment(environments.COMPILES)
    first = (
        [Interpreter(proved / "bin/python", "made by `tpustarter setup rehearse`")]
        if proved
        else []
    )
    saved = [one] if (one := _read_saved_choice()) else []
    for candidate in (*first, *saved, *_candidates(env, folder)):
        prefix = candidate.path.parent.parent
        has_jax = "jax" in read_framework_versions(prefix, env)
        if has_jax and any(prefix.glob("lib/python3*/site-packages/libtpu-*.dist-info")):
            yield candidate


def format_path(path: Path, env: Mapping[str, str], folder: Path | None = None) -> str:
    """Shorten a path: relative to `folder` if inside it, or with `~` for the home folder."""
    if folder and path.is_relative_to(folder):
        return str(path.relative_to(folder))
    home = env.get("HOME", "")
    if len(home) > 1 and path.is_relative_to(home):
        return f"~/{path.relative_to(home)}".removesuffix("/.")
    return str(path)


def _candidates(env: Mapping[str, str], folder: Path) -> Iterator[Interpreter]:
    own = Path(sys.prefix)
    yielded: set[Path] = set()
    active = [env[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]
    found = [
        *((Path(path), "active environment") for path in active),
        (folder / ".venv", "./.venv"),
    ]
    proved = {key: environments.find_proved_environment(key) for key in environments.CANDIDATES}
    made = {key: (path, "the environment setup made") for key, path in proved.items() if path}
    general = [made.pop(environments.TESTED)] if environments.TESTED in made else []

    def usable(pairs: Iterable[tuple[Path, str]]) -> Iterator[Interpreter]:
        for prefix, why in pairs:
            executable = prefix / "bin" / "python"
            if os.access(executable, os.X_OK) and not _same(prefix, own) and prefix not in yielded:
                yielded.add(prefix)
                yield Interpreter(executable, why, read_framework_versions(prefix))

    yield from usable([*found, *general])
    if frameworks := read_framework_versions(own):
        yielded.add(own)
        yield Interpreter(Path(sys.executable), "the Python tpustarter runs in", frameworks)
    yield from usable(made.values())  # each is for one framework, so all others come first
    from shutil import which  # slow to import, and not needed for names

    users_path = os.pathsep.join(shell.list_path_folders(env, sys.prefix))  # uvx puts its own first
    on_path = which("python3", path=users_path) or which("python3", path=env.get("PATH"))
    if on_path and not any(_same(Path(on_path).parent.parent, prefix) for prefix in yielded):
        executable = Path(on_path)
        yield Interpreter(
            executable, "python3 on PATH", read_framework_versions(executable.parent.parent, env)
        )


def _explicit(text: str, option: str) -> Interpreter:
    if not text.strip():  # e.g. `--python "$MY_PYTHON"` with an unset variable
        raise Problem(
            "the Python to test was given as an empty text",
            hint=f"set the variable behind `{option}`, or leave the option out",
            code=ExitCode.USAGE,
        )
    from shutil import which

    path = locations.expand_path(text)
    # os.path returns False for paths that this user may not access; pathlib raises.
    if os.path.isdir(path):  # noqa: PTH112
        path = path / "bin" / "python"
    elif not os.path.exists(path) and os.sep not in text and (executable := which(text)):  # noqa: PTH110
        path = Path(executable)
    if not os.path.isfile(path) or not os.access(path, os.X_OK):  # noqa: PTH113
        raise Problem(
            f"`{option} {text}` is not a Python: there is no program at `{path}` that you may run",
            hint=f"give the path of an interpreter, such as `{option} ~/tpu/bin/python`",
            read="setup/python-and-environments",
            code=ExitCode.USAGE,
        )
    path = path.absolute()
    return Interpreter(path, option, read_framework_versions(path.parent.parent))


def read_framework_versions(prefix: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the versions of the frameworks installed under a prefix, from folder names alone."""
    builds = {name.replace("-", "_"): framework for name, framework in frameworks.BUILDS.items()}
    versions = _versions((*frameworks.FRAMEWORKS, *builds), prefix, env)
    named = {builds.get(name, name): version for name, version in versions.items()}
    return {name: named[name] for name in frameworks.FRAMEWORKS if name in named}


def read_python_version(executable: Path) -> str | None:
    """Return the version of a Python, without starting it, or None if it is unknown.

    Some installations reveal only `3.x`. A shim, such as pyenv's, chooses its Python only when it
    is started.
    """
    if executable == Path(sys.executable):
        return ".".join(str(part) for part in sys.version_info[:3])
    try:
        config = executable.parents[1] / "pyvenv.cfg"
        text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
        # Both venv and uv write a version, under different keys.
        if match := re.search(r"^version(?:_info)?\s*=\s*(\d+(?:\.\d+)+)", text, re.MULTILINE):
            return match[1]
        program = executable.resolve()
        if match := re.search(r"python(3\.\d+)t?$", program.name):
            return match[1]
        (library,) = program.parents[1].glob("lib/python3.*/os.py")
        return library.parent.name.removeprefix("python")
    except (OSError, ValueError, RuntimeError, IndexError):
        return None  # no such file, several files, a symlink loop, a program in the root folder


def format_requirement(name: str) -> str:
    """Return the pip requirement for a lesson's package: its name, and its version if pinned."""
    return f"{name}=={VERSIONS[name]}" if name in VERSIONS else name


def list_missing_packages(
    names: Iterable[str], prefix: Path, env: Mapping[str, str] | None = None
) -> list[str]:
    """Return the install names of the packages that are not installed under a prefix."""
    installed = list_packages(prefix, env)
    return [name for name in names if name.replace("-", "_") not in installed]


def list_packages(prefix: Path, env: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the packages installed under a prefix, as their metadata is named."""
    return frozenset(
        metadata.name.partition("-")[0]
        for folder in _package_folders(prefix, env)
        for metadata in folder.glob("*-*.dist-info")
    )


def _package_folders(prefix: Path, env: Mapping[str, str] | None) -> list[Path]:
    folders = [
        *prefix.glob("lib/python3*/site-packages"),
        *prefix.glob("lib/python3*/dist-packages"),
    ]
    if env is not None and (home := env.get("HOME")):  # a system Python sees the user's packages
        folders += Path(home).glob(".local/lib/python3*/site-packages")
        folders += Path("/usr/local/lib").glob("python3*/dist-packages")
    return folders


def _versions(names: Iterable[str], prefix: Path, env: Mapping[str, str] | None) -> dict[str, str]:
    versions: dict[str, str] = {}
    for folder, name in product(_package_folders(prefix, env), tuple(names)):
        for metadata in folder.glob(f"{name}-*.dist-info"):
            versions.setdefault(name, metadata.name.removesuffix(".dist-info").split("-")[1])
    return versions


def _same(first: Path, second: Path) -> bool:
    try:
        return first == second or first.samefile(second)
    except OSError:
        return False
