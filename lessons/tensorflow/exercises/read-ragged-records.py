"""Read records of different lengths.

Each record has an image, `uint8[8, 8]` as raw bytes, and a caption, which is a
list of 1 to 20 word ids. The step of a TPU takes batches of one static
shape, so a caption gets `LENGTH` columns: a longer one is cut off, and a
shorter one is filled with zeros at its end. Complete `batches`.

* The records are read from all files by turns, the first of each file first.
* It returns (images, captions), `uint8[BATCH, 8, 8]` and
  `int64[BATCH, LENGTH]`, which the `element_spec` must promise.
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

BATCH = 16
LENGTH = 12
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "caption": tf.io.FixedLenFeature([LENGTH], tf.int64),  # your code here
}


def parse(records):
    """Return the images and the captions of a batch of records."""
    features = tf.io.parse_example(records, FEATURES)
    images = tf.io.decode_raw(features["image"], tf.uint8)
    return images, features["caption"]  # your code here


def batches(paths):
    """Return the dataset of (images, captions)."""
    records = tf.data.TFRecordDataset(paths)  # your code here
    return records.batch(BATCH).map(parse)


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
lengths = np.tile(np.arange(1, 21), 4)  # 80 records
images = rng.integers(0, 256, (len(lengths), 8, 8), dtype=np.uint8)
captions = [rng.integers(1, 1000, length) for length in lengths]


def to_record(image, caption):
    """Return the bytes of one record."""
    pixels = tf.train.BytesList(value=[image.tobytes()])
    words = tf.train.Int64List(value=caption)
    features = tf.train.Features(
        feature={
            "image": tf.train.Feature(bytes_list=pixels),
            "caption": tf.train.Feature(int64_list=words),
        }
    )
    return tf.train.Example(features=features).SerializeToString()


folder = pathlib.Path(tempfile.mkdtemp())
paths = []
for shard in range(4):
    paths.append(str(folder / f"train-{shard:05}-of-00004.tfrecord"))
    with tf.io.TFRecordWriter(paths[-1]) as writer:
        for row in range(shard, len(images), 4):
            writer.write(to_record(images[row], captions[row]))

dataset = batches(paths)
shapes = [spec.shape for spec in dataset.element_spec]
for shape, name, expected in (
    (shapes[0], "images", (BATCH, 8, 8)),
    (shapes[1], "captions", (BATCH, LENGTH)),
):
    message = f"the {name} have the shape {shape}, expected {expected}"
    if shape.rank == len(expected) and None in shape.as_list():
        message += ": None is a size that the compiler doesn't know"
    assert shape == expected, message

try:
    read = list(dataset.as_numpy_iterator())
except tf.errors.InvalidArgumentError as error:
    text = str(error).split("[[")[0].strip()
    reason = text[max(text.find("Key:"), 0) :]
    raise AssertionError(f"the records aren't parsed: {reason}") from None
found_images = np.concatenate([batch[0] for batch in read])
found_captions = np.concatenate([batch[1] for batch in read])
message = f"{len(found_images)} records are read, expected {len(images)}"
assert len(found_images) == len(images), message
in_a_row = np.concatenate([images[shard::4] for shard in range(4)])
message = "the images differ from those that were written"
if np.array_equal(found_images, in_a_row):
    message = "the files are read one after the other, not by turns"
elif sorted(map(bytes, found_images)) == sorted(map(bytes, images)):
    message = (
        "the images are all there, but not in the expected order:"
        " `cycle_length` is how many files take turns"
    )
assert np.array_equal(found_images, images), message
for row, caption in enumerate(captions):
    expected = np.zeros(LENGTH, np.int64)
    expected[: len(caption)] = caption[:LENGTH]
    message = (
        f"a caption of {len(caption)} words is"
        f" {found_captions[row].tolist()}, expected {expected.tolist()}"
    )
    assert np.array_equal(found_captions[row], expected), message
print(f"{len(images)} captions of 1 to 20 words in one static shape")
