"""The strategy that runs one program on every device of this run: a TPU's, or CPU devices.

The rule to know: `TPUClusterResolver(tpu="local")` means the chips of this machine. Without "local"
the resolver needs the name of a remote TPU, and raises `Please provide a TPU Name`.
"""

import functools

import tensorflow as tf

from tpustarter.probe.target import target


@functools.cache
def on_all_devices():
    """Return a TPUStrategy if this run is on a TPU, else a MirroredStrategy of CPU devices."""
    if target().platform == "tpu":
        return tf.distribute.TPUStrategy(initialised())
    devices = tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


@functools.cache
def initialised():
    """Initialize this machine's TPU once per process, clearing its memory; return its resolver."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return resolver


def replica():
    """Return the number of the replica that is traced, `int32[]`."""
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def local_results(strategy, values):
    """Return the values of this process's replicas, as NumPy arrays."""
    return [value.numpy() for value in strategy.experimental_local_results(values)]
