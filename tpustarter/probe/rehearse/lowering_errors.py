"""Errors raised during lowering: their text, and which of them are JAX's refusals."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Generator
from pathlib import Path
from types import ModuleType

from tpustarter.probe.events import EndEventFields, OptionalEndEventFields
from tpustarter.probe.finding import error_message, missing_module_fields, shorten_for_json

CALLS_BACK = "it calls back into Python (`jax.debug.print` or a callback), which is not lowered"
MOST_TRACEBACK = 6000
"""Longest traceback that is sent, in characters."""
_JAX = ("jax", "jaxlib")
_TPU_LOWERING = "/jax/_src/pallas/mosaic/"
"""JAX's folder of code that lowers kernels for a TPU, and refuses what a TPU cannot do."""


class UnmetRequestError(Exception):
    """Raised if this Python cannot meet a request, whatever the user's code does."""

    def __init__(self, text: str, facts: OptionalEndEventFields | None = None) -> None:
        """Store the text, and the obstacle as fields of the `end` event.

        Args:
            text: The reason, for people.
            facts: `missing_lowerer`, a library to install, or `narrows`, True if JAX would silently
                make a type half as wide.
        """
        super().__init__(text)
        self.facts: OptionalEndEventFields = facts or {}


@contextlib.contextmanager
def disable_traceback_filtering(jax: ModuleType) -> Generator[None]:
    """Keep JAX's own frames in tracebacks within the block, to see which code raised."""
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        yield
    finally:
        jax.config.update("jax_traceback_filtering", before)


def is_refusal(error: BaseException) -> bool:
    """Return whether an error is JAX's refusal to lower something for a TPU.

    The type alone is not enough, because a program may raise NotImplementedError too. The traceback
    must be unfiltered.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return False
    path = Path(frames[-1].filename)
    if not _is_jax(path):
        return False
    in_lowering = _TPU_LOWERING in path.as_posix()
    kernel = isinstance(error, ValueError) or type(error).__name__ == "LoweringException"
    return isinstance(error, NotImplementedError) or (in_lowering and kernel)


def make_end_fields(error: BaseException, path: Path, more: str = "") -> EndEventFields:
    """Return the fields of the `end` event for an exception; `more` is appended to its text."""
    facts: OptionalEndEventFields = (
        error.facts if isinstance(error, UnmetRequestError) else {**missing_module_fields(error)}
    )
    detail = describe_error_with_line(error, path) + more
    return {
        "outcome": "exception",
        "detail": detail,
        "place": find_user_line(error, path),
        **facts,
    }


def find_user_line(error: BaseException, path: Path) -> str:
    """Return the last line of the user's file in an error's traceback: `train.py:12`, or ""."""
    if isinstance(error, UnmetRequestError):
        return ""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path.name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path.name}:{lines[-1]}" if lines else ""


def describe_error_with_line(error: BaseException, path: Path) -> str:
    """Return an exception as one line, with the last line of the user's file it came through."""
    if isinstance(error, UnmetRequestError):
        return shorten_for_json(str(error))
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename == str(path):
        column = f" (column {error.offset})" if error.offset else ""
        return shorten_for_json(f"{find_user_line(error, path)}: {kind}: {error.msg}{column}")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == str(path)]
    where = f"{find_user_line(error, path)}: " if own else ""
    text = (error_message(error).splitlines() or [""])[0]
    if "different from the lowering platform" in text:
        return shorten_for_json(f"{where}{CALLS_BACK}")
    if text:
        return shorten_for_json(f"{where}{kind}: {text}")
    line = (own or frames)[-1].line if frames else None
    return shorten_for_json(
        f"{where}{kind} without a message{f', raised by `{line}`' if line else ''}"
    )


def print_user_traceback(error: BaseException, path: Path) -> None:
    """Print a traceback to stderr, starting at the user's file if it leads through that."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != str(path):
        frames = frames.tb_next
    with contextlib.suppress(OSError, ValueError):  # the stream may be closed
        traceback.print_exception(type(error), error, frames or error.__traceback__)


def format_user_traceback(error: BaseException, path: Path) -> str:
    """Return a traceback from the user's file on, without JAX's frames, or its end if long."""
    told = traceback.TracebackException.from_exception(error)
    files = [frame.filename for frame in told.stack]
    first = files.index(str(path)) if str(path) in files else 0
    own = [frame for frame in told.stack[first:] if not _is_jax(Path(frame.filename))]
    told.stack = traceback.StackSummary.from_list(own)
    text = "".join(told.format(chain=False))
    # Begins at a whole line, because half a secret would not be redacted.
    return text if len(text) <= MOST_TRACEBACK else text[-MOST_TRACEBACK:].partition("\n")[2]


def _is_jax(path: Path) -> bool:
    folders = [Path(str(getattr(sys.modules.get(name), "__file__", None))).parent for name in _JAX]
    return any(path.is_relative_to(folder) for folder in folders if folder.is_absolute())
