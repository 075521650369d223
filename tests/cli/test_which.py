"""`tpustarter learn --which` as it is typed: the questions, the recommendation, and JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support import copies
from tests.support.terminal import Terminal, terminal
from tpustarter.cli.learn import library_choice as command
from tpustarter.core import content
from tpustarter.learning.content import library_choice
from tpustarter.learning.content.paths import read_paths
from tpustarter.machine import host
from tpustarter.text.terminal import WIDTH

ASK = ("learn", "--which")
GIVEN = ("--from", "pytorch", "--need", "train", "--have", "v6e-8")
SCHEMA = json.loads(
    resources.files("tpustarter.learning").joinpath("which.schema.json").read_text()
)


def learn(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `tpustarter learn --which` without a terminal."""
    return copies.run([sys.executable, "-m", "tpustarter", *ASK, *arguments])


def answer(tty: Terminal, *answers: str) -> None:
    """Type the answers one by one, each after its question appears."""
    for number, typed in enumerate(answers):
        ask = library_choice.read_questionnaire().questions[number].ask
        tty.until(lambda text, ask=ask: ask in text and text.rstrip().endswith(":"))
        tty.press(f"{typed}\n")


def test_recommendation_has_reasons_sources_dates_and_steps() -> None:
    """Everything fits 80 columns, but for an address."""
    done = learn(*GIVEN)
    lines = done.stdout.splitlines()

    assert (0, "") == (done.returncode, done.stderr)
    assert "Take TorchTPU (torch_tpu)." == lines[0]
    for wanted in (
        "Why",
        "What to know",
        "Install it",
        "  tpustarter setup torchtpu",
        "Begin with",
        '  Both are on the path "I come from PyTorch or CUDA".',
        "  tpustarter learn --which --from pytorch --need train --have v5e-v6e",
    ):
        assert wanted in lines
    assert any("https://" in line and "(read 2026-" in line for line in lines)
    assert [] == [line for line in lines if len(line) > WIDTH and len(line.split()) > 1]
    assert "\x1b" not in done.stdout


def test_every_recommendation_prints_as_text_and_json() -> None:
    """The lines keep their width and the documents their schema, whatever was answered."""
    guide = library_choice.read_questionnaire()
    lessons, paths = content.read_lessons(), read_paths()
    ids = {lesson.id for lesson in lessons}
    for answers in library_choice.list_answer_combinations(guide):
        advice = library_choice.recommend_library(guide, answers)
        lines = "\n".join(command._describe(advice, lessons, paths)).splitlines()
        jsonschema.Draft202012Validator(SCHEMA).validate(library_choice.make_json_document(advice))

        assert [] == [line for line in lines if len(line) > WIDTH and len(line.split()) > 1]
        assert advice.start.lesson not in ids or any(advice.start.lesson in one for one in lines)


def test_named_path_holds_recommended_lesson() -> None:
    """The named path holds the recommended lesson: the learner's own path first."""
    guide = library_choice.read_questionnaire()
    lessons, paths = content.read_lessons(), read_paths()
    own = next(path for path in paths if path.id == "laptop")
    for answers in library_choice.list_answer_combinations(guide):
        advice = library_choice.recommend_library(guide, answers)
        for followed in (None, own):
            told = " ".join("\n".join(command._describe(advice, lessons, paths, followed)).split())
            holding = [path for path in paths if f' path "{path.title}".' in told]

            assert all(advice.start.lesson in path.lessons for path in holding)
            if followed and advice.start.lesson in own.lessons:
                assert [own] == holding
                assert f' on your path "{own.title}".' in told


def test_json_is_same_advice_as_single_document() -> None:
    """The JSON is a single document with the same advice, also for an error."""
    done, broken = learn(*GIVEN, "--json"), learn("--need", "train", "--json")
    fields, error = json.loads(done.stdout), json.loads(broken.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(fields)
    jsonschema.Draft202012Validator(SCHEMA).validate(error)

    assert ("torchtpu", "v5e-v6e", 0) == (
        fields["library"]["id"],
        fields["answers"]["have"],
        done.returncode,
    )
    assert (2, 2) == (error["exit_code"], broken.returncode)


def test_missing_options_without_terminal_are_single_error() -> None:
    """Missing options are one error that lists them, with an example to copy."""
    done = learn("--need", "keras")

    assert (2, "") == (done.returncode, done.stdout)
    assert (
        "error: there is no terminal to ask on, and `--from` and `--have` are missing\n\n"
        "hint: answer the questions with options, for example\n"
        "  tpustarter learn --which --from nothing --need learn --have laptop\n"
        "  --from  numpy, pytorch, tensorflow, jax, nothing\n"
        "  --have  v2-v3, v4, v5e-v6e, tpu7x, notebook, laptop, v6e-8\n"
    ) == done.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("--from", "cuda", "--need", "keep", "--have", "v4"),
            "`cuda` is not an answer to `--from`",
        ),
        (("--have", ""), "`--have`"),
        (("jax/precision",), "give only one of --search, --old,"),
        (("--run",), "--run needs a lesson"),
    ],
)
def test_invalid_command_line_is_refused(arguments: tuple[str, ...], error: str) -> None:
    """An invalid command line is refused without questions or a recommendation."""
    done = learn(*arguments)

    assert (2, "") == (done.returncode, done.stdout)
    assert error in done.stderr


def test_answer_options_require_which() -> None:
    """`--need` without it is a mistake, not a lesson."""
    words = [sys.executable, "-m", "tpustarter", "learn", "--need", "keras"]
    done = copies.run(words)

    assert done.returncode == 2
    assert "--from, --need and --have only work with --which" in done.stderr


def test_terminal_repeats_question_after_wrong_answer() -> None:
    """Numbers, names and a TPU's name are understood; what is not is told, and asked again."""
    with terminal(*ASK, drive="drive_cli.py", lines=100) as tty:
        answer(tty, "2")
        tty.until(lambda text: "What do you want to do" in text and text.rstrip().endswith(":"))
        tty.press("9\n")
        tty.until(
            lambda text: (
                "9 is not an answer. Type a number from 1 to 6" in text
                and text.rstrip().endswith(":")
            )
        )
        tty.press("\n")
        tty.until(
            lambda text: (
                "\nType a number from 1 to 6, or one of" in text and text.rstrip().endswith(":")
            )
        )
        tty.press("train\n")
        answer_last(tty, "v6e-8")
        text = tty.until(lambda text: "The same without questions" in text)

        assert 0 == tty.end()
        assert b"Question 1 of 3\r\n" in tty.written
        assert b"Question 3 of 3\r\n" in tty.written
        assert "Take TorchTPU (torch_tpu)." in text


def answer_last(tty: Terminal, typed: str) -> None:
    """Answer the question about the machine."""
    tty.until(lambda text: "to run it on?" in text and text.rstrip().endswith(":"))
    tty.press(f"{typed}\n")


def test_given_answers_are_not_requested_again() -> None:
    """One question is left, and `NO_COLOR` is kept."""
    with terminal(*ASK, *GIVEN[:4], drive="drive_cli.py", lines=100, NO_COLOR="1") as tty:
        answer_last(tty, "6")
        text = tty.until(lambda text: "The same without questions" in text)

        assert 0 == tty.end()
        assert "know best" not in text
        assert b"\x1b[3" not in tty.written


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 2)])
def test_ctrl_c_or_end_of_input_ends_questions(key: str, code: int) -> None:
    """Ctrl-C or the end of input ends the questions without a traceback or a recommendation."""
    with terminal(*ASK, drive="drive_cli.py", lines=60) as tty:
        tty.until(lambda text: text.rstrip().endswith(":"))
        tty.until_asleep()
        tty.press(key)

        assert code == tty.end()
        assert "Traceback" not in tty.text
        assert "Take " not in tty.text
        assert (code == 2) == ("was not answered" in tty.text)
        assert tty.takes_lines


def test_tpu_of_machine_is_default_answer(tmp_path: Path) -> None:
    """On a TPU VM its generation is found without starting anything; elsewhere there is none."""
    device = tmp_path / "sys/bus/pci/devices/0000:00:05.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x1ae0\n")
    (device / "device").write_text("0x006f\n")
    question = library_choice.read_questionnaire().questions[-1]
    there = host.Machine(tmp_path, {}, None)
    nowhere = host.Machine(tmp_path / "empty", {}, None)

    assert 3 == command._number_of_this_machine(question, there)
    assert None is command._number_of_this_machine(question, nowhere)
    assert None is command._number_of_this_machine(
        library_choice.read_questionnaire().questions[0], there
    )


def test_path_option_still_lists_lessons() -> None:
    """`--path` shows the path and what is next on it."""
    words = [sys.executable, "-m", "tpustarter", "learn", "--path"]
    done = copies.run(words)
    done.check_returncode()

    assert done.stdout.startswith("I only have a laptop.")
    assert "  next  start/on-a-laptop" in done.stdout
