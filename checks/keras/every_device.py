"""`DataParallel` on every device trains as one device would."""

import jax
import keras

from tpustarter.checks.keras import _model
from tpustarter.checks.keras._tally import tally
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "keras"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 3
LESSON = "tensorflow/keras-on-jax"
SOURCE = "https://keras.io/api/distribution/data_parallel/"
AFTER = ["keras.backend"]

ALL = "call `keras.distribution.set_distribution(keras.distribution.DataParallel())` first"
SAME = Hint.run(
    "tpustarter check keras.every_device --isolate -v",
    "; do not trust devices that disagree twice",
)
ROWS = 16


def distribution():
    """Return a distribution of the rows of a batch over every device of this process."""
    return keras.distribution.DataParallel(devices=keras.distribution.list_devices())


def trained(x, y):
    """Return the loss and the weights of a model after one step on the whole batch."""
    model = _model.fresh()
    loss = model.fit(x, y, batch_size=len(x), epochs=1, shuffle=False, verbose=0).history["loss"]
    return loss[0], model.layers[0].kernel.value


def run(devices=None):
    """Distribute a batch, train one step, and compare the weights of each device."""
    devices = devices or jax.local_devices()
    with distribution().scope():
        x, y = _model.batch(ROWS * len(devices))
        layout = keras.distribution.distribution().get_data_layout(x.shape)
        placed = keras.distribution.distribute_tensor(x, layout)
        loss, weights = trained(x, y)
    expected = target().devices or len(devices)
    held = {shard.device: shard.data.shape[0] for shard in placed.addressable_shards}
    yield compare("KERAS-EVERY-DEVICES", "devices with rows of the batch", len(held), expected,
                  hint=ALL)  # fmt: skip
    lost = {f"device:{device.id}": "" if held.get(device) == ROWS else f"rows: {held.get(device)}"
            for device in devices}  # fmt: skip
    yield from tally("KERAS-EVERY-ROWS", "devices with an equal shard", lost, ALL)
    expected_loss, reference = _model.reference(x, y)
    own = {shard.device: _model.off(shard.data, reference) for shard in weights.addressable_shards}
    lost = {f"device:{device.id}": "" if own.get(device, 1) <= _model.BOUND else
            f"off by {own.get(device, 1):.1e}" for device in devices}  # fmt: skip
    yield from tally("KERAS-EVERY-WEIGHTS", "devices with the weights of one device", lost, SAME)
    same = abs(loss / expected_loss - 1) <= _model.BOUND
    yield Finding("KERAS-EVERY-LOSS", "loss of the whole batch", "ok" if same else "fail", loss,
                  expected_loss, hint=None if same else SAME)  # fmt: skip
