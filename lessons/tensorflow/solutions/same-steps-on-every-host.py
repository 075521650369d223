"""`files.shard(hosts, host)` keeps every fourth path. Shard the files
before you open them, or each host reads all of them.

Shuffle the rows, then `repeat()` them without end, and only then batch. Like
that a batch at the end of an epoch is filled from the next one.

`take(steps)` ends the dataset after the same number of batches everywhere.

Learned: Shard the files, shuffle, repeat, batch and take, and every host makes
the same number of steps with batches of one static shape.
"""

import pathlib
import tempfile

import tensorflow as tf


def parse(record):
    """Return the number that is written in a record."""
    return tf.strings.to_number(record, tf.int64)


def dataset_of_host(paths, host, hosts, batch, steps):
    """Return the batches of one host, as int64 numbers."""
    files = tf.data.Dataset.from_tensor_slices(paths).shard(hosts, host)
    rows = files.interleave(tf.data.TFRecordDataset).map(parse)
    rows = rows.shuffle(1000, seed=1).repeat()
    return rows.batch(batch, drop_remainder=True).take(steps)
