"""The classifier of 2019, ported to Keras under a strategy.

    python make_images.py data
    python train.py --data_dir=data --model_dir=run --device=tpu

Run it again with more steps, and it goes on from the newest checkpoint.
"""

import argparse
import functools
import pathlib

import tensorflow as tf

BATCH = 64  # of all replicas together
STEPS_PER_CHECKPOINT = 50
STEPS_PER_CALL = 10
EPOCHS = 1000  # more than any run takes
WEIGHT_DECAY = 1e-3
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


@functools.cache  # one strategy a process
def make_strategy(device):
    """Return a strategy for this machine's TPU, or its CPU devices."""
    if device == "cpu":
        cpus = tf.config.list_logical_devices("CPU")
        return tf.distribute.MirroredStrategy(cpus)
    clusters = tf.distribute.cluster_resolver
    resolver = clusters.TPUClusterResolver(tpu="local")
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def parse(record):
    """Return the image, float32[784], and the label of a record."""
    example = tf.io.parse_single_example(record, FEATURES)
    pixels = tf.io.decode_raw(example["image"], tf.uint8)
    pixels = tf.ensure_shape(pixels, [784])
    image = tf.cast(pixels, tf.float32) / 127.5 - 1.0
    return image, tf.cast(example["label"], tf.int32)


def read_records(data_dir, name):
    """Return the records of all files of that name."""
    pattern = f"{data_dir}/{name}-*"
    files = tf.data.Dataset.list_files(pattern, shuffle=False)
    return files.interleave(tf.data.TFRecordDataset, cycle_length=4)


def training_batches(data_dir, first_step=0):
    """Return shuffled batches from a step on, in an order of each epoch.

    The number of the epoch is the seed: so the order is the same however
    often the dataset is opened, and `fit` opens it twice.
    """
    records = read_records(data_dir, "train")
    epochs = tf.data.Dataset.range(EPOCHS)
    rows = epochs.flat_map(lambda n: records.shuffle(4096, seed=n))
    dataset = rows.map(parse).batch(BATCH, drop_remainder=True)
    return dataset.skip(first_step).prefetch(tf.data.AUTOTUNE)


def test_batches(data_dir):
    """Return batches of (image, label, weight), with every row once.

    Rows of weight 0 follow the last one, one fewer than a batch has. So
    the last row is in a full batch, and only such rows are dropped.
    """
    rows = read_records(data_dir, "test").map(parse)
    rows = rows.map(lambda image, label: (image, label, 1.0))
    padding = tf.data.Dataset.from_tensors((tf.zeros(784), 0, 0.0))
    rows = rows.concatenate(padding.repeat(BATCH - 1))
    return rows.batch(BATCH, drop_remainder=True)


def make_layers():
    """Return the network, whose weights decay as in the old program."""
    decay = tf.keras.regularizers.L2(WEIGHT_DECAY / 2)
    dense = tf.keras.layers.Dense
    hidden = dense(64, "relu", kernel_regularizer=decay, name="hidden")
    logits = dense(10, kernel_regularizer=decay, name="logits")
    return [tf.keras.Input((784,)), hidden, logits]


def make_model(strategy):
    """Return the compiled model, which has a copy on each replica."""
    losses, metrics = tf.keras.losses, tf.keras.metrics
    rate = tf.keras.optimizers.schedules.PiecewiseConstantDecay(
        [150], [0.05, 0.005]
    )
    on_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
    with strategy.scope():
        model = tf.keras.Sequential(make_layers())
        model.compile(
            optimizer=tf.keras.optimizers.SGD(rate, momentum=0.9),
            loss=losses.SparseCategoricalCrossentropy(from_logits=True),
            weighted_metrics=[
                metrics.SparseCategoricalAccuracy("accuracy"),
                metrics.SparseCategoricalCrossentropy(
                    "cross_entropy", from_logits=True
                ),
            ],
            steps_per_execution=STEPS_PER_CALL if on_tpu else 1,
        )
        model.optimizer.build(model.trainable_variables)
    return model


def load_start(model, folder):
    """Give the model the weights of a checkpoint of the old program."""
    reader = tf.train.load_checkpoint(str(folder))
    for layer in model.layers:
        names = (f"{layer.name}/kernel", f"{layer.name}/bias")
        layer.set_weights([reader.get_tensor(name) for name in names])


def steps_of(model):
    """Return how many steps the optimizer has taken."""
    return int(model.optimizer.iterations.numpy())


def report(step, accuracy, cross_entropy):
    """Print what an evaluation found."""
    print(
        f"step {step}: accuracy {accuracy:.4f},"
        f" cross entropy {cross_entropy:.4f}"
    )


class SaveAndReport(tf.keras.callbacks.Callback):
    """Saves a checkpoint after each epoch, and prints how it went."""

    def __init__(self, manager):
        super().__init__()
        self.manager = manager

    def on_epoch_end(self, epoch, logs=None):
        step = steps_of(self.model)
        self.manager.save(checkpoint_number=step)
        report(step, logs["val_accuracy"], logs["val_cross_entropy"])


def export(model, folder):
    """Write a SavedModel that takes images and returns predictions."""

    def serve(image):
        logits = model(image)
        return {
            "class": tf.argmax(logits, axis=1),
            "probabilities": tf.nn.softmax(logits),
        }

    archive = tf.keras.export.ExportArchive()
    archive.track(model)
    image = tf.TensorSpec([None, 784], tf.float32, name="image")
    archive.add_endpoint("serve", serve, input_signature=[image])
    archive.write_out(folder, verbose=False)


def main(arguments=None):
    """Train from the newest checkpoint on, evaluate and export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cpu", "tpu"], default="tpu")
    parser.add_argument("--data_dir", default="data")
    parser.add_argument("--model_dir", default="run")
    parser.add_argument("--train_steps", type=int, default=200)
    options = parser.parse_args(arguments)
    model_dir = pathlib.Path(options.model_dir)

    strategy = make_strategy(options.device)
    model = make_model(strategy)
    parts = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
    manager = tf.train.CheckpointManager(parts, str(model_dir), max_to_keep=3)
    if manager.latest_checkpoint:
        parts.restore(manager.latest_checkpoint).assert_consumed()
    else:
        load_start(model, f"{options.data_dir}/start")
    step = steps_of(model)
    print(f"{strategy.num_replicas_in_sync} replicas")
    test = test_batches(options.data_dir)
    found = model.evaluate(test, verbose=0, return_dict=True)
    report(step, found["accuracy"], found["cross_entropy"])

    model.fit(
        training_batches(options.data_dir, first_step=step),
        initial_epoch=step // STEPS_PER_CHECKPOINT,
        epochs=options.train_steps // STEPS_PER_CHECKPOINT,
        steps_per_epoch=STEPS_PER_CHECKPOINT,
        validation_data=test,
        shuffle=False,  # `training_batches` does
        callbacks=[
            SaveAndReport(manager),
            tf.keras.callbacks.TensorBoard(
                str(model_dir),
                write_graph=False,
                update_freq=STEPS_PER_CALL,
            ),
        ],
        verbose=0,
    )
    export(model, str(model_dir / "export" / str(options.train_steps)))
    return model


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    eight = [tf.config.LogicalDeviceConfiguration()] * 8
    tf.config.set_logical_device_configuration(cpu, eight)
    main()
