"""Save when the signal comes, at the end of the step.

`train` runs `step` until the state has reached `steps`, and saves every
`every` steps and at the end. Make it stop early, too. When the process gets
SIGTERM, it finishes its step, saves and returns. The handler only takes a
note. Put the old handler back before you return.
"""

import os
import signal


def train(state, step, save, steps, every):
    """Return the state at which training ended."""
    while state["step"] < steps:
        state = step(state)
        if state["step"] % every == 0 or state["step"] == steps:
            save(state)
    return state  # your code here


# Judged below: leave this part as it is.

saved = []


def one_step(signal_at):
    def step(state):
        number = state["step"] + 1
        half = {"step": number, "sum": None}
        if number == signal_at:
            os.kill(os.getpid(), signal.SIGTERM)  # in the middle of a step
            sum(range(1000))
        return {**half, "sum": state["sum"] + number}

    return step


def left_alone(number, frame):
    left_alone.called = True


left_alone.called = False
signal.signal(signal.SIGTERM, left_alone)
found = train({"step": 0, "sum": 0}, one_step(0), saved.append, 12, 5)
steps = [state["step"] for state in saved]
assert steps == [5, 10, 12], f"without a signal: saved at {steps}"
saved.clear()
found = train({"step": 0, "sum": 0}, one_step(8), saved.append, 12, 5)
assert not left_alone.called, "the signal did not reach train"
message = f"the signal came in step 8, and it ended at {found['step']}"
assert found["step"] == 8, message
steps = [state["step"] for state in saved]
assert steps == [5, 8], f"with a signal in step 8: saved at {steps}"
assert saved[-1]["sum"] == 36, f"half a step was saved: {saved[-1]}"
saved.clear()
found = train(found, one_step(10), saved.append, 12, 5)
steps = [state["step"] for state in saved]
assert steps == [10], f"a signal in step 10: saved at {steps}, expected once"
now = signal.getsignal(signal.SIGTERM)
assert now is left_alone, "the old handler was not put back"
print("the signal was heard, and no step was cut in two")
