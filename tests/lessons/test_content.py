"""Lessons and checks as content: headers, links and names that must agree."""

from __future__ import annotations

import builtins
import os
import re
import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_learn import learn
from tests.support.places import TESTS
from tpustarter.checking.machine_check import needs_several_hosts
from tpustarter.cli import COMMANDS
from tpustarter.core import content, locations
from tpustarter.core.content import Check, Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content import exercises
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.content.paths import read_paths

SAMPLES = TESTS / "samples" / "checks"
LESSON_IDS = {lesson.id for lesson in content.read_lessons()}
CHECK_IDS = {check.id for check in content.read_checks()}


INDEX = """\
# The lessons

Read them here, or type `tpustarter`: there their code runs in place, on your TPU or on 8 virtual
CPU devices. `tpustarter learn LESSON` prints one, `tpustarter learn LESSON --notebook FILE` makes a
notebook of it. Words are explained in the [glossary](glossary.md); what older tutorials say is in
[then and now](then-now.yml).

## Where to begin
"""


def index() -> str:
    """Return the page that leads to every lesson on GitHub: the paths, then the tracks."""
    lessons = content.read_lessons()
    place = {one.id: f"{one.id.partition('/')[0]}/{one.path.name}" for one in lessons}
    links = {one.id: f"[{one.title}]({place[one.id]})" for one in lessons}
    lines = [INDEX]
    for path in read_paths():
        lines += [f"<details><summary><b>{path.title}</b>: {path.who}</summary>", ""]
        number = 1
        for stage in path.stages:
            lines += [f"**{stage.title}**", ""] if stage.title else []
            lines += [f"{n}. {links[one]}" for n, one in enumerate(stage.lessons, number)]
            lines.append("")
            number += len(stage.lessons)
        lines += ["</details>", ""]
    for track in dict.fromkeys(one.id.partition("/")[0] for one in lessons):
        lines += [f"## `{track}`", "", "| lesson | minutes | exercises |", "|---|---|---|"]
        for one in lessons:
            if one.id.startswith(f"{track}/"):
                names = one.header.get("exercises", ())
                tries = ", ".join(f"[{name}]({track}/exercises/{name}.py)" for name in names)
                lines.append(f"| {links[one.id]} | {one.header['minutes']} | {tries} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def test_every_check_is_sound() -> None:
    """Every shipped check can be read and has all required parts."""
    assert [(one.id, one.broken) for one in content.read_checks() if one.broken] == []


def test_every_check_names_lesson_and_public_source() -> None:
    """Every check names an existing lesson and the public document of its bound."""
    for check in content.read_checks():
        assert check.lesson in LESSON_IDS, check.id
        assert check.source.startswith("https://"), check.id


def test_every_check_has_estimated_duration() -> None:
    """Every check has an estimate; quick checks of a framework take at most 30 s together."""
    known = content.read_checks()

    assert [] == [one.id for one in known if not one.estimate_s]
    quick = [
        one for one in known if one.level in ("static", "quick") and not needs_several_hosts(one)
    ]
    for framework in {one.framework for one in quick}:
        own = [one for one in quick if one.framework in ("host", framework)]
        assert content.estimate_seconds(own, 0) <= 30, framework


def test_every_check_comes_after_checks_that_exist() -> None:
    """`AFTER` names only existing checks."""
    for check in content.read_checks():
        assert set(check.after) <= CHECK_IDS, check.id


def test_jax_checks_list_their_programs() -> None:
    """Every JAX check has `programs`, so that it can be rehearsed."""
    for check in content.read_checks():
        if check.framework == "jax":
            assert "def programs(devices" in check.path.read_text(encoding="utf-8"), check.id


def test_linter_finds_no_problem() -> None:
    """`learn --lint` finds nothing in the shipped lessons."""
    done = learn("--lint")

    assert 0 == done.returncode, done.stdout


def find_old_spellings(lesson: Lesson) -> list[str]:
    """Return the imports of a sharding or a spec that `jax.P` and `jax.NamedSharding` replace."""
    code = "\n".join(block.code + (block.answer or "") for block in list_blocks(lesson))
    return re.findall(r"jax\.sharding(?:\.| import )(?:NamedSharding|PartitionSpec)", code)


SHOWS_COMPILING = re.compile(
    r"memory_analysis|cost_analysis|clear_caches|to_compile|first call|profiler\.|op_name|"
    r"compilation_cache|log_compiles|explain_cache_misses|\.kill\(|SIGKILL|"
    r"with compiling"
)
"""Output that shows whether a program was compiled, and calls that may leave a part of one."""


def test_lesson_that_shows_compiling_loads_no_stored_program() -> None:
    """A JAX lesson whose code or exercise shows compilation is marked `fresh`."""
    stored: list[str] = []
    for lesson in content.read_lessons():
        texts = [block.code for block in list_blocks(lesson)]
        texts += [one.solution for one in exercises.read_exercises(lesson)]
        if lesson.framework == "jax" and not lesson.fresh:
            stored += [lesson.id for text in texts if SHOWS_COMPILING.search(text)]

    assert [] == stored


def test_old_spelling_is_for_old_jax_alone() -> None:
    """Lessons that need JAX 0.10 write `jax.P`; only those for older JAX import the old names."""
    lessons = content.read_lessons()
    old = {lesson.id for lesson in lessons if find_old_spellings(lesson)}
    new = {lesson.id for lesson in lessons if lesson.frameworks.get("jax", "")}

    assert {"jax/how-fast"} <= old
    assert set() == old & new


def test_the_index_on_github_lists_every_lesson(request: pytest.FixtureRequest) -> None:
    """The index lists tracks and paths with links; `pytest --golden` rewrites it."""
    file = locations.content_folder("lessons") / "README.md"
    if request.config.getoption("--golden"):
        file.write_text(index(), encoding="utf-8")

    assert index() == file.read_text(encoding="utf-8")


def test_lessons_name_only_existing_commands() -> None:
    """Lessons name only existing subcommands."""
    for path in locations.content_folder("lessons").rglob("*.md"):
        text = path.read_text(encoding="utf-8")

        fenced = "".join(re.split(r"(?m)^```.*$", text)[1::2])  # a line of prose may begin so, too
        named = re.findall(r"`tpustarter ([a-z]+)", text)
        named += re.findall(r"(?m)^tpustarter ([a-z]+)", fenced)

        assert set(named) <= set(COMMANDS), path.name
        assert not re.search(r"(pip install|uvx) tpustarter", text), path.name


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("minutes: [3]", "`minutes` in the header is a list, expected int"),
        ("minutes: yes", "`minutes` in the header is a bool"),
        ("minutes: .nan", "`minutes` in the header is a float"),
        ("checks: host.chips", "`checks` in the header is a str, expected list"),
        ("checks: [2026-01-01]", "`checks` in the header is not a list of texts"),
        ("setups: 2026-01-01", "`setups` in the header is a date"),
        ("title: &a [*a]", "aliases"),
        ("a: &a [1, 1]\nb: &b [*a, *a]\nchecks: [*b, *b]", "aliases"),
        (f"title: {'[' * 100_000}", "more than 20 levels"),
        ("- a", "no YAML header"),
        ("a: {", "while parsing"),
    ],
)
def test_invalid_header_value_is_problem(header: str, said: str, tmp_path: Path) -> None:
    """An invalid header value is one error that names the file."""
    path = tmp_path / "01-broken.md"
    path.write_text(f"---\n{header}\n---\n# Broken\n")
    with pytest.raises(Problem) as caught:
        content.read_lesson(path)

    assert said in caught.value.full_text
    assert str(path) in caught.value.full_text


def test_unreadable_lesson_file_is_problem(tmp_path: Path) -> None:
    """A pipe and a huge file are refused without reading them, and a BOM is ignored."""
    path = tmp_path / "01-odd.md"
    os.mkfifo(path)
    with pytest.raises(Problem, match="not a regular file"):
        content.read_lesson(path)
    path.unlink()
    path.write_bytes(b"\xef\xbb\xbf---\ntitle: Odd\n---\n# Odd\n")
    assert "Odd" == content.read_lesson(path).title
    os.truncate(path, locations.MAX_BYTES + 1)

    with pytest.raises(Problem, match="expected 1048576 at most"):
        content.read_lesson(path)


def write_check(folder: Path, **changes: str | None) -> Check:
    """Write a check with some of its lines changed, and read it back."""
    lines = {
        "docstring": '"""A claim."""',
        "FRAMEWORK": '"host"',
        "LEVEL": '"static"',
        "NEEDS": "{}",
        "TIMEOUT_S": "5",
        "LESSON": '"start/x"',
        "SOURCE": '"https://x"',
        "run": "def run():\n    yield",
    }
    lines.update({key: value for key, value in changes.items() if value is not None})
    for key in [key for key, value in changes.items() if value is None]:
        del lines[key]
    text = "\n".join(v if k in ("docstring", "run") else f"{k} = {v}" for k, v in lines.items())
    (folder / "host").mkdir(exist_ok=True)
    (folder / "host" / "sample.py").write_text(text)
    return content.read_checks(folder)[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"docstring": None}, "docstring"),
        ({"LEVEL": None}, "LEVEL not set"),
        ({"LEVEL": '"deep"'}, "LEVEL is 'deep', expected one of static, quick, full, soak"),
        ({"TIMEOUT_S": "5 * x"}, "line 5: TIMEOUT_S must be a literal"),
        ({"TIMEOUT_S": '"5"'}, "line 5: TIMEOUT_S is a str"),
        ({"FRAMEWORK": '"jax"'}, "FRAMEWORK is 'jax' in the folder `host`"),
        ({"run": "x = 1"}, "there is no function `run`"),
        ({"run": "def run(:"}, "line 8: invalid syntax"),
        ({"SOURCE": '"\\0"\n\0'}, "line 8: "),
        ({"NEEDS": '{"chips": 4, "generation": ["v5e"], "container": True}'}, None),
        ({"TIMEOUT_S": "1e999"}, "TIMEOUT_S is inf"),
        ({"TIMEOUT_S": "5\nESTIMATE_S = 1e999"}, "ESTIMATE_S is inf"),
        ({"NEEDS": '{"moons": 3}'}, "moons"),
        ({"NEEDS": '{"chips": "many"}'}, "chips"),
        ({"NEEDS": '{"chips": True}'}, "chips"),
        ({"NEEDS": '{"container": 1}'}, "container"),
        ({"NEEDS": '{"hosts": 2}'}, None),
        ({"NEEDS": '{"hosts": True}'}, "hosts"),
        ({"NEEDS": '{"packages": ["orbax"], "slices": 2}'}, None),
        ({"NEEDS": '{"packages": "orbax"}'}, "packages"),
    ],
)
def test_a_broken_check_is_named_with_its_line(
    changes: dict[str, str | None], reason: str | None, tmp_path: Path
) -> None:
    """An unusable check is listed with the reason."""
    check = write_check(tmp_path, **changes)

    assert (reason is None) == (check.broken is None)
    assert (reason or "") in (check.broken or "")


def test_reading_a_check_does_not_run_it(tmp_path: Path) -> None:
    """A file with side effects at its top level is read without running it."""
    write_check(tmp_path, run=f"open({str(tmp_path / 'ran')!r}, 'w')\ndef run():\n    yield")

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("patterns", "level", "wanted"),
    [
        ((), "static", {"host.passes", "host.warns"}),
        (("host.p*",), "static", {"host.passes"}),
        (("host.warns",), "static", {"host.warns"}),
        (("host.*s",), "quick", {"host.passes", "host.warns"}),
    ],
)
def test_globs_select_and_literal_ids_ask(
    patterns: tuple[str, ...], level: str, wanted: set[str]
) -> None:
    """Globs and ids select checks, each within the level."""
    pool = [one for one in content.read_checks(SAMPLES) if one.id in ("host.passes", "host.warns")]

    assert wanted == {one.id for one in content.select_checks(pool, patterns, level, None)}


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [("host.pases", "did you mean `host.passes`?"), ("zzz", "--list"), ("zzz*", "--list")],
)
def test_unknown_check_is_usage_error_with_suggestion(pattern: str, hint: str) -> None:
    """A mistyped id is a usage error that suggests the nearest id."""
    with pytest.raises(Problem) as caught:
        content.select_checks(content.read_checks(SAMPLES), [pattern], "quick", None)

    assert caught.value.code == ExitCode.USAGE
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text",
    ["no header", "---\ntitle: [\n---\nx", "---\n- a\n---\nx", b"\xff\xfe---".decode("latin1")],
)
def test_a_broken_lesson_is_one_clear_problem(text: str, tmp_path: Path) -> None:
    """A lesson without a readable header is a problem that names the file."""
    path = tmp_path / "01-broken.md"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(Problem, match=re.escape(path.name)):
        content.read_lesson(path)


def test_the_diff_in_contributing_is_real() -> None:
    """Every line that the guide shows as added is in the file it names."""
    repository = locations.PACKAGE.parent
    guide = repository / ".github" / "CONTRIBUTING.md"
    if not guide.exists():
        pytest.skip("The contributor's guide is not part of the wheel that is tested here.")
    lines: set[str] = set()
    added = 0
    whole = guide.read_text(encoding="utf-8")
    for line in whole.splitlines():
        if line.startswith("+++ b/"):
            text = (repository / line[6:]).read_text(encoding="utf-8")
            lines = set(text.splitlines())
            if "checks/" in line and "tests/" not in line:  # a file that is shown whole
                assert "".join(f"+{one}\n" for one in text.splitlines()) in whole, line
        elif line.startswith("+"):
            added += 1

            assert line[1:] in lines, line
    assert added > 30


def test_setup_step_is_named_without_command() -> None:
    """Titles of steps do not contain the command, whose length depends on the launcher."""
    steps = [
        step
        for lesson in content.read_lessons()
        for setup in lesson.header.get("setups", {}).values()
        for step in setup
    ]
    titles = [step["title"] for step in steps]

    assert [] == [title for title in titles if "tpustarter" in title]
    assert len(titles) > 50


def test_rehearsal_in_a_lesson_names_its_setup() -> None:
    """A lesson that rehearses names the set-up of the compiler's environment."""
    texts = {lesson.id: " ".join(lesson.text.split()) for lesson in content.read_lessons()}
    rehearsing = {name: text for name, text in texts.items() if "tpustarter rehearse " in text}
    setup = re.compile(r"setup rehearse|/?1[56]-(?:the-tpu-compiler|try-a-tpu)")

    assert rehearsing
    assert [] == [name for name, text in rehearsing.items() if not setup.search(text)]


def _list_names(table: symtable.SymbolTable) -> Iterator[str]:
    is_module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_module or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _list_names(child)


def _list_unknown_names(lesson: Lesson) -> Iterator[str]:
    known = {*dir(builtins), "__file__", "__name__"}
    for block in list_blocks(lesson):
        table = symtable.symtable(block.expected_code, block.id, "exec")
        known |= {one.get_name() for one in table.get_symbols() if one.is_assigned()}
        known |= {one.get_name() for one in table.get_symbols() if one.is_imported()}
        for name in _list_names(table):
            if name not in known:
                yield f"{lesson.id}, {block.id}: {name}"


def test_answer_defines_names_of_its_task() -> None:
    """Since `--run` runs a task's answer, the answer defines all names used below it."""
    assert [] == [name for lesson in content.read_lessons() for name in _list_unknown_names(lesson)]
