"""Compare the search index with a scan of every line, by speed and by the rank of the answer.

    python tests/benchmarks/search.py [--repeat N]

The scanner is the search of before: lessons in the order of the course, those first whose title
holds the text. Both look for what newcomers type (`tests/support/searches.py`), in turn, in one
process. Prints medians, ratios, and how often the answer is first or among the first three.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.searches import SEARCHES
from tpustarter.core.content import Lesson
from tpustarter.learning.content import markdown
from tpustarter.learning.search import search
from tpustarter.learning.search.linear_search import PassageScan

Made = TypeVar("Made")


def scan(lessons: Sequence[Lesson], text: str) -> list[str]:
    """Return the lessons that hold a text in one line."""
    needle = text.casefold()
    titles = {one.id for one in lessons if needle in f"{one.id} {one.title}".casefold()}
    holding = {
        one.id
        for one in lessons
        if any(needle in line.text.casefold() for line in markdown.plain_lines(one))
    }
    found = [one.id for one in lessons if one.id in titles | holding]
    return sorted(found, key=lambda name: name not in titles)


def timed(make: Callable[[], Made]) -> tuple[float, Made]:
    """Return the milliseconds that a call took, and its result."""
    began = time.perf_counter()
    made = make()
    return (time.perf_counter() - began) * 1000, made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as home:
        import os

        os.environ["TPUSTARTER_HOME"] = home
        sources, synonyms = search.read_sources(), search.read_synonyms()
        fresh, _ = timed(lambda: search.SearchLibrary(sources, synonyms))
        kept, library = timed(lambda: search.SearchLibrary(sources, synonyms))
    without = PassageScan(sources)
    ways: dict[str, Callable[[str], list[str]]] = {
        "scanner": lambda text: scan(sources.lessons, text),
        "index": lambda text: [hit.id for hit in library.search(text).select_kind("lesson")],
        "no FTS5": lambda text: [
            hit.id for hit in search.search(without, text, synonyms).select_kind("lesson")
        ],
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    first, three = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for round_ in range(repeat):
        for text, answers in SEARCHES:
            for name, way in ways.items():
                took, found = timed(lambda way=way, text=text: way(text))
                times[name].append(took)
                if not round_:
                    first[name] += bool({*found[:1]} & {*answers})
                    three[name] += bool({*found[:3]} & {*answers})
    base = statistics.median(times["scanner"])
    for name, taken in times.items():
        median, worst = statistics.median(taken), max(taken)
        print(
            f"{name:<8} median {median:6.1f} ms ({median / base:4.2f} x)  longest {worst:6.1f} ms"
            f"  first {first[name]} of {len(SEARCHES)}  first three {three[name]}"
        )
    print(f"the index: made in {fresh:.0f} ms, read back in {kept:.0f} ms ({kept / fresh:.2f} x)")


if __name__ == "__main__":
    main()
