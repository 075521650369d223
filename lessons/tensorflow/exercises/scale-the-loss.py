"""Scale the loss of a loop of your own.

The loop below trains on 8 replicas. It should compute the same update as one
device with the whole batch, but its gradient is too large, and so is that of
the penalty on the weights. Repair `loss_on_replica`.
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
    return tf.reduce_mean(errors) + penalty()  # your code here


# Judged below: leave this part as it is.


@tf.function
def summed_gradient(batch):
    def on_replica(x, y):
        with tf.GradientTape() as tape:
            loss = loss_on_replica(x, y)
        gradient = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, gradient)

    return strategy.run(on_replica, args=batch)


rng = np.random.default_rng(0)
x = rng.normal(size=(GLOBAL_BATCH, 4)).astype(np.float32)
y = rng.normal(size=GLOBAL_BATCH).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(
    GLOBAL_BATCH, drop_remainder=True
)
[batch] = strategy.experimental_distribute_dataset(dataset)
found = strategy.experimental_local_results(summed_gradient(batch))[0].numpy()
of_rows, of_penalty = (
    2 * x.T @ (-y) / GLOBAL_BATCH,
    np.full(4, -0.02, np.float32),
)
if np.allclose(found, 8 * (of_rows + of_penalty), atol=1e-4):
    message = (
        "both parts count eight times: the all-reduce sums what"
        " eight replicas computed"
    )
elif np.allclose(found, of_rows + 8 * of_penalty, atol=1e-4):
    message = "the rows are right, but the penalty counts eight times"
elif np.allclose(found, 8 * of_rows + of_penalty, atol=1e-4):
    message = "the penalty is right, but the rows count eight times"
else:
    expected = (of_rows + of_penalty).round(3)
    message = f"the gradient is {found.round(3)}, expected {expected}"
assert np.allclose(found, of_rows + of_penalty, atol=1e-4), message
print("eight replicas compute the gradient of one device")
