"""The list of checks: folded rows, the bar and the last line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.gates import wait_for
from tests.support.runs import result
from tests.support.tutor import on_screen, press, settle, tutor, until
from tpustarter.checking.results.headline import RunSummary, format_run_summary
from tpustarter.checking.run.runner import CheckEnded
from tpustarter.checking.run_progress import RunProgress
from tpustarter.core.content import Check
from tpustarter.tui.app.messages import CHECKS
from tpustarter.tui.checks import check_details, check_list, check_rows, status_line
from tpustarter.tui.kit.row_list import RowList

MANY = tuple(f"passes_{letter}" for letter in "abcd")
"""Claims that hold, as many as are folded."""


def more_passes(folder: Path) -> None:
    """Lay copies of the sample that passes beside the checks of the app."""
    host = folder / "checks" / "host"
    for name in MANY:
        (host / f"{name}.py").write_text((host / "passes.py").read_text())


def rows_of(seen: str) -> list[str]:
    """Return the first two words of each row with a verdict, in their order."""
    words = ("FAIL", "ERROR", "RUN", "WARN", "PASS", "skip", "NOT")
    lines = [line.strip("│ ").split() for line in seen.splitlines()]
    return [" ".join(line[:2]) for line in lines if line and line[0] in words]


@pytest.mark.parametrize("size", [(80, 24), (120, 35), (200, 50), (60, 20)])
async def test_finished_run_lists_problems_first_and_folds_passes(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """The worst check is marked, and `p` unfolds and folds the passes."""
    async with tutor(tmp_path, size=size) as pilot:
        more_passes(tmp_path)
        folded = ["FAIL host.fails", "WARN host.warns", "PASS 5"]

        seen = await press(pilot, "c")
        assert folded == rows_of(seen)
        has_names = size[1] > 34 and size[0] > 100  # where there is room for them
        assert has_names == all(f"host.{name}" in seen for name in ("passes", *MANY))
        assert "host.fails" == pilot.app.screen.query_one(RowList).highlighted_id

        seen = await press(pilot, "p")
        names = ["passes", *MANY]
        listed = [*folded[:2], *(f"PASS host.{name}" for name in names)]
        assert listed[: 7 if size[1] < 24 else None] == rows_of(seen)
        assert "host.fails" == pilot.app.screen.query_one(RowList).highlighted_id

        assert folded == rows_of(await press(pilot, "p"))


@pytest.mark.parametrize("size", [(80, 60), (120, 60), (200, 60)], ids=str)
async def test_list_shows_each_claim_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    """Each claim is on one line if the list can be wide enough, and wraps otherwise."""
    claim = "A claim of many words is read to its end wherever it stands"

    async with tutor(tmp_path, size=size) as pilot:
        more_passes(tmp_path)
        for name in MANY:
            path = tmp_path / "checks" / "host" / f"{name}.py"
            code = path.read_text().partition("\n")[2]
            path.write_text(f'"""{claim}."""\n{code}')
        await press(pilot, "c")
        was_beside = pilot.app.screen.has_class("-beside")
        seen = await press(pilot, "p")
        assert "…" not in seen
        assert claim.replace(" ", "") in "".join(seen.split())
        if size[0] > 80:
            assert "p fold" in seen
            assert "list all" not in seen
        assert (size[0] > 80) == bool(re.search(rf"host.{MANY[0]} +{claim} ", seen))
        await press(pilot, "p")
        assert was_beside == pilot.app.screen.has_class("-beside")


@pytest.mark.parametrize("size", [(100, 70), (200, 50)], ids=str)
async def test_full_screen_check_shows_method_lesson_and_code(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """The page of a check has its method, lesson and code, before it has run as well."""
    async with tutor(tmp_path, size=size, checks=("passes", "hangs")) as pilot:
        checks = tmp_path / "checks" / "host"
        code = (checks / "passes.py").read_text()
        code = re.sub('LESSON = ".*"', 'LESSON = "start/hello"', code)
        (checks / "zz_waits.py").write_text(
            code.replace("def run():", 'def run():\n    """Count all\n    of them."""\n')
        )
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        await pilot.press("end", "enter")

        await until(pilot, lambda: "Its code, checks/host/zz_waits.py" in on_screen(pilot.app))
        await settle(pilot, beside=CHECKS)
        seen = on_screen(pilot.app)
        [code] = [one for one in seen.splitlines() if "Its code, checks/host/" in one]
        assert ("Claim: " in code) == (size[0] == 200)
        assert "Count all of them." in seen
        assert "From its lesson, “Hello”" in seen
        assert "A first lesson about a word." in seen
        assert 'LESSON = "start/hello"' in seen


@pytest.mark.parametrize("size", [(120, 35), (80, 24)], ids=str)
async def test_wide_window_shows_method_of_marked_check(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """A wide window shows the method of the marked check; a small one shows it after Enter."""
    told = ("Count all of them.", "From its lesson, “Hello”", "A first lesson about a word.")

    def is_told(seen: str) -> bool:
        return all(part in seen for part in told)

    async with tutor(tmp_path, size=size, checks=("passes", "hangs")) as pilot:
        checks = tmp_path / "checks" / "host"
        code = (checks / "passes.py").read_text()
        code = re.sub('LESSON = ".*"', 'LESSON = "start/hello"', code)
        code = code.replace("def run():", 'def run():\n    """Count all of them."""\n')
        for name in ("passes", "zz_waits"):
            (checks / f"{name}.py").write_text(code)
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        for key, row in (("end", "host.zz_waits"), ("x", "host.passes")):
            await pilot.press(key)
            await settle(pilot, beside=CHECKS if key == "end" else None)
            rows = pilot.app.screen.query_one(RowList)
            rows.highlighted = rows.get_option_index(row)
            await settle(pilot, beside=CHECKS)
            assert f"─ {row}" in on_screen(pilot.app)
            assert (size[0] == 120) == is_told(on_screen(pilot.app))


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (51, ["page  https://docs.jax.dev/en/latest/precision.html"]),
        (46, ["page", "https://docs.jax.dev/en/latest/precision.html"]),
        (40, ["page  https://docs.jax.dev/en/latest/", "      precision.html"]),
    ],
)
def test_address_breaks_only_at_slash(width: int, lines: list[str]) -> None:
    """An address is behind its label or on its own line, and breaks only at a slash."""
    address = check_details.AddressLine("page  ", "https://docs.jax.dev/en/latest/precision.html")

    assert lines == [line.plain for line in address.lines(width)]


async def test_check_opened_during_run_stays_in_sight(tmp_path: Path) -> None:
    """The open check stays in sight while others run, and Esc returns to the list."""
    async with tutor(tmp_path, checks=("passes",)) as pilot:
        folder, goes_on = tmp_path / "checks" / "host", tmp_path / "goes-on"
        waits = f"run():\n{wait_for(goes_on, '    ')}"
        slow = (folder / "passes.py").read_text().replace("run():\n", waits)
        for name in (*MANY, "slow"):
            (folder / f"{name}.py").write_text(slow)
        await pilot.press("c")
        await until(pilot, lambda: "RUN" in on_screen(pilot.app))
        await pilot.press("enter")  # on the marked row, and the mark goes on with the run
        await until(pilot, lambda: "Its code, " in on_screen(pilot.app))
        (opened,) = re.findall(r"─ (host\.\w+)", on_screen(pilot.app))
        goes_on.touch()
        await settle(pilot)  # until the run has ended
        assert f"─ {opened}: pass ─" in on_screen(pilot.app)
        assert "PASS 6" in rows_of(await press(pilot, "escape"))


@pytest.mark.parametrize(("seen_s", "opened"), [(60.0, "host.hangs"), (0.0, "host.passes")])
async def test_key_acts_on_check_marked_before_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen_s: float, opened: str
) -> None:
    """A key pressed just after the mark moved acts on the check marked before."""
    monkeypatch.setattr(check_list, "SEEN_S", seen_s)

    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        screen = pilot.app.screen
        assert "host.hangs" == screen.query_one(RowList).highlighted_id
        screen._list.running = "host.passes"
        screen._show()
        assert "host.passes" == screen.query_one(RowList).highlighted_id
        await pilot.press("enter")
        assert opened == screen._opened
        await press(pilot, "x")


async def test_unfolding_passes_still_marks_worst_check_at_end(tmp_path: Path) -> None:
    """The worst check is marked at the end, even if passes were unfolded during the run."""
    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        more_passes(tmp_path)
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        screen = pilot.app.screen
        for name in (*reversed(MANY), "hangs"):
            screen._list.results[f"host.{name}"] = result("pass", f"host.{name}")
        screen._list.running = None
        screen._show()
        assert check_rows.PASSED == screen.query_one(RowList).highlighted_id
        await pilot.press("p")
        await press(pilot, "x")
        assert screen._list.ids()[0] == screen.query_one(RowList).highlighted_id


async def test_marked_row_is_in_sight_after_reorder(tmp_path: Path) -> None:
    """A marked row that moves from the last line to the first is scrolled into sight."""
    async with tutor(tmp_path, checks=("passes",)) as pilot:
        host = tmp_path / "checks" / "host"
        for number in range(30):
            (host / f"n{number:02}.py").write_text((host / "passes.py").read_text())
        await press(pilot, "c", "p", "end")
        screen = pilot.app.screen
        rows = screen.query_one(RowList)
        marked = rows.highlighted_id
        screen._list.results[marked] = result("warn", marked)
        screen._show()
        assert (marked, 0) == (rows.highlighted_id, rows.highlighted)
        await until(pilot, lambda: f"WARN    {marked}" in on_screen(pilot.app))


async def test_esc_leads_from_log_to_findings_then_list(tmp_path: Path) -> None:
    """Esc goes from the log to the findings and then to the list, also from full screen."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "c")
        assert "Log of host.fails" in await press(pilot, "g")
        seen = await press(pilot, "escape")
        assert "Claim: One and one are three" in seen
        await press(pilot, "g", "enter")
        seen = await press(pilot, "escape")
        assert "Log of host.fails" in seen
        assert "FAIL    host.fails" in seen
        assert "Log of" not in await press(pilot, "escape")
        assert "This machine" in await press(pilot, "escape")


async def test_enter_unfolds_row_of_passing_checks(tmp_path: Path) -> None:
    """Enter unfolds the passes and marks the first; the details of the row list their claims."""
    async with tutor(tmp_path) as pilot:
        more_passes(tmp_path)
        await press(pilot, "c")
        rows = pilot.app.screen.query_one(RowList)

        seen = await press(pilot, "down", "down")
        assert check_rows.PASSED == rows.highlighted_id
        assert "host.passes    One and one are two" in seen
        for key in ("a run", "a again", "g log", "o open lesson"):
            assert key not in seen.splitlines()[-1]

        await press(pilot, "enter")
        assert "host.passes" == rows.highlighted_id
        assert not pilot.app.screen.has_class("-details")

        await press(pilot, "p")
        assert check_rows.PASSED == rows.highlighted_id


async def test_resize_keeps_details_below_full_list(tmp_path: Path) -> None:
    """A list of all claims needs more width than a folded one, also after a resize."""
    async with tutor(tmp_path, size=(130, 40)) as pilot:
        more_passes(tmp_path)
        await press(pilot, "c", "p")
        assert not pilot.app.screen.has_class("-beside")
        await pilot.resize_terminal(131, 40)
        await settle(pilot)
        assert not pilot.app.screen.has_class("-beside")
        await press(pilot, "p")
        assert pilot.app.screen.has_class("-beside")


async def test_few_passing_checks_are_not_folded(tmp_path: Path) -> None:
    """A few passes are listed singly, and no key to fold them is shown."""
    async with tutor(tmp_path) as pilot:
        seen = await press(pilot, "c")

        assert ["FAIL host.fails", "WARN host.warns", "PASS host.passes"] == rows_of(seen)
        assert "list all" not in seen


async def test_last_line_shows_result_and_next_key(tmp_path: Path) -> None:
    """After a failure the last line names the key that explains it."""
    async with tutor(tmp_path) as pilot:
        more_passes(tmp_path)
        seen = " ".join((await press(pilot, "c")).split())

        assert format_run_summary(RunSummary(passed=5, failed=1, warned=1)) in seen
        assert "Press f on host.fails to see why it has failed." in seen


async def test_last_line_names_setup_that_fixes_warning(tmp_path: Path) -> None:
    """The last line names the set-up from the warning's hint, and `s` opens its plan."""
    async with tutor(tmp_path, checks=("passes", "warns")) as pilot:
        path = tmp_path / "checks" / "host" / "warns.py"
        named = path.read_text().replace('"make it two"', 'Hint("make it two", setup="keras")')
        path.write_text(named.replace("import Finding,", "import Finding, Hint,"))
        seen = " ".join((await press(pilot, "c")).split())
        mends = "Press s for a set-up that mends what host.warns found, or o there for its"
        assert mends in seen
        assert "Press s for a set-up that mends this" in await press(pilot, "enter")
        assert "Set up Keras 3" in (await press(pilot, "s")).splitlines()[0]


async def test_page_of_check_names_only_its_keys(tmp_path: Path) -> None:
    """On the page or log of a check the keys act on that check, and Esc leads to the list."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "c")
        seen = " ".join((await press(pilot, "enter")).split())
        headline = format_run_summary(RunSummary(passed=1, failed=1, warned=1))
        assert f"{headline} Press f " in seen
        assert "Press f on host.fails" not in seen
        seen = " ".join((await press(pilot, "escape", "down", "enter")).split())
        assert "Press o for its lesson." in seen
        assert "Press f on host.fails" not in seen
        seen = await press(pilot, "escape", "down", "enter")
        assert "host.passes: pass" in seen
        assert "Press" not in seen
        await press(pilot, "escape", "g")
        assert "Press" not in on_screen(pilot.app)
        assert "Press f on host.fails" in await press(pilot, "up")


async def test_bar_shows_progress_and_failures_during_run(tmp_path: Path) -> None:
    """Failures come first, then the running check; checks that have not run are one row."""
    async with tutor(tmp_path, checks=("fails", "hangs", "passes")) as pilot:
        more_passes(tmp_path)
        app, ends = pilot.app, tmp_path / "ends"
        hangs = tmp_path / "checks" / "host" / "hangs.py"
        waits = f'{wait_for(ends, "    ")}    raise ValueError("no sum")\n'
        hangs.write_text(re.sub(r"    time\.sleep.*\n", lambda _: waits, hangs.read_text()))
        await pilot.press("c")
        await until(pilot, lambda: "1 of 7 done, 1 fail" in on_screen(app))
        seen = on_screen(app)
        assert ["FAIL host.fails", "RUN host.hangs"] == rows_of(seen)
        assert "wait    5 checks have not run yet" in seen
        await pilot.press("p")
        await until(pilot, lambda: 5 == on_screen(app).count("wait "))
        ends.touch()
        await press(pilot, "p")
        assert ["FAIL host.fails", "ERROR host.hangs", "PASS 5"] == rows_of(on_screen(app))


async def test_stopped_run_folds_checks_left(tmp_path: Path) -> None:
    """Checks that a stop left unrun are one row."""
    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        more_passes(tmp_path)
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        await press(pilot, "x")
        assert ["NOT RUN", "NOT RUN"] == rows_of(on_screen(pilot.app))
        assert "5 checks, because the run was stopped" in on_screen(pilot.app)
        seen = await press(pilot, "end")
        assert "a again" in seen
        seen = " ".join((await press(pilot, "a")).split())
        assert f"5 checks again: {format_run_summary(RunSummary(passed=5))}" in seen


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ((), "────────────────────  0 of 8 done"),
        (("pass", "skip"), "━━━━━───────────────  2 of 8 done"),
        (("pass", "warn", "fail", "fail"), "━━━━━━━━━━──────────  4 of 8 done, 2 fail, 1 warn"),
    ],
)
def test_bar_counts_failures(statuses: Sequence[str], said: str) -> None:
    """The bar counts every ended check as done, skips included, and names failures."""
    known = RunProgress(Check(f"jax.n{n}", Path()) for n in range(8))
    for n, status in enumerate(statuses):
        known.follow(CheckEnded(result(status, f"jax.n{n}")))

    assert said == status_line.format_progress(known)


def test_skip_for_missing_resource_is_not_folded() -> None:
    """A skip for a missing resource has a row of its own, above the folded skips."""
    plain = [result("skip", f"host.n{n}", reason="not-applicable") for n in range(5)]
    missing = result("skip", "jax.n", reason="missing-resource")
    results = {one.id: one for one in (*plain, missing)}

    folds = check_rows.fold_checks(results.values(), [])
    ids = sorted(results, key=lambda check: check_rows.check_sort_key(results[check]))

    assert ["jax.n", check_rows.SKIPPED] == check_rows.replace_folded(ids, folds)


async def test_missing_frameworks_have_no_rows(tmp_path: Path) -> None:
    """Checks of frameworks that are not installed have no rows and do not count as open."""
    async with tutor(tmp_path) as pilot:
        for name in ("jax", "torch_xla", "torch_tpu"):
            (tmp_path / "checks" / name).mkdir()
            text = (tmp_path / "checks" / "host" / "passes.py").read_text()
            text = text.replace('"host"', f'"{name}"')
            (tmp_path / "checks" / name / "extra.py").write_text(text)
        seen = await press(pilot, "c")

        assert "torch_tpu" not in " ".join(rows_of(seen))
        said = "without torch_tpu, torch_xla (not installed in this Python)"
        assert said in " ".join(seen.split())


async def test_log_belongs_to_marked_check_alone(tmp_path: Path) -> None:
    """The title names the check of the log, and moving to another check closes the log."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "c")

        assert "Log of host.fails" in await press(pilot, "g")
        assert "Log of" not in await press(pilot, "down")
        assert "Log of" not in await press(pilot, "up")
        assert "Log of host.fails" in await press(pilot, "g")
        assert "Log of" not in await press(pilot, "g")


async def test_full_screen_shows_log_below_findings(tmp_path: Path) -> None:
    """The full-screen page of a check has its log below the findings, and Enter closes it."""
    async with tutor(tmp_path, size=(200, 50)) as pilot:
        check = tmp_path / "checks/host/fails.py"
        check.write_text(check.read_text().replace("run():", 'run():\n    print("chatty")'))
        assert "chatty" not in await press(pilot, "c")
        seen = await press(pilot, "enter")
        assert "chatty" in seen.partition("Its log")[2]
        assert "chatty" not in await press(pilot, "enter")


def test_bar_uses_available_width() -> None:
    """The bar takes a third of the width, and at least 20 columns."""
    narrow, wide = (status_line.format_progress(RunProgress(), width) for width in (40, 180))
    assert 20 == len(narrow.partition(" ")[0])
    assert 60 == len(wide.partition(" ")[0])


WRONG = '''"""A variable is in order."""

from tpustarter.probe.finding import Finding

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "trouble/hangs"
SOURCE = "https://example.com/"


def run():
    yield Finding("SAMPLE-FLAG", "MY_FLAG is wrong", "warn", 1, 0, entity="variable:MY_FLAG")
'''
RAISES = WRONG.partition("    yield")[0].replace("A variable", "What reads it") + (
    '    raise ValueError("MY_FLAG cannot be read")\n    yield Finding\n'
)


async def test_known_cause_replaces_guess(tmp_path: Path) -> None:
    """The known cause comes first, without a key to search the log for likely ones."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        host = tmp_path / "checks" / "host"
        (host / "a_variable.py").write_text(WRONG)
        (host / "reads_it.py").write_text(RAISES)
        (host / "fails.py").unlink()
        seen = await press(pilot, "c")
        assert ["WARN host.a_variable", "ERROR host.reads_it"] == rows_of(seen)[:2]
        assert "host.reads_it has failed because of host.a_variable: press o there." in seen
        seen = await press(pilot, "down", "enter")
        assert "This is because of host.a_variable: MY_FLAG is wrong." in seen
        assert "f why it failed" not in seen
