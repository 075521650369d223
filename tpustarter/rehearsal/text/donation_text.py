"""The arguments that a program could donate, as text with the change to make."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tpustarter.core.json_values import as_type
from tpustarter.rehearsal.result_fields import Donation, ResultFields
from tpustarter.rehearsal.text.memory_size import format_size
from tpustarter.text import phrases

DONATE = "donate"
"""Label of the note."""


def describe_donation(result: ResultFields) -> str:
    """Return the memory that donating more arguments saves, and the change to make, or ""."""
    found = as_type(result.get("donation"), Donation)
    if found is None or not found.arguments:
        return ""
    names = phrases.join_words([f"`{name}`" for name in found.arguments])
    are = phrases.choose_plural(len(found.arguments), "is", "are")
    change = f"`jax.jit(..., donate_argnames={_list_values(found.arguments)})`"
    if found.argnums is not None:
        change = f"`jax.pmap(..., donate_argnums={_list_values(found.argnums)})`"
    after = f"if {names} {are} not used after the call"
    if found.hbm_bytes is None:
        return f"{change} saves up to {format_size(found.most_bytes or 0)}, {after}"
    fits = found.hbm_bytes <= result["hbm_limit_bytes"]
    text = f"{change} makes it {format_size(found.hbm_bytes)}, which "
    text += "fits" if fits else "is still too much"
    return f"{text} (compiled so), {after}"


def _list_values(values: Sequence[str | int]) -> str:
    first, *others = map(json.dumps, values)
    return f"({', '.join([first, *others])})" if others else f"({first},)"
