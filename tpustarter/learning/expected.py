"""What a block should print, and whether it did: numbers within a tolerance, `...` for the rest."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MAX_SHOWN = 200
"""Characters of a line that are told where it differs."""


@dataclass(frozen=True)
class Expected:
    """What a block prints on one kind of device."""

    text: str
    on: str
    """`cpu`, `tpu`, `gpu`, or `any`."""
    rtol: float | None
    """Relative tolerance of the numbers in it; None where they are compared as text."""
    line: int
    """Line of its fence in the lesson's file."""
    label: str = ""
    """What the lesson says of where it holds, such as `On a TPU, as reported in 2022`."""

    @property
    def where(self) -> str:
        """Return what follows "prints", such as ` on a TPU`; nothing where it holds anywhere."""
        if self.label:
            return f" {self.label[0].lower()}{self.label[1:]}"
        return "" if self.on == "any" else f" on a {self.on.upper()}"


def mismatch(expected: Expected, printed: str) -> str | None:
    """Return None when the printed text is what was expected, else the first line that differs.

    `...` matches the rest of a line, and a line that is only `...` any number of lines.
    """
    wanted, found = _text_lines(expected.text), _text_lines(printed)
    # After `...` there are several places to go on from: all of them are followed.
    reached = {0}
    for line in wanted:
        if line.strip() == "...":
            reached = set(range(min(reached), len(found) + 1))
            continue
        after = {n + 1 for n in reached if n < len(found) and _same(line, found[n], expected.rtol)}
        if not after:
            return _differs(found, min(reached), f"expected `{_short(line)}`", expected.rtol)
        reached = after
    if len(found) in reached:
        return None
    return _differs(found, max(reached), "expected no further line", None)


def _text_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")] if text.strip() else []


def _differs(found: list[str], number: int, wanted: str, rtol: float | None) -> str:
    seen = f"found `{_short(found[number])}`" if number < len(found) else "found no such line"
    return f"line {number + 1}: {seen}, {wanted}" + (f" within rtol {rtol:g}" if rtol else "")


def _short(line: str) -> str:
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}..."


def _same(wanted: str, found: str, rtol: float | None) -> bool:
    """Return whether one line matches; both come without trailing whitespace."""
    rest = wanted.endswith("...")
    wanted = wanted[:-3] if rest else wanted
    if rtol is None:
        return found == wanted or (rest and f"{found} ".startswith(wanted))
    texts, numbers = NUMBER.split(wanted), NUMBER.findall(wanted)
    found_texts, found_numbers = NUMBER.split(found), NUMBER.findall(found)
    if rest:
        found_texts, found_numbers = found_texts[: len(texts)], found_numbers[: len(numbers)]
    if len(texts) != len(found_texts) or len(numbers) != len(found_numbers):
        return False
    pairs = zip(map(_words, texts), map(_words, found_texts), strict=True)
    *inner, (last, found_last) = pairs
    space = " " if last and wanted.endswith(" ") else ""  # `_words` took it away
    return (
        all(one == other for one, other in inner)
        and (f"{found_last} ".startswith(last + space) if rest else found_last == last)
        and all(
            math.isclose(float(one), float(other), rel_tol=rtol)
            for one, other in zip(numbers, found_numbers, strict=True)
        )
    )


def _words(text: str) -> str:
    """Return text without the spaces that arrays put beside numbers to align them."""
    return " ".join(text.split())
