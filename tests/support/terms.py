"""Finds terms that a path uses before it defines them, and terms that it introduces twice.

`python -m tests.support.terms` prints both, one per line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tpustarter.core import content
from tpustarter.learning.content import glossary
from tpustarter.learning.content.paths import read_paths

ORDINARY = {
    "alias",
    "atomic",
    "axis",
    "backend",
    "bandwidth",
    "batch",
    "benchmark",
    "bucket",
    "capacity",
    "carry",
    "chip",
    "committed",
    "compile",
    "container",
    "core",
    "decode",
    "device",
    "dispatch",
    "dtype",
    "epoch",
    "fallback",
    "framework",
    "gather",
    "gcloud",
    "generation",
    "gradient",
    "host",
    "image",
    "jax",
    "jit",
    "key",
    "latency",
    "layout",
    "loss",
    "padding",
    "parameters",
    "pass",
    "peak",
    "project",
    "pytorchxla",
    "rank",
    "region",
    "role",
    "slice",
    "spot",
    "step",
    "strategy",
    "sync",
    "temporary",
    "throughput",
    "tile",
    "token",
    "topology",
    "tpu",
    "trace",
    "tunnel",
    "validation",
    "worker",
    "zone",
}
"""Terms that are also everyday English or known to every programmer, or that are the subject of the
course, so that a reader does not need their definitions."""
NOT_PROSE = re.compile(
    r"^```.*?^```|<!--.*?-->|`[^`]*`|^[#|!].*?$|Hugging Face\s+Transformers",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"\[(\*\*)?[^\]]*\]\(([^)]*)\)")


def paragraphs(text: str) -> list[str]:
    """Return the prose of a lesson, without code, figures, tables and headings."""
    return re.split(r"\n\s*\n|\n(?=[*-] )", NOT_PROSE.sub(" ", text))


def linked(paragraph: str, *, bold: bool = False) -> list[str]:
    """Return the terms that a paragraph links to the glossary, or introduces in bold."""
    return [
        link[2].partition("#")[2]
        for link in LINK.finditer(paragraph)
        if "glossary.md#" in link[2] and (link[1] or not bold)
    ]


def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a term, also in the plural or across a line break."""
    words = re.escape(name).replace(r"\ ", r"\s+")
    ignored = re.IGNORECASE if name.islower() else 0
    return re.compile(rf"(?<![\w/-]){words}(?:s|es)?(?![\w/-])", ignored)


@cache
def patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    """Return each term of the glossary with its first word in lowercase and its pattern."""
    return [
        (term, name.split()[0].lower(), pattern(name))
        for term, (name, _) in glossary.read_glossary().items()
        if term not in ORDINARY
    ]


def used(paragraph: str) -> Iterator[str]:
    """Yield the terms that a paragraph uses outside links to other lessons."""
    plain = LINK.sub(lambda link: link[0] if "glossary.md" in link[2] else " ", paragraph)
    lowered = plain.lower()
    for term, first, finds in patterns():
        if first in lowered and finds.search(plain):  # most terms are in no paragraph
            yield term


def lessons() -> dict[str, list[tuple[str, list[str], list[str]]]]:
    """Return the texts, links and used terms of each lesson's paragraphs, by lesson id."""
    return {
        lesson.id: [(text, linked(text), list(used(text))) for text in paragraphs(lesson.text)]
        for lesson in content.read_lessons()
    }


def too_early() -> list[str]:
    """Return each term that a path uses before it links it to the glossary."""
    everything, found = lessons(), {}
    for path in read_paths():
        known: set[str] = set()
        for name in path.lessons:
            for text, links, terms in everything[name]:
                known.update(links)
                for term in terms:
                    if term not in known:
                        found.setdefault((name, term), f"{' '.join(text.split())[:60]}...")
                        known.add(term)
    return [f"{name}: {term}: {text}" for (name, term), text in sorted(found.items())]


def twice() -> list[str]:
    """Return each term that a path introduces in bold in two of its lessons."""
    bold = {
        lesson.id: linked(NOT_PROSE.sub(" ", lesson.text), bold=True)
        for lesson in content.read_lessons()
    }
    found = set()
    for path in read_paths():
        first: dict[str, str] = {}
        for name in path.lessons:
            for term in bold[name]:
                if first.setdefault(term, name) != name:
                    found.add(f"{name}: {term}: also in {first[term]}")
    return sorted(found)


if __name__ == "__main__":
    print("\n".join([*too_early(), *twice()]))
