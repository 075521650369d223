"""Search in the real lessons, and the handling of any text that is typed."""

from __future__ import annotations

import functools
import re
import sqlite3
from pathlib import Path

import pytest

from tests.support.made_lessons import make_lesson
from tests.support.searches import SEARCHES
from tpustarter.core import locations
from tpustarter.core.content import Check
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.content.tutorial_claims import TutorialClaim
from tpustarter.learning.lint import synonyms_file_mistakes
from tpustarter.learning.search import search, search_index
from tpustarter.learning.search.linear_search import PassageScan
from tpustarter.learning.search.passages import SearchSources, list_passages
from tpustarter.learning.search.search import SearchLibrary, SearchResult
from tpustarter.learning.search.search_index import SearchIndex, open_index
from tpustarter.text import invocation

RAW = re.compile(r"`|(?<![\w/])\*\*[A-Za-z]|[a-z.]\*\*(?!\w)|\]\(|</?(?:details|summary)>")
"""Marks of Markdown; powers and patterns of files are none."""


@functools.cache
def shipped_library() -> SearchLibrary:
    """Return the library of the lessons, which is made when the first test asks for it."""
    return SearchLibrary(search.read_sources(), search.read_synonyms())


def first(found: SearchResult, count: int = 1) -> list[str]:
    """Return the ids of the first lessons found."""
    return [hit.id for hit in found.select_kind("lesson")][:count]


@pytest.mark.parametrize(("typed", "answers"), SEARCHES)
def test_newcomer_words_find_lesson_among_first_three(typed: str, answers: list[str]) -> None:
    """Newcomers' words, error messages and questions find the lesson among the first three."""
    assert {*first(shipped_library().search(typed), 3)} & {*answers}


def test_better_lesson_outside_path_comes_first() -> None:
    """The path raises the rank of its lessons without hiding better ones."""
    pytorch = next(path for path in read_paths() if path.id == "from-pytorch").lessons

    assert "pytorch/precision" == first(shipped_library().search("bf16", pytorch))[0]
    assert "jax/precision" == first(shipped_library().search("bf16"))[0]
    assert "jax/sharding" == first(shipped_library().search("pmap", pytorch))[0]


def test_own_path_comes_first_for_shared_word() -> None:
    """Lessons of the reader's path that link the term come first, unless a title matches."""
    laptop = next(path for path in read_paths() if path.id == "laptop").lessons
    found = shipped_library().search("what is xla", laptop)
    own = [
        one
        for one in shipped_library().sources.lessons
        if one.id in laptop and "glossary.md#xla)" in one.text
    ]

    assert first(shipped_library().search("what is xla"))[0] == "setup/install-pytorch-xla"
    assert first(found, len(own)) == [one.id for one in own]
    assert "jax/jit-and-recompilation" in first(found, 3)
    assert first(shipped_library().search("bf16", laptop)) == ["jax/precision"]


@pytest.mark.parametrize(
    ("typed", "path", "lesson"),
    [
        ("dataloader", "", "jax/input-pipelines"),
        ("DataLoader", "from-pytorch", "pytorch/port-a-cuda-script"),
        ("gradient checkpointing", "from-pytorch", "pytorch/port-a-cuda-script"),
        ("GradScaler", "", "pytorch/port-a-cuda-script"),
        ("GradScaler", "from-pytorch", "pytorch/port-a-cuda-script"),
        ("num_workers", "", "pytorch/port-a-cuda-script"),
        ("cuda.is_available", "", "pytorch/port-a-cuda-script"),
        ("lightning", "", "pytorch/bert-with-accelerate"),
        ("vllm-jax", "", "project/serve-a-language-model"),
        ("gradient checkpointing", "", "project/memory"),
        ("BatchNorm", "from-pytorch", "pytorch/port-a-cuda-script"),
        ("BatchNorm", "from-tensorflow", "tensorflow/all-reduce"),
        ("BatchNorm", "", "jax/a-vision-model"),
        ("monitoring", "from-pytorch", "trouble/live-numbers"),
        ("gcluster", "", "setup/gke"),
        ("pathways", "", "slices/pathways"),
        ("kubernetes", "", "setup/gke"),
        ("no capacity", "", "setup/create-a-tpu"),
        ("ray", "", "slices/run-everywhere"),
    ],
)
def test_words_of_other_worlds_find_their_lesson(typed: str, path: str, lesson: str) -> None:
    """Literal hits on the reader's path come first, then whole words, then parts."""
    preferred = next((one.lessons for one in read_paths() if one.id == path), ())
    found = shipped_library().search(typed, preferred)

    assert lesson == first(found)[0]
    assert typed != "ray" or not {"jax/numpy-and-jax", "jax/64-bit"} & set(first(found, 9))


def test_markdown_marks_are_not_shown() -> None:
    """Marks of Markdown are neither searched nor shown."""
    passages = list_passages(shipped_library().sources)
    prose = "\n".join(f"{one.title}\n{one.heading}\n{one.prose}" for one in passages)

    assert [] == [line for line in prose.split("\n") if RAW.search(line)]
    assert RAW.search("See **this**.")


def sources(tmp_path: Path) -> SearchSources:
    """Write three lessons, and one each of the other sources."""
    lessons = [
        make_lesson(tmp_path, "## Part\n\nThe loader works.\n", name="01-whole"),
        make_lesson(tmp_path, "A DataLoader works.\n\n## Loader\n\nIt is fast.\n", name="02-head"),
        make_lesson(tmp_path, "A DataLoader waits.\n", name="03-part"),
    ]
    words = {"shard": ("shard", "A part of an array.")}
    checks = [Check("jax.the_loader", Path(), "Batches come once")]
    claim = TutorialClaim(
        "001-01", "Use `xmap` for it", "gone", "Use shard_map.", None, None, "https://a"
    )
    return SearchSources(lessons, words, checks, [claim])


@pytest.fixture(params=["index", "scan"])
def library(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SearchLibrary:
    """Return a library with an index, and one without."""
    if request.param == "scan":
        monkeypatch.setattr(search_index, "has_fts5", lambda: False)
    made = SearchLibrary(sources(tmp_path), {"sharding": ["shard"], "data feeder": ["loader"]})
    assert isinstance(made._texts, SearchIndex if request.param == "index" else PassageScan)
    return made


def test_headings_and_whole_words_come_first(library: SearchLibrary) -> None:
    """Whole words and headings come first, and parts of words are found."""
    assert ["made/head", "made/whole", "made/part"] == first(library.search("loader"), 9)


def test_all_words_must_match_before_some(library: SearchLibrary) -> None:
    """Hits with all words come first, and inflected forms match."""
    assert ["made/head"] == first(library.search("loaders fast"), 9)
    some = library.search("loader zebra")
    assert {"made/whole", "made/head"} <= {*first(some, 9)}
    assert not any(hit.has_every_word for hit in some.hits)


def test_glossary_checks_and_claims_match_synonyms(library: SearchLibrary) -> None:
    """Synonyms of one or several words are named, and ids match by their parts."""
    found = library.search("sharding")

    assert ["shard"] == [hit.id for hit in found.select_kind("word")]
    assert ("shard",) == found.synonyms
    assert ["jax.the_loader"] == [
        hit.id for hit in library.search("the_loader").select_kind("check")
    ]
    assert ["001-01"] == [hit.id for hit in library.search("xmap").select_kind("old")]
    assert "made/head" in first(library.search("Data Feeder"), 9)


def test_hit_has_line_section_and_matched_word(library: SearchLibrary) -> None:
    """A hit has the line number, the section and the matched form of the word."""
    hit = next(
        hit for hit in library.search("loader").select_kind("lesson") if hit.id == "made/whole"
    )
    lesson = next(one for one in library.sources.lessons if one.id == "made/whole")
    [line] = hit.lines

    assert (line.heading, line.is_code) == ("Part", False)
    assert line.parts == (("The ", False), ("loader", True), (" works.", False))
    assert line.line == lesson.path.read_text().split("\n")[line.number - 1]


def test_excerpt_names_program_and_starts_code(
    library: SearchLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An excerpt contains the short program name, not the launch command of this machine."""
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: "uv run tpustarter")
    lesson = make_lesson(
        library.sources.lessons[0].path.parents[1], "Run `tpustarter check` then.\n"
    )

    for word in ("tpustarter", "check", "then"):
        [hit] = SearchLibrary(SearchSources([lesson]), {}).search(word).hits
        shown = "".join(text for text, _ in hit.lines[0].parts)
        found = "".join(text for text, is_found in hit.lines[0].parts if is_found)

        assert "Run tpustarter check then." == shown
        assert found.endswith(word)


def test_code_excerpt_starts_at_first_character(library: SearchLibrary, tmp_path: Path) -> None:
    """A code excerpt has no indentation and is flagged as code."""
    lesson = make_lesson(tmp_path, "```python\nif x:\n    feed(batch)\n```\n", name="04-code")
    [hit] = SearchLibrary(SearchSources([lesson]), {}).search("feed").hits

    assert [(True, "feed(batch)")] == [(line.is_code, line.line) for line in hit.lines]
    assert library.search("feed").select_kind("lesson") == []


def test_misspelt_word_gets_suggestions(library: SearchLibrary) -> None:
    """Each word without any match gets a suggestion."""
    found = library.search("laoder")

    assert ((), "loader") == (found.hits, found.meant)
    assert library.search("qqqqqq").meant == ""
    assert (
        "shuffle" == shipped_library().search("shufle").meant
    )  # a word that only the synonyms have


@pytest.mark.parametrize(
    ("typed", "term"),
    [
        ("xla", "xla"),
        ("what is XLA", "xla"),
        ("what is a mesh", "mesh"),
        ("core", "core"),
        ("mesh axis", ""),
        ("data loader", ""),
        ("pytorch", ""),
        ("bf16", "bfloat16"),
        ("fp16", ""),
        ("pmap", ""),
    ],
)
def test_glossary_word_shows_its_meaning_first(typed: str, term: str) -> None:
    """A glossary word or its abbreviation gives its entry; part of a word gives none."""
    assert term == shipped_library().search(typed).term


def test_typed_words_rank_above_synonyms() -> None:
    """Typed words rank above their synonyms."""
    [best, *_] = shipped_library().search("mesh").select_kind("lesson")

    for line in best.lines:
        assert "mesh" in "".join(text for text, _ in line.parts).casefold()


@pytest.mark.parametrize(("typed", "meant"), [("vmpa", "vmap"), ("jti", ""), ("vapm", "")])
def test_swapped_letters_get_suggestion(typed: str, meant: str) -> None:
    """Words of four letters or more with swapped letters get a suggestion."""
    assert meant == shipped_library().search(typed).meant


@pytest.mark.parametrize("typed", ["cnn", "rl", "lado", "ader", "oader"])
def test_short_or_different_words_get_no_guess(typed: str, library: SearchLibrary) -> None:
    """A short word, or one unlike any known word, gets no suggestion."""
    assert "" == library.search(typed).meant


def test_index_is_kept_and_rebuilt_for_changed_texts(tmp_path: Path) -> None:
    """The index is reused, rebuilt for changed texts, and ignored if SQLite refuses it."""
    if not hasattr(sqlite3.Connection, "serialize"):
        pytest.skip("Python before 3.11 cannot keep an index, and makes one each time")
    made = sources(tmp_path)
    kept = locations.state_folder_path() / "cache" / "search"
    for words in ({"shard": ("shard", "A part.")}, {"zebra": ("zebra", "An animal.")}):
        texts = open_index(SearchSources(made.lessons, words))
        assert kept.is_file()
        again = open_index(SearchSources(made.lessons, words))
        name = next(iter(words))
        assert [1, 1] == [
            len(one.find([[name]], ["word"], every=True, most=9)) for one in (texts, again)
        ]
    stored = kept.read_bytes()
    kept.write_bytes(stored[:-2000] + b"x" * 2000)
    texts = open_index(SearchSources(made.lessons, {"zebra": ("zebra", "An animal.")}))
    assert [1] == [len(texts.find([["zebra"]], ["word"], every=True, most=9))]


def test_index_closes_its_database() -> None:
    """The database is closed, since Python 3.13 warns of one left open."""
    database = sqlite3.connect(":memory:")
    index = SearchIndex(database)
    del index

    with pytest.raises(sqlite3.ProgrammingError):
        database.execute("SELECT 1")


@pytest.mark.parametrize("text", ["[", "- a", "oom: 3\nnan: [1]\n"])
def test_broken_synonyms_cost_themselves(text: str, tmp_path: Path) -> None:
    """The search works without broken synonyms."""
    (tmp_path / "synonyms.yml").write_text(text)

    assert search.read_synonyms(tmp_path) == ({"nan": ["1"]} if "nan" in text else {})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("oom: [memory]\n", []),
        ("oom: [no such thing]\n", ["`oom` stands for `no such thing`, which is in no lesson"]),
        ("OOM: [memory]\n", ["`OOM` is never looked for"]),
        ("out of the memory: [memory]\n", ["`out of the memory` is never looked for"]),
        ("memory: [memory]\n", ["`memory` stands for itself"]),
        ("oom: memory\n", ["`oom` has `memory`, expected a list of words"]),
        ("oom: [1]\n", ["`oom` has `1`, expected a text"]),
        ("64: [memory]\n", ["`64` is no text"]),
        ("- oom\n", ["expected words, each with a list"]),
        ("{", ["cannot be read"]),
    ],
)
def test_linter_names_broken_synonyms(text: str, told: list[str], tmp_path: Path) -> None:
    """The linter names words that no search uses, targets that do not exist, and non-lists."""
    lesson = make_lesson(tmp_path, "The memory of a chip is small.\n")
    (tmp_path / "synonyms.yml").write_text(text)
    found = [*synonyms_file_mistakes.find_synonyms_file_mistakes(tmp_path, [lesson])]

    assert len(told) == len(found), found
    for expected, complaint in zip(told, found, strict=True):
        assert complaint.startswith("synonyms.yml: ")
        assert expected in complaint
