"""The precision of a float32 matmul, determined from its results.

The rule to know: the class comes from operands whose product has one term per element, so only the
rounding of the operands shows, and not the order or the way in which a device adds.

A device uses each number `a` as `a (1 + e)`. Rounding to nearest with `p` significant bits makes
the root mean square of `e` 0.42 * 2**-p (numbers with evenly spread logarithm). A product of two
such factors is off by sqrt(2) times that:

    operands                          p    expected error
    bfloat16, one pass                8    2.3e-3
    TensorFloat-32                   11    2.9e-4
    two bfloat16 parts, three passes 17    4.5e-6   (8 + 8 bits, and the sign of the second part)
    float32, or six passes           24    2.5e-8   (only the product itself is rounded)

A class reaches up to the geometric mean of its own error and the next one's, a factor of 2.8 or
more to either side. Truncation instead of rounding makes errors 2.5 to 6 times larger, which keeps
them in their class. Google says that TPUs round to nearest even:
https://cloud.google.com/tpu/docs/bfloat16
"""

import numpy as np

from tpustarter.probe.finding import Finding, Hint

SIZE = 512
"""Rows and columns of every operand."""

CLASSES = {
    "float32": 3.3e-7,
    "three bfloat16 passes": 3.6e-5,
    "TensorFloat-32": 8.2e-4,
    "one bfloat16 pass": 9.4e-3,
    "less than bfloat16": 0.1,
    "wrong numbers": float("inf"),
}
"""Kind of arithmetic, best first, and the largest relative error it makes with `scattered()`."""

DOCUMENTED = {
    "tpu": ("one bfloat16 pass", "three bfloat16 passes", "float32"),
    "gpu": ("TensorFloat-32", "TensorFloat-32", "float32"),
    "cpu": ("float32", "float32", "float32"),
}
"""`default`, `high` and `highest`. Source: https://docs.jax.dev/en/latest/201/precision.html"""

SUM_ERROR = 512 * 2**-24 * 14.4
"""Largest relative error that adding 512 products in float32 can make, in any order.

Each element is off by at most `n * 2**-24 * sum(|a| |b|)` (Higham, Accuracy and Stability of
Numerical Algorithms, 3.1); with normal numbers that sum is 14.4 times a typical result.
"""

ISSUE = (((0.3744, 0.1656), (0.4707, 0.1663)), ((0.3946, 0.1186), (0.1569, 0.3145)))
"""The two matrices of https://github.com/jax-ml/jax/issues/9973."""

ISSUE_RESULT = {
    "float32": "0.17372088",
    "three bfloat16 passes": "0.17372122",
    "TensorFloat-32": "0.17374040",
    "one bfloat16 pass": "0.17405128",
}
"""First element of their product. The issue shows the first for a CPU and the last for a TPU."""


AGAIN = Hint.run(
    "env -u XLA_FLAGS -u LIBTPU_INIT_ARGS tpustarter check jax.matmul_precision --isolate",
    " to test without compiler flags; do not trust a device that fails twice",
)
WHO = Hint.see("env | grep -E 'JAX_DEFAULT_MATMUL|XLA_FLAGS|LIBTPU_INIT'", "shows what requests it")
TEACH = {
    "one bfloat16 pass": "`jnp.dot(x, y, precision='highest')` has float32 accuracy but is slower",
    "float32": "on a TPU the default is off by about 2e-03; see `tpustarter learn jax/precision`",
}
"""Hints on the arithmetic of code without an explicit precision."""


def dense():
    """Return two operands `float32[512, 512]` of standard normal numbers."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, SIZE, SIZE), dtype=np.float32)
    return x, y


def scattered():
    """Return `x` of `dense()` and `y: float32[512, 512]` with one number in each row and column."""
    rng = np.random.default_rng(1)
    y = np.zeros((SIZE, SIZE), np.float32)
    y[rng.permutation(SIZE), np.arange(SIZE)] = rng.standard_normal(SIZE, dtype=np.float32)
    return dense()[0], y


def issue():
    """Return the matrices of the issue as corners of `float32[512, 512]`, zeros elsewhere.

    The zeros add nothing, and keep the compiler from computing so small a product without the MXU.
    """
    pair = np.zeros((2, SIZE, SIZE), np.float32)
    pair[:, :2, :2] = np.array(ISSUE)
    return pair[0], pair[1]


def relative_error(actual, pair):
    """Return `|actual - x y| / |x y|` (Frobenius norms in float64); NaN if `actual` holds one."""
    x, y = (operand.astype(np.float64) for operand in pair)
    exact = x @ y
    return float(np.linalg.norm(np.asarray(actual, np.float64) - exact) / np.linalg.norm(exact))


def classify(error):
    """Return the best class of `CLASSES` that an error belongs to; NaN belongs to the last."""
    return next((kind for kind, limit in CLASSES.items() if error < limit), "wrong numbers")


def worse(kind, reference):
    """Return True if one class of arithmetic is less precise than another."""
    order = list(CLASSES)
    return order.index(kind) > order.index(reference)


def judge(name, kind, documented, setting):
    """Return a finding that fails if arithmetic is coarser than documented without a setting."""
    code, what = f"JAX-PRECISION-{name.upper()}", f"arithmetic, {name} precision"
    if kind == documented:
        return Finding(code, what, "ok", kind, documented)
    if kind == "wrong numbers" or (worse(kind, documented) and not setting):
        return Finding(code, what, "fail", kind, documented, hint=AGAIN)
    return Finding(code, what, "info", kind, documented, hint=WHO)


def measure(name, kind, error):
    """Return the error of a dense product, which fails if its arithmetic does not explain it."""
    code, what = f"JAX-PRECISION-{name.upper()}-ERROR", f"relative error, {name} precision"
    value, limit = float(f"{error:.2g}"), CLASSES[kind] + SUM_ERROR
    if error <= limit:
        hint = TEACH.get(kind) if name == "default" else None
        return Finding(code, what, "info", value, hint=hint)
    return Finding(code, what, "fail", value, f"at most {limit:.1e}", hint=AGAIN)
