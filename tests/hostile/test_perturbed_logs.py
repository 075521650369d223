"""The examples of the rows, changed the way that launchers, terminals and people change them.

Every row's first example that comes first as it is stands for the row. What is lost by each change
is printed with `pytest -s`; the limits keep it from growing.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable

import pytest

from tpustarter.explain import failure_ranking, known_failures
from tpustarter.explain.log_scanner import FailureScanner
from tpustarter.explain.translated_errors import ERRORS

ROWS = known_failures.read_known_failures()
SAMPLE = 3
"""One row of so many is tried in the default suite."""
HEALTHY = "I1122 10:00:00.000000 41 train.py:8] TPU step {} loss=2.31 tokens/s=81234"
_SYSTEM = re.compile(rf"(?:{'|'.join(ERRORS)})(?! on resource| \(publickey)")
"""An error of this machine's system; a server's are in its own language."""
_CLASS = re.compile(r"(?:jaxlib\.xla_extension\.|jax\.errors\.)?(?:Xla|Jax)RuntimeError\b")
_PREFIX = re.compile(r"^[EFWI]\d{4} [\d:.]+ +\d+ |^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [EFWI] ")


def _each(make: Callable[[int, str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(make(at, line) for at, line in enumerate(text.split("\n")))


def _cut(text: str, start: float, end: float) -> str:
    return text[int(len(text) * start) : int(len(text) * end)]


CHANGES: dict[str, tuple[Callable[[str], str], float]] = {
    "as it is": (lambda text: text, 1.0),
    "newer class": (lambda text: _CLASS.sub("jax.errors.JaxRuntimeError", text), 0.98),
    "older class": (lambda text: _CLASS.sub("jaxlib.xla_extension.XlaRuntimeError", text), 0.98),
    "without its prefix": (_each(lambda _, line: _PREFIX.sub("", line)), 0.98),
    "absl": (_each(lambda _, line: "F1122 10:00:00.123456 4242 pjrt_client.cc:158] " + line), 0.95),
    "python logging": (_each(lambda _, line: "2026-11-22 10:00:00,123 ERROR train: " + line), 0.95),
    "wrapped": (lambda text: textwrap.fill(text, 80, replace_whitespace=False), 0.98),
    "wrapped in words": (lambda text: re.sub(r"([^\n]{80})", r"\1\n", text), 0.60),
    "without its first third": (lambda text: _cut(text, 1 / 3, 1), 0.30),
    "without its last third": (lambda text: _cut(text, 0, 2 / 3), 0.45),
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


def first(scanner: FailureScanner, text: str) -> str:
    """Return the id of what comes first; empty where nothing does."""
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
    """In a share of rows that has been reached."""
    make, least = CHANGES[change]
    lost = [row for row, example in samples if first(scanner, make(example)) != row]
    share = 1 - len(lost) / len(samples)
    print(f"{change}: {share:.0%} of {len(samples)}", *lost)

    assert len(samples) > 30
    assert share >= least, lost


@pytest.mark.parametrize("language", range(4), ids=["German", "French", "Spanish", "Chinese"])
def test_translated_system_error_still_ranks_first(language: int, scanner: FailureScanner) -> None:
    """Python keeps the number of the error, but a shell or a C library says only the words."""
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
