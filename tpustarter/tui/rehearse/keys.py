"""The keys of a rehearsal, and the text of its help."""

from __future__ import annotations

from textual.binding import Binding, BindingType

HELP = """
Each line is a program and each column is a TPU. The words are the compiler's answers, and
**nothing is run on a TPU**. A script of yours runs on CPU devices.

* `ok` means that the program compiles and fits. `too big` means that it needs more memory than one
  device has, `refused` that JAX or the compiler doesn't accept it for this TPU, and `ERROR` that
  there is no answer. `skip` means that it was left out, for example because it is for another
  number of devices than this TPU has, and `..12s` that it has been compiling for 12 seconds.
* The **arrow keys** choose an answer, and you see what the compiler says of it. **Enter** gives it
  the whole screen, and a second Enter brings the table back.
* **c** compares all TPUs for the marked program, and **g** shows the compiler's own words. **o**
  shows what your script printed, and what it passed to `jax.jit`.
* **f** says why a program was refused or broke.
* **e** goes back to the arguments of your function, to change them.
* **l** opens the lesson on memory, where a program is too big.
* **x** stops at once, and **Esc** asks before it does so. **r** starts all of it again, and uses
  stored answers.
"""
BINDINGS: list[BindingType] = [
    Binding("f", "explain", "why it failed", tooltip="tpustarter explain FILE"),
    Binding("c", "view('compare')", "compare", tooltip="tpustarter rehearse ID --json"),
    Binding("e", "change", "change arguments", tooltip="of your function"),
    Binding("g", "view('words')", "compiler's words", tooltip="tpustarter rehearse ID -v"),
    Binding("o", "view('script')", "script", tooltip="tpustarter rehearse --script FILE.py"),
    Binding("l", "lesson", "lesson", tooltip="tpustarter learn LESSON"),
    Binding("r", "again", "again", tooltip="tpustarter rehearse"),
    Binding("s", "setup", "set up", tooltip="tpustarter setup rehearse"),
]
