"""Find roots with Newton's method.

A root of `f` is a number at which `f` returns 0. Newton's method improves a
guess x for it: the next guess is x - f(x) / f'(x), where f' is the
derivative of `f`. Write `root`, which takes `STEPS` such steps from a first
guess, and `roots`, which does it for a whole array of first guesses. Let JAX
find the derivative, and write no loop over the guesses.
"""

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 8


def root(f, guess):
    """Return float32[]: the root of `f` near `guess`: float32[]."""
    derivative = f  # your code here
    for _ in range(STEPS):
        guess = guess - f(guess) / derivative(guess)
    return guess


def roots(f, guesses):
    """Return float32[n]: the root near each of `guesses`: float32[n]."""
    return guesses  # your code here


# Judged below: leave this part as it is.


def cube_minus_two(x):
    return x**3 - 2.0


found = float(root(cube_minus_two, jnp.float32(2.0)))
expected = 2.0 ** (1 / 3)
message = f"the root of x**3 - 2 is {found:.4f}, expected {expected:.4f}"
assert abs(found - expected) < 1e-4, message

found = np.asarray(roots(jnp.sin, jnp.array([3.0, 6.0, 9.0])))
expected = np.pi * np.arange(1, 4)
message = f"roots of sin: found {found.round(4).tolist()}, "
message += f"expected {expected.round(4).tolist()}"
assert found.shape == (3,), message
assert np.allclose(found, expected, atol=1e-3), message


def operations(n):
    """Return how many operations JAX records for n guesses."""
    guesses = jnp.linspace(2.8, 3.4, n)
    return len(jax.make_jaxpr(lambda x: roots(jnp.sin, x))(guesses).eqns)


few = operations(3)
many = operations(60)
message = f"{few} operations for 3 guesses and {many} for 60, expected "
message += "as many for 60 as for 3: no loop over the guesses"
assert few == many, message
print("roots of x**3 - 2 and of sin found, 60 guesses in one program")
