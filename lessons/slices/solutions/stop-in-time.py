"""What can a handler do that is always safe? And where in the loop is the
state whole?

`notices = []` and `signal.signal(signal.SIGTERM, lambda number, frame:
notices.append(number))` take the note. `signal.signal` returns the old
handler.

After each step, save if the step is one of those to save or if `notices` has
something, and then leave the loop. A `try` with `finally` puts the old
handler back in every case.

Learned: The handler takes a note, and the loop saves where its state is
whole.
"""

import os
import signal


def train(state, step, save, steps, every):
    """Return the state at which training ended."""
    notices = []
    old = signal.signal(
        signal.SIGTERM, lambda number, frame: notices.append(number)
    )
    try:
        while state["step"] < steps and not notices:
            state = step(state)
            regular = state["step"] % every == 0 or state["step"] == steps
            if regular or notices:
                save(state)
    finally:
        signal.signal(signal.SIGTERM, old)
    return state
