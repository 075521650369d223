"""The successor of the global step is `self.model.optimizer.iterations`, which
counts the steps of all calls, epochs and trainings. `int` reads it.

Don't count by `batch`. It begins at 0 in each epoch, and for a call of several
steps it is the first of them in older versions of Keras, and the last in newer
ones.

A multiple of `n` was passed if `step // n` is larger than after the call
before. So keep the step of that call, and set it in `on_train_begin`, too.

Learned: A callback is called once for each group of steps, so it reads
`optimizer.iterations` and asks whether a multiple was passed.
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

    def on_train_begin(self, logs=None):
        self.step = int(self.model.optimizer.iterations)

    def on_train_batch_end(self, batch, logs=None):
        before, self.step = self.step, int(self.model.optimizer.iterations)
        if before // self.n < self.step // self.n:
            self.act(self.step)
