"""Programs that ask where they run, or which kind of TPU it is; on a TPU each is a product."""

import jax

X = jax.ShapeDtypeStruct((256, 256), "float32")
ON_TPU = jax.default_backend() == "tpu"


def backend(x):
    return x @ x if jax.default_backend() == "tpu" else x + 1


def platform(x):
    return x @ x if jax.devices()[0].platform == "tpu" else x + 1


def kind(x):
    sizes = {"TPU v5 lite": 128, "TPU v6 lite": 256}
    return x[: sizes[jax.devices()[0].device_kind]] @ x


def loaded(x):
    return x @ x if ON_TPU else x + 1


def kernel(x):
    from jax.experimental.pallas import tpu

    return x[: min(128, tpu.get_tpu_info().vmem_capacity_bytes)] @ x


def silent(x):
    return x @ x


def programs(devices):
    assert devices[0].platform == "tpu"
    for function in (backend, platform, kind, loaded, kernel, silent):
        yield function.__name__, function, (X,)
