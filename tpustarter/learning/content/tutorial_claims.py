"""Claims of older tutorials compared with today's facts: `lessons/then-now.yml`.

An entry's proof is a block of a lesson or a check. Facts that a CPU can show are proved by code
that runs; the others rely on their source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.core import cache, content, locations, yaml_rows
from tpustarter.core.content import Lesson
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import Problem
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.content.markdown import list_anchors

Status = Literal["true", "changed", "gone"]
"""Still right as written; right in another form; gone."""

_MEANINGS: Mapping[Status, str] = {
    "true": "Still true today",
    "changed": "Done in another way today",
    "gone": "Gone today",
}


class TutorialClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim, command or name in older tutorials."""

    id: str
    then: str
    """The tutorials' claim."""
    status: Status
    now: str
    """Today's fact, and the alternative."""
    lesson: str | None
    """The lesson, or `lesson#heading`, that teaches it; None if no lesson does."""
    proof: str | None
    """The proof: `track/lesson#block` or the id of a check; None if it relies on its source."""
    source: str

    @property
    def heading(self) -> str:
        """Return the claim's status today, with its number in the list."""
        return f"{_MEANINGS[self.status]} (no. {self.id} of lessons/then-now.yml)"

    @property
    def command(self) -> str | None:
        """Return the command that shows its lesson, or None if it has none."""
        return f"tpustarter learn {self.lesson.partition('#')[0]}" if self.lesson else None


def read_claims(folder: Path | None = None) -> list[TutorialClaim]:
    """Read all claims, in the order of `then-now.yml`.

    Raises:
        Problem: The file cannot be used.
    """
    file = (folder or locations.content_folder("lessons")) / "then-now.yml"
    try:
        text = locations.read_text(file)
        with cache.open_cache("then-now", content.__file__) as known:
            entries = known.get_or_read(text.encode(), lambda: content.read_yaml(text))
        return [
            _parse_claim(entry)
            for entry in yaml_rows.convert_value(entries or [], tuple[object, ...])
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise Problem(f"cannot read the claims in `{file}`: {error}") from error


def _parse_claim(entry: object) -> TutorialClaim:
    fields = {
        key: " ".join(value.split()) if isinstance(value, str) else value
        for key, value in as_object(entry).items()
    }
    try:
        return yaml_rows.convert_value(fields, TutorialClaim)
    except ValueError as error:
        raise ValueError(f"`{fields.get('id')}`: {error}") from error


def search_claims(claims: Iterable[TutorialClaim], text: str) -> list[TutorialClaim]:
    """Return the claims that contain every word of a query; matches within `then` come first."""
    words = text.casefold().split()
    ranked: list[tuple[bool, TutorialClaim]] = []
    for claim in claims:
        then, whole = claim.then.casefold(), f"{claim.id} {claim.then} {claim.now}".casefold()
        if all(word in whole for word in words):
            ranked.append((not all(word in then for word in words), claim))
    return [claim for _, claim in sorted(ranked, key=lambda pair: pair[0])]


def find_claim_mistakes(
    claims: Sequence[TutorialClaim], lessons: Sequence[Lesson], check_ids: set[str]
) -> Iterator[str]:
    """Yield a sentence for each duplicate id, missing source and broken link."""
    by_id = {lesson.id: lesson for lesson in lessons}
    ids = [claim.id for claim in claims]
    for claim in claims:
        name, _, heading = (claim.lesson or "").partition("#")
        proof, _, block = (claim.proof or "").partition("#")
        if ids.count(claim.id) > 1:
            yield f"then-now.yml: a second claim `{claim.id}`"
        if not claim.source.startswith("https://"):
            yield f"then-now.yml: `{claim.id}` has no public source"
        if name and name not in by_id:
            yield f"then-now.yml: `{claim.id}` names the lesson `{name}`, which does not exist"
        elif heading and heading not in list_anchors(by_id[name].text):
            yield f"then-now.yml: `{claim.id}` names `{claim.lesson}`: there is no such heading"
        if block and (proof not in by_id or block not in {b.id for b in list_blocks(by_id[proof])}):
            yield f"then-now.yml: `{claim.id}` is proven by `{claim.proof}`: there is no such block"
        elif proof and not block and proof not in check_ids:
            yield f"then-now.yml: `{claim.id}` is proven by `{claim.proof}`: there is no such check"
