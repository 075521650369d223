"""`tpustarter learn` as a process: what it lists, prints, runs and remembers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.checking.test_runner import until_ended
from tests.cli.test_check import on_a_terminal
from tests.figures import figures_of
from tests.support import copies, shipped
from tests.support.made_lessons import TASK_AND_QUESTION, fence, make_lesson
from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S
from tpustarter.core import content
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.progress import lesson_progress
from tpustarter.text.terminal import WIDTH

KINDS = [
    "start/what-this-machine-is",
    "jax/first-arrays",
    "jax/every-device",
    "project/the-project",
]
"""Lessons without a framework, with JAX, on all devices, with code of their own."""
PATHS = "- {id: laptop, title: Made, who: You., lessons: [made/sample, made/other]}\n"


def command(*arguments: str, lessons: Path | None = None) -> list[str]:
    """Return the command line of `learn`, on lessons made by a test if any are given."""
    program = "from tpustarter import __main__\nfrom tpustarter.core import locations\n"
    if lessons:
        program += (
            "import pathlib\ncontent = locations.content_folder\n"
            f"made = pathlib.Path({str(lessons)!r})\n"
            "locations.content_folder = lambda name: made if name == 'lessons' else content(name)\n"
        )
    return [sys.executable, "-c", program + "__main__.main()", "learn", *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports what is tested."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **more}


def learn(*arguments: str, lessons: Path | None = None, **env: str):
    """Run `tpustarter learn` and return what it did."""
    return copies.run(command(*arguments, lessons=lessons), env=environment(**env))


def make_two(folder: Path, first: str, second: str = "") -> Path:
    """Write two lessons and a path through them; returns their folder."""
    make_lesson(folder, first)
    make_lesson(folder, second or fence("print(1)", "1"), name="02-other")
    (folder / "paths.yml").write_text(PATHS)
    return folder


def test_path_and_lesson_name_the_setup_they_need(tmp_path: Path) -> None:
    """A path and a lesson name the command for a missing setup; other lessons name none."""
    folder = make_two(tmp_path, fence("print(1)", "1"))
    without = learn("made/sample", lessons=folder).stdout
    make_lesson(folder, fence("print(1)", "1"), needs='{torch_xla: "2.9"}')
    texts = [
        learn(*arguments, lessons=folder).stdout
        for arguments in (["--path", "laptop"], ["made/sample"], ["made/sample", "--run"])
    ]

    assert [False, True, True, True] == ["setup pytorch-xla" in text for text in (without, *texts)]


@pytest.mark.parametrize("lesson", KINDS)
def test_lesson_of_each_kind_runs_as_described(lesson: str) -> None:
    """On eight virtual CPU devices; `tests/content` runs the others."""
    [one] = [one for one in shipped.lessons(*shipped.DEFAULT) if one.id == lesson]
    shipped.every_block_holds(one, environment())


def test_every_lesson_prints_as_plain_text() -> None:
    """Lines are drawn in announced figures alone; no links, code announced, no prose too wide."""
    done = learn("--all")
    lessons = content.read_lessons()

    assert 0 == done.returncode
    assert "](" not in done.stdout
    for lesson in lessons:
        assert f"Lesson: {lesson.title}" in done.stdout
        for block in list_blocks(lesson):
            kind = "Your turn, block" if block.is_try else "Code, block"
            name = f"{block.number} ({block.id})" if block.number else block.id
            assert f"{kind} {name}:" in done.stdout
        for figure in figures_of(lesson):
            assert f"Figure: {figure.caption}"[:WIDTH].rpartition(" ")[0] in done.stdout
    assert "\x1b" not in done.stdout
    prose = [line for line in done.stdout.splitlines() if not line.startswith("    ")]
    assert all(len(line) <= WIDTH for line in prose if "http" not in line)
    assert not re.search("[\u2500-\u259f]", "\n".join(prose))
    assert "Expected output on a TPU" in done.stdout
    assert "(tpustarter learn jax/first-arrays)" in done.stdout
    assert "* HBM: " in done.stdout


def test_long_lesson_opens_in_pager() -> None:
    """A long lesson opens in a pager, as with `git log`; a pipe gets all of it as text."""
    lesson = "jax/jit-and-recompilation"
    env = {"TERM": "xterm", "NO_COLOR": "", "PAGER": "sed s/^/page:/", "COLUMNS": "80"}
    paged = on_a_terminal("learn", lesson, env=env)
    whole = on_a_terminal("learn", lesson, env={**env, "LINES": "9999"})

    assert "page:Lesson: Compile with jit" in paged
    assert "\x1b[1mjax.jit\x1b[22m" in paged
    assert "page:" not in whole
    assert "Lesson: Compile with jit" in whole
    assert "page:" not in learn(lesson, PAGER="sed s/^/page:/").stdout
    assert "`jax.jit`" in learn(lesson).stdout


def test_lesson_and_list_mark_completed_parts(tmp_path: Path) -> None:
    """Marks in the list and in the lesson are words, and follow what was run."""
    folder = make_two(tmp_path, fence("print(1)", "1") + fence("print(2)", "3", name="two"))

    assert "next  made/sample" in learn(lessons=folder).stdout
    done = learn("made/sample", "--run", lessons=folder)
    assert 1 == done.returncode
    printed = learn("made/sample", lessons=folder).stdout
    assert "Code, block 1 (one), passed:" in printed
    assert "Code, block 2 (two), did not match:" in printed
    learn("made/other", "--run", lessons=folder)
    listed = learn(lessons=folder).stdout
    assert "done  made/other" in listed
    assert "begun made/sample " not in listed
    assert "begun 1 of 2   3 min" in listed
    assert "1 of 2 lessons done, 3 min of 6 min left" in listed
    assert listed.endswith("Next: Sample, 3 min\n  tpustarter learn made/sample\n")


def test_list_shows_path_by_stages_then_rest() -> None:
    """The list fits 24 lines and follows the user's path; a track is listed by name."""
    folded, everything = learn().stdout, learn("-v").stdout
    ids = [lesson.id for lesson in content.read_lessons()]

    assert folded.startswith("Your path: I only have a laptop\n[....................]  0 of ")
    assert folded.count("\n") < 24
    assert "  next  Start here " in folded
    assert "      next  start/on-a-laptop " in folded
    assert "jax/how-fast" not in folded
    assert all(re.search(rf" {name}[ \n]", everything) for name in ids)
    assert max(map(len, everything.splitlines())) <= WIDTH
    assert "Not on your path: lessons on pytorch\n" in everything
    assert "  from-pytorch    I come from PyTorch or CUDA " in everything
    assert learn("--path", "from-pytorch").stdout.startswith("I come from PyTorch or CUDA.")
    assert learn().stdout.startswith("Your path: I come from PyTorch or CUDA\n")
    assert "did you mean `fresh-tpu-vm`?" in learn("--path", "fresh-tpu-wm").stderr
    track = learn("slices").stdout
    assert [name for name in ids if re.search(rf" {name}[ \n]", track)] == [
        name for name in ids if name.startswith("slices/")
    ]
    assert "-v only works with the list of lessons" in learn("-v", "jax/jit").stderr


def test_long_id_keeps_titles_aligned() -> None:
    """A long id is on a line of its own, so that titles stay aligned."""
    rows = learn("-v").stdout.splitlines()
    longest = max((lesson.id for lesson in content.read_lessons()), key=len)
    place = next(number for number, row in enumerate(rows) if row.endswith(f" {longest}"))
    columns: dict[int, set[int]] = {}
    for row in rows:
        if found := re.match(r" +(?:\w+ +)?([a-z]+/[a-z0-9-]+) +\S", row):
            columns.setdefault(found.start(1), set()).add(found.end() - 1)

    assert len(longest) > 29
    assert all(len(starts) == 1 for starts in columns.values()), columns
    title = len(rows[place + 1]) - len(rows[place + 1].lstrip())
    assert columns[rows[place].index(longest)] == {title}


def test_short_id_selects_lesson_of_path() -> None:
    """A short id selects the lesson of the path; others with that ending are named on stderr."""
    done = learn("precision")

    assert done.stdout.startswith("Lesson jax/precision, ")
    assert done.stderr == "note: `precision` is also `tpustarter learn pytorch/precision`\n"


def test_run_ends_with_progress_and_next_lesson(tmp_path: Path) -> None:
    """After all blocks passed, the path's next lesson is shown with its minutes and command."""
    folder = make_two(tmp_path, fence("print(1)", "1"))
    done = learn("made/sample", "--run", lessons=folder)

    assert 0 == done.returncode
    assert done.stdout.endswith(
        "\n\nDone: 1 of 1 block\n\nToday: 1 lesson.\n\n"
        'Next on your path "Made": Sample, 3 min\n  tpustarter learn made/other\n'
    )


def test_run_leaves_task_and_question_open(tmp_path: Path) -> None:
    """A run leaves tasks and questions open, and the path continues."""
    folder = make_two(tmp_path, fence("print(1)") + TASK_AND_QUESTION)
    started = "python3 -m uv run tpustarter"
    done = learn("made/sample", "--run", lessons=folder, TPUSTARTER_COMMAND=started)
    assert "\n\nRead, but not done yet: 1 of 2 blocks\n  Block `turn` waits for" in done.stdout
    way = f"you answer questions and change blocks: `{started}`"
    assert way in " ".join(done.stdout.split())
    listed = learn(lessons=folder).stdout

    assert "0 of 2 lessons done, 1 read, 3 min left" in listed
    assert re.search(r"read +made/sample +Sample +2 things open +3 min\n", listed), listed
    assert re.search(r"next +made/other ", listed), listed


def test_run_streams_output_and_block_results(tmp_path: Path) -> None:
    """Output is indented, results say where, the end is the truth, stderr the next step."""
    code = "print('a')\nprint('[b]\\x1b[31mred')"
    folder = make_two(tmp_path, fence(code, "a") + fence("1 / 0", "x", name="two"))
    done = learn("made/sample", "--run", lessons=folder)

    assert 1 == done.returncode
    assert "\n      a\n      [b]\\x1b[31mred\nFAIL  differs, line 2: found `[b]\\x1b" in done.stdout
    assert "ERROR exception: ZeroDivisionError: division by zero" in done.stdout
    assert " ".join(done.stdout.split()).endswith(
        "0 of 2 blocks do as the lesson says, 1 printed something else, 1 has no verdict. "
        "No device was tested. Not done yet: 0 of 2 blocks Block `one` printed something else than "
        "the lesson says. Block `two` raised an exception."
    )
    assert "exit 1: made/sample#one printed something else" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "more", "exit_code"),
    [
        ("print(1)", "", 0),
        ("print(2)", "", 1),
        ("1 / 0", "", 3),
        ("import time; time.sleep(600)  # hangs", "timeout=2", 3),
        ("import os; os._exit(1)", "", 3),
    ],
)
def test_exit_codes_are_those_of_check(
    code: str, more: str, exit_code: int, tmp_path: Path
) -> None:
    """Fine, differs, no verdict: the code says which, and the document agrees."""
    folder = make_two(tmp_path, fence(code, "1", more=more))
    done = learn("made/sample", "--run", "--json", lessons=folder)
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(shipped.SCHEMA).validate(document)

    assert (exit_code, exit_code) == (done.returncode, document["exit_code"])
    assert (exit_code == 0) == (done.stderr == "")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("made/sampel",), 2, "did you mean `made/sample`?"),
        (("made/sample", "--all"), 2, "not both"),
        (("--run",), 2, "--run needs a lesson"),
        (("--lint", "--json"), 2, "give only one of --search, --old,"),
        (("--import", "/nope"), 2, "No such file"),
        (("--import", "/dev/zero"), 78, "is not what `tpustarter learn --export` prints"),
        (("--import", "/dev/null"), 78, "is not what `tpustarter learn --export` prints"),
        (("--search", "xyzzyx"), 5, "nothing here is about"),
        (("--search",), 2, "--search needs a text, such as"),
        (("--old",), 2, "--old needs some words of an older tutorial, such as"),
        (("--old", " "), 2, "`--old`"),
        (("",), 2, "`LESSON`"),
        (("made/sample", "--notebook", ""), 2, "`--notebook`"),
        (("made/sample", "--force"), 2, "--force only works with --notebook"),
        (("made/sample", "--devices", "4"), 2, "only work with --run or --exercise"),
        (("made/sample", "--run", "--python", "/nope"), 2, "there is no program at `/nope`"),
        (("made/sample", "--run", "--python", "/bin/cat"), 78, "did not answer as a Python"),
    ],
)
def test_invalid_request_has_reason_and_exit_code(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    """Each invalid request has a reason and an exit code; with --json stdout stays JSON."""
    folder = make_two(tmp_path, fence("print(1)", "1"))
    done = learn(*arguments, lessons=folder)

    assert code == done.returncode
    assert said in done.stderr
    if "--run" in arguments and len(arguments) > 1:
        assert code == json.loads(learn(*arguments, "--json", lessons=folder).stdout)["exit_code"]


def test_deviceless_block_of_jax_lesson_passes(tmp_path: Path) -> None:
    """A block of a JAX lesson without a device passes, and no device is reported as tested."""
    folder = make_two(tmp_path, "")
    make_lesson(folder, fence("print(1)", "1"), needs="{framework: jax}")
    done = learn("made/sample", "--run", "--python", sys.executable, lessons=folder)

    assert (0, "") == (done.returncode, done.stderr)
    assert "No device was tested." in done.stdout


def test_lesson_for_8_devices_refuses_fewer(tmp_path: Path) -> None:
    """A lesson for 8 devices refuses fewer and names the command that provides them."""
    folder = make_two(tmp_path, "")
    make_lesson(folder, fence("print(1)", "1"), needs="{framework: jax, devices: 8}")
    run = ["made/sample", "--run", "--python", sys.executable]
    fewer, enough = (learn(*run, "--devices", number, lessons=folder) for number in ("4", "8"))

    assert (69, 0) == (fewer.returncode, enough.returncode)
    assert "this lesson needs 8 devices, and this run has 4. Next: " in fewer.stderr
    assert "learn made/sample --run --devices 8` runs it on virtual CPU devices" in fewer.stderr


def test_broken_lesson_is_named_and_linted(tmp_path: Path) -> None:
    """The list, the run and the linter say file and line; the exit code is 78."""
    folder = make_two(tmp_path, "```python run\nx\n```\n")
    run = learn("made/sample", "--run", lessons=folder)
    linted = learn("--lint", lessons=folder)

    assert (78, 78) == (run.returncode, linted.returncode)
    assert "01-sample.md`, line 11" in run.stderr
    assert "01-sample.md`, line 11" in linted.stdout


def test_search_lists_best_match_first_with_place() -> None:
    """Lessons, then glossary, checks and old claims; other words are named; no Markdown."""
    done = learn("--search", "data loader")
    lessons, lines = done.stdout.index("\nLessons\n"), done.stdout.splitlines()

    assert done.stdout.startswith("Also looked for: input pipeline, Grain.\n")
    assert done.stdout[lessons:].startswith("\nLessons\n  jax/input-pipelines   ")
    assert "    Read ahead: " in done.stdout
    assert lessons < done.stdout.index("\nChecks\n") < done.stdout.index("\nOlder tutorials\n")
    assert lines[-1].endswith("Read it: tpustarter learn jax/input-pipelines")
    assert max(map(len, lines)) <= WIDTH
    assert not re.search(r"`|\*\*|\x1b", done.stdout)
    assert "these have some of them" in learn("--search", "orbax xyzzyx").stdout
    assert (
        "Did you mean `tpustarter learn --search 'precision'`"
        in learn("--search", "precisoin").stderr
    )


@pytest.mark.parametrize(
    ("text", "code", "first"),
    [("data loader", 0, "jax/input-pipelines"), ("xyzzyx", 5, None), ("precisoin", 5, None)],
)
def test_search_json_follows_schema(text: str, code: int, first: str | None) -> None:
    """The hits come with the command that shows each, and nothing found ends with 5."""
    done = learn("--search", text, "--json")
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(shipped.SEARCH_SCHEMA).validate(document)

    assert (code, code) == (done.returncode, document["exit_code"])
    assert first == next((hit["id"] for hit in document["hits"]), None)
    assert (text == "precisoin") == (document["meant"] == "precision")
    assert {"lesson", "word", "check", "old"} >= {hit["kind"] for hit in document["hits"]}


def test_lesson_json_has_its_markdown() -> None:
    """The JSON has the Markdown only if one lesson is named, because all are 1.7 MB."""
    document = json.loads(learn("precision", "--json").stdout)
    jsonschema.Draft202012Validator(shipped.SCHEMA).validate(document)

    lesson = content.find_lesson("jax/precision", content.read_lessons())
    assert lesson.text == document["lessons"][0]["text"]


def test_search_shows_glossary_entry_before_lessons() -> None:
    """A glossary entry is shown once, before the lessons."""
    said = learn("--search", "what is a mesh").stdout

    first = said.partition("\n\n")[2]  # below what else was looked for
    assert first.startswith("Glossary\n  mesh: ")
    assert 1 == said.count("\n  mesh: ")
    assert "..." not in first.partition("\n\n")[0]
    assert "Read it: tpustarter learn jax/sharding" in said.splitlines()[-1]


def test_json_describes_lessons_and_export_holds_progress() -> None:
    """`--json` describes lessons without running them; `--export` tells what was done."""
    lesson_progress.record_lesson_done("jax/precision")
    document = json.loads(learn("--json").stdout)
    jsonschema.Draft202012Validator(shipped.SCHEMA).validate(document)

    assert {"notrun"} == {lesson["status"] for lesson in document["lessons"]}
    assert not any("text" in lesson for lesson in document["lessons"])
    assert all(
        name.startswith(f"{one['track']}/")
        for one in document["lessons"]
        for name in one["exercises"]
    )
    assert json.loads(learn("--export").stdout)["lessons"]["jax/precision"]["done"]


def test_exported_progress_is_merged(tmp_path: Path) -> None:
    """Exported progress is merged with that of this machine, however often it is read."""
    there = {"TPUSTARTER_HOME": str(tmp_path / "there")}
    folder = make_two(tmp_path / "lessons", fence("print(1)", "1"))
    learn("made/other", "--run", lessons=folder, **there)
    learn("made/sample", "--run", lessons=folder)
    exported = tmp_path / "export.json"
    exported.write_text(learn("--export", **there).stdout)
    for _ in range(2):
        done = learn("--import", str(exported))
        assert (0, "2 lessons are done now, there or here\n") == (done.returncode, done.stdout)

    assert "] all 2 lessons, 6 min done\n" in learn(lessons=folder).stdout.replace("  ", " ")


def test_lesson_without_blocks_verifies_nothing(tmp_path: Path) -> None:
    """Running it says so, with the same exit code in the document; describing it is fine."""
    folder = make_two(tmp_path, "Text alone.\n")
    done = learn("made/sample", "--run", "--json", lessons=folder)
    described = json.loads(learn("made/sample", "--json", lessons=folder).stdout)

    assert (5, 5) == (done.returncode, json.loads(done.stdout)["exit_code"])
    assert "no lesson here has a block that runs" in done.stderr
    assert 0 == described["exit_code"]


def test_lessons_are_readable_without_state_folder(tmp_path: Path) -> None:
    """Without a state folder they are listed and printed; a run that cannot write says it."""
    folder = make_two(tmp_path, fence("print(1)", "1"))
    for arguments in ((), ("made/sample",), ("--export",)):
        assert 0 == learn(*arguments, lessons=folder, TPUSTARTER_HOME="/proc/nowhere").returncode
    home = tmp_path / "state"
    home.mkdir()
    (home / "progress.lock").symlink_to("/proc/nowhere/lock")
    done = learn("--all", "--run", "--json", lessons=folder, TPUSTARTER_HOME=str(home))

    assert (0, 0) == (done.returncode, json.loads(done.stdout)["exit_code"])
    assert "warning: what you did is not remembered: cannot write" in done.stderr


@pytest.mark.parametrize("break_it", [Path.unlink, lambda path: path.write_bytes(b"\xff")])
def test_lesson_prints_without_its_glossary(
    break_it: Callable[[Path], object], tmp_path: Path
) -> None:
    """A lesson prints even if its glossary can't be read."""
    folder = make_two(tmp_path, "A [word](../glossary.md#word).\n")
    (folder / "glossary.md").write_text("# Glossary\n\n## word\n\nMeaning.\n")
    assert "* word: Meaning." in learn("made/sample", lessons=folder).stdout
    break_it(folder / "glossary.md")
    done = learn("made/sample", lessons=folder)

    assert 0 == done.returncode
    assert "A word." in done.stdout
    (folder / "made" / "01-sample.md").unlink()
    (folder / "made" / "02-other.md").unlink()
    assert "there are no lessons here" in learn(lessons=folder).stderr


@pytest.mark.parametrize(("streams", "code"), [("<&- 2>&-", 0), ("<&- >&- 2>&-", 74)])
def test_run_works_with_closed_streams(streams: str, code: int, tmp_path: Path) -> None:
    """A run works with closed standard streams."""
    folder = make_two(tmp_path, fence("print(1)", "1"))
    words = command("made/sample", "--run", lessons=folder)
    script = f'exec "$@" {streams}'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words], check=False, timeout=HANG_S, env=environment()
    )

    assert code == done.returncode


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
)
def test_signal_ends_run_and_keeps_progress(number: int, code: int, tmp_path: Path) -> None:
    """The block is stopped, the rest is not run, progress is kept, no process is left."""
    sleeper = fence("print('up', flush=True)\nimport time; time.sleep(600)  # hangs", name="two")
    folder = make_two(
        tmp_path, fence("print(1)", "1") + sleeper + fence("print(3)", "3", name="three")
    )
    home = tmp_path / "state"
    process = subprocess.Popen(
        command("made/sample", "--run", lessons=folder),
        env=environment(TPUSTARTER_HOME=str(home)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if "up" in line:
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_S)

    assert code == process.returncode
    assert "NOT   interrupted" in out
    last = f"exit {code}: stopped before the end. Next: `tpustarter learn made/sample --run`"
    assert err.splitlines()[-1] == f"{last} runs it again"
    stored = json.loads((home / "progress.json").read_text())["lessons"]["made/sample"]
    assert ["one"] == list(stored["blocks"])
    until_ended(str(home))


def test_kill_during_run_keeps_earlier_blocks(tmp_path: Path) -> None:
    """SIGKILL loses the running block alone, and nothing goes on running."""
    sleeper = fence("print('up', flush=True)\nimport time; time.sleep(600)  # hangs", name="two")
    folder = make_two(tmp_path, fence("print(1)", "1") + sleeper)
    home = tmp_path / "state"
    process = subprocess.Popen(
        command("made/sample", "--run", lessons=folder),
        env=environment(TPUSTARTER_HOME=str(home)),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if "up" in line:
            break
    process.kill()
    process.communicate(timeout=HANG_S)

    until_ended(str(home))
    stored = json.loads((home / "progress.json").read_text())["lessons"]["made/sample"]
    assert ["one"] == list(stored["blocks"])


def test_notebook_is_not_overwritten_unless_requested(tmp_path: Path) -> None:
    """A notebook isn't overwritten unless the user requests it."""
    file = tmp_path / "precision.ipynb"
    file.write_text("my own work")
    refused = learn("jax/precision", "--notebook", str(file))

    assert (2, "my own work") == (refused.returncode, file.read_text())
    assert "already exists" in refused.stderr
    assert "--force" in refused.stderr
    assert 0 == learn("jax/precision", "--notebook", str(file), "--force").returncode
    assert "cells" in json.loads(file.read_text())
