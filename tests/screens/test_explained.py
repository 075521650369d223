"""Explanations of failed blocks, checks and set-up steps by one key."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.fake_tools import behave, lay_tools
from tests.support.machines import lay_out
from tests.support.places import TESTS
from tests.support.tutor import HELLO, on_screen, press, settle, tutor
from tests.tui.test_exercise import LESSON, lessons_with_exercise
from tpustarter.probe.finding import Hint
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.tui.app.device_use import LessonSessionOwner
from tpustarter.tui.app.machine_label import MachineLabelText
from tpustarter.tui.app.shell_variables import add_restart_hint
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.explain import failed_run
from tpustarter.tui.explain.screen import CopyableCommand, ExplanationScreen
from tpustarter.tui.lesson.screen import LessonRunScreen

KEY = "f why it failed"
HELD = (
    "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with pid "
    "4242. Not attempting to load libtpu.so in this process."
)
BREAKS = HELLO.replace(
    'name = "you"', f'print("\\x1b[2J[b]not markup[/b]")\nraise RuntimeError({HELD!r})'
)
CHECK = '''"""{title}."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {{}}
TIMEOUT_S = 60
LESSON = "start/hello"
SOURCE = "https://docs.python.org/3/"

from tpustarter.probe.finding import Finding


def run():
    {body}
'''
HOLDS = (
    'yield Finding("HOST-HOLDER-PROCESS", "holder of the TPU", "fail", "python, pid 4242", '
    'hint="end it: `kill 4242`")'
)


def write_check(folder: Path, name: str, body: str) -> None:
    """Write a host check with this body."""
    path = folder / "checks/host" / f"{name}.py"
    path.write_text(CHECK.format(title=name.title(), body=body))


def whole(pilot: Pilot[None]) -> str:
    """Return the whole explanation as one line, including what is out of sight."""
    widget = pilot.app.screen.query_one("#explained")
    strips = widget.render_lines(widget.region.reset_offset)
    return " ".join(" ".join(strip.text.strip(" │") for strip in strips).split())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50), (40, 12)])
async def test_explanation_of_block_leads_back_to_block(
    size: tuple[int, int], tmp_path: Path
) -> None:
    """The explanation has cause, confidence, line and advice, and Esc returns to the same place."""
    async with tutor(tmp_path, size=size, lessons={"hello": BREAKS}) as pilot:
        await press(pilot, "enter")
        assert KEY not in on_screen(pilot.app)
        await press(pilot, "r")
        place = pilot.app.screen._page.scroll_offset
        await press(pilot, "f")
        said = whole(pilot)
        assert "Another process holds the TPU (likely)" in said
        assert "output raise RuntimeError" in said
        assert "line 4" not in said.partition("do On")[0]  # the block has other numbers
        assert "do On the machine of the log, ps -fp 4242 shows" in said
        assert "kill 4242" not in said
        assert "don't Do not delete /tmp/libtpu_lockfile" in said
        assert "read trouble/who-has-my-tpu (o)" in said
        assert "source https://github.com/" in said
        assert "it shows no sign of this" in " ".join(on_screen(pilot.app).split())
        beside = pilot.app.screen.query_one("#wrote")
        assert (size == (200, 50)) == bool(beside.region)
        assert ("What this block wrote last" in on_screen(pilot.app)) == bool(beside.region)

        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, LessonRunScreen)
        assert place == pilot.app.screen._page.scroll_offset
        assert ["hello"] == [
            view.block.id for view in pilot.app.screen._page.views if view.has_class("-current")
        ]


async def test_program_mistake_is_no_tpu_failure(tmp_path: Path) -> None:
    """The mistake is named once with its line, without advice to collect logs."""
    broken = HELLO.replace('name = "you"', "x = (1, 2")

    async with tutor(tmp_path, size=(100, 40), lessons={"hello": broken}) as pilot:
        await press(pilot, "enter", "r")
        await press(pilot, "f")
        seen = whole(pilot)
        assert "a mistake in the program" in seen
        assert "error SyntaxError: '(' was never closed" in seen
        assert 1 == seen.count("SyntaxError"), seen
        assert "line 1: x = (1, 2" in seen
        assert "tpustarter report" not in seen
        assert "slice" not in seen


@pytest.mark.parametrize(
    ("says", "expected"),
    [("Glue is dry now", "The lesson “Hello” names this error."), ("no more glue", "with u and")],
)
async def test_error_of_block_suggests_no_bug_report(
    tmp_path: Path, says: str, expected: str
) -> None:
    """The lesson's own advice is shown, and neither a report nor a slice is mentioned."""
    broken = HELLO.replace('name = "you"', f"raise RuntimeError({says!r})")
    broken += "\n## If it fails\n\n* **`Glue is dry now`.** Stir it.\n"

    async with tutor(tmp_path, size=(100, 40), lessons={"hello": broken}) as pilot:
        await press(pilot, "enter", "r", "f")
        seen = whole(pilot)
        assert expected in seen
        assert ("Stir it." in seen) == ("Glue" in says)
        assert "tpustarter report" not in seen
        assert "slice" not in seen


async def test_another_key_explains_while_typing(tmp_path: Path) -> None:
    """F2 explains while typing, and the editor stays open as it was."""
    broken = HELLO.replace('name = "you"', "x = (1, 2")

    async with tutor(tmp_path, size=(100, 40), lessons={"hello": broken}) as pilot:
        seen = await press(pilot, "enter", "e", "ctrl+r")
        assert "F2 why it failed" in seen
        assert KEY not in seen
        await press(pilot, "f2")
        assert "SyntaxError: '(' was never closed" in whole(pilot)
        assert "xyz" in await press(pilot, "escape", *"xyz")
        assert "why it failed" not in on_screen(pilot.app)  # of what is typed now


async def test_failed_answer_is_explained(tmp_path: Path) -> None:
    """F2 explains a broken answer from the editor; a wrong answer needs no explanation."""
    async with tutor(tmp_path, size=(100, 40), lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        assert "why it failed" not in await press(pilot, "enter", "p", "r")
        seen = await press(pilot, "e", *"return (1", "ctrl+k", "ctrl+r")
        assert "F2 why it failed" in seen
        await press(pilot, "f2")
        assert "Why it failed: your answer" in on_screen(pilot.app)
        assert "SyntaxError: '(' was never closed" in whole(pilot)
        assert KEY in await press(pilot, "escape", "escape")


async def test_only_failures_offer_explanation(tmp_path: Path) -> None:
    """Passed and unrun blocks and checks offer no explanation."""
    async with tutor(tmp_path) as pilot:
        assert KEY not in await press(pilot, "enter", "r")
        await press(pilot, "escape")
        seen = await press(pilot, "c")
        assert "> " not in seen
        assert KEY in seen  # the worst stands first, and is marked
        assert KEY not in await press(pilot, "end")
        assert not isinstance((await press(pilot, "f")) and pilot.app.screen, ExplanationScreen)


async def test_host_findings_confirm_explanation(tmp_path: Path) -> None:
    """The finding of a host check confirms who holds the TPU."""
    async with tutor(tmp_path, size=(100, 40), checks=("passes",)) as pilot:
        write_check(tmp_path, "breaks", f"raise RuntimeError({HELD!r})\n    yield")
        write_check(tmp_path, "holder", HOLDS)
        seen = await press(pilot, "c", "home", "down")
        assert isinstance(pilot.app.screen, ChecksScreen)
        marked = pilot.app.screen.query_one("#rows").highlighted_id
        assert "host.breaks" == marked, seen
        seen = await press(pilot, "f")
        assert "Why it failed: host.breaks" in seen
        assert "holds the TPU (confirmed)" in seen
        assert "here    holder of the TPU: found python, pid 4242" in seen
        assert "and it shows the same." in seen
        await press(pilot, "escape")
        assert marked == pilot.app.screen.query_one("#rows").highlighted_id


async def test_unknown_failure_lists_next_things_to_collect(tmp_path: Path) -> None:
    """A failed check without output gets a list of what to collect next."""
    async with tutor(tmp_path, size=(100, 40), checks=("passes",)) as pilot:
        write_check(tmp_path, "adds", 'yield Finding("SUM-OF-TWO", "sum", "fail", 2, 3)')
        seen = await press(pilot, "c", "home", "f")
        assert "No known failure of a TPU matches" in seen
        assert "This check wrote nothing, so there is only how it ended:" in seen
        assert "ended   sum: found 2, expected 3" in seen
        assert "tpustarter report" in seen
        assert "o open lesson" not in seen


async def test_hint_of_check_explains_unknown_failure(tmp_path: Path) -> None:
    """If no known failure matches, the explanation is the finding and hint of the check."""
    async with tutor(tmp_path, size=(100, 40), checks=("passes",)) as pilot:
        found = '"SPARE-WHEELS", "wheels", "fail", 3, 4, hint="mount the fourth"'
        write_check(tmp_path, "wheels", f"yield Finding({found})")
        await press(pilot, "c", "home")
        seen = await press(pilot, "f")
        assert "The check itself says what is wrong." in seen
        assert "found   wheels: found 3, expected 4" in seen
        assert "do      Mount the fourth." in seen
        assert "read    start/hello (o)" in seen
        assert "No known failure" not in seen
        await press(pilot, "o")
        assert isinstance(pilot.app.screen, LessonRunScreen)


async def test_failed_setup_step_is_explained_from_log(tmp_path: Path) -> None:
    """The explanation uses the whole log of the step, and the machine being set up."""
    for name in ("machine", "home"):
        (tmp_path / name).mkdir()
    tools = lay_tools(tmp_path / "tools", uv=True, python=True)
    env = {"PATH": str(tools), "HOME": str(tmp_path / "home")}
    machine = lay_out(tmp_path / "machine", env=env)
    known = (
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    )
    said = "\n".join(["Collecting jax[tpu]", known, *["that was all"] * 30])
    behave(tools, pip={"say": said, "code": 1})

    async with tutor(tmp_path, size=(100, 40), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, TESTS / "samples" / "machine_checks"
        assert KEY not in await press(pilot, "s", "enter")
        seen = await press(pilot, "y")
        assert known[:30] not in seen
        assert KEY in seen
        seen = await press(pilot, "f")
        assert "No space left on device" in whole(pilot)
        assert "log     " in whole(pilot).replace("log ", "log     ")
        assert "(likely)" in seen
        seen = await press(pilot, "escape")
        assert "failed  Install" in seen


async def test_run_in_progress_limits_explanation_to_output(tmp_path: Path) -> None:
    """During a run the explanation uses only the output, and says why."""
    async with tutor(tmp_path, size=(100, 40)) as pilot:
        pilot.app.live.record_holder(DeviceHolder("tpustarter check", 1, "TPU"), lambda: None)
        one = failed_run.FailedRun(failed_run.CHECK, "one", f"[b]\x1b[2J {HELD}\n")
        pilot.app.go.open_explanation(one)
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert "(likely)" in seen
        assert "was not looked at, because a process of this app holds its TPU or GPU" in seen
        assert "[b] The TPU" in seen or "[b]" in seen
        assert "\x1b" not in seen


async def test_explaining_lesson_opens_with_single_key(tmp_path: Path) -> None:
    """`o` opens the lesson that explains the failure, and Esc returns to the explanation."""
    async with tutor(tmp_path, size=(100, 40)) as pilot:
        pilot.app.lessons = None
        pilot.app.go.open_explanation(failed_run.FailedRun(failed_run.CHECK, "one", HELD))
        await settle(pilot)
        seen = await press(pilot, "o")
        assert isinstance(pilot.app.screen, LessonRunScreen)
        assert "trouble/who-has-my-tpu" == pilot.app.screen.lesson
        seen = await press(pilot, "escape")
        assert "holds the TPU" in seen


async def test_missing_log_is_single_error(tmp_path: Path) -> None:
    """A missing log of a step is shown as one error."""
    async with tutor(tmp_path) as pilot:
        gone = failed_run.FailedRun(failed_run.STEP, "Install", file=tmp_path / "gone.log")
        pilot.app.go.open_explanation(gone)
        await settle(pilot)
        assert "its log cannot be read: No such file" in on_screen(pilot.app)


SSH = "gcloud compute tpus tpu-vm ssh NAME --zone=ZONE --worker=all"
COMMANDS = (
    "ps -fp 4242",
    f"{SSH} --command=\"pip freeze | grep -i -E 'jax|libtpu|torch' | sort | md5sum\"",
    'curl -s -m 5 -H "Metadata-Flavor: Google" http://169.254.169.254/computeMetadata/v1/instance/',
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [40, 78, 198])
def test_command_is_copied_whole_from_any_screen(command: str, width: int) -> None:
    """A shell reads the wrapped lines as the original command."""
    lines = [line.plain[8:] for line in CopyableCommand("do", command).lines(width)]
    if max(len(word) for word in shlex.split(command)) + 16 < width:
        assert shlex.split(command) == shlex.split("\n".join(lines).replace("\\\n", ""))
        assert all(len(line) <= width - 8 for line in lines)


def test_possible_holder_of_accelerator_is_known(tmp_path: Path) -> None:
    """A process on virtual devices holds no accelerator, and one on a TPU does."""
    live = LessonSessionOwner(lambda _: None)
    assert not live.owns_accelerator
    live.record_holder(DeviceHolder("tpustarter check", 7, "TPU"), print)
    assert live.owns_accelerator
    live.record_release(print)
    assert not live.owns_accelerator


def test_absent_tpu_has_no_holder() -> None:
    """Without a TPU, `JAX_PLATFORMS=tpu` names no holder, but its process can be ended."""
    live = LessonSessionOwner(lambda _: None)
    live.lacks_tpu = True
    live.record_holder(DeviceHolder("tpustarter check", 7, "TPU"), print)

    assert not live.owns_accelerator
    assert "no TPU seen, code: pid 7" in live.choose_label(MachineLabelText("no TPU seen")).texts()


def test_advice_to_unset_variable_mentions_app_restart() -> None:
    """`unset` gets a note to restart the app, which keeps its environment; other hints do not."""
    stays = Hint.run("tpustarter setup jax", ", where `unset A` does not do")
    unset = Hint.run("unset A B", ", unless you mean it")

    assert stays == add_restart_hint(stays)
    assert (
        add_restart_hint(unset) == f"{unset}; leave tpustarter with q for that, and start it again"
    )
