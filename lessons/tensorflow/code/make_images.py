"""What both programs read: images of ten kinds, and weights for step 0.

    python make_images.py data

The images go into TFRecord files, the weights into a checkpoint with the
names that the old program gives its variables.
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf


def draw_images(rows, seed):
    """Return images, uint8[rows, 784], and their labels."""
    patterns = np.random.default_rng(0).normal(size=(10, 784))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, rows)
    pixels = 128 + 6 * patterns[labels] + rng.normal(0, 40, (rows, 784))
    return np.clip(pixels, 0, 255).astype(np.uint8), labels


def to_record(image, label):
    """Return an image and its label as the bytes of one record."""
    pixels = tf.train.BytesList(value=[image.tobytes()])
    number = tf.train.Int64List(value=[label])
    columns = {
        "image": tf.train.Feature(bytes_list=pixels),
        "label": tf.train.Feature(int64_list=number),
    }
    features = tf.train.Features(feature=columns)
    return tf.train.Example(features=features).SerializeToString()


def write_files(folder, name, rows, seed, files=4):
    """Write `rows` images to `files` TFRecord files."""
    images, labels = draw_images(rows, seed)
    for file in range(files):
        path = folder / f"{name}-{file:05}-of-{files:05}.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for row in range(file, rows, files):
                writer.write(to_record(images[row], labels[row]))


def write_start(folder):
    """Write a checkpoint of step 0, as the old program would."""
    v1 = tf.compat.v1
    rng = np.random.default_rng(1)
    values = {}
    for layer, inputs, units in (("hidden", 784, 64), ("logits", 64, 10)):
        kernel = rng.normal(size=(inputs, units)) / np.sqrt(inputs)
        values[f"{layer}/kernel"] = kernel.astype(np.float32)
        values[f"{layer}/bias"] = np.zeros(units, np.float32)
    for name, value in list(values.items()):
        values[f"{name}/Momentum"] = np.zeros_like(value)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.get_or_create_global_step()
        for name, value in values.items():
            v1.get_variable(name, initializer=value)
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(folder / "model.ckpt"), 0)


def main(folder):
    """Write 4,096 images to train with, 1,000 for the test, and weights."""
    folder = pathlib.Path(folder)
    (folder / "start").mkdir(parents=True, exist_ok=True)
    write_files(folder, "train", 4096, seed=1)
    write_files(folder, "test", 1000, seed=2)
    write_start(folder / "start")


if __name__ == "__main__":
    main(sys.argv[1])
