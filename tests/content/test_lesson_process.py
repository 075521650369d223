"""Blocks run in real processes: crashes, hangs, output and limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.checking.test_runner import ours, until_ended
from tests.support.machines import lay_out
from tests.support.made_lessons import (
    fence,
    laptop,
    make_lesson,
    make_session,
    run_block,
    run_lesson,
)
from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S, until
from tests.support.stubs import make_python
from tests.support.tutor import is_alive
from tpustarter.checking.results.results import UsedDevices
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content.blocks import Block, list_blocks
from tpustarter.learning.run.block_output import MAX_CHARACTERS, OutputChunk
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import EarlierBlockStarted
from tpustarter.learning.run.lessons_run import LessonsRun
from tpustarter.running import lease
from tpustarter.running.process import Probe

LIMIT = "timeout=3"
FORGE = """import contextlib, json, os
shown = [os.fstat(number).st_ino for number in (1, 2)]
for number in range(3, 100):
    with contextlib.suppress(OSError):
        os.fstat(number).st_ino in shown or os.write(number, json.dumps({}).encode() + b"\\n")
"""
SPLIT = """import fcntl, os, termios
os.write(1, b'\\xe2')
while any(fcntl.ioctl(1, termios.FIONREAD, bytes(4))):
    pass  # until somebody has read it
os.write(1, b'\\x82\\xac')
"""
PATHOLOGIES = {
    # name: code, what stands on the fence, status, reason, part of the detail, part of the output
    "prints": ("print('as it should')", "", "pass", None, "", "as it should"),
    "differs": ("print('else')", "", "fail", None, "found `else`, expected `as it should`", ""),
    "raises": ("x = 0\ny = 1 / x", "", "error", "exception", "ZeroDivisionError", "y = 1 / x"),
    "syntax": ("x = 1\ny = (", "", "error", "exception", "was never closed", "line 2\n"),
    "null_byte": ("x = '\\\\0'; compile('\\0', 'f', 'exec')", "", "error", "exception", "", ""),
    "interrupts": ("raise KeyboardInterrupt", "", "error", "exception", "KeyboardInt", ""),
    "exits": ("import sys\nsys.exit(3)", "", "error", "exception", "SystemExit: 3", ""),
    "exits_at_once": ("import os\nos._exit(3)", "", "error", "crashed", "exit code 3", ""),
    "broken_error": (
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        "",
        "error",
        "exception",
        "no message that can be shown",
        "",
    ),
    "hangs": (
        "import time\ntime.sleep(600)  # hangs",
        LIMIT,
        "error",
        "timeout",
        "within 3 s",
        "block 1",
    ),
    "holds_the_gil": (
        "import ctypes\nctypes.PyDLL(None).sleep(600)  # hangs",
        LIMIT,
        "error",
        "timeout",
        "within 3 s",
        "Timeout",
    ),
    "segfaults": (
        "import ctypes\nprint('before')\nctypes.string_at(0)",
        "",
        "error",
        "crashed",
        "SIGSEGV",
        "before",
    ),
    "floods": (
        "import sys\nfor _ in range(1600): sys.stdout.write('x' * 65535 + '\\n')",
        "timeout=600",
        "fail",
        None,
        "line 1",
        "the rest is left out",
    ),
    "floods_for_ever": (
        "while True: print('x' * 1000)",
        LIMIT,
        "error",
        "timeout",
        "",
        "the rest is left out",
    ),
    "floods_stderr": (
        "import sys\nfor _ in range(999): print('x' * 65536, file=sys.stderr)\nprint('as')",
        "timeout=600",
        "fail",
        None,
        "line 1: found `as`",
        "the rest is left out",
    ),
    "escapes": ("print('\\x1b[31m[b]red[/b]')", "", "fail", None, "", "\x1b[31m[b]red[/b]"),
    "half_a_character": (
        "import os\nos.write(1, b'\\xe2\\x82')",
        "",
        "fail",
        None,
        "",
        "\N{REPLACEMENT CHARACTER}",
    ),
    "split_character": (
        SPLIT,
        "",
        "fail",
        None,
        "found `€`",
        "€",
    ),
    "reads_stdin": ("input()", "", "error", "exception", "EOFError", ""),
    "closes_stdout": (
        "import sys\nsys.stdout.close()\nprint(1)",
        "",
        "error",
        "exception",
        "",
        "",
    ),
    "loses_stdout": ("import os\nos.close(1)", "", "fail", None, "found nothing", ""),
    "detaches_stdout": (
        "import sys\nsys.stdout.detach()\ndel sys.__stdout__",
        "",
        "fail",
        None,
        "found nothing",
        "",
    ),
    "hides_stdout": ("import sys\nsys.stdout = None", "", "fail", None, "found nothing", ""),
    "starts_a_thread": (
        "import threading\nthreading.Timer(0.5, print, ['late']).start()\nprint('as it should')",
        "",
        "pass",
        None,
        "",
        "",
    ),
    "leaves_a_process": (
        "import subprocess\nsubprocess.Popen(['sleep', '600'])\nprint('as it should')",
        "",
        "pass",
        None,
        "",
        "",
    ),
    "speaks_like_an_event": (
        'print(\'{"event": "end", "id": "one"}\')\nraise OSError(\'no\')',
        "",
        "error",
        "exception",
        "OSError: no",
        '{"event"',
    ),
    "writes_on_every_descriptor": (
        "import os\nfor n in range(3, 4096):\n  try: os.write(n, b'?\\n')\n  except OSError: 0",
        "",
        "error",
        "protocol",
        "not an event",
        "",
    ),
    "forges_output": (
        FORGE.format({"event": "output"}),
        "",
        "error",
        "protocol",
        "not an event",
        "",
    ),
    "forges_its_end": (
        FORGE.format({"event": "gone"}),
        "",
        "error",
        "protocol",
        "not an event",
        "",
    ),
    "forges_a_place": (
        "print('as it should', flush=True)\n"
        + FORGE.format({"event": "end", "id": "one", "outcome": "done", "ran_on": {"kind": 1}}),
        "",
        "pass",
        None,
        "",
        "",
    ),
    "kills_the_supervisor": (
        "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(600)  # hangs",
        "",
        "error",
        "lost",
        "supervisor",
        "",
    ),
    "tells_a_secret": (
        "import os\nprint(os.environ['SAMPLE_TOKEN'], end='')",
        "",
        "fail",
        None,
        "found `[$SAMPLE_TOKEN]`",
        "[$SAMPLE_TOKEN]",
    ),
}


def test_hang_has_stack_on_busy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit starts with the block, even if its process reads the command late."""
    code, more, _, _, _, output = PATHOLOGIES["hangs"]
    send = Probe.send

    def send_late(probe: Probe, command: Any) -> None:
        if command["do"] == "block":
            time.sleep(1.5)  # longer than the time from the stacks to the limit
        send(probe, command)

    monkeypatch.setattr(Probe, "send", send_late)
    results = run_lesson(make_lesson(tmp_path, fence(code, "x", more=more)), machine=laptop({}))

    assert output in results["one"].output


@pytest.mark.parametrize("name", sorted(PATHOLOGIES))
def test_every_pathology_costs_only_its_block(name: str, tmp_path: Path) -> None:
    """Each pathology ends its block as listed; the next block runs and no process is left."""
    code, more, status, reason, detail, output = PATHOLOGIES[name]
    lesson = make_lesson(
        tmp_path,
        fence(code, "as it should", more=more)
        + fence("print('still here')", "still here", name="two"),
    )
    machine = laptop({"SAMPLE_TOKEN": "s3cr3t-value"})
    results = run_lesson(lesson, machine=machine)
    one, two = results["one"], results["two"]

    assert (status, reason) == (one.status, one.reason), one
    assert detail in one.detail
    assert output in one.output
    assert "s3cr3t-value" not in str(one)
    assert one.ran_on is None
    assert len(one.output) < MAX_CHARACTERS + 1000
    if name != "starts_a_thread":
        assert ("pass", "still here\n") == (two.status, two.output)
    assert ours(str(machine.env.get("TPUSTARTER_HOME"))) == []


def test_output_arrives_as_written(tmp_path: Path) -> None:
    """Lines and unfinished lines arrive before the block ends, never split inside a character."""
    seen = tmp_path / "seen"
    code = (
        "import os, time\nprint('first')\nprint('€', end='')\n"
        f"while not os.path.exists({str(seen)!r}):\n"
        "    time.sleep(0.01)  # until a test has seen it\nprint('last')"
    )
    session = make_session(make_lesson(tmp_path, fence(code)))
    text = ""
    for item in session.run(list_blocks(session.lesson)[0]):
        if isinstance(item, OutputChunk):
            text += item.text
            if text == "first\n€":
                seen.touch()
    session.close()

    assert "first\n€last\n" == text


def test_blocks_share_names_and_traceback_shows_their_lines(tmp_path: Path) -> None:
    """All blocks share one namespace, and each traceback frame names its block."""
    one = (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\ndef f(a): return 1 / a.x"
    )
    text = fence(one) + fence("print(__name__, A(1))", "__main__ A(x=1)", name="two")
    results = run_lesson(make_lesson(tmp_path, text + fence("f(A(0))", name="three")))

    assert ["pass", "pass", "error"] == [one.status for one in results.values()]
    assert 'File "block 3", line 1, in <module>\n    f(A(0))' in results["three"].output
    assert 'File "block 1", line 5, in f\n' in results["three"].output
    assert "def f(a): return 1 / a.x" in results["three"].output
    assert "probe" not in results["three"].output


def test_error_is_shown_without_jax_frame_notes(tmp_path: Path) -> None:
    """JAX's note on removed frames is hidden, and the program's own notes stay."""
    note = "For simplicity, JAX has removed its internal frames from the traceback of"
    code = f"error = ValueError('wrong')\nerror.__notes__ = ['mine', '----\\n{note}']\nraise error"
    output = run_lesson(make_lesson(tmp_path, fence(code)))["one"].output

    expected = "ValueError: wrong\nmine\n" if sys.version_info >= (3, 11) else "ValueError: wrong\n"
    assert output.endswith(expected)


def test_edited_code_is_judged_like_the_lessons_own(tmp_path: Path) -> None:
    """Edited code is run, and its output is compared with the lesson's expected output."""
    session = make_session(make_lesson(tmp_path, fence("print(1)", "1")))
    block = list_blocks(session.lesson)[0]
    told = [run_block(session, block, code).status for code in ("print(2)", "print(3 - 2)", None)]
    session.close()

    assert ["fail", "pass", "pass"] == told


def test_longer_output_passes_and_shorter_fails(tmp_path: Path) -> None:
    """Edited code may print more lines between the expected ones, not fewer or reordered."""
    session = make_session(make_lesson(tmp_path, fence("print('a'); print('b')", "a\nb")))
    block = list_blocks(session.lesson)[0]
    own = ("print('a', 'mine', 'b', sep='\\n')", "print('b'); print('a')", "print('b')")
    told = [run_block(session, block, code) for code in own]
    exact = replace(block, code=own[0])
    told.append(run_block(session, exact, own[0]))
    task = replace(block, answer=block.code)
    told.append(run_block(session, task, own[0]))
    session.close()

    assert ["pass", "fail", "fail", "fail", "fail"] == [one.status for one in told]
    assert [None, "b", "a"] == [one.difference and one.difference.expected for one in told[:3]]


def test_replaced_process_has_lost_its_names(tmp_path: Path) -> None:
    """A crash or a time-out ends the process and its names; an exception keeps them."""
    text = fence("x = 1") + fence("1 / 0", name="two") + fence("print(x)", "1", name="three")
    text += fence("import os; os._exit(1)", name="four") + fence("print(x)", "1", name="five")
    results = run_lesson(make_lesson(tmp_path, text))

    assert ("pass", "error", "pass", "error", "error") == tuple(
        one.status for one in results.values()
    )
    assert "NameError" in results["five"].detail


def test_process_death_between_blocks_is_reported(tmp_path: Path) -> None:
    """The next block starts a new process and its output says that the last one died."""
    ends = tmp_path / "ends"
    code = (
        f"import os, threading, time\ndef end():\n    while not os.path.exists({str(ends)!r}):\n"
        "        time.sleep(0.01)  # until the block is over\n    os._exit(1)\n"
        "threading.Thread(target=end).start()"
    )
    session = make_session(make_lesson(tmp_path, fence(code) + fence("print(1)", "1", name="two")))
    one, two = list_blocks(session.lesson)
    run_block(session, one)
    assert session.holder
    pid = session.holder.pid
    supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    ends.touch()
    until(lambda: not is_alive(pid) and not is_alive(supervisor), "the end of the process")
    *outputs, result = session.run(two)
    session.close()

    assert "names are lost" in "".join(one.text for one in outputs if isinstance(one, OutputChunk))
    assert isinstance(result, BlockResult)
    assert "pass" == result.status


def test_devices_are_named_only_if_started(tmp_path: Path) -> None:
    """Importing JAX reports no devices; a block that uses JAX reports them."""
    text = fence("import jax") + fence("print(jax.device_count())", "8", name="two")
    text += fence("pass", name="three")
    results = run_lesson(make_lesson(tmp_path, text, needs="{framework: jax}"))

    assert results["one"].ran_on is None
    assert UsedDevices("cpu", "cpu", 8, virtual=True) == results["two"].ran_on
    assert results["two"].ran_on == results["three"].ran_on


@pytest.mark.parametrize(("on", "status"), [("cpu", "pass"), ("any", "fail")])
def test_output_for_8_cpu_devices_judges_no_other(on: str, status: str, tmp_path: Path) -> None:
    """Output for 8 CPU devices is not compared on another count; output for any device is."""
    text = fence("import jax\nprint(jax.device_count())")
    lesson = make_lesson(
        tmp_path, f"{text}```output of=one on={on}\n8\n```\n\n", needs="{framework: jax}"
    )

    assert "pass" == run_lesson(lesson)["one"].status
    result = run_lesson(lesson, devices=1)["one"]

    assert status == result.status
    assert (result.expected is None) is (on == "cpu")


def test_no_process_starts_before_first_block(tmp_path: Path, home: Path) -> None:
    """Making a session decides where blocks run, and creates no file and no process."""
    session = make_session(make_lesson(tmp_path, fence("pass")), devices=3)

    assert (False, False, None, 0.0) == (
        session.is_warm,
        session.is_running,
        session.holder,
        session.idle_s,
    )
    assert ("cpu", 3, True) == tuple(
        session.target[key] for key in ("platform", "devices", "virtual")
    )
    assert "3 virtual CPU devices" == session.target["where"]
    assert not (home / "state" / "runs").exists()


def test_temporary_files_of_lesson_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders that a lesson makes and leaves are removed with its session."""
    outside = tmp_path / "outside"
    outside.mkdir()
    monkeypatch.setenv("TMPDIR", str(outside))
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = "import tempfile\nopen(tempfile.mkdtemp() + '/left', 'w').close()\nprint(1)\nprint(2)"
    session = make_session(make_lesson(tmp_path, fence(code)))
    result = run_block(session, list_blocks(session.lesson)[0])
    session.close()

    assert "pass" == result.status
    assert [] == list(outside.iterdir())


def test_session_state_follows_its_process(tmp_path: Path) -> None:
    """A session is running, idle or gone, and tells which process holds the device."""
    session = make_session(make_lesson(tmp_path, fence("print(1)\nprint(2)")))
    block = list_blocks(session.lesson)[0]
    began = time.monotonic()
    running = session.run(block)
    assert session.is_running
    with pytest.raises(Problem, match="is running"):
        session.run(block)
    list(running)

    assert (True, False) == (session.is_warm, session.is_running)
    holder = session.holder
    assert holder
    assert ("lesson made/sample", None) == (holder.name, holder.accelerator)
    assert 0 < session.idle_s < time.monotonic() - began
    session.close()
    assert (False, None, 0.0) == (session.is_warm, session.holder, session.idle_s)
    assert "pass" == run_block(session, block).status
    session.close()


@pytest.mark.parametrize("how", ["stop", "close"])
def test_a_block_can_be_stopped_from_another_thread(how: str, tmp_path: Path) -> None:
    """The stopped block is reported as interrupted, and the next block starts a new process."""
    code = "x = 1\nprint('up', flush=True)\nimport time\ntime.sleep(600)  # hangs"
    lesson = make_lesson(tmp_path, fence(code) + fence("print(x)", name="two"))
    session = make_session(lesson)
    one, two = list_blocks(lesson)
    result = None
    stopper = None
    for item in session.run(one):
        if isinstance(item, OutputChunk) and stopper is None:
            stopper = threading.Thread(target=getattr(session, how))
            stopper.start()
        if isinstance(item, BlockResult):
            result = item
    assert stopper
    stopper.join(HANG_S)
    assert not stopper.is_alive()
    assert result

    assert ("notrun", "interrupted") == (result.status, result.reason)
    assert not session.is_warm
    assert "NameError" in run_block(session, two).detail
    session.close()
    session.stop()  # nothing runs: nothing to stop
    assert "error" == run_block(session, two).status
    session.close()


def test_a_stop_before_the_process_is_up_counts(tmp_path: Path) -> None:
    """`stop` right after `run` ends the block, even before its process has started."""
    session = make_session(make_lesson(tmp_path, fence("import time\ntime.sleep(600)  # hangs")))
    running = session.run(list_blocks(session.lesson)[0])
    session.stop()
    *_, result = running
    session.close()

    assert isinstance(result, BlockResult)
    assert ("notrun", "interrupted") == (result.status, result.reason)


def test_block_without_listener_is_ended(tmp_path: Path) -> None:
    """Closing the stream of a block ends the block, and the session can run another."""
    code = "print(1)\nimport time\ntime.sleep(600)  # hangs"
    session = make_session(make_lesson(tmp_path, fence(code) + fence("pass", name="two")))
    one, two = list_blocks(session.lesson)
    running = session.run(one)
    next(running)
    running.close()  # type: ignore[attr-defined]

    assert (False, False) == (session.is_running, session.is_warm)
    assert "pass" == run_block(session, two).status
    session.close()


def test_closing_from_same_thread_ends_running_block(tmp_path: Path) -> None:
    """A front end with one thread can close a session while its block runs."""
    code = "print(1)\nimport time\ntime.sleep(600)  # hangs"
    session = make_session(make_lesson(tmp_path, fence(code)))
    running = session.run(list_blocks(session.lesson)[0])
    next(running)
    session.close()
    *_, result = running

    assert isinstance(result, BlockResult)
    assert ("notrun", "interrupted") == (result.status, result.reason)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_survives_program(number: int, tmp_path: Path) -> None:
    """The processes of a block end however the program that started them ends."""
    make_lesson(tmp_path, fence("print('up')\nimport time\ntime.sleep(600)  # hangs"))
    program = (
        "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it\n"
        "from pathlib import Path\nfrom tpustarter.core import content\n"
        "from tests.support.made_lessons import make_session\n"
        "from tpustarter.learning.content.blocks import list_blocks\n"
        f"lesson = content.read_lesson(Path({str(tmp_path / 'made' / '01-sample.md')!r}))\n"
        "for item in make_session(lesson).run(list_blocks(lesson)[0]): print('seen', flush=True)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    env["TPUSTARTER_HOME"] = str(tmp_path / "state")
    parent = subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE)
    assert parent.stdout
    assert b"seen" in parent.stdout.readline()
    parent.send_signal(number)
    parent.wait(timeout=HANG_S)
    parent.stdout.close()

    until_ended(str(tmp_path / "state"))


def test_lesson_on_tpu_holds_lease_while_process_lives(tmp_path: Path) -> None:
    """A lesson's process holds the lease until it is closed; simulated TPU, no hardware."""
    machine = lay_out(tmp_path, "v6e", chips=8, env={"PATH": os.environ["PATH"]})
    lesson = make_lesson(tmp_path, fence("print(1)", "1"), needs="{framework: jax}")
    session = make_session(lesson, machine=machine)
    block = list_blocks(lesson)[0]

    assert ("tpu", None) == (session.target["platform"], session.blocked)
    with lease.hold_lease("tpustarter check"):
        result = run_block(session, block)
        assert ("skip", "missing-resource") == (result.status, result.reason)
        assert "held by tpustarter check" in result.detail
        assert session.blocked
        assert ExitCode.BUSY == session.blocked.code
    assert "pass" == run_block(session, block).status
    assert session.blocked is None
    with pytest.raises(Problem, match="lesson made/sample, pid"):
        lease.hold_lease("tpustarter check").__enter__()
    session.close()
    with lease.hold_lease("tpustarter check"):
        pass


def test_lesson_without_framework_runs_beside_busy_tpu(tmp_path: Path) -> None:
    """A block that needs no framework takes no lease, so it runs while the TPU is busy."""
    machine = lay_out(
        tmp_path, "v6e", chips=8, holder={"pid": 4242}, env={"PATH": os.environ["PATH"]}
    )
    text = fence("import os; print('JAX_PLATFORMS' in os.environ)", "False")
    plain = make_session(make_lesson(tmp_path, text), machine=machine)
    framework = make_session(
        make_lesson(tmp_path, text, needs="{framework: jax}", name="02-jax"), machine=machine
    )

    assert framework.blocked
    assert ExitCode.BUSY == framework.blocked.code
    assert "skip" == run_block(framework, list_blocks(framework.lesson)[0]).status
    with lease.hold_lease("tpustarter check"):
        assert "pass" == run_block(plain, list_blocks(plain.lesson)[0]).status
    plain.close()


def test_missing_framework_is_named_before_run(tmp_path: Path) -> None:
    """The block is skipped with the reason and the command to install the framework."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    lesson = make_lesson(tmp_path, fence("import jax"), needs="{framework: jax}")
    session = make_session_in(lesson, tmp_path / "bare")
    result = run_block(session, list_blocks(lesson)[0])

    assert session.blocked
    assert ExitCode.NOTHING_VERIFIED == session.blocked.code
    assert ("skip", "missing-resource") == (result.status, result.reason)
    assert "no framework yet" in result.detail


def test_missing_packages_are_named_before_run(tmp_path: Path) -> None:
    """Blocks are skipped with the missing packages and the install command until they exist."""
    python = make_python(tmp_path / "env", jax="0.12.0.1")
    [packages] = (tmp_path / "env").glob("lib/python3*/site-packages")
    (packages / "pip").mkdir()
    needs = "{framework: jax, packages: [flax, optax, orbax-checkpoint]}"
    lesson = make_lesson(tmp_path, fence("print(1)", "1"), needs=needs)
    told: list[tuple[str, str]] = []
    for there in ("flax-0.12.12", "optax-0.2.8", "orbax_checkpoint-0.12.8"):
        session = make_session_in(lesson, python)
        result = run_block(session, list_blocks(lesson)[0])
        assert session.blocked
        assert ("skip", "missing-resource") == (result.status, result.reason)
        told.append((result.detail, session.blocked.hint))
        (packages / f"{there}.dist-info").mkdir()
    session = make_session_in(lesson, python)
    result = run_block(session, list_blocks(lesson)[0])
    session.close()

    assert [
        (
            f"flax, optax and orbax-checkpoint are not installed in {python}",
            f"`{python} -m pip install flax optax orbax-checkpoint` adds what this lesson needs",
        ),
        (
            f"optax and orbax-checkpoint are not installed in {python}",
            f"`{python} -m pip install optax orbax-checkpoint` adds what this lesson needs",
        ),
        (
            f"orbax-checkpoint is not installed in {python}",
            f"`{python} -m pip install orbax-checkpoint` adds what this lesson needs",
        ),
    ] == told
    assert ("pass", None) == (result.status, session.blocked)


def test_missing_framework_is_named_before_missing_packages(tmp_path: Path) -> None:
    """A missing framework is named before packages, which are useless without it."""
    needs = "{framework: jax, packages: [flax]}"
    lesson = make_lesson(tmp_path, fence("print(1)", "1"), needs=needs)
    session = make_session_in(lesson, make_python(tmp_path / "bare"))

    assert session.blocked
    assert "no framework yet" in session.blocked.what


def test_invalid_python_is_named(tmp_path: Path) -> None:
    """`--python /bin/cat` gives an error, not a hang."""
    lesson = make_lesson(tmp_path, fence("print(1)", "1"))
    session = make_session_in(lesson, Path("/bin/cat"))
    result = run_block(session, list_blocks(lesson)[0])
    session.close()

    assert ("error", "load") == (result.status, result.reason)
    assert "did not answer as a Python" in result.detail


def make_session_in(lesson: object, python: Path):
    """Return a session in another Python."""
    from tpustarter.learning.run.lesson_process import LessonSession

    return LessonSession(lesson, python=str(python))  # type: ignore[arg-type]


def test_unrun_blocks_above_run_first(tmp_path: Path) -> None:
    """Blocks above that ran unchanged do not run again; the first that fails ends the run."""
    text = fence("n = 1") + fence("n += 1", name="two") + fence("print(n)", name="three")
    lesson = make_lesson(tmp_path, text)
    session = make_session(lesson)
    one, two, three = list_blocks(lesson)
    above = [(one, "n = 5"), (two, two.code)]

    def told(codes: list[tuple[Block, str]]) -> list[object]:
        items = session.run(three, above=codes)
        return [
            item.block.id
            if isinstance(item, EarlierBlockStarted)
            else item.text
            if isinstance(item, OutputChunk)
            else (item.id, item.status, item.reason)
            for item in items
        ]

    run_block(session, one)
    first = told(above)
    again = told(above)
    session.close()
    fresh = told(above)
    broken = told([(one, "1 / 0"), *above[1:]])
    session.close()
    passes = [("one", "pass", None), "two", ("two", "pass", None), "6\n", ("three", "pass", None)]

    assert first == ["one", *passes]
    assert again == ["6\n", ("three", "pass", None)]
    assert fresh == first
    assert broken[0] == "one"
    assert broken[-2:] == [("one", "error", "exception"), ("three", "notrun", "dependency")]


def test_stop_during_block_above_ends_both(tmp_path: Path) -> None:
    """Stopping a block above also cancels the block that was requested."""
    code = "print('up', flush=True)\nimport time\ntime.sleep(600)  # hangs"
    lesson = make_lesson(tmp_path, fence(code) + fence("print(1)", name="two"))
    session = make_session(lesson)
    one, two = list_blocks(lesson)
    results: list[BlockResult] = []
    for item in session.run(two, above=[(one, one.code)]):
        if isinstance(item, OutputChunk):
            session.stop()
        elif isinstance(item, BlockResult):
            results.append(item)
    session.close()

    assert [("one", "notrun", "interrupted"), ("two", "notrun", "interrupted")] == [
        (one.id, one.status, one.reason) for one in results
    ]


def test_whole_lesson_run_restores_names_after_crash(tmp_path: Path) -> None:
    """After a crash the blocks that passed run again first, without repeating their output."""
    text = fence("x = 1\nprint('made x')", "made x")
    text += fence("import os\nos._exit(1)", name="two") + fence("print(x)", "1", name="three")
    lesson = make_lesson(tmp_path, text)
    practice = LessonsRun([lesson], python=sys.executable)
    printed = "".join(one.text for one in practice.events() if isinstance(one, OutputChunk))
    results = practice.results[lesson.id]

    assert ["pass", "error", "pass"] == [one.status for one in results.values()]
    assert printed.count("made x") == 1
    assert "block 1 runs again first" in printed
