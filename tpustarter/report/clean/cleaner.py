"""The cleaner of a report's texts: no control characters or secrets, and a pseudonym per name.

It fails closed: a text in which a name or secret remains is rejected, and the caller leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tpustarter.core.redact import Redactor
from tpustarter.report.clean.name_shapes import replace_path
from tpustarter.report.clean.pseudonyms import Pseudonyms
from tpustarter.text.terminal import escape_text

MAX_LINES = 60
MAX_CHARACTERS = 300
"""Limits of a text in a report: the number of its last lines, and characters per line."""
MAX_SEARCHED_CHARACTERS = 1024
"""Characters of each line that are searched for names."""
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]"
)
_SECRET = re.compile(r"\[(?:token|key|secret|login|\$\w+)\]")
_VARIABLE = re.compile(r"\[\$\w+\]")
"""The redactor's placeholder for a secret from a variable; its name may reveal something too."""
_MAX_SEARCHES = 3
"""Maximum number of searches for secrets, which are repeated until nothing changes."""


class UncleanText(Exception):  # noqa: N818  it names a kind of text
    """Raised if text still contains a name or secret. The message never quotes that text."""


class Cleaner:
    """Cleans all texts of one report; a name has the same pseudonym in all of them."""

    def __init__(self, env: Mapping[str, str], names: Pseudonyms) -> None:
        self._redact = Redactor(env)
        self.names = names
        self.secrets = 0
        """Number of secrets that were removed."""

    def clean_text(self, text: str, lines: int = MAX_LINES) -> str:
        """Return the last lines of some text, cleaned.

        Raises:
            UncleanText: A name or a secret remains in it.
        """
        # Secrets first, because an escape takes the letter after it, which may begin a secret.
        plain = _ESCAPE.sub("", self._remove_secrets(text.replace("\r\n", "\n")))
        # The whole text is searched before it is cut: half a secret is not recognised.
        clean = self._remove_secrets(plain).rstrip()
        # Names that are shown end long before this limit, and long lines are slow to search.
        clean = "\n".join(line[:MAX_SEARCHED_CHARACTERS] for line in clean.split("\n")[-lines:])
        clean = self._remove_secrets(self.names.replace_names(clean))
        shown = (escape_text(line.replace("\t", " ")) for line in clean.split("\n"))
        return self.require_clean("\n".join(line[:MAX_CHARACTERS] for line in shown))

    def pseudonymize_path(self, value: str) -> str:
        """Return a path, with pseudonyms unless it is public.

        Raises:
            UncleanText: A name or a secret remains in it.
        """
        return self.require_clean(
            self.names.replace_names(replace_path(value, self.names.make_pseudonym))
        )

    def require_clean(self, text: str) -> str:
        """Return text unchanged, after verifying that it is clean.

        Raises:
            UncleanText: It contains a secret or a known name.
        """
        if kinds := self.names.list_remaining_kinds(text):
            raise UncleanText(f"the name of a {kinds[0]} is left in it")
        if self._redact.redact_secrets(text) != text:
            raise UncleanText("a secret is left in it")
        return text

    def _remove_secrets(self, text: str) -> str:
        for _ in range(_MAX_SEARCHES):
            clean = _VARIABLE.sub("[secret]", self._redact.redact_secrets(text))
            self.secrets += max(0, len(_SECRET.findall(clean)) - len(_SECRET.findall(text)))
            if clean == text:
                return clean
            text = clean
        raise UncleanText("it looks like a secret however often it is searched")
