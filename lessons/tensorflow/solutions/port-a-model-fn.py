"""The old loss took logits. In Keras the loss by its name takes probabilities,
so make an object of the class `SparseCategoricalCrossentropy` and tell it what
the model returns.

`tf.train.exponential_decay` is a schedule in Keras, with the same arguments in
the same order after the step, which the optimizer keeps by itself.

`tf.keras.optimizers.Adam` takes the schedule in place of a learning rate, and
its second decay is called `beta_2`. `CrossShardOptimizer` has no successor,
because the optimizer adds the gradients of the replicas under every strategy.

Learned: A loss on logits says `from_logits=True`, a decay becomes a schedule,
and the strategy does what CrossShardOptimizer did.
"""

import numpy as np
import tensorflow as tf


def compile_model(model):
    """Give the model the loss, the optimizer and the accuracy."""
    rate = tf.keras.optimizers.schedules.ExponentialDecay(
        0.1, decay_steps=2, decay_rate=0.5, staircase=True
    )
    model.compile(
        optimizer=tf.keras.optimizers.Adam(rate, beta_2=0.99),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
