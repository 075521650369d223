"""Decompositions and FFT reconstruct inputs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _factors
from tpustarter.checks.jax._tally import AGAIN
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/precision"
SOURCE = "https://github.com/Reference-LAPACK/lapack/blob/master/TESTING/stest.in"
AFTER = ["jax.devices_visible"]


def factor(a, c, b):
    """Return factors of `a, c: float32[64, 64]` and the solution of `a x = b: float32[64, 64]`."""
    u, s, v = jnp.linalg.svd(a)
    values, vectors = jnp.linalg.eigh(c)
    return {
        "cholesky": [jnp.linalg.cholesky(c)],
        "qr": list(jnp.linalg.qr(a)),
        "solve": [jnp.linalg.solve(a, b)],
        "eigh": [values, vectors],
        "svd": [u, s, v],
    }


def transform(a):
    """Return the FFT of each row of `a: float32[64, 64]`, and the inverse FFT of that."""
    wave = jnp.fft.fft(a)
    back = jnp.fft.ifft(wave)
    half = jnp.fft.irfft(jnp.fft.rfft(a))
    return {"fft": [wave.real, wave.imag, back.real, back.imag], "rfft": [half]}


def programs(devices):
    """Yield the factors, and the transforms."""
    shape, sharding = (_factors.SIZE, _factors.SIZE), SingleDeviceSharding(devices[0])
    a = jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding)
    yield "factor", factor, (a, a, a)
    yield "transform", transform, (a,)


def run():
    """Reconstruct the inputs in float64, and judge the remaining error."""
    a, c, b = jax.device_put(_factors.matrices(), jax.local_devices()[0])
    results = jax.device_get({**jax.jit(factor)(a, c, b), **jax.jit(transform)(a)})
    results = {name: [np.float64(part) for part in parts] for name, parts in results.items()}
    real, imaginary, back_real, back_imaginary = results["fft"]
    results["fft"] = [real + 1j * imaginary, back_real + 1j * back_imaginary]
    matrices = (matrix.astype(np.float64) for matrix in _factors.matrices())
    for name, ratio in _factors.residuals(results, *matrices).items():
        yield judge(name, ratio)


def judge(name, ratio):
    """Return a finding about an error in units of `n * 2**-24`; NaN fails everywhere."""
    bounded = target().platform == "cpu" and name not in _factors.WAVES
    bound = _factors.PASSES if bounded else _factors.NOTHING
    figure, limit, verdict = (
        float(f"{ratio:.2g}"),
        f"below {bound:.3g}",
        "ok" if bounded else "info",
    )
    finding = functools.partial(Finding, unit="n * 2**-24", entity=f"operation:{name}")
    if not ratio < bound:
        return finding("JAX-FACTORS", f"error of {name}", "fail", figure, limit, hint=AGAIN)
    limit = limit if bounded else None
    return finding("JAX-FACTORS", f"error of {name}", verdict, figure, limit)
