"""FFT and matrix factors, and the distance of their product from their input.

The rule to know: NumPy multiplies the factors again in float64, so that only the error of the
factors counts. It is divided by `n * 2**-24 * |A|` as in LAPACK's own tests, which pass below
30: https://github.com/Reference-LAPACK/lapack/blob/master/TESTING/LIN/spot01.f. JAX calls LAPACK
on a CPU; for a TPU or a GPU no page states a bound.
"""

import numpy as np

SIZE = 64
"""Rows and columns of the matrices, and numbers in each row that is transformed."""

PASSES = 30
"""Threshold of those tests. Source: TESTING/stest.in in the same repository."""

WAVES = ("fft", "ifft of fft", "irfft of rfft")
"""Results outside LAPACK, for which no bound is documented."""

UNIT = SIZE * 2.0**-24
"""Relative error that counts as one."""

NOTHING = 0.1 / UNIT
"""Error that no arithmetic explains, as of numbers with one digit."""


def matrices():
    """Return a matrix, one like a covariance, and right-hand sides; `float32[64, 64]`, thrice."""
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((2, SIZE, SIZE), np.float32)
    a += 24 * np.eye(SIZE, dtype=np.float32)  # no two equations are nearly the same
    c = (a.astype(np.float64) @ a.T.astype(np.float64) / SIZE).astype(np.float32)
    return a, (c + c.T) / 2, b


def identity(q):
    """Return `q q^H` less the identity."""
    return q @ q.conj().T - np.eye(len(q))


def residuals(results, a, c, b):
    """Return the error of each result in units of `UNIT`; NaN if the result contains one.

    `results` are the results by name, as `float64` or `complex128` arrays.
    """
    q, r = results["qr"]
    values, vectors = results["eigh"]
    u, s, v = results["svd"]
    lower, x = results["cholesky"][0], results["solve"][0]
    norm = np.linalg.norm
    errors = {
        "cholesky": norm(lower @ lower.T - c) / norm(c),
        "qr": norm(q @ r - a) / norm(a),
        "q of qr": norm(identity(q)),
        "solve": norm(a @ x - b) / (norm(a, 2) * norm(x)),
        "eigh": norm(vectors * values @ vectors.T - c) / norm(c),
        "vectors of eigh": norm(identity(vectors)),
        "svd": norm(u * s @ v - a) / norm(a),
        "vectors of svd": norm(identity(u)) + norm(identity(v)),
        "fft": norm(results["fft"][0] - np.fft.fft(a)) / norm(np.fft.fft(a)),
        "ifft of fft": norm(results["fft"][1] - a) / norm(a),
        "irfft of rfft": norm(results["rfft"][0] - a) / norm(a),
    }
    return {name: float(error) / UNIT for name, error in errors.items()}
