"""The lesson screen's key bindings and help text."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tpustarter.learning.content.quiz import MOST
from tpustarter.tui.kit.page import CTRL_C
from tpustarter.tui.lesson.available_actions import EnterAction

HELP = """
Read with the arrow keys, Space and PageUp. Keys act on the block with the thick frame, and Tab
marks the next one. **j** jumps to what is open next: a block that has not run, a question without
its right answer, or a task.

* **Running** is up to you, because nothing runs by being shown. `Enter` runs a block, and reads on
  once it has run. At the end of a lesson it goes to what is open, then to an exercise that is not
  solved, and then to the next lesson, so you can follow the course with this key alone. `n` leaves
  what is open for later. `r` runs a block again. All blocks of a lesson share their variables, as
  in a notebook, so blocks above that have not run yet run first. `a` starts anew and runs
  everything down to the block, without the tasks above it.
* **Ctrl+C** stops what runs, and so does Esc while you read. The variables stay, as in a REPL. Only
  what does not end by itself within two seconds is ended with its process. When nothing runs,
  Ctrl+C asks whether to quit.
* **f** says why a block failed, and F2 does so while you type. What the block printed is searched
  for failures that are known.
* You answer a **question** by pressing the number of an answer, and each answer says why. A block
  that says **your turn** asks you to change it with `e`, and `Enter` lets you fill a gap. Its
  answer is folded below, where `o` opens it. **p** opens the lesson's exercise, a program with a
  gap.
* **e** lets you change the code. Ctrl+R runs it while you type, Esc ends typing, and `u` brings
  the lesson's code back. Another `u` brings back what you had typed. Once a task has passed as you
  typed it, Enter goes on. What you type is saved as you type it, and is there when you come back.
* A lesson is **done** when each of its blocks has printed what it should, also with a change of
  yours that prints more, its tasks have passed and its questions are answered right. `n` leaves
  what is open of it for later, and the lists then call it **read**. Exercises are counted apart.
* **s** opens the plan of what the lesson sets up, or of what it needs and no Python here has.
  Nothing is run before you have seen its commands.
* A lesson opens where you left it, and **Home** goes to its beginning. **End** shows what is done,
  what is open, and which lesson is next.
* The first block starts a **process**. The first line of the screen names it. `t` ends it, after
  asking, and it also ends when you leave the lesson, when checks or set-up start, and after 30
  minutes without a block. One that may hold a TPU or GPU ends after 60 s, so that others can have
  it, and `t` ends it without asking.
"""
ENTER = {
    EnterAction.QUESTION: (
        "to the question",
        "show it with all of its answers; another Enter goes on without one",
    ),
    EnterAction.RUN: ("run", "run the marked block, after those above it that have not run"),
    EnterAction.FILL_GAP: ("fill the gap", "type what belongs there"),
    EnterAction.CHANGE: ("change it", "type what the lesson asks for; r runs it as it is"),
    EnterAction.READ_ON: ("read on", "to the next block, at most a screen further down"),
    EnterAction.NEXT_OPEN: ("next open", "what is not done of this lesson; n leaves it for later"),
    EnterAction.EXERCISE: (
        "exercise",
        "the first one of this lesson that is not solved; n leaves it for later",
    ),
    EnterAction.SET_UP: ("set up first", "the plan of what this lesson needs; nothing is run yet"),
    EnterAction.NEXT_LESSON: ("next lesson", "the one that is next on your path"),
}
"""The label and tooltip of Enter for each of its actions."""
BINDINGS: list[BindingType] = [
    CTRL_C,
    Binding(
        "s",
        "setup_first",
        "set up first",
        tooltip="tpustarter setup PROFILE, without which the blocks of this lesson are skipped",
    ),
    Binding("1", "answer(1)", "answer", key_display="1, 2, ...", tooltip="by its number"),
    *(Binding(key, f"answer({key})", show=False) for key in "23456789"[: MOST - 1]),
    *(Binding(key, f"look_at({key})", show=False) for key in "123456789"[:MOST]),
    *(Binding(key, "no_question", show=False) for key in "123456789"[:MOST]),
    *(
        Binding("enter", f"go_on('{does.value}')", label, key_display="Enter", tooltip=tooltip)
        for does, (label, tooltip) in ENTER.items()
    ),
    Binding("enter", "wait", show=False),
    Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
    Binding(
        "f2", "explain", "why it failed", key_display="F2", tooltip="as f does, while you type"
    ),
    Binding("u", "reset", "undo edit", tooltip="the code as the lesson has it"),
    Binding("u", "undo", "undo edit", tooltip="the code as the lesson has it"),
    Binding("u", "redo", "redo edit", tooltip="what you had typed"),
    Binding("j", "jump", "next open", tooltip="a block, question or task that is not done"),
    Binding("j", "to_end", show=False),
    Binding("j", "jump_too", show=False),
    Binding("n", "next_now", "next lesson", tooltip="leaves what is open for later"),
    Binding("n", "next", "next lesson", tooltip="leaves what is open for later"),
    Binding("n", "next_too", show=False),
    Binding("e", "edit", "edit", tooltip="change the block's code here"),
    Binding("tab", "choose(1)", "next block", key_display="Tab", tooltip="mark another block"),
    Binding("k", "choose(-1)", "block before", show=False, tooltip="mark it; so does Shift+Tab"),
    Binding("shift+tab", "choose(-1)", show=False),
    Binding("r", "run", "run", tooltip="tpustarter learn LESSON --run"),
    Binding(
        "a",
        "run_to_here",
        "run all to here",
        tooltip="start anew and run every block down to this one",
    ),
    Binding("c", "check", "check", tooltip="tpustarter check, for this lesson"),
    Binding("o", "fold", "open, close", tooltip="an answer, or what else is folded"),
    Binding("w", "words", "words, links", tooltip="what the words mean, where links lead"),
    Binding("p", "exercise", "exercise", tooltip="tpustarter learn --exercise ID"),
    Binding("s", "setup_too", show=False),
    Binding("s", "setup", "set up", tooltip="tpustarter setup PROFILE, which this lesson explains"),
]
LATE = frozenset({"undo", "next", "setup"})
"""Actions listed after the others, although the same key has other actions listed earlier."""
LATE_IF_WRONG = frozenset({"reset", "jump"})
"""Further late actions while a task has not passed, because editing it again comes first."""
OF_BLOCKS = frozenset({"edit", "run", "run_to_here", "choose"})
"""Actions on blocks, which are out of view at the end of a lesson."""
