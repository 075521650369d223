"""Mask instead of select.

The sentences of a batch have different lengths, so `valid` says which tokens
are words and which are padding, whose label is -1. `mean_loss` selects the
words. How many there are depends on the data, so the compiler doesn't know the
shape, and XLA for TPUs may refuse the program. Compute the same loss, and
therefore the same gradient, in static shapes. The loss is 0 if no token is a
word.
"""

import numpy as np
import tensorflow as tf


def mean_loss(logits, labels, valid):
    """Return the mean loss of the valid tokens.

    The shapes are float32[64, 10], int32[64] and bool[64].
    """
    logits = tf.boolean_mask(logits, valid)  # your code here
    labels = tf.boolean_mask(labels, valid)  # your code here
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(losses)  # your code here


# Judged below: leave this part as it is.

import re  # noqa: E402


@tf.function(jit_compile=True)
def loss_and_gradient(logits, labels, valid):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = mean_loss(logits, labels, valid)
    return loss, tape.gradient(loss, logits)


def exact_loss_and_gradient(logits, labels, valid):
    """Return what the words give, computed by NumPy."""
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    probabilities = exponentials / exponentials.sum(1, keepdims=True)
    gradient = np.zeros_like(logits)
    losses = []
    for token in np.flatnonzero(valid):
        losses.append(-np.log(probabilities[token, labels[token]]))
        gradient[token] = probabilities[token]
        gradient[token, labels[token]] -= 1
    return sum(losses) / max(len(losses), 1), gradient / max(len(losses), 1)


rng = np.random.default_rng(0)
for count in (64, 40, 1, 0):
    logits = rng.normal(size=(64, 10)).astype(np.float32)
    valid = np.arange(64) < count
    labels = np.where(valid, rng.integers(0, 10, 64), -1).astype(np.int32)
    arguments = [tf.constant(each) for each in (logits, labels, valid)]

    program = loss_and_gradient.experimental_get_compiler_ir(*arguments)
    dynamic = re.findall(r"\w+\[[^\]]*<=[^\]]*\]", program(stage="hlo"))
    message = (
        f"the program has {len(dynamic)} arrays whose size depends on the"
        f" data, such as {dynamic[:1]}, which means at most so many"
    )
    assert not dynamic, message

    found = [each.numpy() for each in loss_and_gradient(*arguments)]
    expected = exact_loss_and_gradient(logits, labels, valid)
    message = (
        f"{count} words: the loss is {found[0]:.4f},"
        f" expected {expected[0]:.4f}"
    )
    if np.isnan(found[0]):
        message += (
            ": nothing may be divided by 0"
            if count == 0
            else ": the loss of a token with the label -1 is nan"
        )
    elif abs(found[0] * 64 / max(count, 1) - expected[0]) < 1e-4:
        message += ": the padding counts in the mean"
    assert abs(found[0] - expected[0]) < 1e-4, message
    rows = np.isnan(found[1]).any(1).sum()
    message = (
        f"{count} words: the loss is right, but {rows} rows of its gradient"
        " are nan: the derivative of a nan is multiplied by 0 on its way"
        " back, so give the padding a label that is allowed"
    )
    assert rows == 0, message
    message = f"{count} words: the loss is right, and its gradient is not"
    assert np.allclose(found[1], expected[1], atol=1e-5), message

print("64, 40, 1 and 0 words: static shapes, exact losses and gradients")
