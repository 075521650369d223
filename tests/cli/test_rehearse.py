"""`tpustarter rehearse` as a process: stdout, stderr, exit code."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from tests.checking.test_runner import until_ended
from tests.support import copies
from tests.support.places import SUPPORT
from tests.support.processes import HANG_S
from tests.support.stub_compiler import CHECKS
from tests.support.stubs import make_python
from tpustarter.cli.check import check_progress
from tpustarter.cli.parameters import Seconds
from tpustarter.cli.rehearse import command
from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.rehearsal.compile.compiler import CompileProgress
from tpustarter.rehearsal.programs.user_program import ProgramWarning, ScriptOutput
from tpustarter.rehearsal.text.rehearsal_progress import RehearsalProgress

SCHEMA = json.loads(resources.files("tpustarter.rehearsal").joinpath("schema.json").read_text())


def drive(
    *arguments: str, root: str = "/", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line on the sample checks, perhaps in a folder; returns what it did."""
    words = [sys.executable, str(SUPPORT / "drive_rehearse.py"), str(CHECKS), root, *arguments]
    return copies.run(words, cwd=folder)


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return Pythons that are no compiler."""
    folder = tmp_path_factory.mktemp("pythons")
    old = folder / "old"
    old.write_text('#!/bin/sh\necho "3.8.10"; exit 64\n')
    old.chmod(0o755)
    return {
        "without_libtpu": str(make_python(folder / "jax", jax="0.12.0.1")),
        "without_jax": str(make_python(folder / "tpu", libtpu="0.0.50.1")),
        "too_old": str(old),
        "cat": "/bin/cat",
        "nothing": "/nope",
    }


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (
            "without_libtpu",
            3,
            (
                "has no libtpu (the packages `jax` and `libtpu`)",
                "hint: `tpustarter setup rehearse`",
            ),
        ),
        ("without_jax", 3, ("has no jax and no jaxlib",)),
        ("too_old", 78, ("is too old: found 3.8.10, expected 3.10 or newer", "`--compiler PATH`")),
        ("cat", 78, ("`/bin/cat` did not answer as a Python would", "`--compiler PATH`")),
        ("nothing", 2, ("`--compiler /nope` is not a Python", "`--compiler ")),
    ],
)
def test_each_invalid_compiler_gets_own_error(
    name: str, code: int, said: tuple[str, ...], pythons: dict[str, str]
) -> None:
    """Each invalid compiler has an error of its own, which names `--compiler`."""
    done = drive("jax.compiles", "--tpu", "v5e-8", "--compiler", pythons[name])

    assert code == done.returncode, done.stderr
    assert [] == [words for words in said if words not in done.stderr]
    assert "--python" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("jax.compiles", "--tpu", "v5e-8"), 0, ""),
        (("jax.is_refused", "--tpu", "v5e-8"), 1, ""),
        (("jax.raises_when_listed", "--tpu", "v5e-8"), 3, ""),
        (("gone.py",), 2, "none in this folder ends with `.py`"),
        (("/nowhere/gone.py:step",), 2, "there is no folder `/nowhere` either"),
        (("/proc/self",), 2, "`/proc/self` is a folder, expected a file or a check"),
        (("jax.compiles", "--tpu", "v5litpod-8"), 2, "did you mean `v5litepod-8`?"),
        (("jax.compiles", "--tpu", ","), 2, "unknown TPU type: found ``"),
        (("jax.compiles", "--tpu", "v5e-31"), 2, "did you mean `v5e-32`?"),
        (("jax.nope",), 2, "there is no check `jax.nope`"),
        (("jax.compiles", "--arg", "f32[8]"), 2, "`--arg` needs a function, and none is named"),
        (("nofile.py:step",), 2, "there is no file `nofile.py`"),
        (("nofile.py:step", "jax.compiles"), 2, "only one file can be rehearsed at a time"),
        (("--script", "nofile.py"), 2, "there is no file `nofile.py`"),
        (("jax.compiles", "--measured", "soon"), 2, "found `soon`, expected a time such as"),
        (("jax.compiles", "--measured", "0s"), 2, "found `0s`, expected a time such as"),
        (("jax.compiles", "--measured", "1s"), 2, "a measured time is that of one TPU, and 7 are"),
        (("jax.compiles", "--plot", "/proc/nowhere/plot.svg"), 74, "cannot write `/proc/no"),
    ],
)
def test_each_outcome_has_its_exit_code(
    arguments: tuple[str, ...], code: int, said: str, stub: str
) -> None:
    """The report is on stdout; what cannot be followed is one error on stderr."""
    done = drive(*arguments, "--compiler", stub)

    assert code == done.returncode, done.stderr
    assert said in done.stderr
    assert ("error: " in done.stderr) == bool(said)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("typed", "seconds"), [("0.42s", 0.42), ("420ms", 0.42), ("7us", 7e-6), ("2", 2), ("2min", 120)]
)
def test_time_is_read_in_its_unit(typed: str, seconds: float) -> None:
    """A time is read in its unit, or in seconds without one."""
    assert seconds == pytest.approx(Seconds().convert(typed, None, None))


def test_plot_is_written_beside_report(stub: str, tmp_path: Path) -> None:
    """The plot is a separate file, even if no program has a bound."""
    plot = tmp_path / "roofline.svg"
    arguments = ("jax.compiles", "--tpu", "v5e-8", "--measured", "1ms", "--plot", str(plot))
    done = drive(*arguments, "--compiler", stub)

    assert (0, "") == (done.returncode, done.stderr)
    assert plot.read_text().startswith("<svg ")


def test_bare_command_shows_options_and_compiles_nothing(tmp_path: Path) -> None:
    """The bare command shows examples and the functions of the files here, and runs nothing."""
    (tmp_path / "train.py").write_text(
        "import jax\nopen('ran', 'w')\n@jax.jit\ndef step(x, y):\n    return x @ y\n"
    )
    done = drive(folder=tmp_path)

    assert (0, "") == (done.returncode, done.stderr)
    assert "tpustarter rehearse 'jax.*' --tpu v6e-8\n" in done.stdout
    assert "  train.py: jitted step(x, y)\n" in done.stdout
    assert "rehearse train.py:step --arg 'f32[1024,1024]' --arg 'f32[1024,1024]'" in done.stdout
    assert [tmp_path / "train.py"] == list(tmp_path.iterdir())
    (tmp_path / "train.py").unlink()
    assert "No Python file here imports JAX." in drive(folder=tmp_path).stdout


@pytest.mark.parametrize("arguments", [("--tpu", "v6e-8"), ("--fresh",), ("--json",)])
def test_options_alone_compile_nothing(arguments: tuple[str, ...]) -> None:
    """Options without a name compile nothing, and the error explains how to name the suite."""
    done = drive(*arguments)

    assert 2 == done.returncode
    assert "nothing is named to compile" in done.stdout + done.stderr
    assert "tpustarter rehearse 'jax.*'" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments", [("jax.is_refused",), ("jax.nope",), ("jax.compiles", "--tpu", "v5e-9")]
)
def test_json_is_single_document_even_for_error(arguments: tuple[str, ...], stub: str) -> None:
    """Stdout carries one document of the published shape whatever happens."""
    done = drive("--tpu", "v5e-8", *arguments, "--json", "--compiler", stub)
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)

    assert done.returncode == document["exit_code"] != 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_compilation_without_leftover_process(
    number: int, code: int, stub: str
) -> None:
    """Ctrl-C while a program is compiled ends with its own code and leaves no process."""
    words = [
        sys.executable,
        str(SUPPORT / "drive_rehearse.py"),
        str(CHECKS),
        "/",
        "jax.hangs",
        "--tpu",
        "v5e-8",
        "--compiler",
        stub,
    ]
    terminal, stderr = pty.openpty()  # a pipe gets no line before half a minute
    env = {**os.environ, "TERM": "xterm-256color"}
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env)
    os.close(stderr)
    told = b""
    while b"breaks" not in told:
        told += os.read(terminal, 4096)
    run.send_signal(number)
    out, _ = run.communicate(timeout=HANG_S)
    os.close(terminal)

    assert code == run.returncode
    assert "1 program compiles; stopped before the end." in out
    until_ended(str(locations.make_state_folder()))


def test_concurrent_rehearsals_get_same_answers(stub: str) -> None:
    """Two runs that ask the same at once get the same answers."""
    words = [
        sys.executable,
        str(SUPPORT / "drive_rehearse.py"),
        str(CHECKS),
        "/",
        "jax.compiles",
        "--tpu",
        "v5e-8,v6e-8",
        "--compiler",
        stub,
        "--json",
    ]
    runs = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    documents = [json.loads(run.communicate(timeout=HANG_S)[0]) for run in runs]
    statuses = [[one["status"] for one in document["results"]] for document in documents]

    assert [["compiles"] * 6] * 2 == statuses


def test_pipe_gets_no_line_for_started_compilation(stub: str) -> None:
    """A pipe gets a line only for a compilation that takes half a minute."""
    run = drive("jax.hangs", "--tpu", "v5e-8", "--timeout", "2", "--fresh", "--compiler", stub)

    assert 3 == run.returncode
    assert "" == run.stderr


def test_progress_line_is_erased_before_other_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The progress line is erased before any other output."""

    def events() -> Iterator[object]:
        yield CompileProgress("your code", "a TPU", 5.0)
        yield ProgramWarning("f", "it is slow")
        yield ScriptOutput("stderr", b"of the file\n")
        yield CompileProgress("your code", "a TPU", 6.0)
        raise Problem("`a.py:f` cannot be lowered: no")

    fake = SimpleNamespace(
        progress=RehearsalProgress(), runs_script=False, events=events, stop=lambda _: None
    )
    monkeypatch.setattr(check_progress, "can_rewrite_line", lambda _: True)
    monkeypatch.setattr(command, "_make_rehearsal", lambda *_: fake)
    with pytest.raises(Problem):
        command.rehearse.main(["a.py:f"], standalone_mode=False)
    erase = "\r"  # and the code that click leaves out where there is no terminal

    assert capsys.readouterr().err == (
        f"{erase}your code for a TPU  5 s{erase}warning: f: it is slow\nof the file\n"
        f"{erase}your code for a TPU  6 s{erase}"
    )
