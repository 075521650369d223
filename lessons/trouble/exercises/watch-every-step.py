"""Watch every step of a training loop.

`train` calls `step(state, batch)` for each batch and returns the last
state. Make it watch the steps with `faulthandler`: if a single step takes
longer than `limit_s` seconds, the stack is written to `file`, and the
program continues.

A long run of short steps must write nothing. Neither may whatever comes
after the training, also if a step has raised an error.
"""

import contextlib
import faulthandler
import os
import tempfile
import time


def train(step, state, batches, limit_s, file):
    """Return the last state; write the stack of each step that is slow."""
    faulthandler.dump_traceback_later(limit_s, file=file)  # your code here
    for batch in batches:
        state = step(state, batch)
    return state


# Judged below: leave this part as it is.

timer = {"limits": 0, "runs": False}


def watched(name, runs):
    """Note each call of a function of faulthandler, and make it."""
    call = getattr(faulthandler, name)

    def noted(*arguments, **options):
        timer["limits"] += runs
        timer["runs"] = runs
        return call(*arguments, **options)

    setattr(faulthandler, name, noted)
    return call


watched("dump_traceback_later", True)
stop_timer = watched("cancel_dump_traceback_later", False)


def written(step, batches, limit_s):
    """Return the last state, what was written, and if the timer runs."""
    state, timer["limits"] = None, 0
    with tempfile.TemporaryFile("w+") as file:
        try:
            with contextlib.suppress(FloatingPointError):
                state = train(
                    lambda *given: step(*given, file),
                    0,
                    batches,
                    limit_s,
                    file,
                )
            return state, text_of(file), timer["runs"]
        finally:
            stop_timer()
            timer["runs"] = False


def text_of(file):
    """Read a file from its start: the timer writes while a step runs."""
    return os.pread(file.fileno(), 100_000, 0).decode()


def quick_step(state, batch, file):
    seen.append(timer["limits"])
    return state + batch


def slow_step(state, batch, file):
    end = time.monotonic() + (60 if batch == 2 else 0)
    while time.monotonic() < end and "slow_step" not in text_of(file):
        time.sleep(0.1)
    return state + batch


def broken_step(state, batch, file):
    raise FloatingPointError(f"the loss is nan in step {batch}")


seen = []
state, text, runs = written(quick_step, range(6), limit_s=600)
assert state == 15, f"the last state: found {state}, expected 15"
fresh = len({*seen} - {0})
message = f"6 steps: found a new limit set before {fresh} of them"
assert fresh == 6, f"{message}, expected 6: it is a limit for each step"
message = "after the last step: found a running timer"
assert not runs, f"{message}, expected none"

state, text, _ = written(slow_step, range(4), limit_s=0.5)
message = f"a step that is slow, with a limit of 0.5 s: found {text!r}"
assert "slow_step" in text, f"{message}, expected its stack"
assert text.count("in slow_step") == 1, f"{message}, expected one stack"
assert state == 6, f"the last state: found {state}, expected 6"

_, _, runs = written(broken_step, range(2), limit_s=600)
message = "after a step that raised an error: found a running timer"
assert not runs, f"{message}, expected none"
print("one slow step, one stack, and the training went on")
