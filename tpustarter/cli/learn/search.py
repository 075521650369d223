"""`tpustarter learn --search`: lessons, glossary terms, checks and old claims, best match first.

A match is bold and underlined on a terminal; its line also names the heading it is under.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.core import state
from tpustarter.core.problem import ExitCode
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.search import search
from tpustarter.learning.search.passages import Kind
from tpustarter.learning.search.search import MAX_LINES, FoundLine, Parts, SearchHit, SearchResult
from tpustarter.text.terminal import (
    WIDTH,
    add_unbreakable_spaces,
    escape_text,
    remove_unbreakable_spaces,
    wrap,
)

_SHOWN: dict[Kind, int] = {"lesson": 8, "word": 3, "check": 5, "old": 3}
"""Most hits of each kind that are shown; the app shows more."""
_BEST = 3
"""Number of lessons whose matches are all shown; others show only the best one."""
_TITLES: dict[Kind, str] = {
    "lesson": "Lessons",
    "word": "Glossary",
    "check": "Checks",
    "old": "Older tutorials",
}
Mark = Callable[[str], str]
"""A function that highlights a match."""


def print_search_results(text: str) -> None:
    """Print the lessons found for a query; exit with code 5 if there are none."""
    library = search.SearchLibrary(search.read_sources(), search.read_synonyms())
    chosen = state.load_state("settings").get("path")
    path = next((path for path in read_paths() if path.id == chosen), None)
    found = library.search(text, path.lessons if path else ())
    if not found.hits:
        meant = f"tpustarter learn --search {escape_text(repr(found.meant))}" if found.meant else ""
        following = f"Did you mean `{meant}`?" if meant else "Next: `tpustarter learn`"
        click.echo(f"exit 5: nothing here is about `{escape_text(text)}`. {following}", err=True)
        sys.exit(ExitCode.NOTHING_VERIFIED)
    _show(found, _marked if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else str)


def _marked(text: str) -> str:
    """Return text in bold and underlined, as marks without colour."""
    return click.style(text, bold=True, underline=True)


def _show(found: SearchResult, mark: Mark) -> None:
    if found.synonyms:
        others = ", ".join(escape_text(word) for word in found.synonyms)
        for line in wrap(f"Also looked for: {others}.", hang="  "):
            click.echo(line)
        click.echo()
    if not any(hit.has_every_word for hit in found.hits):
        click.echo("No text has all of these words; these have some of them.\n")
    for hit in filter(found.is_asked_for, found.hits):
        click.echo(_TITLES["word"])
        for line in _whole(hit):
            click.echo(line)
        click.echo()
    groups = list(_groups(found))
    for kind, hits in groups:
        click.echo(_TITLES[kind])
        for number, hit in enumerate(hits[: _SHOWN[kind]]):
            for line in _lines(hit, MAX_LINES if number < _BEST else 1, mark):
                click.echo(line)
        if len(hits) > _SHOWN[kind]:
            click.echo(f"  and {len(hits) - _SHOWN[kind]} more")
        click.echo()
    echo_lines(_following(groups[0][1][0] if groups else found.hits[0]))


def _groups(found: SearchResult) -> Iterable[tuple[Kind, list[SearchHit]]]:
    """Yield the hits whose id was searched for, then the others by kind, without that term."""
    named = [hit for hit in found.hits if found.is_named(hit)]
    for hit in named:
        yield hit.kind, [hit]
    kinds: list[Kind] = [*_TITLES]
    for kind in kinds:
        others = [hit for hit in found.select_kind(kind) if hit not in named]
        if hits := [hit for hit in others if not found.is_asked_for(hit)]:
            yield kind, hits


def _whole(word: SearchHit) -> list[str]:
    name, meaning = ("".join(text for text, _ in parts) for parts in (word.title, word.text))
    return wrap(f"  {escape_text(name)}: {escape_text(' '.join(meaning.split()))}", hang="    ")


def _following(best: SearchHit) -> str:
    if best.kind == "check":
        return f"Run it: tpustarter check {escape_text(best.id)}"
    if best.kind == "old":
        return f"Read all of it: tpustarter learn --old {escape_text(best.id)}"
    if best.kind == "word":
        return "To read it, open the app with `tpustarter`, and press / to search."
    return f"Read it: tpustarter learn {escape_text(best.id)}"


def _lines(hit: SearchHit, max_lines: int, mark: Mark) -> Iterable[str]:
    if hit.kind == "lesson":
        yield f"  {escape_text(hit.id):<30}  {_windowed(hit.title, WIDTH - 34, mark)}"
        yield from (_format_found_line(line, mark) for line in hit.lines[:max_lines])
    elif hit.kind == "check":
        yield f"  {escape_text(hit.id):<32}  {_windowed(hit.title, WIDTH - 36, mark)}"
    elif hit.kind == "word":
        name = "".join(text for text, _ in hit.title)
        yield f"  {escape_text(name)}: {_windowed(hit.text, WIDTH - len(name) - 4, mark)}"
    else:
        yield f"  {escape_text(hit.id)}  {_windowed(hit.title, WIDTH - len(hit.id) - 4, mark)}"


def _format_found_line(line: FoundLine, mark: Mark) -> str:
    label = f"    {escape_text('code' if line.is_code else line.heading)}: "
    if len(label) > WIDTH // 2:
        label = f"{label[: WIDTH // 2 - 5].rstrip()}...: "
    return label + _windowed(line.parts, WIDTH - len(label), mark)


def _windowed(parts: Parts, width: int, mark: Mark) -> str:
    text = add_unbreakable_spaces("".join(escape_text(piece.strip("\n")) for piece, _ in parts))
    found = [is_found for piece, is_found in parts for _ in escape_text(piece.strip("\n"))]
    begin, end = _window(text, found, width)
    before, after = ("... " if begin else ""), (" ..." if end < len(text) else "")
    signs = [(text[n], found[n]) for n in range(begin, end)]
    return remove_unbreakable_spaces(f"{before}{_painted(signs, mark)}{after}")


def _window(text: str, found: list[bool], width: int) -> tuple[int, int]:
    """Return the range of a line to show: cut between words, and containing the first match."""
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if end - begin <= width:
        return begin, end
    width -= 8
    first = found.index(True) if True in found else begin
    if first - begin > width // 2:
        begin = text.find(" ", max(begin, min(first - width // 3, end - width - 1))) + 1
    if end - begin > width:
        end = max(text.rfind(" ", begin, begin + width + 1), begin + 1)
    return begin, end


def _painted(signs: list[tuple[str, bool]], mark: Mark) -> str:
    text, run, was = "", "", False
    for sign, is_found in [*signs, ("", False)]:
        if is_found != was:
            text, run, was = text + (mark(run) if was else run), "", is_found
        run += sign
    return text + run
