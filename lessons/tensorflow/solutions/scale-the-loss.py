"""The gradients of the replicas are added. So the losses of all replicas,
added up, must be the loss of the whole batch.

For the rows that is the sum over the replica's own rows divided by
`GLOBAL_BATCH`, which `tf.nn.compute_average_loss` computes.

The penalty is the same on each replica. `tf.nn.scale_regularization_loss`
divides it by the number of replicas.

Learned: A loss of rows is divided by the global batch, and a term without rows
by the number of replicas.
"""

import numpy as np
import tensorflow as tf

GLOBAL_BATCH = 64
if "strategy" not in globals():  # one a process, also in a notebook
    strategy = tf.distribute.MirroredStrategy(
        tf.config.list_logical_devices("CPU")
    )
with strategy.scope():
    weights = tf.Variable(tf.zeros(4))


def penalty():
    """Return the penalty on the weights, which does not depend on the rows."""
    return 0.01 * tf.reduce_sum((weights - 1.0) ** 2)


def loss_on_replica(x, y):
    """Return the loss that a replica derives, of its own rows."""
    errors = (tf.linalg.matvec(x, weights) - y) ** 2
    loss = tf.nn.compute_average_loss(errors, global_batch_size=GLOBAL_BATCH)
    return loss + tf.nn.scale_regularization_loss(penalty())
