"""What older tutorials say, and what is true today: `lessons/then-now.yml`, one entry per claim.

An entry that says how it is proven names a block of a lesson, or a check: what a CPU can show is
shown by code that runs, the rest rests on its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tpustarter import content, locations
from tpustarter.content import Lesson
from tpustarter.learning.blocks import blocks_of
from tpustarter.learning.markdown import anchors
from tpustarter.problem import Problem

Status = Literal["true", "changed", "gone"]
"""Still right as written; right in another form; no longer there."""


@dataclass(frozen=True)
class Claim:
    """One claim, command or name that is met in older tutorials."""

    id: str
    then: str
    """What they say."""
    status: Status
    now: str
    """What is true today, and what to do instead."""
    lesson: str | None
    """A lesson, or `lesson#heading`, that teaches it; None where no lesson does yet."""
    proof: str | None
    """`track/lesson#block`, or the id of a check, that shows it; None for one that rests on its
    source."""
    source: str

    @property
    def command(self) -> str | None:
        """Return the command that shows the lesson."""
        return f"tpustarter learn {self.lesson.partition('#')[0]}" if self.lesson else None


_KEYS = ("id", "then", "status", "now", "lesson", "proof", "source")


def read(folder: Path | None = None) -> list[Claim]:
    """Return all claims, in order; raises Problem naming what cannot be used."""
    file = (folder or locations.content("lessons")) / "then-now.yml"
    try:
        entries: Any = content.read_yaml(locations.read_text(file)) or []
        return [_claim(cast("Mapping[str, Any]", one)) for one in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"cannot read the claims in `{file}`: {error}") from error


def _claim(fields: Mapping[str, Any]) -> Claim:
    unknown = set(fields) - set(_KEYS)
    values = {key: fields.get(key) for key in _KEYS}
    for key, value in values.items():
        if not isinstance(value, str) and not (value is None and key in ("lesson", "proof")):
            raise ValueError(f"`{key}` of `{fields.get('id')}` is no text")
    if unknown or values["status"] not in get_args(Status):
        raise ValueError(f"`{values['id']}` has the status `{values['status']}`, keys {[*fields]}")
    told = {key: value and " ".join(value.split()) for key, value in values.items()}
    return Claim(**cast("Any", told))


def search(claims: Iterable[Claim], text: str) -> list[Claim]:
    """Return the claims that hold every word of a text, those whose old side does first."""
    words = text.casefold().split()
    found: list[tuple[bool, Claim]] = []
    for one in claims:
        old, whole = one.then.casefold(), f"{one.id} {one.then} {one.now}".casefold()
        if all(word in whole for word in words):
            found.append((not all(word in old for word in words), one))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def complaints(
    claims: Sequence[Claim], lessons: Sequence[Lesson], check_ids: set[str]
) -> Iterator[str]:
    """Yield what is wrong: ids met twice, and lessons, headings, blocks or checks that are not."""
    known = {lesson.id: lesson for lesson in lessons}
    ids = [one.id for one in claims]
    for one in claims:
        name, _, heading = (one.lesson or "").partition("#")
        proof, _, block = (one.proof or "").partition("#")
        if ids.count(one.id) > 1:
            yield f"then-now.yml: a second claim `{one.id}`"
        if not one.source.startswith("https://"):
            yield f"then-now.yml: `{one.id}` has no public source"
        if name and name not in known:
            yield f"then-now.yml: `{one.id}` names the lesson `{name}`, which does not exist"
        elif heading and heading not in anchors(known[name].text):
            yield f"then-now.yml: `{one.id}` names `{one.lesson}`: there is no such heading"
        if block and (proof not in known or block not in {b.id for b in blocks_of(known[proof])}):
            yield f"then-now.yml: `{one.id}` is proven by `{one.proof}`: there is no such block"
        elif proof and not block and proof not in check_ids:
            yield f"then-now.yml: `{one.id}` is proven by `{one.proof}`: there is no such check"
