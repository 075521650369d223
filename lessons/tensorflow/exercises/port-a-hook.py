"""Port a hook that acts every N steps.

This hook of an Estimator called `act` with the global step, such as 100, 200
and 300:

    class EveryNSteps(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context, run_values):
            if run_values.results % self.n == 0:
                self.act(run_values.results)

Complete the callback that replaces it. With `steps_per_execution=4` Keras
calls a callback once for four steps. So it may act late, with the step that
it sees then, but no multiple of `n` may be lost. If a call has passed
several of them, act once. Also count on where a training goes on in a
second `fit`.
"""

import numpy as np
import tensorflow as tf


class EveryNSteps(tf.keras.callbacks.Callback):
    """Calls `act(step)` as soon as a multiple of `n` steps have run."""

    def __init__(self, n, act):
        super().__init__()
        self.n = n
        self.act = act
        self.step = 0

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1  # your code here
        if self.step % self.n == 0:  # your code here
            self.act(self.step)


# Judged below: leave this part as it is.

STEPS = 10  # in an epoch, so with 4 in a call the third call has 2
rows = np.ones((8 * STEPS, 1), np.float32)


def calls(fit, steps_per_execution):
    """Return the global steps before and after each call of two epochs."""
    steps = [
        (2 * fit + epoch) * STEPS + step
        for epoch in range(2)
        for step in [*range(0, STEPS, steps_per_execution), STEPS]
    ]
    return [pair for pair in zip(steps, steps[1:]) if pair[0] < pair[1]]


for steps_per_execution in (1, 4):
    for n in (5, 3):
        model = tf.keras.Sequential(
            [tf.keras.Input((1,)), tf.keras.layers.Dense(1)]
        )
        model.compile(
            "sgd", loss="mse", steps_per_execution=steps_per_execution
        )
        for fit in (0, 1):
            acted = []
            model.fit(
                rows,
                rows,
                batch_size=8,
                epochs=2,
                verbose=0,
                callbacks=[EveryNSteps(n, acted.append)],
            )
            found = [int(step) for step in acted]
            told = calls(fit, steps_per_execution)
            ends = [end for _, end in told]
            expected = [end for before, end in told if before // n < end // n]
            message = (
                f"n={n} and {steps_per_execution} steps in a call:"
                f"{' the second `fit`' if fit else ' it'} acted at the steps"
                f" {found}, expected {expected}"
            )
            if found == [end for end in ends if end % n == 0]:
                message += ": a multiple that lies within a call was lost"
            elif found == list(range(n, len(told) + 1, n)):
                message += ": it counts the calls of this `fit`"
            elif fit and found and found[0] <= STEPS:
                message += ": the count begins at 0 again"
            elif found and max(found) <= STEPS:
                message += ": each epoch counts anew"
            assert found == expected, message
print("every multiple of 3 and 5, with 1 and with 4 steps in a call")
