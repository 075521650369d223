"""TFRecord files return what was written, and reveal damage."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from tpustarter.probe.finding import compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 0.5
LESSON = "tensorflow/tfrecord-files"
SOURCE = "https://www.tensorflow.org/tutorials/load_data/tfrecord"
AFTER = ["tensorflow.package"]

RECORDS = 10
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}
READ = "name shape and type of each feature as they were written, in `tf.io.parse_single_example`"
COPY = "copy the file again, because the checksum of a record is wrong"


def example(index):
    """Return a record: an image `float32[2, 3]` as bytes, and a label."""
    image = (np.arange(6, dtype=np.float32) + index).reshape(2, 3) / 3
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[index - 5])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parsed(record):
    """Return image and label of a record."""
    features = tf.io.parse_single_example(record, FEATURES)
    image = tf.reshape(tf.io.decode_raw(features["image"], tf.float32), [2, 3])
    return image, features["label"]


def read(path):
    """Return images and labels of a file, as NumPy arrays."""
    pairs = [*tf.data.TFRecordDataset(str(path)).map(parsed)]
    images = np.array([image.numpy() for image, _ in pairs])
    return images, [int(label) for _, label in pairs]


def run():
    """Write records, read them, then flip one bit of the file."""
    with tempfile.TemporaryDirectory(prefix="tpustarter-tfrecord-") as folder:
        path = Path(folder) / "data.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for index in range(RECORDS):
                writer.write(example(index))
        images, labels = read(path)
        expected = (np.arange(6, dtype=np.float32) + np.arange(RECORDS)[:, None]) / np.float32(3)
        yield compare("TF-RECORD-LABELS", "labels in order", labels == [*range(-5, 5)],
                      expected=True, hint=READ)  # fmt: skip
        same = images.tobytes() == expected.astype(np.float32).tobytes()
        yield compare("TF-RECORD-IMAGES", "images keep every bit", same, expected=True, hint=READ)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        yield compare("TF-RECORD-DAMAGE", "what a damaged file raises", failure(path),
                      "DataLossError", hint=COPY)  # fmt: skip


def failure(path):
    """Return the name of the error raised by reading a file, or an empty string."""
    try:
        read(path)
    except tf.errors.OpError as error:
        return type(error).__name__
    return ""
