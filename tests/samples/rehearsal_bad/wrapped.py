"""What has a `jit` of its own and takes more than arrays, as Equinox's `filter_jit` makes."""

import jax


class Jitted:
    donate_first = True
    donate_rest = False

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments):
        return self.function(*arguments)

    def lower(self, *arguments):
        raise AssertionError("nobody asked")


def forward(model, x):
    return model["activation"](x @ model["weights"]) * model["times"], "done"


MODEL = {
    "weights": jax.ShapeDtypeStruct((8, 4), "float32"),
    "activation": jax.nn.relu,
    "times": 2,
}


def programs(devices):
    x = jax.ShapeDtypeStruct((3, 8), "float32")
    yield "wrapped", Jitted(forward), (MODEL, x)
    yield "plain", forward, (MODEL, x)
