"""A Python generator feeds only the process that made it."""

import os
import subprocess
import sys
import tempfile

import tensorflow as tf

from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "tensorflow"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 180
ESTIMATE_S = 12
LESSON = "tensorflow/input-pipelines"
SOURCE = "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#from_generator"
AFTER = ["tensorflow.package"]

ROWS = 5
FILES = "read files with `tf.data.TFRecordDataset`, because a worker cannot call your Python"
WORKER = """import os, sys, tensorflow as tf
try:
    print("total", int(tf.saved_model.load(sys.argv[1]).total()), flush=True)
except tf.errors.OpError as error:
    print(error, flush=True)
os._exit(0)  # closing a dataset's threads can take minutes on a busy machine
"""
"""Runs the pipeline in another process, as a remote worker would."""


def from_operations():
    """Return a dataset that consists of TensorFlow's own operations."""
    return tf.data.Dataset.range(ROWS).map(lambda row: row * row)


def from_python():
    """Return the same dataset from a generator of this process."""
    signature = tf.TensorSpec((), tf.int64)
    return tf.data.Dataset.from_generator(
        lambda: (row * row for row in range(ROWS)), output_signature=signature
    )


class Pipeline(tf.Module):
    """A dataset as a program that can be written to a folder."""

    def __init__(self, make):
        super().__init__()
        total = tf.function(lambda: make().reduce(tf.constant(0, tf.int64), tf.add))
        self.total = total.get_concrete_function()


def elsewhere(make):
    """Run the pipeline in a new process, and return its output or its error."""
    with tempfile.TemporaryDirectory(prefix="tpustarter-pipeline-") as folder:
        tf.saved_model.save(Pipeline(make), folder)
        env = {**os.environ, "TPU_LOAD_LIBRARY": "0", "CUDA_VISIBLE_DEVICES": "-1",
               "TF_CPP_MIN_LOG_LEVEL": "3"}  # fmt: skip
        # The TPU belongs to this process, and the build for TPUs asks for it when it is imported.
        done = subprocess.run([sys.executable, "-c", WORKER, folder], env=env, text=True,
                              capture_output=True, timeout=TIMEOUT_S, check=False)  # fmt: skip
    return done.stdout.strip() or done.stderr.strip()


def run():
    """Run both pipelines here, then in another process."""
    expected = sum(row * row for row in range(ROWS))
    for name, make in (("operations", from_operations), ("a generator", from_python)):
        yield compare("TF-GENERATOR-HERE", f"total here, from {name}",
                      int(Pipeline(make).total()), expected, hint=FILES)  # fmt: skip
    yield compare("TF-GENERATOR-OPERATIONS", "total elsewhere, from operations",
                  elsewhere(from_operations), f"total {expected}", hint=FILES)  # fmt: skip
    said = elsewhere(from_python)
    words = next((line for line in said.splitlines() if "callback" in line), "no such line")
    refused = "Could not find callback" in words
    yield compare("TF-GENERATOR-REFUSED", "another process cannot find the generator", refused,
                  expected=True, hint=FILES)  # fmt: skip
    yield Finding("TF-GENERATOR-WORDS", "TensorFlow's error there", "info", words[-90:])
