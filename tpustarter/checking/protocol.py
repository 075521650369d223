"""What a probe may say: an event that lacks something, or has it in another form, is none.

A probe runs code of others, so nothing that comes from it is trusted to be what it should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_TEXT = (str,)
_TEXT_OR_NONE = (str, type(None))
_VALUE = (str, int, float, bool, type(None))
_FINDING = {
    "code": _TEXT, "name": _TEXT, "verdict": _TEXT, "found": _VALUE, "expected": _VALUE,
    "unit": _TEXT_OR_NONE, "entity": _TEXT_OR_NONE, "hint": _TEXT_OR_NONE, "lesson": _TEXT_OR_NONE,
}  # fmt: skip
_VERDICTS = ("ok", "info", "warn", "fail")
_PLACE = {"platform": _TEXT, "kind": _TEXT, "count": (int,), "virtual": (bool,)}


def finding(value: Any) -> dict[str, Any] | None:
    """Return a finding with its fields alone; None for what is none."""
    fields = _fields(value, _FINDING)
    return fields if fields and fields["verdict"] in _VERDICTS else None


def place(value: Any) -> dict[str, Any] | None:
    """Return where something ran: platform, kind and count of devices; None for anything else."""
    fields = _fields(value, _PLACE)
    return fields if fields and fields["count"] >= 0 else None


def versions(value: Any) -> dict[str, Any] | None:
    """Return the version of a Python and of what is installed in it; None for what is neither."""
    fields = _fields(value, {"python": _TEXT, "python_version": _TEXT, "frameworks": (dict,)})
    if fields is None:
        return None
    installed = cast("Mapping[Any, Any]", fields["frameworks"])
    texts = all(isinstance(text, str) for pair in installed.items() for text in pair)
    return fields if texts else None


def _fields(value: Any, kinds: Mapping[str, tuple[type, ...]]) -> dict[str, Any] | None:
    """Return the named entries of a mapping that has each in one of its kinds, else None."""
    if not isinstance(value, dict):
        return None
    entries = cast("dict[Any, Any]", value)
    for name, allowed in kinds.items():
        if name not in entries or not isinstance(entries[name], allowed):
            return None
        if isinstance(entries[name], bool) and bool not in allowed:  # Python counts it as an int
            return None
    return {name: entries[name] for name in kinds}
