"""Ids as people type them: only the last part, a piece of it, `-` for `_`, or with a typo.

Text that matches one id stands for it. Of several matches the preferred one wins, such as the
lesson on the user's path; otherwise the error lists them with their titles.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import wrap

MOST = 8
"""Maximum number of candidates listed; beyond it, the error names the command that lists all."""
_MOST_NEAR = 3
"""Maximum number of similar ids listed if none matches."""
_MOST_FILES = 1000
"""Maximum number of a folder's files that are compared."""
_SHORTEST = 3
"""Fewest letters of a piece of an id that matches it."""
_MANY_PARTS = 3
"""Fewest parts of a name of which one may be ignored; with fewer, `a.log` would be like `log`."""


def find_id(
    typed: str,
    titles: Mapping[str, str],
    *,
    kind: str,
    listed_by: str,
    preferred: Container[str] = (),
    pattern_for: str = "",
) -> str:
    """Return the id that was typed in full or in part.

    Args:
        typed: The user's text.
        titles: Titles by id.
        kind: The kind of thing, such as `lesson`.
        listed_by: The command that lists all of them.
        preferred: If several ids match, the only one of these wins.
        pattern_for: The command that accepts a pattern for several ids; empty if none does.

    Raises:
        Problem: No id matches, or several do; the error lists the nearest ones.
    """
    if typed in titles:
        return typed
    found = list_matching_ids(typed, titles)
    liked = [name for name in found if name in preferred] or found
    if len(liked) == 1:
        return liked[0]
    if found:
        what = f"`{typed}` can be each of {len(found)} {kind}s"
        hint = f"name one of them:\n{_listed(found[:MOST], titles)}"
        if len(found) > MOST:
            hint += f"\n{len(found) - MOST} more: `{listed_by}` lists them"
        if pattern_for and typed.isidentifier():
            hint += f"\nor several at once: `{pattern_for} '*{typed}*'`"
        raise Problem(what, hint=hint, code=ExitCode.USAGE)
    near = _titled(typed, titles) or _near(typed, list(titles))
    hint = f"`{listed_by}` lists them"
    if len(near) == 1:
        hint = f"did you mean `{near[0]}`?"
    elif near:
        hint = f"did you mean one of these?\n{_listed(near, titles)}"
    raise Problem(f"there is no {kind} `{typed}`", hint=hint, code=ExitCode.USAGE)


def find_nearest_file(path: Path, ending: str = "") -> Path | None:
    """Return the file in a missing file's folder whose name is nearest, or None if there is none.

    Args:
        path: The missing file.
        ending: The required ending of the name; empty for any file.
    """
    try:
        files = [one.name for one in islice(path.parent.iterdir(), _MOST_FILES) if one.is_file()]
    except OSError:
        return None
    beside = [name for name in files if name.endswith(ending)]
    near = find_nearest(path.name, sorted(beside))
    return path.with_name(near[0]) if near else None


def is_id_or_last_part(typed: str, name: str) -> bool:
    """Return whether the typed text is a full id or its last part."""
    return _spelt(typed) in (_spelt(name), _spelt(name).rpartition("/")[2])


def list_matching_ids(typed: str, ids: Mapping[str, str] | Sequence[str]) -> list[str]:
    """Return the ids that equal the typed one, end in it or contain it.

    Only the first of these three kinds that has a match is returned.
    """
    wanted = _spelt(typed)
    if not wanted.strip("-/"):
        return []
    spelt = {name: _spelt(name) for name in ids}
    found = [name for name, text in spelt.items() if text == wanted]
    found = found or [name for name, text in spelt.items() if text.rpartition("/")[2] == wanted]
    if not found and len(wanted) >= _SHORTEST:
        found = [name for name, text in spelt.items() if wanted in text]
    return sorted(found, key=lambda name: _rank(wanted, spelt[name]))


def _titled(typed: str, titles: Mapping[str, str]) -> list[str]:
    wanted = _spelt(typed).strip("-")
    found = [name for name, title in titles.items() if f"-{wanted}-" in f"-{_spelt(title)}-"]
    return found[:MOST] if wanted else []


def _near(typed: str, ids: Sequence[str]) -> list[str]:
    wanted = _spelt(typed)
    by_spelling = {_spelt(name): name for name in ids}
    last = wanted.rpartition("/")[2]
    by_last: dict[str, list[str]] = {}
    for spelling, name in by_spelling.items():
        by_last.setdefault(spelling.rpartition("/")[2], []).append(name)
    whole = find_nearest(wanted, by_spelling) if "/" in wanted else []
    if whole:
        return [by_spelling[spelling] for spelling in whole][:_MOST_NEAR]
    return [name for part in find_nearest(last, by_last) for name in by_last[part]][:_MOST_NEAR]


def _spelt(name: str) -> str:
    name = name.strip().casefold()
    if name.endswith((".md", ".py")):
        name = re.sub(r"^(?:.*/)?(?=[^/]+/[^/]+$)|(?<=/)\d+-(?=.*\.md$)", "", name)[:-3]
    return re.sub(r"[\s_-]+", "-", re.sub(r"[./]+", "/", name)).strip("/")


def _rank(wanted: str, spelling: str) -> tuple[bool, bool]:
    words = spelling.replace("/", "-")
    is_word = f"-{wanted}-".replace("/", "-") in f"-{words}-"
    return wanted not in spelling.split("/"), not is_word


def _listed(ids: Sequence[str], titles: Mapping[str, str]) -> str:
    width = max(len(name) for name in ids)
    hang = " " * (width + 4)
    rows = [wrap(titles[name], f"  {name:<{width}}  ", hang) or [f"  {name}"] for name in ids]
    return "\n".join(line for row in rows for line in row)


def find_nearest(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names of which `typed` is a typo, or those that differ in the fewest parts."""
    names = list(names)
    return phrases.near_matches(typed, names) or _fewest(
        (_parts_apart(typed, name), name) for name in names
    )


def _parts_apart(typed: str, name: str) -> int | None:
    """Return the number of parts by which two names differ, or None if they are unlike.

    The typed name may lack any of the parts, as `jti` does for `use-jit`. If it has three parts or
    more, one of them may be superfluous.
    """
    wanted, there = _parts(typed), _parts(name)
    if len(wanted) > len(there) + 1:
        return None
    missing = [part for part in wanted if not any(_is_slip(part, one) for one in there)]
    extra = [part for part in there if not any(_is_slip(one, part) for one in wanted)]
    if missing and (extra or len(missing) > 1 or len(wanted) < _MANY_PARTS):
        return None
    is_clear = any(len(part) >= _SHORTEST for part in wanted if part not in missing)
    return len(missing) + len(extra) if is_clear else None


def _is_slip(one: str, other: str) -> bool:
    return bool(phrases.near_matches(one, [other]))


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\W_]+", name.casefold()) if part]


def _fewest(rated: Iterable[tuple[int | None, str]]) -> list[str]:
    known = [(count, name) for count, name in rated if count is not None]
    fewest = min((count for count, _ in known), default=None)
    return [name for count, name in known if count == fewest]
