"""The explanation of a log; `explanation_text` and `explanation_document` show it."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.core.problem import ExitCode
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.library_errors import LibraryError
from tpustarter.explain.program_mistakes import FoundMistake


@dataclass(frozen=True)
class Explanation:
    """The failures that a log shows, or the mistake in its program."""

    matches: tuple[FailureMatch, ...]
    """Most likely root cause first."""
    lines: int
    """Number of lines in the log; a sign with a larger number comes from the command's end."""
    last_error: str
    """The last line of the log that looks like an error, if any."""
    python: str
    """The user's interpreter command, for the fixes; empty if unknown."""
    own_line: str = ""
    """The program's line that led to the first match or to an unknown error, as the traceback gives
    it."""
    mistake: FoundMistake | None = None
    """A mistake in the program, if no known failure explains its end, or None."""
    library: LibraryError | None = None
    """The library that raised the error, if no known failure explains it, or None."""
    has_failed: bool = False
    """True if the program failed, according to a traceback or its exit code."""
    has_own_error: bool = False
    """True if it raised `last_error` before it lost another process, as the matches report."""
    framework: str = ""
    """The framework that the log names: `jax`, `torch_xla` or `tensorflow`; empty if none."""
    is_cut: bool = False
    """True if its last traceback is cut off before the error."""

    @property
    def is_explained(self) -> bool:
        """True if a known failure matches; a notice does not explain a program that failed."""
        if self.has_own_error:
            return False
        if not self.has_failed:
            return bool(self.matches)
        return any(match.failure.role != "notice" for match in self.matches) or self._quotes_error()

    def _quotes_error(self) -> bool:
        """Return whether the program's last error is the line that a match quotes."""
        quotes = [" ".join(sign.quote.split()) for match in self.matches for sign in match.signs]
        return any(quote and quote in self.last_error for quote in quotes)

    @property
    def code(self) -> ExitCode:
        """The exit code: 0 if a known failure matches, otherwise 5."""
        return ExitCode.OK if self.is_explained else ExitCode.NOTHING_VERIFIED
