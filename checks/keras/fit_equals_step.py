"""`fit` takes the same step as hand-written JAX code."""

import jax
import jax.numpy as jnp

from tpustarter.checks.keras import _model
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "keras"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 2
LESSON = "tensorflow/keras-on-jax"
SOURCE = "https://keras.io/guides/custom_train_step_in_jax/"
AFTER = ["keras.backend"]

SAME = "compare loss, optimizer and order of the rows, which `fit` shuffles by default"
STATE = "pass all variables to `stateless_call`, and keep the ones that it returns"
ROWS, STEPS = 32, 4


def fitted(model, x, y):
    """Return the weights after some steps of `fit`."""
    model.fit(x, y, batch_size=ROWS, epochs=1, shuffle=False, verbose=0)
    return model.get_weights()[0]


def gradient_step(model, state, x, y):
    """Return the variables after one step that calls the model as a pure function."""
    trainable, rest, optimizer_variables = state

    def loss_of(trainable):
        outputs, updated = model.stateless_call(trainable, rest, x, training=True)
        return jnp.mean((outputs - y) ** 2), updated

    (loss, rest), gradients = jax.value_and_grad(loss_of, has_aux=True)(trainable)
    trainable, optimizer_variables = model.optimizer.stateless_apply(
        optimizer_variables, gradients, trainable
    )
    return (trainable, rest, optimizer_variables), loss


def by_hand(model, x, y):
    """Return the weights after the same steps in a custom training loop."""
    model.optimizer.build(model.trainable_variables)
    groups = (model.trainable_variables, model.non_trainable_variables, model.optimizer.variables)
    state = tuple([variable.value for variable in group] for group in groups)
    step = jax.jit(lambda state, x, y: gradient_step(model, state, x, y))
    for start in range(0, len(x), ROWS):
        state, loss = step(state, x[start : start + ROWS], y[start : start + ROWS])
    return state[0][0], float(loss)


def run():
    """Take the same steps in both ways, and compare the first of them with float64 too."""
    x, y = _model.batch(ROWS * STEPS)
    first = fitted(_model.fresh(), x[:ROWS], y[:ROWS])
    off = _model.off(first, _model.reference(x[:ROWS], y[:ROWS])[1])
    yield compare("KERAS-FIT-FIRST", "the first step of `fit` equals the step in float64",
                  off <= _model.BOUND, expected=True, hint=SAME)  # fmt: skip
    weights, loss = by_hand(_model.fresh(), x, y)
    off = _model.off(weights, fitted(_model.fresh(), x, y))
    # The weights of later steps are no whole numbers: a TPU rounds them, in both ways alike.
    yield Finding("KERAS-FIT-LOSS", "loss of the last step by hand", "info", loss)
    yield compare("KERAS-FIT-SAME", f"weights after {STEPS} steps equal those of the loop",
                  off <= 10 * _model.BOUND, expected=True, hint=STATE)  # fmt: skip
