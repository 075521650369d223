"""Makes a text fit to be told: no control characters, no secret, a pseudonym for each name.

It fails closed: a text in which something is left is refused, and whoever wanted it leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tpustarter.redact import Redactor
from tpustarter.report.name_shapes import address, path
from tpustarter.report.pseudonyms import Pseudonyms

LINES = 60
CHARACTERS = 300
"""Of a text at most so many lines are told, the last ones, and of each so many characters."""
SEARCHED = 1024
"""Characters of a line that are searched for names."""
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]"
)
_SECRET = re.compile(r"\[(?:token|key|secret|login|\$\w+)\]")
_VARIABLE = re.compile(r"\[\$\w+\]")
"""How the redactor names the variable that a secret is from; that name may tell something too."""
_TIMES = 3
"""A text is searched for secrets again until nothing changes, but no more often than this."""


class Unclean(Exception):  # noqa: N818  it says what a text is
    """A text that cannot be made fit to be told; it never quotes the text."""


class Cleaner:
    """Cleans everything that a report tells; made once, so that a name has one pseudonym."""

    def __init__(self, env: Mapping[str, str], names: Pseudonyms) -> None:
        self._redact = Redactor(env)
        self.names = names
        self.secrets = 0
        """How many secrets were taken out."""

    def text(self, text: str, lines: int = LINES) -> str:
        """Return a text of at most so many lines, its last ones; raises Unclean."""
        # An escape takes the letter after it, which may be the first of a secret.
        plain = _ESCAPE.sub("", self._without_secrets(text.replace("\r\n", "\n")))
        # All of it is searched for secrets before it is cut: half of one is not recognised.
        clean = self._without_secrets(plain).rstrip()
        # A name that is shown ends long before this; to look for names further takes for ever.
        clean = "\n".join(line[:SEARCHED] for line in clean.split("\n")[-lines:])
        clean = self._without_secrets(self.names.text(clean))
        shown = [_visible(line)[:CHARACTERS] for line in clean.split("\n")]
        return self.proved("\n".join(shown))

    def name(self, kind: str, value: str) -> str:
        """Return the pseudonym of a name, whatever it is."""
        return self.names.of(kind, value)

    def path(self, value: str) -> str:
        """Return a path as it may be told; raises Unclean."""
        return self.proved(self.names.text(path(value, self.names.of)))

    def address(self, value: str) -> str:
        """Return an address as it may be told."""
        return address(value, self.names.of)

    def proved(self, text: str) -> str:
        """Return a text in which no secret and no known name is; raises Unclean for another."""
        if kinds := self.names.remaining(text):
            raise Unclean(f"the name of a {kinds[0]} is left in it")
        if self._redact.secrets(text) != text:
            raise Unclean("a secret is left in it")
        return text

    def _without_secrets(self, text: str) -> str:
        for _ in range(_TIMES):
            clean = _VARIABLE.sub("[secret]", self._redact.secrets(text))
            self.secrets += max(0, len(_SECRET.findall(clean)) - len(_SECRET.findall(text)))
            if clean == text:
                return clean
            text = clean
        raise Unclean("it looks like a secret however often it is searched")


def _visible(line: str) -> str:
    return "".join(
        c if c.isprintable() else " " if c == "\t" else c.encode("unicode_escape").decode()
        for c in line
    )
