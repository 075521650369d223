"""The precision of a float32 matmul, determined from its results.

Only one term of each element is not zero, so the rounding of the operands shows, and not the order
in which a device adds. Numbers with an evenly spread logarithm, rounded to `p` significant bits,
are off by 0.42 * 2**-p in the root mean square, and a product of two by sqrt(2) times that: 2.3e-3
for bfloat16, 4.5e-6 for two bfloat16 parts, 2.5e-8 for float32. A class reaches up to the geometric
mean of its own error and that of the next one.
"""

import numpy as np

SIZE = 256

CLASSES = {
    "float32": 3.3e-7,
    "three bfloat16 passes": 3.6e-5,
    "TensorFloat-32": 8.2e-4,
    "one bfloat16 pass": 9.4e-3,
    "wrong numbers": float("inf"),
}
"""Kind of arithmetic, best first, and the largest relative error it makes."""


def operands():
    """Return two `float32[256, 256]` whose product has one term in each element."""
    draw = np.random.default_rng(0)
    spread = np.exp2(draw.uniform(-4, 4, (2, SIZE)))
    left, right = np.diag(spread[0]), np.diag(spread[1])
    order = draw.permutation(SIZE)
    return left[order].astype(np.float32), right.astype(np.float32)


def relative_error(product, x, y):
    """Return the root mean square of the relative errors, against float64."""
    exact = x.astype(np.float64) @ y.astype(np.float64)
    terms = exact != 0
    return float(np.sqrt(np.mean(((product[terms] - exact[terms]) / exact[terms]) ** 2)))


def classify(error):
    """Return the kind of arithmetic that explains an error."""
    return next(kind for kind, limit in CLASSES.items() if error <= limit)
