"""Kills the app at random moments while it is used, restarts it, and prints the losses.

    python -m tests.support.kills [50]

Each kill interrupts an edit of a block, a run of blocks, or an answer to a question. All share one
state folder, and later kills must not lose what an earlier one left. Prints the seed, a row per
kill, and all losses. The exit code is 1 if more was lost than promised, or if all kills of one kind
came before anything had been done. `TPUSTARTER_SEED` repeats the same moments.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.processes import HANG_S, until_gone
from tests.support.terminal import Terminal
from tests.support.tutor import write_checks, write_lessons
from tpustarter.core import locations
from tpustarter.learning.progress import course, drafts, lesson_progress
from tpustarter.learning.progress.drafts import BlockDraft
from tpustarter.tui.lesson.screen import OPENING

KINDS = ("edit", "run", "answer")
TEXT = """# Round

```python run id=first
print("one", "first")
```

```python run id=second
import time
for number in range(12):
    print("two", number, flush=True)
    time.sleep(0.1)  # so that a kill may meet it
```

```python run id=third
for number in range(20):
    print("three", number, flush=True)
    time.sleep(0.1)  # as above
```

```quiz id=which
Which one is right?
( ) Left
  Left was wrong.
( ) Middle
  Middle was wrong.
(x) Right
  That was it.
```
"""
BLOCK = re.compile(r"Block [1-3] of")
FIRST = 'print("one", "first")'
MARK = "# kept "
TYPED = MARK + "abcdefghijklmnopqrstuvwxyz" * 4
LINES = 60
"""Lines of the terminal, so many that every block and the question are visible and counted."""
PARTS = 3
"""Parts of the time before a kill: the first kill of a kind comes in the first part, and so on. In
the last part, the kill waits until something is on disk."""
LONGEST_S = {"edit": 4.0, "run": 6.0, "answer": 2.5}
"""Most seconds from the first key to the kill; the first block has to start a process."""
PROMISED_S = 0.3
"""Seconds after which typed text or an answer must be on disk."""
BUSY_S = 0.7
"""Additional seconds on a busy machine. Only `main` judges these two: tests do not depend on time,
and wait in the last part until the text or answer is on disk."""
SETTINGS = {"path": "laptop"}


@dataclass
class Outcome:
    """The state at one kill, and the state at the next start."""

    number: int
    kind: str
    after_s: float
    within: bool = False
    """True if the screen showed a running block at the kill."""
    did: int = 0
    """Number of letters typed, of blocks shown as passed, or of answers given."""
    kept: int = 0
    lost_s: float = 0.0
    """Age in seconds of the oldest thing that was lost, or 0 if nothing was."""
    gone_s: float = 0.0
    wrong: list[str] = field(default_factory=list[str])

    def row(self) -> str:
        """Return the row of this kill."""
        lost = f"lost {self.did - self.kept}, {1000 * self.lost_s:.0f} ms old"
        what = lost if self.did > self.kept else "lost nothing"
        return (
            f"{self.number:>3}  {self.kind:<6}  {self.after_s:>5.2f} s  did {self.did:>3}  "
            f"kept {self.kept:>3}  gone in {self.gone_s:>4.1f} s  {what}"
            f"{', within a block' if self.within else ''}"
        ) + "".join(f"\n     {wrong}" for wrong in self.wrong)


class Kills:
    """Kills the app repeatedly, with one state folder."""

    def __init__(
        self, folder: Path, home: Path, seed: int, *, allowed_s: float | None = None
    ) -> None:
        """Choose a path, and write a check.

        Args:
            folder: The folder for lessons and a check.
            home: The state folder.
            seed: The seed of the random moments.
            allowed_s: The age up to which typed or answered things may be lost; None for any age.
        """
        self._folder, self._home, self._chance = folder, home, random.Random(seed)
        self._allowed_s = allowed_s
        self._checks = write_checks(folder / "checks", "passes")
        self.outcomes: list[Outcome] = []
        self._rounds = Counter[str]()
        course.choose_path(SETTINGS["path"])

    def kill(self, number: int, kind: str) -> Outcome:
        """Use the app, kill it, restart it, and compare the states."""
        lessons = write_lessons(self._folder / f"lessons{number}", **{f"round{number}": TEXT})
        part = self._rounds[kind] % PARTS
        self._rounds[kind] += 1
        after_s = (part + self._chance.random()) / PARTS * LONGEST_S[kind]
        outcome = Outcome(number, kind, after_s)
        self.outcomes.append(outcome)
        times, screen = self._use_and_kill(lessons, outcome)
        outcome.gone_s = until_gone(self._home)
        self._judge(outcome, times, screen)
        self._start_anew(lessons, outcome)
        return outcome

    def losses(self) -> list[str]:
        """Return all losses that should not occur, including those of earlier rounds."""
        known = lesson_progress.read_progress().lessons
        wrong = [f"{one.number} {one.kind}: {text}" for one in self.outcomes for text in one.wrong]
        for one in self.outcomes:
            if one.kind != "edit" and one.kept and f"start/round{one.number}" not in known:
                wrong.append(f"{one.number} {one.kind}: gone after a later kill")
            if (
                one.kind == "edit"
                and one.kept
                and not drafts.read_drafts(f"start/round{one.number}")
            ):
                wrong.append(f"{one.number} {one.kind}: gone after a later kill")
        met = {one.kind for one in self.outcomes if one.did}
        all_early = sorted(
            kind for kind, rounds in self._rounds.items() if rounds >= PARTS and kind not in met
        )
        return wrong + [f"{kind}: every kill came before anything" for kind in all_early]

    def _use_and_kill(self, lessons: Path, outcome: Outcome) -> tuple[list[float], str]:
        """Return the age of each key, or of each thing shown, at the kill, and the last screen.

        Incomplete frames are ignored, because a scrolling page may show a verdict twice in them.
        """
        tty = Terminal(
            str(lessons),
            str(self._checks),
            whole_frames=True,
            lines=LINES,
            TPUSTARTER_HOME=str(self._home),
        )
        try:
            open_lesson(tty)
            keys = self._keys(outcome.kind)
            began, done, wait = time.monotonic(), [], 0.0
            shown: list[float] = []
            next_at = began
            is_last = outcome.after_s > LONGEST_S[outcome.kind] * (PARTS - 1) / PARTS
            while (after_s := (now := time.monotonic()) - began) < outcome.after_s or (
                is_last and not self._count_kept(outcome, len(shown), tty.text)
            ):
                assert after_s < HANG_S, f"nothing is on the disk:\n{tty.text}"
                if now >= next_at:
                    key, wait = next(keys)
                    tty.press(key)
                    done.append(time.monotonic())
                    next_at = done[-1] + wait
                tty.read(0.01)
                count = seen(tty.text, outcome.kind)
                shown += [time.monotonic()] * (count - len(shown))
            outcome.within = "─ RUN  " in tty.text
            tty.process.kill()
            killed = time.monotonic()
            tty.process.wait()
            tty.read_rest()
            shown += [killed] * (seen(tty.text, outcome.kind) - len(shown))
            return [killed - at for at in (done[1:] if outcome.kind == "edit" else shown)], tty.text
        finally:
            tty.process.kill()
            tty.process.wait()
            tty.close()

    def _keys(self, kind: str) -> Generator[tuple[str, float]]:
        """Yield keys, each with the seconds until the next one."""
        if kind == "edit":
            yield "e", 0.4
            for letter in TYPED:
                yield letter, self._chance.uniform(0.02, 0.1)
        elif kind == "run":
            yield "\r", 1.0  # runs it, and goes on to the next one once it has passed
        else:
            for number in self._chance.sample("123", 3):
                yield number, self._chance.uniform(0.2, 0.7)
        while True:
            yield ("\r", 0.5) if kind == "run" else ("", 1.0)

    def _count_kept(self, outcome: Outcome, did: int, screen: str) -> int:
        """Return the number of done things that are on disk."""
        lesson = f"start/round{outcome.number}"
        if outcome.kind == "edit":
            return len(added(drafts.read_drafts(lesson).get("first")))
        known = lesson_progress.read_progress().lessons.get(
            lesson, lesson_progress.LessonProgress()
        )
        if outcome.kind == "run":
            return sum(entry.status == "pass" for entry in known.blocks.values())
        # A question that was answered right once stays so after later answers.
        right, shown = lesson_progress.is_answered_right(known, "which"), "That was it." in screen
        return did if right is not None and right >= shown else 0

    def _judge(self, outcome: Outcome, ages: list[float], screen: str) -> None:
        """Judge a round by comparing what was done with what is on disk."""
        outcome.did = len(ages)
        outcome.kept = self._count_kept(outcome, outcome.did, screen)
        if outcome.kind == "edit":
            draft = drafts.read_drafts(f"start/round{outcome.number}").get("first")
            is_begun = draft is None or draft.code.startswith(FIRST)
            if not is_begun or not TYPED.startswith(added(draft)):
                outcome.wrong.append(f"what was typed is mixed up: {draft}")
        if outcome.kept < outcome.did:
            outcome.lost_s = ages[outcome.kept]
        allowed_s = 0.0 if outcome.kind == "run" else self._allowed_s
        if allowed_s is not None and outcome.lost_s > allowed_s:
            outcome.wrong.append(
                f"lost what was {outcome.lost_s:.2f} s old, on the screen:\n{screen}"
            )

    def _start_anew(self, lessons: Path, outcome: Outcome) -> None:
        """Start the app, open the lesson, and check that it shows what was saved."""
        files = self._home.glob("**/*.json")
        outcome.wrong += [f"{path.name} is broken" for path in files if not is_whole(path)]
        settings = json.loads((self._home / "settings.json").read_text())
        if any(settings.get(name) != value for name, value in SETTINGS.items()):
            outcome.wrong.append(f"settings: {settings}")
        tty = Terminal(str(lessons), str(self._checks), TPUSTARTER_HOME=str(self._home))
        try:
            open_lesson(tty)
            if outcome.kind == "edit" and outcome.kept:
                typed = TYPED[: min(outcome.kept, 40)].rstrip()
                tty.until(lambda text: typed in text)
        except AssertionError as error:
            outcome.wrong.append(f"the next start: {error}")
        finally:
            tty.process.kill()
            tty.process.wait()
            tty.close()
        until_gone(self._home)


def added(draft: BlockDraft | None) -> str:
    """Return the text typed below the first line of a block."""
    return draft.code.removeprefix(FIRST).lstrip("\n") if draft else ""


def is_whole(path: Path) -> bool:
    """Return whether a file contains valid JSON."""
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def open_lesson(tty: Terminal) -> None:
    """Wait for Home, open the lesson of this round, and wait until it is shown."""
    tty.until(lambda text: "Path" in text)
    tty.press("l")
    tty.until(lambda text: "Round" in text and "This machine" not in text)
    tty.press("\r")
    tty.until(lambda text: BLOCK.search(text) and "next open" in text and OPENING not in text)


def seen(screen: str, kind: str) -> int:
    """Return the number of passed blocks, or of given answers, on a screen."""
    if kind == "run":
        return sum(line.count("pass  ") for line in screen.splitlines())
    if kind == "answer":
        answers = ("Left was wrong.", "Middle was wrong.", "That was it.")
        return sum(answer in screen for answer in answers)
    return 0


def main() -> int:
    """Print the table, and return the exit code."""
    count = int(sys.argv[1]) if sys.argv[1:] else 50
    seed = int(os.environ.get("TPUSTARTER_SEED") or random.randrange(10**6))
    print(f"{count} kills, TPUSTARTER_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "state"
        os.environ.update(HOME=folder, TPUSTARTER_HOME=str(home))
        kills = Kills(
            Path(folder), locations.state_folder_path(), seed, allowed_s=PROMISED_S + BUSY_S
        )
        chance = random.Random(seed)
        for number in range(count):
            print(kills.kill(number, chance.choice(KINDS)).row(), flush=True)
        losses = kills.losses()
        for kind in KINDS:
            rows = [one for one in kills.outcomes if one.kind == kind]
            did, kept = sum(one.did for one in rows), sum(one.kept for one in rows)
            oldest = max((one.lost_s for one in rows), default=0.0)
            within = sum(one.within for one in rows)
            print(
                f"{kind:<6} {len(rows):>3} kills, {within} of them while a block ran, did {did}, "
                f"kept {kept}, oldest that was lost {1000 * oldest:.0f} ms"
            )
        print("\n".join(losses) or "nothing that was promised to be kept was lost")
        print(f"unfinished files left: {len(list(home.glob('**/.*-*')))}")
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
