"""The largest sizes that fit as plain text: a line for each program and TPU, and the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpustarter.rehearsal.result_fields import FittingSize, TriedSize
from tpustarter.rehearsal.text.memory_size import format_size
from tpustarter.rehearsal.text.rehearsal_headline import NOT_RUN, WORDS
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap

_INDENT = " " * 6
LARGER_NOTE = (
    "Every size here was compiled. A larger one may fit again, where the compiler finds a better "
    "layout for it."
)


def format_largest_sizes(fits: Sequence[FittingSize], *, verbose: bool = False) -> list[str]:
    """Return the largest size for each program and TPU; if verbose, with all sizes compiled.

    Empty for a rehearsal that searched for none.
    """
    lines: list[str] = []
    for one in fits:
        lines += wrap(
            escape_text(f"{one.program} for {one.tpu}: {describe_fit(one)}"), "fit   ", _INDENT
        )
        if verbose:
            lines += [f"{_INDENT}{line}" for line in list_tried_sizes(one)]
    if any(one.tried for one in fits):
        lines += wrap(LARGER_NOTE, _INDENT, hang=_INDENT)
    return lines


def describe_fit(fit: FittingSize) -> str:
    """Return the largest size as a sentence without a full stop."""
    if not fit.tried:
        return f"skipped, because {fit.reason}"
    name = fit.dimension
    if fit.largest is None and fit.finished:
        text = f"not even {name} {fit.tried[0].size:,} fits"
    elif fit.largest is None:
        text = f"{name} {fit.tried[0].size:,} doesn't fit"
    elif not fit.finished:
        text = f"{name} {fit.largest:,} is the largest so far that fits"
    elif fit.next is None:
        text = f"{name} {fit.largest:,} fits, and no larger one was compiled"
    else:
        text = f"{name} {fit.largest:,} fits, {fit.next:,} doesn't"
    sizes = phrases.format_count(len(fit.tried), "size")
    steps = f", all multiples of {fit.step:,}" if fit.step > 1 else ""
    text += f" ({sizes} tried{steps})"
    return f"{text}. {fit.reason[0].upper()}{fit.reason[1:]}" if fit.reason else text


def format_largest_fit_headline(fits: Sequence[FittingSize]) -> str:
    """Return the largest size for each program and TPU; empty if none was tried."""
    found = [one for one in fits if one.tried]
    if not found:
        return ""
    several = len({one.program for one in found}) > 1
    each = [
        f"{f'{one.largest:,}' if one.largest else 'none'}{'' if one.finished else ' so far'} on "
        f"{one.tpu}"
        for one in found
    ]
    if several:
        each = [f"{text} for {one.program}" for text, one in zip(each, found, strict=True)]
    return f"Largest {found[0].dimension} that fits: {', '.join(each)}. {NOT_RUN}"


def list_tried_sizes(fit: FittingSize) -> Iterator[str]:
    """Yield a line for each size of the dimension that was compiled."""
    width = max((len(f"{one.size:,}") for one in fit.tried), default=0)
    yield from (f"{one.size:>{width},}  {_answer(one)}" for one in fit.tried)


def _answer(tried: TriedSize) -> str:
    size = "" if tried.hbm_bytes is None else f"  {format_size(tried.hbm_bytes)}"
    word = WORDS["does-not-fit"] if tried.hbm_bytes and not tried.fits else WORDS[tried.status]
    return f"{word}{size}"
