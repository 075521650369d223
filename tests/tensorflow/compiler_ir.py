"""Compiles a training step that Keras wrote with TensorFlow, for a TPU that is not there.

    python -m tests.tensorflow.compiler_ir PYTHON

PYTHON has tensorflow, jax and libtpu. Ends with 1 where the compiler refuses the step, or where
what it updates in place is not the size of the variables, but for the padding of tiles.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TPU = "v5e-1"
PADDING = 0.01
WRITE = """
import sys
from pathlib import Path
import keras
import tensorflow as tf

model = keras.Sequential([
    keras.layers.Input((16, 16, 3)),
    keras.layers.Conv2D(32, 3, activation="relu"),
    keras.layers.BatchNormalization(),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(2048, activation="gelu"),
    keras.layers.Dropout(0.1),
    keras.layers.Dense(10),
])
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

@tf.function(jit_compile=True)
def step(images, labels):
    with tf.GradientTape() as tape:
        value = loss(labels, model(images, training=True))
    variables = model.trainable_variables
    optimizer.apply(tape.gradient(value, variables), variables)
    return value

batch = tf.TensorSpec((64, 16, 16, 3)), tf.TensorSpec((64,), tf.int32)
write = step.experimental_get_compiler_ir(*batch)
Path(sys.argv[1], "step.mlirbc").write_bytes(write(stage="stablehlo_serialized"))
print(sum(one.numpy().nbytes for one in model.variables + optimizer.variables))
"""


def main(python: str) -> int:
    """Print the bytes of the variables, and what the compiler counts."""
    with tempfile.TemporaryDirectory() as folder:
        written = subprocess.run(
            [python, "-c", WRITE, folder], stdout=subprocess.PIPE, text=True, check=True
        )
        file = str(Path(folder, "step.mlirbc"))
        rehearse = [sys.executable, "-m", "tpustarter", "rehearse", file, "--compiler", python]
        done = subprocess.run(
            [*rehearse, "--tpu", TPU, "--json"], stdout=subprocess.PIPE, text=True, check=False
        )
    (result,) = json.loads(done.stdout)["results"]
    if result["status"] != "compiles":
        print(f"{result['status']}: {result['reason']}")
        return 1
    held, in_place = int(written.stdout), result["memory"]["aliased"]
    print(f"{held:,} B of variables, {in_place:,} B updated in place on a {TPU}")
    return int(abs(in_place / held - 1) > PADDING)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
