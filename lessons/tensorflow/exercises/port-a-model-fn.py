"""Port the training of a model_fn.

These lines trained a classifier with TPUEstimator:

    logits = tf.layers.dense(features, 3)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    optimizer = tf.train.AdamOptimizer(rate, beta2=0.99)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, step)

The layer is a Keras model already. Complete `compile_model`, so that every
step changes the weights as the old program did. The defaults of Keras won't
do that: one of them makes the loss wrong, and nothing fails.
"""

import numpy as np
import tensorflow as tf


def compile_model(model):
    """Give the model the loss, the optimizer and the accuracy."""
    model.compile(
        optimizer="adam",  # your code here
        loss="sparse_categorical_crossentropy",  # your code here
        metrics=["accuracy"],
    )


# Judged below: leave this part as it is.

STEPS = 5
rng = np.random.default_rng(0)
features = rng.normal(size=(STEPS, 64, 4)).astype(np.float32)
labels = rng.integers(0, 3, (STEPS, 64))
start = rng.normal(size=(4, 3)).astype(np.float32)


def loss_and_gradient(weights, step):
    """Return what the old program computed for one batch."""
    logits = features[step] @ weights
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    probabilities = exponentials / exponentials.sum(1, keepdims=True)
    of_labels = probabilities[np.arange(64), labels[step]]
    error = (probabilities - np.eye(3)[labels[step]]) / 64
    return -np.log(of_labels).mean(), features[step].T @ error


def old_program(rate=lambda step: 0.1 * 0.5 ** (step // 2), beta2=0.99):
    """Return the weights before the first step and after each one."""
    mean, square = np.zeros_like(start), np.zeros_like(start)
    weights = [start]
    for step in range(STEPS):
        _, gradient = loss_and_gradient(weights[-1], step)
        mean = 0.9 * mean + 0.1 * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        unbiased_mean = mean / (1 - 0.9 ** (step + 1))
        unbiased_square = square / (1 - beta2 ** (step + 1))
        update = rate(step) * unbiased_mean / np.sqrt(unbiased_square)
        weights.append(weights[-1] - update)
    return weights


class KeepWeights(tf.keras.callbacks.Callback):
    """Keeps the first loss, and the weights after each step."""

    def __init__(self):
        super().__init__()
        self.loss = None
        self.weights = [start]

    def on_train_batch_end(self, batch, logs=None):
        if self.loss is None:
            self.loss = float(logs["loss"])
        self.weights.append(self.model.get_weights()[0])


if "strategy" not in globals():  # one a process, also in a notebook
    strategy = tf.distribute.MirroredStrategy(
        tf.config.list_logical_devices("CPU")
    )
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.Input((4,)), tf.keras.layers.Dense(3, use_bias=False)]
    )
    compile_model(model)
model.set_weights([start])
kept = KeepWeights()
dataset = tf.data.Dataset.from_tensor_slices((features, labels))
model.fit(dataset, shuffle=False, verbose=0, callbacks=[kept])

expected = old_program()
loss, _ = loss_and_gradient(start, 0)
message = (
    f"the loss of the first batch is {kept.loss:.4f}, expected {loss:.4f}:"
    " the outputs of the model are logits, and not probabilities"
)
assert abs(kept.loss - loss) < 1e-4, message

ratio = np.sum((kept.weights[1] - start) * (expected[1] - start)) / np.sum(
    (expected[1] - start) ** 2
)
message = (
    f"the first update is {ratio:.3g} times as large as that of the old"
    " program"
)
assert np.allclose(kept.weights[1], expected[1], atol=1e-4), message
mistakes = {
    "the old beta2 was 0.99, and the default is 0.999": (
        old_program(beta2=0.999)
    ),
    "the learning rate stays 0.1": old_program(rate=lambda step: 0.1),
    "the learning rate falls in every step, and not in every second one": (
        old_program(rate=lambda step: 0.1 * 0.5 ** (step / 2))
    ),
}
for step in range(2, STEPS + 1):
    message = f"after step {step} the weights differ from the old ones"
    for mistake, weights in mistakes.items():
        if np.allclose(kept.weights[step], weights[step], atol=1e-4):
            message += f": {mistake}"
    assert np.allclose(kept.weights[step], expected[step], atol=1e-4), message
print(f"{STEPS} steps on 8 replicas, the weights of the old program")
