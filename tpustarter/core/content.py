"""Read checks and lessons without executing them: checks with `ast`, lessons as text."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tpustarter.core import cache, locations, short_ids
from tpustarter.core.json_values import as_object, is_array, is_object
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.probe.commands import CheckNeeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

LEVELS = ("static", "quick", "full", "soak")
"""Depths of a check, in rising order; each level includes those before it."""
TRACKS = ("start", "setup", "jax", "project", "pytorch", "tensorflow", "slices", "trouble")
"""Folders of lessons, in the order in which a newcomer meets them."""


@dataclass(frozen=True)
class Check:
    """The metadata of a check file."""

    id: str
    """Path without its extension: `checks/jax/every_device.py` has the id `jax.every_device`."""
    path: Path
    title: str = ""
    """The claim: the first line of the docstring."""
    framework: str = ""
    """`host`, or the import name of the framework it needs."""
    level: str = "quick"
    needs: CheckNeeds = field(default_factory=CheckNeeds)
    timeout_s: float = 120.0
    estimate_s: float | None = None
    """Usual duration on 8 virtual CPU devices, compilation included."""
    lesson: str = ""
    source: str = ""
    after: tuple[str, ...] = ()
    """Checks that must pass first, if they are part of the run."""
    own_process: bool = False
    env: dict[str, str] = field(default_factory=dict[str, str])
    optional: bool = False
    fresh: bool = False
    """True if all its programs are compiled anew, because it is about compiling."""
    has_programs: bool = False
    """True if the file has a function `programs`, which lists programs to rehearse."""
    broken: str | None = None
    """The reason why the file cannot be used, with its line; None for a valid file."""


_CONSTANTS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "FRAMEWORK": ("framework", str),
    "LEVEL": ("level", str),
    "NEEDS": ("needs", dict),
    "TIMEOUT_S": ("timeout_s", (int, float)),
    "ESTIMATE_S": ("estimate_s", (int, float)),
    "LESSON": ("lesson", str),
    "SOURCE": ("source", str),
    "AFTER": ("after", list),
    "OWN_PROCESS": ("own_process", bool),
    "ENV": ("env", dict),
    "OPTIONAL": ("optional", bool),
    "FRESH": ("fresh", bool),
}
_NEEDS: dict[str, type | tuple[type, ...]] = {
    "chips": int,
    "container": bool,
    "devices": int,
    "generation": (str, list),
    "google_cloud": bool,
    "hosts": int,
    "packages": list,
    "platform": str,
    "slices": int,
}
"""Types of the values in `NEEDS`."""
Constants = dict[str, Any]
"""The constants of a check by the names of `Check`'s fields, of the types in `_CONSTANTS`."""
_REQUIRED = ("FRAMEWORK", "LEVEL", "NEEDS", "TIMEOUT_S", "LESSON", "SOURCE")


def read_checks(folder: Path | None = None) -> list[Check]:
    """Return every check in `folder`, including broken ones, sorted by framework and name."""
    folder = folder or locations.content_folder("checks")
    files = sorted(path for path in folder.glob("*/*.py") if not path.name.startswith("_"))
    with cache.open_cache("checks", __file__) as known:
        return [_read_check(path, known) for path in files]


def _read_check(path: Path, known: cache.Cache) -> Check:
    check_id = f"{path.parent.name}.{path.stem}"
    framework = path.parent.name
    try:
        source = path.read_bytes()
        _refuse_nul(source)
        fields = {**known.get_or_read(source, lambda: _parse(source, path))}
    except SyntaxError as error:
        reason = f"line {error.lineno}: {error.msg}"
        return Check(check_id, path, framework=framework, broken=reason)
    except (OSError, ValueError) as error:
        return Check(check_id, path, framework=framework, broken=str(error))
    if fields["framework"] != framework:
        reason = f"FRAMEWORK is {fields['framework']!r} in the folder `{framework}`"
        return Check(check_id, path, framework=framework, broken=reason)
    fields["after"] = tuple(fields["after"])
    return Check(check_id, path, **fields)


def _refuse_nul(source: bytes) -> None:
    # Python and YAML report a NUL byte without its line.
    if (place := source.find(b"\0")) >= 0:
        line = source.count(b"\n", 0, place) + 1
        raise ValueError(f"line {line}: found a NUL byte, expected text")


def _parse(source: bytes, path: Path) -> Constants:
    import ast  # takes long, and is not needed for what is known already

    return _constants(ast.parse(source, str(path)))


def _constants(tree: ast.Module) -> Constants:
    import ast

    fields: Constants = {"title": (ast.get_docstring(tree) or "").split("\n")[0].rstrip(".")}
    if not fields["title"]:
        raise ValueError("the docstring, whose first line is the claim, is missing")
    missing = set(_REQUIRED)
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id in _CONSTANTS:
                name, kind = _CONSTANTS[target.id]
                fields[name] = _literal(target.id, statement, kind)
                missing.discard(target.id)
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} not set")
    if fields["level"] not in LEVELS:
        raise ValueError(f"LEVEL is {fields['level']!r}, expected one of {', '.join(LEVELS)}")
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "run" not in functions:
        raise ValueError("there is no function `run`")
    if not all(isinstance(value, str) for value in fields.get("env", {}).values()):
        raise ValueError("ENV has a value that is not a str")
    _refuse_needs(fields["needs"])
    if not 0 < fields["timeout_s"] <= 86400:
        raise ValueError(f"TIMEOUT_S is {fields['timeout_s']}, expected more than 0, at most 86400")
    if not 0 <= (fields.get("estimate_s") or 0) <= 86400:
        raise ValueError(f"ESTIMATE_S is {fields['estimate_s']}, expected 0 to 86400")
    fields["has_programs"] = "programs" in functions
    fields.setdefault("after", [])
    fields["own_process"] = bool(fields.get("own_process") or fields.get("env"))
    return fields


def _refuse_needs(needs: dict[str, object]) -> None:
    # An unknown need is refused, because the check would run without it.
    for name, value in needs.items():
        if name not in _NEEDS:
            raise ValueError(f"NEEDS has `{name}`, expected one of {', '.join(_NEEDS)}")
        kind = _NEEDS[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"NEEDS has `{name}: {value}`, a {type(value).__name__}")


def _literal(name: str, statement: ast.Assign, kind: type | tuple[type, ...]) -> object:
    import ast

    try:
        value = ast.literal_eval(statement.value)
        json.dumps(value)  # it is sent through a pipe
    except (ValueError, TypeError):
        raise ValueError(f"line {statement.lineno}: {name} must be a literal") from None
    if not isinstance(value, kind):
        type_name = type(value).__name__
        raise ValueError(f"line {statement.lineno}: {name} is a {type_name}")
    return value


def select_checks(
    checks: Iterable[Check],
    patterns: Iterable[str],
    level: str,
    framework: str | None,
    installed: Container[str] = (),
) -> list[Check]:
    """Return the checks to run.

    An id selects its check at any level; a glob selects among the checks of the level. If part of
    an id matches several checks, the one for `framework` wins, or else the one whose framework
    is `installed`.

    Raises:
        Problem: An id matches no check or is ambiguous, or a glob matches nothing.
    """
    checks = list(checks)
    depth = LEVELS.index(level)
    chosen = [check for check in checks if LEVELS.index(check.level) <= depth]
    if framework:
        chosen = [check for check in chosen if check.framework in ("host", framework)]
    if not (patterns := list(patterns)):
        return chosen
    selected_ids: set[str] = set()
    for pattern in patterns:
        if not is_glob(pattern):
            selected_ids.add(find_check(pattern, checks, [framework] if framework else installed))
            continue
        matching = {check.id for check in chosen if fnmatchcase(check.id, pattern)}
        if not matching:
            what = f"no check of level {level} matches `{pattern}`"
            hint = "`tpustarter check --list` shows them"
            raise Problem(what, hint=hint, code=ExitCode.USAGE)
        selected_ids |= matching
    return [check for check in checks if check.id in selected_ids]


def find_check(typed: str, checks: Sequence[Check], frameworks: Container[str] = ()) -> str:
    """Return the id of a check typed in full or in part; `frameworks` decide between several."""
    titles = {check.id: check.title for check in checks}
    liked = {check.id for check in checks if check.framework in frameworks}
    return short_ids.find_id(
        typed,
        titles,
        kind="check",
        listed_by="tpustarter check --list",
        preferred=liked,
        pattern_for="tpustarter check",
    )


def estimate_seconds(checks: Iterable[Check], minutes: float) -> float:
    """Return the estimated duration of checks in seconds; each soak check adds `minutes`."""
    return sum((check.estimate_s or 0) + 60 * minutes * (check.level == "soak") for check in checks)


def is_glob(pattern: str) -> bool:
    """Return whether `pattern` contains a wildcard."""
    return any(character in pattern for character in "*?[")


HEADER: dict[str, type] = {
    "title": str,
    "minutes": int,
    "needs": dict,
    "checks": list,
    "sources": list,
    "setups": dict,
    "values": dict,
    "exercises": list,
    "code": list,
    "fresh": bool,
}
"""Keys of a lesson's header and their types; lists contain strings."""
MAX_DEPTH = 20
"""Deepest nesting of YAML that is accepted; more could overflow the C parser's stack."""
_TOO_DEEP = f"it has aliases, or more than {MAX_DEPTH} levels"


@dataclass(frozen=True)
class Lesson:
    """A lesson: its header and its Markdown."""

    id: str
    """Track and name: `lessons/jax/13-precision.md` has the id `jax/precision`."""
    path: Path
    header: dict[str, object]
    text: str
    """The Markdown after the header."""
    first_line: int = 1
    """The line of the file on which `text` begins."""

    @property
    def title(self) -> str:
        """Title from the header, or the id if the header has none."""
        return str(self.header.get("title", self.id))

    @property
    def framework(self) -> str | None:
        """Import name of the first framework that the lesson needs, or None if it needs none."""
        return next(iter(self.frameworks), None)

    @property
    def frameworks(self) -> dict[str, str]:
        """Frameworks that the lesson needs, each with its oldest version, or "" for any."""
        named = self._needs.get("framework")
        versions = {
            name: str(version)
            for name, version in self._needs.items()
            if name not in ("framework", "packages", "devices")
        }
        return versions or ({str(named): ""} if named else {})

    @property
    def packages(self) -> list[str]:
        """Other packages that the lesson needs, under the names used to install them."""
        return _as_texts(self._needs.get("packages"))

    @property
    def code_names(self) -> list[str]:
        """Names of the code files that come with the lesson."""
        return _as_texts(self.header.get("code"))

    @property
    def exercise_names(self) -> list[str]:
        """Names of the lesson's exercises, as ordered in its header."""
        return _as_texts(self.header.get("exercises"))

    @property
    def checks(self) -> list[str]:
        """Ids of the checks that the lesson ends with."""
        return _as_texts(self.header.get("checks"))

    @property
    def sources(self) -> list[str]:
        """URLs of the lesson's sources."""
        return _as_texts(self.header.get("sources"))

    @property
    def fresh(self) -> bool:
        """True if all its programs are compiled anew, because it shows how they are compiled."""
        return self.header.get("fresh") is True

    @property
    def devices(self) -> int:
        """Smallest number of devices that the lesson's blocks are written for."""
        number = self._needs.get("devices")
        return number if isinstance(number, int) else 1

    @property
    def _needs(self) -> dict[str, object]:
        return as_object(self.header.get("needs"))


def _as_texts(value: object) -> list[str]:
    return [str(item) for item in value] if is_array(value) else []


def read_lessons(folder: Path | None = None) -> list[Lesson]:
    """Return every lesson, in course order.

    Raises:
        Problem: A lesson cannot be read, or its header is invalid.
    """
    folder = folder or locations.content_folder("lessons")
    with cache.open_cache("lessons", __file__) as known:
        return [read_lesson(path, known) for path in sorted(folder.glob("*/*.md"), key=_place)]


def find_lesson(typed: str, lessons: Iterable[Lesson], preferred: Container[str] = ()) -> Lesson:
    """Return the lesson whose id was typed in full or in part; of several, the preferred one."""
    by_id = {lesson.id: lesson for lesson in lessons}
    titles = {name: lesson.title for name, lesson in by_id.items()}
    found = short_ids.find_id(
        typed, titles, kind="lesson", listed_by="tpustarter learn -v", preferred=preferred
    )
    return by_id[found]


def _place(path: Path) -> tuple[int, str, str]:
    track = path.parent.name
    return TRACKS.index(track) if track in TRACKS else len(TRACKS), track, path.name


def read_lesson(path: Path, known: cache.Cache | None = None) -> Lesson:
    """Read a lesson.

    Args:
        path: The lesson's file.
        known: Cache of parsed headers.

    Raises:
        Problem: The file cannot be read, or its header is missing or invalid.
    """
    try:
        text = locations.read_text(path)
        _refuse_nul(text.encode())
        match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
        header = _read_header(match[1], known) if match else None
        _refuse_types(header)
    except (OSError, ValueError) as error:
        raise Problem(f"cannot read the lesson `{path}`: {error}") from error
    if match is None or not is_object(header):
        raise Problem(f"the lesson `{path}` has no YAML header between two `---` lines")
    name = re.sub(r"^\d+-", "", path.stem)
    body = text[match.end() :].lstrip("\n")
    first_line = text.count("\n", 0, len(text) - len(body)) + 1
    return Lesson(f"{path.parent.name}/{name}", path, header, body, first_line)


def _read_header(text: str, known: cache.Cache | None) -> object:
    return known.get_or_read(text.encode(), lambda: read_yaml(text)) if known else read_yaml(text)


def _refuse_types(header: object) -> None:
    fields = header if is_object(header) else {}
    for key, kind in HEADER.items():
        value = fields.get(key, kind())
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            type_name = type(value).__name__
            raise ValueError(f"`{key}` in the header is a {type_name}, expected {kind.__name__}")
        if is_array(value) and not all(isinstance(item, str) for item in value):
            raise ValueError(f"`{key}` in the header is not a list of texts")


def read_yaml(text: str) -> object:
    """Parse YAML.

    Raises:
        ValueError: It is malformed, has aliases, or is nested too deeply.
    """
    import yaml

    library: Any = yaml  # PyYAML is untyped
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in library.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
                # A few nested aliases can expand to more than fits in memory.
                raise ValueError(_TOO_DEEP)
        return library.load(text, Loader=loader)
    except yaml.YAMLError as error:
        if "maximum nesting depth" in str(error):  # PyYAML 6.0.4 itself refuses 1,000 levels
            raise ValueError(_TOO_DEEP) from error
        raise ValueError(" ".join(str(error).split())) from error
