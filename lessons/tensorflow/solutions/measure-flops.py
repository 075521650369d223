"""In `work`, the name on the left must also stand on the right, so that each
turn of the loop uses what the last one made.

Call `run` once before the clock begins, and wait for that call, or the devices
still compute it while you measure the second one.

`run` only dispatches the work. Read its result with `float` before you look at
the clock again.

A product of two n x n matrices takes 2 * n**3 operations, since each of its
n * n entries is the sum of n products. Every replica makes all `products`
of them.

Learned: Warm up, wait for the result, and count a multiplication and an
addition on every replica, and the FLOPS are those of the devices.
"""

import time

import numpy as np
import tensorflow as tf


def work(x, y, products):
    """Return the sum over a matrix that took `products` products to make."""
    product = x
    for _ in tf.range(products):
        product = product @ y
    return tf.reduce_sum(product)


def measured_flops(run, replicas, products, size, clock=time.perf_counter):
    """Return the operations per second of all replicas together.

    On every replica, `run` makes `products` products of two matrices of
    `size` rows and columns. Its first call compiles the program.
    """
    float(run())
    begin = clock()
    float(run())
    seconds = clock() - begin
    return replicas * products * 2 * size**3 / seconds
