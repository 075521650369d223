"""Compute a loss for all 64 tokens, and replace those of the padding by 0 with
`tf.where(valid, losses, 0.0)`.

The mean is a sum divided by the number of words, `tf.reduce_sum(tf.cast(valid,
tf.float32))`. `tf.math.divide_no_nan` returns 0 where the divisor is 0.

With the label -1 the loss is nan. `tf.where` hides it from the sum but not
from the gradient, so give the padding the label 0 before you compute the
losses.

Learned: A mask keeps every shape static, and what it hides must be finite,
because the gradient passes through it.
"""

import numpy as np
import tensorflow as tf


def mean_loss(logits, labels, valid):
    """Return the mean loss of the valid tokens.

    The shapes are float32[64, 10], int32[64] and bool[64].
    """
    labels = tf.where(valid, labels, 0)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    total = tf.reduce_sum(tf.where(valid, losses, 0.0))
    return tf.math.divide_no_nan(
        total, tf.reduce_sum(tf.cast(valid, tf.float32))
    )
