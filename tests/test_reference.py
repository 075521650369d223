"""The reference is complete, repeats nothing, and agrees with `--help`."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from tests.support.pages import (
    CONTRIBUTING,
    README,
    REFERENCE,
    anchors,
    code_spans,
    compare_table,
    links,
    typed_lines,
)
from tests.support.places import REPOSITORY, TESTS
from tpustarter.cli import COMMANDS, cli
from tpustarter.core.problem import SCHEMAS, VERB_SCHEMAS, ExitCode, find_schema_name
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES, SIZES

FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LONG = 40
"""Characters of a line that stands twice only by mistake."""
OF_UV = {"--extra"}
PAGES = [README, REFERENCE, CONTRIBUTING]

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_file(), reason="The pages of the repository are in the checkout only."
)


@pytest.fixture
def reference() -> str:
    """Return the whole text."""
    return REFERENCE.read_text(encoding="utf-8")


def said_twice(text: str) -> list[str]:
    """Return lines of prose, and first cells of tables, that stand there more than once."""
    lines = [line.strip() for line in FENCE.sub("", text).splitlines()]
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| `tpustarter ")]
    counted = Counter([*rows, *(line for line in lines if len(line) >= LONG)])
    return sorted(line for line, times in counted.items() if times > 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_has_no_repetition(page: Path) -> None:
    """Two versions of a sentence that a merge put one after the other."""
    assert [] == said_twice(page.read_text(encoding="utf-8"))


def test_repetition_is_found() -> None:
    """A row of another text with the same command, and a line that comes back; no code."""
    line = "This sentence is long enough to be one that was written by somebody."
    row = "| `tpustarter setup tuning` | shows settings |"
    other = "| `tpustarter setup tuning` | shows more settings |"

    assert [line] == said_twice(f"{line}\nmore\n{line}\n")
    assert ["| `tpustarter setup tuning`"] == said_twice(f"{row}\n{other}\n")
    assert [] == said_twice(f"```\n{line}\n```\n{line}\n")


def options(command: click.Command) -> set[str]:
    """Return the options of a command, as its `--help` lists them."""
    return {"-h", "--help", *(name for one in command.params for name in one.opts)}


def commands_of(group: click.Group) -> dict[str, click.Command]:
    """Return the commands of a group, which loads each when it is asked for."""
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in found.items() if command}


def all_commands(group: click.Group = cli) -> Iterator[click.Command]:
    """Yield the program, its commands and theirs."""
    yield group
    for command in commands_of(group).values():
        if isinstance(command, click.Group):
            yield from all_commands(command)
        else:
            yield command


def refused(line: str) -> str:
    """Return the words of a `tpustarter` command line that `--help` doesn't list; empty if none.

    What follows `--` or a pipe is of another program, and capitals are a name to choose.
    """
    words = shlex.split(re.split(r" (?:--(?= )|\||&&|>)", f"{line} ")[0])
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name.isupper():
            return ""
        if name not in commands_of(command):
            return name
        command = commands_of(command)[name]
    unknown = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    return " ".join(sorted(unknown - options(command)))


def command_lines(text: str) -> list[str]:
    """Return the command lines of this program in a page, from what follows its name."""
    spans = code_spans(text)
    ours = re.compile(r"(?:^|uv run (?:[^|&]* )?)tpustarter((?: .*)?)$")
    matches = (ours.search(line) for line in [*spans, *typed_lines(text)])
    lines = [match[1] for match in matches if match]
    return [*lines, *(line for line in spans if line.split(" ")[0] in COMMANDS)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_help_knows_every_command_and_option(page: Path) -> None:
    """`--help` lists every command and option that the pages use."""
    lines = command_lines(page.read_text(encoding="utf-8"))

    assert lines
    assert {} == {line: why for line in lines if (why := refused(line))}


@pytest.mark.parametrize("page", [README, REFERENCE], ids=lambda page: page.stem)
def test_help_knows_every_option_named_alone(page: Path) -> None:
    """`--help` of some command lists every option that is named alone."""
    spans = code_spans(page.read_text(encoding="utf-8"))
    named = {span.split()[0] for span in spans if re.match(r"--?[a-z]", span)}

    assert named
    assert set() == named - OF_UV.union(*(options(command) for command in all_commands()))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("check --level full", ""),
        ("check --levle full", "--levle"),
        ("chekc", "chekc"),
        ("tpu create bert --type v6e-8 --dry-run", ""),
        ("tpu craete bert", "craete"),
        ("run -- python train.py --lr 1", ""),
        ("COMMAND --help", ""),
    ],
)
def test_the_rule_of_commands_can_fail(line: str, why: str) -> None:
    """A mistyped command and a mistyped option are named."""
    assert why == refused(line)
    assert [f" {line}"] == command_lines(f"see `tpustarter {line}` for it")
    assert [f" {line}"] == command_lines(f"```\n$ python3 -m uv run tpustarter {line}\n```\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Every link leads to a file of the repository, and to a heading if it names one."""
    for target in links(page.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page

        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("page", [README, CONTRIBUTING], ids=lambda page: page.stem)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """Every file of the repository that a page names exists; capitals are placeholders."""
    words = [word for span in code_spans(page.read_text(encoding="utf-8")) for word in span.split()]
    named = [word for word in words if re.match(r"(\.ci|checks|lessons|tests|tpustarter)/", word)]

    assert named
    assert [] == [
        word
        for word in named
        if not re.search(r"[A-Z]{2}", word) and not any(REPOSITORY.glob(word))
    ]


def misplaced_names(text: str) -> list[str]:
    """Return the names that a page finds in a file of Python where they are not defined."""
    places = re.findall(r"`(\w+)(?:\([^`]*\))?`\s+(?:of|in)\s+`([\w/]+\.py)`", text)
    return [
        f"{name} in {file}"
        for name, file in places
        if not re.search(
            rf"^ *((async )?def|class) {name}\b|^ *{name}\b.*=",
            (REPOSITORY / file).read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    ]


def test_names_in_the_guide_are_defined_there() -> None:
    """A function that was renamed leads a newcomer nowhere."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    here = "tests/test_reference.py"

    assert [] == misplaced_names(text)
    assert [] == misplaced_names(f"`misplaced_names(text)` of\n`{here}`, `PAGES` in `{here}`")
    assert [f"page in {here}", f"Page in {here}"] == misplaced_names(
        f"`page()` of `{here}`, and `Page` in `{here}`"
    )


def test_reference_lists_every_exit_code(reference: str) -> None:
    """The reference lists every exit code, and no other."""
    table = reference.partition("| exit code | meaning |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([\d, ]+) \| .+ \|$", table, re.MULTILINE)

    assert sorted(ExitCode) == sorted(int(code) for codes in rows for code in codes.split(","))


def test_reference_names_every_command_and_machine_setup(reference: str) -> None:
    """The reference has a row for every command and every set-up of the machine."""
    changed = reference.partition("### What a set-up of the machine changes")[2]

    for command in COMMANDS:
        assert f"| `tpustarter {command}" in reference, command
    for profile in MACHINE:
        assert f"\n| `{profile}` |" in changed, profile


def environment_rows() -> Iterator[str]:
    """Yield the table of environments, with sizes without and with a TPU where they differ."""
    yield "| set-up | makes | in | to download | on the disk |"
    yield "|---|---|---|---|---|"
    for name, profile in PROFILES.items():
        sizes = zip(SIZES[profile.wheel], SIZES[profile.tpu_wheel], strict=True)
        download, disk = [", ".join(dict.fromkeys(both)) for both in sizes]
        yield f"| `{name}` | {profile.meaning} | `~/{profile.folder}` | {download} | {disk} |"


def tpu_rows() -> Iterator[str]:
    """Yield the table of what `tpustarter tpu --help` lists."""
    tpu = commands_of(cli)["tpu"]
    assert isinstance(tpu, click.Group)
    yield "| `tpustarter tpu` | what it does |"
    yield "|---|---|"
    for name, command in commands_of(tpu).items():
        yield f"| `{name}` | {command.get_short_help_str(limit=200)} |"


def test_reference_tables_match_program(request: pytest.FixtureRequest) -> None:
    """Written anew with `--golden`."""
    for table in (environment_rows(), tpu_rows()):
        rows = [*table]

        assert len(rows) > 2  # below the head
        compare_table(REFERENCE, rows, golden=request.config.getoption("--golden"))


def test_reference_names_every_document_and_schema(reference: str) -> None:
    """The reference has a row for every published schema and every document of a command."""
    table = reference.partition("| command | `schema` |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+) \| `(.+)` \| \[.+\]\(\.\./(.+)\) \|$", table, re.MULTILINE)
    published = {
        str(path.relative_to(REPOSITORY))
        for path in (REPOSITORY / "tpustarter").rglob("*schema.json")
    }

    assert published == {file for _, _, file in rows}
    assert {find_schema_name([command]) for command in SCHEMAS} | {
        find_schema_name(["tpu", verb]) for verb in VERB_SCHEMAS
    } <= {schema for _, schema, _ in rows}
    for commands, schema, file in rows:
        assert f'"{schema}"' in (REPOSITORY / file).read_text(encoding="utf-8")
        for command in code_spans(commands):
            assert schema == find_schema_name(command.split()) or command == "learn --which"


def test_glossary_of_code_leads_to_files() -> None:
    """Each word of WORDS.md is defined in a file that exists, and the words are sorted."""
    text = (REPOSITORY / ".github" / "WORDS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w ]+) \| .+ \| `(.+)` \|$", text, re.MULTILINE)
    words = [word for word, _ in rows if word != "word"]

    assert sorted(words) == words
    assert [] == [path for _, path in rows if not (REPOSITORY / path).is_file()]


def test_example_for_continuous_integration_is_whole(reference: str) -> None:
    """The test is the one that the lane `compile` runs, and the workflow installs and runs it."""
    example = (TESTS / "samples" / "rehearsal" / "example_fits.py").read_text(encoding="utf-8")
    [workflow] = re.findall(
        r"^```yaml\n(name: still fits\n.*?)^```", reference, re.DOTALL | re.MULTILINE
    )
    steps = yaml.safe_load(workflow)["jobs"]["fits"]["steps"]

    assert f"```python\n{example}```" in reference
    assert ["pip", "pytest"] == [step["run"].split()[0] for step in steps if "run" in step]
    assert "./tpustarter[rehearse]" in steps[-2]["run"]
