"""The keys of an exercise, and the text of its help."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tpustarter.tui.kit.page import CTRL_C

HELP = """
Fill the gap in the file that is named here.

* **Enter** or **e** lets you type here. Ctrl+R judges what you typed, and Esc ends typing.
  Everything you type is in the file at once.
* **o** opens the file in another editor, and says how to come back from it before it does. You can
  also edit the file elsewhere, because it is judged whenever you **save** it there.
* **r** judges it now, and **x** or **Esc** stops an answer that doesn't end.
* **f** says why an answer broke, and F2 does so while you type.
* Once an answer is right, **Enter** or **n** goes on to the lesson's next exercise, or to the next
  lesson of your path.
* **h** shows the next hint, and **s** the whole solution, which is worth a look once your answer is
  right, too. **u** begins anew, and keeps your file under another name.

The lines below `# Judged below` are written again each time, so changing them has no effect.
"""
BINDINGS: list[BindingType] = [
    CTRL_C,
    Binding("enter,n", "next", "go on", key_display="Enter", tooltip="tpustarter learn"),
    Binding("enter", "edit", "edit", key_display="Enter", tooltip="type here, as e does"),
    Binding("e", "edit", "edit", tooltip="type here"),
    Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
    Binding(
        "f2", "explain", "why it failed", key_display="F2", tooltip="as f does, while you type"
    ),
    Binding("r", "judge", "judge", tooltip="tpustarter learn --exercise ID"),
    Binding("h", "hint", "hint", tooltip="tpustarter learn --exercise ID --hint"),
    Binding("s,v", "solution", "solution", tooltip="tpustarter learn --exercise ID --solution"),
    Binding("o", "open", "own editor", tooltip="opens it in $EDITOR"),
    Binding("u", "anew", "begin anew", tooltip="tpustarter learn --exercise ID --reset"),
    Binding("space", "page_down", show=False),
]
