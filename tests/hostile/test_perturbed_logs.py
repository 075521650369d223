"""The examples of the rows, changed the way that launchers, terminals and people change them.

Every row's first example that comes first as it is stands for the row. What is lost by each change
is printed with `pytest -s`; the limits keep it from growing. What a log loses that is cut off
depends on its length, so facts stand for it: its signs are enough, and a part shows nothing new.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable

import pytest
import re2

from tpustarter.explain import failure_ranking, known_failures
from tpustarter.explain.log_scanner import FailureScanner, FoundFailure, Part
from tpustarter.explain.translated_errors import ERRORS

ROWS = known_failures.read_known_failures()
SAMPLE = 3
"""One row of so many is tried with each change."""
HEALTHY = "I1122 10:00:00.000000 41 train.py:8] TPU step {} loss=2.31 tokens/s=81234"
_SYSTEM = re.compile(rf"(?:{'|'.join(ERRORS)})(?! on resource| \(publickey)")
"""An error of this machine's system; a server's are in its own language."""
_CLASS = re.compile(r"(?:jaxlib\.xla_extension\.|jax\.errors\.)?(?:Xla|Jax)RuntimeError\b")
_PREFIX = re.compile(r"^[EFWI]\d{4} [\d:.]+ +\d+ |^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [EFWI] ")


def _each(make: Callable[[int, str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(make(at, line) for at, line in enumerate(text.split("\n")))


CHANGES: dict[str, tuple[Callable[[str], str], float]] = {
    "as it is": (lambda text: text, 1.0),
    "newer class": (lambda text: _CLASS.sub("jax.errors.JaxRuntimeError", text), 0.98),
    "older class": (lambda text: _CLASS.sub("jaxlib.xla_extension.XlaRuntimeError", text), 0.98),
    "without its prefix": (_each(lambda _, line: _PREFIX.sub("", line)), 0.98),
    "absl": (_each(lambda _, line: "F1122 10:00:00.123456 4242 pjrt_client.cc:158] " + line), 0.95),
    "python logging": (_each(lambda _, line: "2026-11-22 10:00:00,123 ERROR train: " + line), 0.95),
    "wrapped": (lambda text: textwrap.fill(text, 80, replace_whitespace=False), 0.98),
    "wrapped in words": (lambda text: re.sub(r"([^\n]{80})", r"\1\n", text), 0.60),
    "kubectl": (_each(lambda _, line: "[pod/train-0-0-x7k2p/jax-tpu] " + line), 0.95),
    "gcloud": (_each(lambda _, line: "[worker 3] " + line), 0.95),
    "docker": (_each(lambda _, line: "train-1  | " + line), 0.95),
    "SLURM": (_each(lambda _, line: "2: " + line), 0.90),
    "coloured": (_each(lambda _, line: f"\x1b[1;31m{line[:20]}\x1b[0m{line[20:]}\x1b[K"), 0.98),
    "Windows": (lambda text: text.replace("\n", "\r\n") + "\r\n", 0.98),
    "among healthy lines": (
        _each(lambda at, line: f"{HEALTHY.format(at)}\n{line}\n{HEALTHY.format(at + 1)}"),
        0.90,
    ),
    "twice, by two workers": (_each(lambda _, line: f"[0] {line}\n[1] {line}"), 0.90),
    "typographic quotes": (lambda text: re.sub(r"'([^'\n]*)'", "\u2018\\1\u2019", text), 0.95),
}
"""How a log is changed, and the share of rows that still come first at least."""


CUTS: dict[str, Callable[[str], str]] = {
    "first third": lambda text: text[len(text) // 3 :],
    "last third": lambda text: text[: len(text) * 2 // 3],
}
"""Logs with lines missing, as in a terminal that keeps few, or on a disk that was full."""


def signs(scanner: FailureScanner, text: str, row: str) -> list[str]:
    """Return the patterns by which a log speaks for a row."""
    seen = scanner.scan(io.BytesIO(text.encode())).seen.get(row, FoundFailure())
    parts: tuple[Part, ...] = ("shows", "suggests", "needs")
    return [sign.pattern for part in parts for sign in seen.signs.get(part, ())]


def first(scanner: FailureScanner, text: str) -> str:
    """Return the id of the first failure; empty if there is none."""
    matches = failure_ranking.rank_failures(scanner.scan(io.BytesIO(text.encode())), ROWS)
    return matches[0].failure.id if matches else ""


@pytest.fixture(scope="module")
def scanner() -> FailureScanner:
    """Return the scanner of all rows."""
    return FailureScanner(ROWS)


@pytest.fixture(scope="module")
def samples(scanner: FailureScanner) -> list[tuple[str, str]]:
    """Return rows with an example that comes first."""
    chosen = [row for row in ROWS if row.examples and row.role != "notice"][::SAMPLE]
    return [
        (row.id, example)
        for row in chosen
        for example in row.examples[:1]
        if first(scanner, example) == row.id
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_perturbed_log_still_ranks_cause_first(
    change: str, samples: list[tuple[str, str]], scanner: FailureScanner
) -> None:
    """A perturbed log still ranks its cause first, in at least the given share of rows."""
    make, least = CHANGES[change]
    lost = [row for row, example in samples if first(scanner, make(example)) != row]
    share = 1 - len(lost) / len(samples)
    print(f"{change}: {share:.0%} of {len(samples)}", *lost)

    assert len(samples) > 30
    assert share >= least, lost


def test_cause_needs_nothing_around_its_signs(scanner: FailureScanner) -> None:
    """The log may be cut off at its first sign and behind its last, in the middle of a line."""
    ignoring_case = re2.Options()
    ignoring_case.case_sensitive = False
    lost: list[str] = []
    tried = 0
    for row in ROWS:
        for example in row.examples if row.role != "notice" else ():
            if first(scanner, example) != row.id:
                continue
            tried += 1
            patterns = signs(scanner, example, row.id)
            spans = [re2.search(pattern, example, ignoring_case).span() for pattern in patterns]
            part = example[min(start for start, _ in spans) : max(end for _, end in spans)]
            if first(scanner, part) != row.id:
                lost.append(f"{row.id}: {part[:200]}")

    assert tried > 300
    assert [] == lost


@pytest.mark.parametrize("cut", CUTS)
def test_cut_log_names_nothing_new(
    cut: str, samples: list[tuple[str, str]], scanner: FailureScanner
) -> None:
    """A lost part may hide the cause; the answer then still has its signs in the whole log."""
    new: list[str] = []
    for row, example in samples:
        found = first(scanner, CUTS[cut](example))
        if found not in ("", row) and not signs(scanner, example, found):
            new.append(f"{found} in a part of {row}: {example[:200]}")

    assert [] == new


@pytest.mark.parametrize("language", range(4), ids=["German", "French", "Spanish", "Chinese"])
def test_translated_system_error_still_ranks_first(language: int, scanner: FailureScanner) -> None:
    """A translated system error still ranks first, even from a shell that prints no number."""
    lost: list[str] = []
    samples = [
        (row, example)
        for row in ROWS
        for example in row.examples
        if _SYSTEM.search(example) and first(scanner, example) == row.id
    ]
    for row, example in samples:
        for english, translated in ERRORS.items():
            one = re.sub(r"\(\?:(\w+)\|.*?\)", r"\1", translated[language])
            example = example.replace(english, one)  # noqa: PLW2901
        if first(scanner, example) != row.id:
            lost.append(f"{row.id}: {example[:200]}")
    print(f"{1 - len(lost) / len(samples):.0%} of {len(samples)}", *lost, sep="\n")

    assert len(lost) <= len(samples) * 0.2, lost
