"""The last lines of `tpustarter rehearse`: the next command, for every outcome."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.places import SUPPORT
from tests.support.processes import HANG_S
from tests.support.stub_compiler import CHECKS
from tpustarter.cli.rehearse import next_command as rehearse_end
from tpustarter.cli.rehearse.command import rehearse as command
from tpustarter.machine import tpus

MINE = '''"""Functions that do not compile."""
import jax.numpy as jnp

def raises(x):
    return helper(x)

def helper(x):
    raise ValueError("no data here")

def decides(x):
    return x if x.sum() > 0 else -x

def shapes(a, b):
    return a + b

def counts(i):
    return i + 1

def large(x):
    return x
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file of the user's."""
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def rehearse(folder: Path, stub: str, *words: str, **variables: str) -> str:
    """Run the command in the folder; return its stdout followed by its stderr."""
    drive = [sys.executable, str(SUPPORT / "drive_rehearse.py"), str(CHECKS), "/"]
    options = ["--tpu", "v5e-1", "--compiler", stub, "--python", sys.executable]
    done = subprocess.run(
        [*drive, *words, *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env=variables or None,
    )
    return done.stdout + done.stderr


def last_command(text: str) -> list[str]:
    """Return the words of the last command of a report."""
    return shlex.split(text.rstrip().splitlines()[-1])


def test_user_error_ends_with_verbose_command(folder: Path, stub: str) -> None:
    """The last line is the typed command with `-v`, which adds the traceback to the report."""
    typed = ["mine.py:raises", "--arg", "f32[8]"]
    text = rehearse(folder, stub, *typed)

    assert "Now mend mine.py:8 or the --arg, and type the command again." in text
    assert "Traceback" not in text
    offered = last_command(text)
    assert ["tpustarter", "rehearse", "mine.py:raises"] == offered[:3]
    assert "-v" == offered[-1]
    again = rehearse(folder, stub, *typed, "-v")
    assert "line 5, in raises" in again
    assert "| ValueError: no data here" in again


def test_known_error_ends_with_explain_command(folder: Path, stub: str) -> None:
    """A boolean of a traced value ends with the command that pipes the error to `explain`."""
    text = rehearse(folder, stub, "mine.py:decides", "--arg", "f32[8]")

    assert ["2>&1", "|", "tpustarter", "explain"] == last_command(text)[-4:]
    assert "This says what the error means" in " ".join(text.split())


def test_mismatched_shapes_are_named_with_line(folder: Path, stub: str) -> None:
    """The report names the line and the arguments, either of which can be wrong."""
    text = rehearse(folder, stub, "mine.py:shapes", "--arg", "f32[8]", "--arg", "f32[3]")

    assert "Now mend mine.py:14 or the --arg, and type the command again." in text
    assert "--arg 'f32[8]' --arg 'f32[3]'" in text.rstrip().splitlines()[-1]


def test_wide_type_is_offered_narrow_and_unchanged(folder: Path, stub: str) -> None:
    """Both the 32-bit command and the `JAX_ENABLE_X64=1` command are offered, and both work."""
    text = rehearse(folder, stub, "mine.py:counts", "--arg", "s64[64]")
    narrow, wide = re.findall(r"`((?:JAX_ENABLE_X64=1 )?tpustarter rehearse .*?)`", text)

    assert "--arg 's32[64]'" in narrow
    assert wide.startswith("JAX_ENABLE_X64=1 ")
    assert "--arg 's64[64]'" in wide
    assert "cannot be lowered" not in rehearse(folder, stub, "mine.py:counts", "--arg", "s32[64]")


def ending(*results: dict[str, Any], **others: Any) -> str:
    """Return the last lines printed after rehearsing a user's function."""
    typed = ["mine.py:large", "--arg", "f32[8]", "--tpu", "v5e-1"]
    made = {
        "results": results,
        "topologies": [tpus.find_topology("v5e-1")],
        "stopped_by": None,
        "script_error": None,
        "script_place": "",
        "places": {},
        "skipped": [],
        **others,
    }
    with command.make_context("rehearse", typed) as context:
        return "\n".join(
            rehearse_end.next_command_lines(cast("Any", SimpleNamespace(**made)), context)
        )


def test_stopped_rehearsal_continues_from_stored_answers() -> None:
    """The command leaves out `--fresh`, so that stored answers are used."""
    typed = ["jax.*", "--fresh", "--tpu", "v5e-1", "-v"]
    stopped = SimpleNamespace(results=[], stopped_by=2)
    with command.make_context("rehearse", typed) as context:
        text = "\n".join(rehearse_end.next_command_lines(cast("Any", stopped), context))

    assert ["tpustarter", "rehearse", "jax.*", "--tpu", "v5e-1", "-v"] == last_command(text)


def result(status: str, tpu: str, needed_gib: int, limit_gib: int, **others: Any) -> dict[str, Any]:
    """Return a result for a program of the user's."""
    return {
        "status": status,
        "tpu": tpu,
        "check": None,
        "hbm_bytes": needed_gib << 30,
        "hbm_limit_bytes": limit_gib << 30,
        **others,
    }


@pytest.mark.parametrize(("needed_gib", "better"), [(18, "v6e-1"), (60, "tpu7x-2"), (400, None)])
def test_oversized_program_ends_with_tpu_that_fits(needed_gib: int, better: str | None) -> None:
    """The suggested TPU has the fewest devices that fit; if none fits, the sharding lesson."""
    text = ending(result("does-not-fit", "v5e-1", needed_gib, 15))
    words = ["tpustarter", "rehearse", "mine.py:large", "--tpu", better, "--arg", "f32[8]"]

    assert (words if better else ["tpustarter", "learn", "jax/sharding"]) == last_command(text)


FITS, TOO_BIG = result("compiles", "v6e-8", 18, 31), result("does-not-fit", "v5e-8", 18, 15)
ENDS = {
    "all fit": ([FITS], {}, "run it on such a TPU", "start/ways-to-get-one"),
    "counted too large": ([result("compiles", "v5e-8", 18, 15)], {}, "try a TPU with", "'f32[8]'"),
    "some fit": ([TOO_BIG, FITS], {}, "smaller for v5e-8, or run it on v6e-8", "ways-to-get-one"),
    "a check": ([{**FITS, "check": "jax.aliasing"}], {}, "a program of your own", "rehearse"),
    "stopped": ([FITS], {"stopped_by": 2}, "To go on, type it again", "'f32[8]'"),
    "a script": (
        [],
        {"script_error": "no", "script_place": "a.py:2"},
        "Now mend a.py:2, and type the same",
        "'f32[8]'",
    ),
    "left out": ([], {"skipped": [{"name": "large"}]}, "with more devices", "v6e-256"),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_has_one_next_step(end: str) -> None:
    """The last line is a command, whatever the outcome."""
    results, others, said, words = ENDS[end]
    text = ending(*results, **others)

    assert said in " ".join(text.split())
    assert words in text.splitlines()[-1]
    assert "tpustarter" == last_command(text)[0]


@pytest.mark.parametrize(("typed", "meant"), [("v5e1", "`v5e-1`"), ("v6e256", "`v6e-256`")])
def test_a_tpu_that_is_misspelt_is_named(typed: str, meant: str, folder: Path) -> None:
    """A misspelt TPU suggests the nearest name, and how to name a topology."""
    drive = [sys.executable, str(SUPPORT / "drive_rehearse.py"), str(CHECKS), "/"]
    words = [*drive, "mine.py:counts", "--arg", "s32[]", "--tpu", typed]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=HANG_S, check=False, cwd=folder
    )

    assert 2 == done.returncode
    assert f"did you mean {meant}?" in done.stderr
    assert "or a topology, such as `v5p:2x4x4`" in " ".join(done.stderr.split())
