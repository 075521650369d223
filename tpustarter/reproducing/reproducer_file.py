"""The text of a reproducer: a comment with the failure and the command, then the code."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpustarter.core.content import Check, Lesson
from tpustarter.learning.content.blocks import Block
from tpustarter.reproducing import lesson_files, merged_code, statement_names
from tpustarter.text.terminal import escape_text

WIDTH = 98
MARK = "--- output of block"
"""The line printed before the failing block; output before it comes from other blocks."""
QUOTING_PREFIXES = ("Found by ", "Seen: ")
"""Prefixes of the lines in a reproducer that quote a failed run."""
_CONFIGURES = ("config.update", "os.environ", "use_spmd", "manual_seed")
"""A block that contains one of these changes later blocks, even if they use none of its names."""
_SHOWN = 4
"""Maximum number of findings that the comment names."""


@dataclass(frozen=True)
class ReproducedFailure:
    """The failure of a check or block that was run."""

    id: str
    status: str
    reason: str = ""
    detail: str = ""
    findings: tuple[Mapping[str, object], ...] = ()
    """The findings that failed."""
    log: str = ""


@dataclass(frozen=True)
class FailureEnvironment:
    """The devices, versions and environment variables of a failure, which a reproducer reuses."""

    platform: str
    devices: int | None
    generation: str | None
    where: str
    """A description of the devices."""
    versions: Mapping[str, str]
    python: str
    """The Python version."""
    env: Mapping[str, str]
    """Environment variables that choose the devices."""


@dataclass(frozen=True)
class ReproducerFile:
    """A file that fails as a check or a block did."""

    name: str
    """The file name without its extension."""
    id: str
    title: str
    framework: str
    """The framework's import name; empty for none."""
    text: str
    env: Mapping[str, str]
    """Environment variables that are set in the command that runs it."""
    needs: Mapping[str, object] = field(default_factory=dict[str, object])
    sets: Sequence[str] = ()
    """Names of the environment variables that the file itself sets."""
    platform: str = "cpu"
    limit_s: float = 120.0
    block: Block | None = None
    """The lesson block that it reproduces; None for a check."""
    data_files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that it reads, which must be in the same folder, keyed by file name."""

    @property
    def command(self) -> str:
        """The command that runs the reproducer."""
        return " ".join(
            [*(f"{key}={value}" for key, value in self.env.items()), "python", f"{self.name}.py"]
        )


def _expected(place: FailureEnvironment) -> dict[str, str]:
    values = {
        "PLATFORM": place.platform,
        "DEVICES": place.devices,
        "GENERATION": place.generation,
    }
    return {f"EXPECTED_{key}": str(value) for key, value in values.items() if value}


def make_check_file(
    check: Check,
    failure: ReproducedFailure | None,
    place: FailureEnvironment,
    *,
    checks: Path | None = None,
) -> ReproducerFile:
    """Create a check's reproducer.

    Raises:
        NotStandalone: The check needs other files.
    """
    merged = merged_code.merge_into_one_text(check.id, generation=place.generation, checks=checks)
    env = {**place.env, **(_expected(place) if merged.needs_target else {})}
    name = check.id.replace(".", "_")
    program = ReproducerFile(
        name,
        check.id,
        check.title,
        check.framework,
        "",
        env,
        check.needs,
        tuple(check.env),
        place.platform,
        check.timeout_s,
    )
    head = _head(
        program,
        failure,
        place,
        [
            "It ends with exit code 1 where the claim fails, and with 0 where it holds.",
            f"The claim is documented at {check.source}",
        ],
    )
    start = f"{merged.names[(f'tpustarter.checks.{check.id}', 'run')]}()"
    main = merged.names[("plain", "main")]
    text = [
        head,
        "",
        *_set_first(merged.imports, check.env),
        merged.code,
        "",
        "",
        'if __name__ == "__main__":',
        f"    raise SystemExit({main}({start}))",
        "",
    ]
    return _with_text(program, "\n".join(text))


def _set_first(imports: str, env: Mapping[str, str]) -> Iterator[str]:
    if env:
        future, _, imports = imports.rpartition("annotations\n\n")
        yield from [f"{future}annotations", ""] if future else []
        yield from ["import os", ""]
        yield from (f'os.environ["{name}"] = "{value}"' for name, value in env.items())
        lines = [line for line in imports.splitlines() if line != "import os"]
        imports = "\n".join(f"{line}  # noqa: E402" if line else "" for line in lines).strip("\n")
        yield ""
    yield imports


def make_block_reproducer(
    lesson: Lesson,
    blocks: Sequence[Block],
    block: Block,
    failure: ReproducedFailure | None,
    place: FailureEnvironment,
) -> ReproducerFile:
    """Create a block's reproducer, including the earlier blocks that it needs."""
    name = "_".join((*lesson.id.split("/"), block.id)).replace("-", "_")
    above = _needed(blocks, block)
    files = lesson_files.find_files_for_blocks(lesson, [one.code for one in (*above, block)])
    program = ReproducerFile(
        name,
        f"{lesson.id}:{block.id}",
        f"{lesson.title}, block {block.id}",
        lesson.framework or "",
        "",
        dict(place.env),
        {},
        (),
        place.platform,
        block.timeout_s,
        block,
        files.data_files,
    )
    expected = block.expected_on(place.platform)
    note = (
        f"It is the block `{block.id}` of the lesson {lesson.id}, as the lesson has it, with the "
    )
    notes = [f"{note}blocks above it that it needs.", *files.notes]
    if expected:
        notes.append("It should end without an error, and print:")
    head = _head(program, failure, place, notes, expected.text if expected else "")
    text = [head, "", *([files.code] if files.code else [])]
    for one in above:
        text += [f"# Block {one.id} of the lesson.", one.code.strip("\n"), ""]
    text += [
        "# The block that fails.",
        f'print("{MARK} {block.id}", flush=True)',
        block.code.strip("\n"),
        "",
    ]
    return _with_text(program, "\n".join(text))


def _needed(blocks: Sequence[Block], block: Block) -> list[Block]:
    above = [one for one in blocks[: blocks.index(block)] if not one.is_try]
    wanted, needed = _names(block.code), list[Block]()
    for one in reversed(above):
        own = {
            name
            for node in _statements(one.code)
            for name in statement_names.list_bound_names(node)
        }
        if own & wanted or any(word in one.code for word in _CONFIGURES):
            needed.insert(0, one)
            wanted |= _names(one.code)
    return needed


def _names(code: str) -> set[str]:
    return {
        name.name for node in _statements(code) for name in statement_names.find_references(node)
    }


def _statements(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except SyntaxError:
        return []


def _head(
    program: ReproducerFile,
    failure: ReproducedFailure | None,
    place: FailureEnvironment,
    notes: Iterable[str],
    verbatim: str = "",
) -> str:
    known = [f"{name} {version}" for name, version in place.versions.items()]
    known += [f"Python {place.python}"] if place.python else []
    seen = f"Seen{' with ' if known else ''}{', '.join(known)} on {place.where}."
    command = f"    {program.command}"
    if len(command) > WIDTH:  # no backslash may end a line of this text
        settings, _, call = command.strip().rpartition(" python ")
        command = f"    export {settings}\n    python {call}"
    lines = [f"{_plain(program.title)}.", "", *_found(failure)]
    lines += [*textwrap.wrap(seen, WIDTH), "", command, ""]
    lines += [part for line in notes for part in textwrap.wrap(_plain(line), WIDTH)]
    if verbatim.strip():
        lines += [
            "",
            *(f"    {_plain(line)}".rstrip() for line in verbatim.strip("\n").split("\n")),
        ]
    return '"""' + "\n".join(lines) + '\n"""'


def _found(failure: ReproducedFailure | None) -> Iterator[str]:
    """Yield lines about the failure, which begin with the prefixes in `QUOTING_PREFIXES`."""
    if failure is None:
        return
    for one in failure.findings[:_SHOWN]:
        name, found, wanted, part = (
            _quoted(one.get(key)) for key in ("name", "found", "expected", "entity")
        )
        of, expected = f" of {part}" if part else "", f", expected {wanted}" if wanted else ""
        yield f"{QUOTING_PREFIXES[0]}{one['code']}, {name}{of}: found {found}{expected}"
    if not failure.findings:
        yield f"{QUOTING_PREFIXES[1]}{_quoted(failure.detail) or failure.reason or failure.status}"


def _quoted(value: object) -> str:
    """Return a value's first line in full; the redactor does not recognise truncated names."""
    line = "" if value is None else str(value).partition("\n")[0]
    return _plain("".join(c if c.isprintable() else " " for c in line))


def _plain(text: str) -> str:
    """Return text without the characters that would end a docstring."""
    return escape_text(text).replace("\\", "/").replace('"""', "'''")


def _with_text(program: ReproducerFile, text: str) -> ReproducerFile:
    ast.parse(text)
    return replace(program, text=text)
