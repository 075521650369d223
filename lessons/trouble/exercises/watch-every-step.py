"""Watch every step of a training loop.

`train` calls `step(state, batch)` for each batch and returns the last
state. Make it watch the steps with `faulthandler`: if a single step takes
longer than `limit_s` seconds, the stack is written to `file`, and the
program goes on.

A long run of short steps must write nothing. Neither may whatever comes
after the training, also if a step has raised an error.
"""

import contextlib
import faulthandler
import tempfile
import time


def train(step, state, batches, limit_s, file):
    """Return the last state; write the stack of each step that is slow."""
    faulthandler.dump_traceback_later(limit_s, file=file)  # your code here
    for batch in batches:
        state = step(state, batch)
    return state


# Judged below: leave this part as it is.


def quick_step(state, batch):
    time.sleep(0.2)
    return state + batch


def slow_step(state, batch):
    time.sleep(1.6 if batch == 2 else 0.1)
    return state + batch


def broken_step(state, batch):
    raise FloatingPointError(f"the loss is nan in step {batch}")


def written(step, batches, limit_s, afterwards_s=0.0):
    """Return the last state, and what was written."""
    with tempfile.TemporaryFile("w+") as file:
        state = None
        try:
            with contextlib.suppress(FloatingPointError):
                state = train(step, 0, batches, limit_s, file)
            time.sleep(afterwards_s)
        finally:
            faulthandler.cancel_dump_traceback_later()
        file.seek(0)
        return state, file.read()


state, text = written(quick_step, range(6), limit_s=0.8)
assert state == 15, f"the last state: found {state}, expected 15"
message = "6 steps of 0.2 s with a limit of 0.8 s: found a stack"
assert not text, f"{message}, expected none: it is a limit for each step"

state, text = written(quick_step, range(2), 0.8, afterwards_s=1.2)
message = "after the last step: found a stack, expected none"
assert not text, f"{message}: the timer still runs"

state, text = written(slow_step, range(4), limit_s=0.8)
message = f"a step of 1.6 s with a limit of 0.8 s: found {text!r}"
assert "slow_step" in text, f"{message}, expected its stack"
assert text.count("in slow_step") == 1, f"{message}, expected one stack"
assert state == 6, f"the last state: found {state}, expected 6"

state, text = written(broken_step, range(2), 0.8, afterwards_s=1.2)
message = "after a step that raised an error: found a stack"
assert not text, f"{message}, expected none: the timer still runs"
print("one slow step, one stack, and the training went on")
