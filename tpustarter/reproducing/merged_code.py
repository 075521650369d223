"""Merges a check and everything it imports from this program into one text.

Only the statements that the check needs are copied, with their comments. Only names are edited:
`_collectives.blocks` becomes `blocks`, and a name that two files use is prefixed with its file's
name. Nothing is imported or executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tpustarter.core import locations
from tpustarter.reproducing import statement_names
from tpustarter.reproducing.module_source import (
    PACKAGE,
    Key,
    ModuleSource,
    SourcePiece,
    keep_table_rows,
    parse_module,
)
from tpustarter.reproducing.statement_names import NameReference

STAND_IN_FILE = Path(__file__).with_name("probe_stand_in.py")
"""The stand-in for the probe's modules and for the checks' `_tally.py`."""
_CHECKS = f"{PACKAGE}checks."
_STAND_IN = "plain"


class NotStandalone(Exception):  # noqa: N818  it names a kind of file
    """Raised if code cannot be merged into one file; the message names the obstacle."""


@dataclass(frozen=True)
class MergedParts:
    """A check merged with the code that it imports, for a file that runs on its own."""

    imports: str
    code: str
    names: Mapping[Key, str]
    """Each definition's name in the file, keyed by its module and original name."""

    @property
    def needs_target(self) -> bool:
        """True if the file contains `target` from `probe_stand_in.py`."""
        return (_STAND_IN, "target") in self.names


def merge_into_one_text(
    check_id: str, *, generation: str | None = None, checks: Path | None = None
) -> MergedParts:
    """Merge a check's `run` with the code that it needs from other files.

    Args:
        check_id: The check's id.
        generation: The TPU generation whose row of the generation table is kept.
        checks: The folder of checks; None for the checks of this program.

    Raises:
        NotStandalone: The check needs more than the text of these files.
    """
    return _Merger(generation, checks or locations.content_folder("checks")).merge(
        _CHECKS + check_id
    )


class _Merger:
    def __init__(self, generation: str | None, checks: Path) -> None:
        self._generation = generation
        self._checks = checks
        self._sources: dict[str, ModuleSource] = {}  # each after the modules that it imports

    def merge(self, main: str) -> MergedParts:
        self._read(_STAND_IN)
        self._read(main)
        pieces = self._needed([(main, "run"), (_STAND_IN, "main")])
        chosen = self._choose_names(pieces, main)
        blocks = [(piece, _edited(piece, self._edits(piece, chosen))) for piece in pieces]
        return MergedParts(self._imports(pieces), _joined(blocks), chosen)

    def _read(self, name: str) -> str:
        """Read a module and its imports, and return its key in `_sources`."""
        path = self._path(name)
        name = _STAND_IN if path == STAND_IN_FILE else name
        if name in self._sources:
            return name
        text = path.read_text(encoding="utf-8")
        source = parse_module(name, text.replace("StandIn", "") if name == _STAND_IN else text)
        for local, (module, inner) in list(source.links.items()):
            if inner and self._path(f"{module}.{inner}").is_file():
                source.links[local] = (self._read(f"{module}.{inner}"), "")
            else:
                source.links[local] = (self._read(module), inner)
        for piece in source.pieces:
            if "GENERATIONS" in piece.names:
                keep_table_rows(piece, self._generation)
        self._sources[name] = source
        return name

    def _path(self, name: str) -> Path:
        """Return a module's file, which may not exist."""
        first, _, last = name.rpartition(".")
        if name == _STAND_IN or first == f"{PACKAGE}probe" or last == "_tally":
            return STAND_IN_FILE
        if name.startswith(_CHECKS):
            return self._checks.joinpath(*name.removeprefix(_CHECKS).split(".")).with_suffix(".py")
        inner = name.removeprefix(PACKAGE).split(".")
        return locations.PACKAGE.joinpath(*inner).with_suffix(".py")

    def _needed(self, roots: Iterable[Key]) -> list[SourcePiece]:
        """Return the pieces that the given names need, in an order in which they can run."""
        wanted, seen, kept = list(roots), set[Key](), set[int]()
        while wanted:
            key = self._home(wanted.pop())
            if key in seen:
                continue
            seen.add(key)
            pieces = [one for one in self._sources[key[0]].pieces if key[1] in one.names]
            if not pieces:
                raise NotStandalone(
                    f"it needs `{key[1]}` of {key[0]}, which is not part of its text"
                )
            for piece in pieces:
                kept.add(id(piece))
                wanted += [(piece.module, name) for name in piece.names]
                wanted += self._ours(piece)
        every = (piece for source in self._sources.values() for piece in source.pieces)
        return [piece for piece in every if id(piece) in kept]

    def _ours(self, piece: SourcePiece) -> Iterator[Key]:
        """Yield the definitions of this program that a piece needs.

        Raises:
            NotStandalone: The piece uses a whole module, `__file__` or `__name__`.
        """
        source = self._sources[piece.module]
        for reference in piece.references:
            link = source.links.get(reference.name)
            if link and not link[1] and not reference.attribute:
                raise NotStandalone("it hands a file of this program on as a whole")
            if reference.name in ("__file__", "__name__"):
                raise NotStandalone(f"it uses `{reference.name}`")
            if key := self._key(source, reference):
                yield key

    def _key(self, source: ModuleSource, reference: NameReference) -> Key | None:
        """Return the definition of this program that a reference means, or None for any other."""
        if link := source.links.get(reference.name):
            return self._home((link[0], link[1] or reference.attribute))
        return (source.name, reference.name) if source.has_binding(reference.name) else None

    def _home(self, key: Key) -> Key:
        """Return the module and name where an imported name is defined."""
        source = self._sources[key[0]]
        link = source.links.get(key[1])
        return key if link is None or source.has_binding(key[1]) else self._home(link)

    def _choose_names(self, pieces: list[SourcePiece], main: str) -> dict[Key, str]:
        """Choose a name for each definition: its own, unless that is taken or shadowed."""
        keys = list(dict.fromkeys((piece.module, name) for piece in pieces for name in piece.names))
        keys.sort(key=lambda key: key[0] != main)  # the check's own names stay
        taken = {name for piece in pieces for name in self._foreign(piece)}
        hidden = {
            key
            for piece in pieces
            for reference in piece.references
            if (key := self._key(self._sources[piece.module], reference))
            and key[1] in reference.hidden
        }
        chosen: dict[Key, str] = {}
        for key in keys:
            module, name = key
            if name in taken or key in hidden:
                longer = f"{module.rpartition('.')[2].strip('_')}_{name.strip('_')}"
                name = longer.upper() if name.isupper() else longer
            while name in taken:
                name += "_"
            taken.add(name)
            chosen[key] = name
        return chosen

    def _foreign(self, piece: SourcePiece) -> Iterator[str]:
        """Yield the names that a piece uses from other packages, including builtins."""
        source = self._sources[piece.module]
        for reference in piece.references:
            if self._key(source, reference) is None:
                yield reference.name

    def _edits(
        self, piece: SourcePiece, chosen: Mapping[Key, str]
    ) -> Iterator[tuple[NameReference, str]]:
        source = self._sources[piece.module]
        for reference in piece.references:
            key = self._key(source, reference)
            if key and (reference.attribute or chosen[key] != reference.name):
                link = source.links.get(reference.name)
                # The attribute of a name that was imported with `from` is kept.
                keeps = (
                    f".{reference.attribute}" if link and link[1] and reference.attribute else ""
                )
                yield reference, chosen[key] + keeps

    def _imports(self, pieces: Iterable[SourcePiece]) -> str:
        found: dict[str, set[Key]] = {}
        future = False
        for piece in pieces:
            source = self._sources[piece.module]
            future |= source.has_future
            for name in self._foreign(piece):
                if name in source.imports:
                    found.setdefault(name, set()).update(source.imports[name])
        for name, modules in found.items():
            # `import a.b` and `import a.c` both bind `a` to the same package.
            bare = all(not inner and module.partition(".")[0] == name for module, inner in modules)
            if len(modules) > 1 and not bare:
                raise NotStandalone(f"two of its files call different things `{name}`")
        return statement_names.format_imports(found, future=future)


def _edited(piece: SourcePiece, edits: Iterable[tuple[NameReference, str]]) -> list[str]:
    lines = list(piece.lines)
    for reference, name in sorted(edits, key=lambda one: one[0].sort_key, reverse=True):
        row = reference.line - piece.first_line
        data = lines[row].encode()
        lines[row] = (data[: reference.start] + name.encode() + data[reference.end :]).decode()
    return lines


def _joined(blocks: Iterable[tuple[SourcePiece, list[str]]]) -> str:
    """Join the pieces with blank lines where the formatter would put them."""
    text: list[str] = []
    before: SourcePiece | None = None
    for piece, lines in blocks:
        if before is not None or piece.is_block:
            near = before is not None and before.module == piece.module and not piece.gap
            block = piece.is_block or (before is not None and before.is_block)
            text += [""] * (2 if block else 0 if near else 1)
        text += lines
        before = piece
    return "\n".join(text)
