"""Measure the FLOPS of all replicas.

FLOPS are floating-point operations per second, and a chain of matrix
products is the usual way to measure them. The two functions below report a
wrong number.

* `work` runs on each replica. A compiler computes a product once if nothing
  changes from one turn of the loop to the next, so every product has to need
  the one before. Make it `x @ y @ y @ ...`, with `products` factors of `y`.
* `measured_flops` divides operations by seconds, and both are wrong. Decide
  what the clock should see and what it shouldn't, and count the operations of
  all replicas. `run` returns while the devices still compute, and `float` of
  its result waits for them.
"""

import time

import numpy as np
import tensorflow as tf


def work(x, y, products):
    """Return the sum over a matrix that took `products` products to make."""
    product = x
    for _ in tf.range(products):
        product = x @ y  # your code here
    return tf.reduce_sum(product)


def measured_flops(run, replicas, products, size, clock=time.perf_counter):
    """Return the operations per second of all replicas together.

    On every replica, `run` makes `products` products of two matrices of
    `size` rows and columns. Its first call compiles the program.
    """
    begin = clock()
    run()
    seconds = clock() - begin
    return products * size**3 / seconds  # your code here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
x = rng.random((32, 32)).astype(np.float32)
y = (rng.random((32, 32)) * 6 / 32).astype(np.float32)  # three times as much
one = float(np.sum(x @ y))
expected = float(np.sum(x @ y @ y @ y @ y))
found = float(tf.function(work)(tf.constant(x), tf.constant(y), 4))
message = f"4 products give {found:.0f}, expected {expected:.0f}"
if abs(found - one) < 0.02 * one:
    message += (
        ", because each of them is x @ y: XLA moves such a product out of"
        " the loop and computes it once"
    )
assert abs(found - expected) < 0.02 * expected, message


class KnownDevice:
    """Compiles for 18 s, and then computes for 3 s in each call."""

    def __init__(self):
        self.now = 0.0
        self.done = 0.0
        self.calls = 0

    def clock(self):
        return self.now

    def run(self):
        self.now += 0.001 if self.calls else 18.0
        self.done = max(self.done, self.now) + (3.0 if self.calls else 4.0)
        self.calls += 1
        return self

    def __float__(self):
        self.now = max(self.now, self.done)
        return 0.0

    def numpy(self):
        return np.float32(float(self))


MISTAKES_IN_TIME = {
    3.001: "",
    0.001: "the clock stopped when the call was dispatched, and the devices"
    " had not finished",
    7.0: "the warm-up still ran when the clock began",
    18.0: "the clock saw the compilation, and stopped before the devices"
    " had finished",
    22.0: "the clock saw the compilation",
    21.0: "the clock saw the compilation",
}
MISTAKES_IN_COUNT = {
    1.0: "",
    0.5: "an entry of a product of n x n matrices takes n multiplications"
    " and n additions",
    1 / 8: "only one of 8 replicas was counted",
    1 / 16: "only one of 8 replicas was counted, and only its multiplications",
}
operations = 8 * 100 * 2 * 1000**3
device = KnownDevice()
found = measured_flops(device.run, 8, 100, 1000, clock=device.clock)
reasons = []
for seconds, in_time in MISTAKES_IN_TIME.items():
    for factor, in_count in MISTAKES_IN_COUNT.items():
        if abs(found * seconds / operations / factor - 1) < 0.005:
            reasons = [reason for reason in (in_time, in_count) if reason]
message = f"found {found / 1e9:.1f} GFLOPS, expected {operations / 3e9:.1f}"
if reasons:
    message += f": {'; '.join(reasons)}"
assert abs(found * 3 / operations - 1) < 0.005, message


def make_strategy():
    """Return a strategy for the TPU, or for the CPU devices."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu="local"
        )
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, tf.errors.NotFoundError):
        return tf.distribute.MirroredStrategy(
            tf.config.list_logical_devices("CPU")
        )
    return tf.distribute.TPUStrategy(resolver)


if "strategy" not in globals():  # one a process, also in a notebook
    strategy = make_strategy()
on_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
size, products = (4096, 100) if on_tpu else (256, 20)


def on_replica():
    x = tf.random.uniform((size, size))
    y = tf.random.uniform((size, size)) * 2 / size
    return work(x, y, products)


@tf.function
def run():
    sums = strategy.run(on_replica)
    return strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)


begin = time.perf_counter()
float(run())
first = time.perf_counter() - begin
replicas = strategy.num_replicas_in_sync
flops = measured_flops(run, replicas, products, size)
seconds = replicas * products * 2 * size**3 / flops
print(f"first call {first:.2f} s, a later call {seconds:.2f} s")
print(f"{replicas} replicas: {flops / 1e9:.0f} GFLOPS")
