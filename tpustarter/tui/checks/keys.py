"""The keys of a run of checks, and the text of its help."""

from __future__ import annotations

from textual.binding import Binding, BindingType

HELP = """
Each line is one claim about this machine. What was found for the marked claim stands below the
list, or beside it in a wide window.

* **Enter** shows all there is to read of a check on the whole screen: its findings, how it
  measures, how its lesson begins, the log of its process and its code. A second Enter brings the
  list back. **g** shows the log alone.
* **p** lists the checks that passed and those that don't apply, which otherwise have one row each.
* **f** explains why a check failed. It searches what the check wrote for failures that are known.
* **o** opens the lesson that explains the check, and **a** runs the marked check again. **s** shows
  the set-up plan where a new environment helps.
* **x** stops the run at once, and **Esc** asks before it does so. The checks that have not run by
  then are listed as such.
* **PASS** means that the claim holds, and **FAIL** that it doesn't. **WARN** has a remark that you
  should read, **ERROR** means that there is no verdict, and **skip** that the check doesn't apply
  here. The last line says on which devices this was shown. Only what ran on a TPU counts for a TPU.
"""
BINDINGS: list[BindingType] = [
    Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
    Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
    Binding("g", "log", "log", tooltip="tpustarter check ID -v"),
    Binding("a", "again", "again", tooltip="tpustarter check ID"),
    Binding("p", "list_all", "list all", tooltip="tpustarter check -v"),
    Binding("p", "fold", "fold", tooltip="one row for what needs no attention"),
    Binding("s", "setup", "set up", tooltip="tpustarter setup jax"),
]
