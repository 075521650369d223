"""A call of `faulthandler.dump_traceback_later` replaces the timer that runs.

So call it right before each step, inside the loop, and each step gets the
whole limit.

After the last step, `faulthandler.cancel_dump_traceback_later()` stops the
timer. Where do you call it, so that it also happens after an error?

Put `try:` around the loop, and the call below `finally:`.

Learned: A timer that is set again before each step writes the stack of a
step that hangs, and nothing while all is well.
"""

import contextlib
import faulthandler
import os
import tempfile
import time


def train(step, state, batches, limit_s, file):
    """Return the last state; write the stack of each step that is slow."""
    try:
        for batch in batches:
            faulthandler.dump_traceback_later(limit_s, file=file)
            state = step(state, batch)
    finally:
        faulthandler.cancel_dump_traceback_later()
    return state
