"""A classifier of images for TPUs, as it was written in 2019.

It needs TensorFlow 1.15 to 2.15, because newer ones have no Estimators.

    python estimator_2019.py --data_dir=data --model_dir=run
"""

import tensorflow.compat.v1 as tf
from absl import app, flags
from tensorflow.compat.v2 import summary

flags.DEFINE_bool("use_tpu", False, "Whether to train on a TPU.")
flags.DEFINE_string("tpu", None, "The name of the TPU.")
flags.DEFINE_string("data_dir", "data", "Where the TFRecord files are.")
flags.DEFINE_string("model_dir", "run", "Where checkpoints go.")
flags.DEFINE_integer("train_steps", 200, "How many steps to train.")
FLAGS = flags.FLAGS

BATCH = 64
STEPS_PER_CHECKPOINT = 50
STEPS_PER_LOOP = 10
TEST_ROWS = 1000
EPOCHS = 1000  # more than any run takes
WEIGHT_DECAY = 1e-3
FEATURES = {
    "image": tf.FixedLenFeature([], tf.string),
    "label": tf.FixedLenFeature([], tf.int64),
}


def parse(record):
    example = tf.parse_single_example(record, FEATURES)
    pixels = tf.decode_raw(example["image"], tf.uint8)
    pixels.set_shape([784])
    image = tf.cast(pixels, tf.float32) / 127.5 - 1.0
    return {"image": image}, tf.cast(example["label"], tf.int32)


def make_input_fn(name, is_training):
    def input_fn(params):
        pattern = f"{FLAGS.data_dir}/{name}-*"
        files = tf.data.Dataset.list_files(pattern, shuffle=False)
        rows = files.interleave(tf.data.TFRecordDataset, cycle_length=4)
        if is_training:
            rows = tf.data.Dataset.range(EPOCHS).flat_map(
                lambda epoch, rows=rows: rows.shuffle(4096, seed=epoch)
            )
        batch_size = params["batch_size"]
        dataset = rows.map(parse).batch(batch_size, drop_remainder=True)
        return dataset.prefetch(1)

    return input_fn


def network(image):
    hidden = tf.layers.dense(image, 64, tf.nn.relu, name="hidden")
    return tf.layers.dense(hidden, 10, name="logits")


def metric_fn(labels, logits):
    predictions = tf.argmax(logits, axis=1)
    return {"accuracy": tf.metrics.accuracy(labels, predictions)}


def host_call_fn(step, loss, rate):
    writer = summary.create_file_writer(FLAGS.model_dir)
    with writer.as_default(), summary.record_if(True):
        summary.scalar("step_loss", loss[0], step=step[0])
        summary.scalar("learning_rate", rate[0], step=step[0])
        return tf.summary.all_v2_summary_ops()


def model_fn(features, labels, mode, params):
    logits = network(features["image"])
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {
            "class": tf.argmax(logits, axis=1),
            "probabilities": tf.nn.softmax(logits),
        }
        served = tf.estimator.export.PredictOutput(predictions)
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode,
            predictions=predictions,
            export_outputs={"serving_default": served},
        )

    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    kernels = [v for v in tf.trainable_variables() if "kernel" in v.name]
    decay = tf.add_n([tf.nn.l2_loss(kernel) for kernel in kernels])
    loss += WEIGHT_DECAY * decay
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, eval_metrics=(metric_fn, [labels, logits])
        )

    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [150], [0.05, 0.005])
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    if FLAGS.use_tpu:
        optimizer = tf.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, global_step=step)
    tensors = [tf.reshape(tensor, [1]) for tensor in (step, loss, rate)]
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=train_op,
        host_call=(host_call_fn, tensors),
    )


def serving_input_fn():
    image = tf.placeholder(tf.float32, [None, 784])
    return tf.estimator.export.ServingInputReceiver(
        {"image": image}, {"image": image}
    )


def main(_):
    resolver = None
    if FLAGS.use_tpu:
        clusters = tf.distribute.cluster_resolver
        resolver = clusters.TPUClusterResolver(FLAGS.tpu)
    config = tf.estimator.tpu.RunConfig(
        cluster=resolver,
        model_dir=FLAGS.model_dir,
        save_checkpoints_steps=STEPS_PER_CHECKPOINT,
        keep_checkpoint_max=3,
        session_config=tf.ConfigProto(allow_soft_placement=True),
        tpu_config=tf.estimator.tpu.TPUConfig(STEPS_PER_LOOP),
    )
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=config,
        use_tpu=FLAGS.use_tpu,
        train_batch_size=BATCH,
        eval_batch_size=BATCH,
        predict_batch_size=BATCH,
        export_to_tpu=False,
    )
    train_spec = tf.estimator.TrainSpec(
        make_input_fn("train", is_training=True),
        max_steps=FLAGS.train_steps,
    )
    eval_spec = tf.estimator.EvalSpec(
        make_input_fn("test", is_training=False),
        steps=TEST_ROWS // BATCH,
        start_delay_secs=0,
        throttle_secs=0,
    )
    tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    folder = f"{FLAGS.model_dir}/export"
    estimator.export_saved_model(folder, serving_input_fn)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    app.run(main)
