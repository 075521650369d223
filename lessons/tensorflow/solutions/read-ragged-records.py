"""`FixedLenFeature([12])` raises an error for a record that has another number
of values. `tf.io.RaggedFeature(tf.int64)` takes any number, and the result
is a ragged tensor, whose rows have lengths of their own.

`ragged.to_tensor(shape=(BATCH, LENGTH))` cuts off the long rows, fills the
short ones with zeros, and makes the shape static. `tf.reshape` does the last
for the images.

`interleave(tf.data.TFRecordDataset, cycle_length=4)` on a dataset of paths
takes one record of each file in turn, and `drop_remainder=True` makes the size
of a batch static.

Learned: A record knows no shape. A ragged feature reads any length, and
`to_tensor` with a shape makes it static.
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

BATCH = 16
LENGTH = 12
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "caption": tf.io.RaggedFeature(tf.int64),
}


def parse(records):
    """Return the images and the captions of a batch of records."""
    features = tf.io.parse_example(records, FEATURES)
    images = tf.io.decode_raw(features["image"], tf.uint8)
    images = tf.reshape(images, (BATCH, 8, 8))
    return images, features["caption"].to_tensor(shape=(BATCH, LENGTH))


def batches(paths):
    """Return the dataset of (images, captions)."""
    files = tf.data.Dataset.from_tensor_slices(paths)
    records = files.interleave(
        tf.data.TFRecordDataset, cycle_length=len(paths)
    )
    return records.batch(BATCH, drop_remainder=True).map(parse)
