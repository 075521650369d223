"""The selection of steps of a machine's set-up, with `--only`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpustarter.core.problem import ExitCode, Problem


def select_steps(
    declared: Sequence[dict[str, Any]], only: Sequence[str], profile: str
) -> list[dict[str, Any]]:
    """Return the selected steps and those that come before them, in their order.

    Args:
        declared: All steps, as a lesson's header has them.
        only: The ids that were asked for; none for all.
        profile: The name of the set-up, for the error.

    Raises:
        Problem: there is no step of such an id.
    """
    by_id = {str(fields["id"]): fields for fields in declared}
    if unknown := [name for name in only if name not in by_id]:
        raise Problem(
            f"`tpustarter setup {profile}` has no step `{unknown[0]}`",
            hint=f"its steps are {', '.join(by_id)}",
            code=ExitCode.USAGE,
        )
    names, left = set[str](), list(only or by_id)
    while left:
        name = left.pop()
        names.add(name)
        left += [one for one in by_id[name].get("after", []) if one not in names]
    return [fields for name, fields in by_id.items() if name in names]
