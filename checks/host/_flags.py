"""Mistakes in XLA_FLAGS and LIBTPU_INIT_ARGS that can be found without a list of all flags.

Each was tried without a TPU, with jaxlib 0.6.2, 0.10.2 and 0.12.0.1 or with libtpu 0.0.50.1. A
mistake reported to abort the program ended the process, and one reported as ignored did not change
a run. Values may contain paths and names, so only the flags' names are shown.
Source: xla/parse_flags_from_env.cc in openxla/xla.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Verdict

NAMES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
OTHERS = r"(xla_tpu|xla_jf|megascale|2a886c8)_"
"""Prefixes of libtpu's flags, which are not treated as misspelt flags of XLA."""
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+|\S+""")
_FLAG = re.compile(r"(-{1,2})([^=\s'\"]*)(?:=(.*))?", re.DOTALL)
_PLAIN = re.compile(r"""(['"])(true|false|[-+]?\d+(\.\d+)?)\1""", re.IGNORECASE)


class Mistake(NamedTuple):
    """A mistake in one word of a variable."""

    verdict: Verdict
    says: str
    actual: str
    expected: str
    hint: str


SPACES = "flags separated by spaces, each `--name=value`"


def findings(machine: host.Machine) -> Iterator[Finding]:
    """Yield every mistake; those in libtpu's variable matter on a machine with a TPU."""
    tpu = host.guess_platform(machine) == "tpu"
    for name in NAMES:
        value = machine.env.get(name, "").strip()
        for mistake in _mistakes(name, value, machine) if value else ():
            yield Finding(
                code="HOST-ENVIRONMENT-FLAG",
                name=f"{name} {mistake.says}",
                verdict=mistake.verdict if tpu or name == "XLA_FLAGS" else "info",
                found=mistake.actual,
                expected=mistake.expected,
                entity=f"variable:{name}",
                hint=mistake.hint,
            )


def _mistakes(name: str, value: str, machine: host.Machine) -> Iterator[Mistake]:
    if name == "XLA_FLAGS" and not value.startswith("-"):
        if not machine.is_file(value):
            yield _no_file(value)
        return
    words = _WORD.findall(value)
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        mistake = _flag(name, word) if word.startswith("-") else _stray(name, before)
        if mistake:
            yield mistake
    yield from _twice(name, words)


def _no_file(value: str) -> Mistake:
    """Return the mistake of a value without `--`, which XLA reads as the name of a file."""
    sure = value.startswith("/") or any(sign in value for sign in "='\"")
    says = "does not begin with `--`, so XLA reads it as the name of a file and aborts"
    hint = "write `export XLA_FLAGS=--name=value`, without quotes inside the value"
    return Mistake("fail" if sure else "warn", says, "no such file", SPACES, hint)


def _flag(name: str, word: str) -> Mistake | None:
    """Return the mistake in a word that begins with a dash, if any."""
    match = _FLAG.match(word)
    dashes, flag, value = match.groups(default="") if match else ("", "", "")
    printable = (
        f"{dashes}{flag}" if re.fullmatch(r"\w{1,60}", flag) else "a flag with invalid characters"
    )
    if re.search(r"[,;]\s*--", word):
        says = "has no space between two flags, so the program aborts"
        return Mistake("fail", says, printable, SPACES, f"put a space between the flags in {name}")
    if name == "XLA_FLAGS":
        return _xla_flag(dashes, flag, printable)
    if _PLAIN.fullmatch(value):
        says = "has quotes inside a value, so the program aborts"
        return Mistake(
            "fail", says, printable, "a value without quotes", f"remove the quotes from {name}"
        )
    if not re.fullmatch(r"\w*", flag):
        return _unknown(name, printable)
    return None


def _xla_flag(dashes: str, flag: str, printable: str) -> Mistake | None:
    """Return the mistake of a flag that is neither XLA's, with `--xla_`, nor libtpu's."""
    if dashes == "--" and (re.fullmatch(r"xla_\w+", flag) or re.match(OTHERS, flag)):
        return None
    return _unknown("XLA_FLAGS", printable)


def _unknown(name: str, printable: str) -> Mistake:
    says = "contains a word that is not a flag, so the program aborts"
    expected = "--xla_..." if name == "XLA_FLAGS" else "--name=value"
    return Mistake("fail", says, printable, expected, f"remove it from {name}")


def _stray(name: str, before: str) -> Mistake | None:
    """Return the mistake of a word without a dash, unless libtpu may read it as a flag's value."""
    if name != "XLA_FLAGS" and before.startswith("-") and "=" not in before:
        return None
    says = "contains a word that is not a flag and is ignored"
    hint = f"print it with `echo ${name}`, and remove quotes and spaces around `=`"
    return Mistake("warn", says, "a word without `--`", SPACES, hint)


def _twice(name: str, words: list[str]) -> Iterator[Mistake]:
    """Yield flags that are given with two values, as by a script that overrides one."""
    values: dict[str, set[str]] = {}
    for word in words:
        flag, equals, value = word.partition("=")
        if equals and re.fullmatch(r"--\w{1,60}", flag):
            values.setdefault(flag, set()).add(value)
    for flag, given in values.items():
        if len(given) > 1:
            says = "sets a flag more than once, and the last value wins"
            yield Mistake("info", says, flag, "one value", f"remove the other values from {name}")
