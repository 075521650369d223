"""Count the digits that agree.

`agreeing_digits` compares an array with the exact one, which is float64.
Return how many decimal digits agree, as an int. The error is the largest
difference, divided by the largest absolute value of `exact`, and the digits
are the negative logarithm of that, to base 10, rounded down.

An error of 0 gives 16 digits, the most that float64 has. Return 0 if the
error is larger than 1, and also if `found` has a nan or an inf. If the
shapes differ, raise ValueError, because NumPy would silently repeat
the smaller array.
"""

import jax.numpy as jnp
import numpy as np


def agreeing_digits(found, exact):
    """Return to how many digits `found` agrees with `exact: float64[...]`."""
    found = np.asarray(found)
    error = np.abs(found - exact).max() / np.abs(exact).max()
    return int(-np.log10(max(error, 1e-16)))  # your code here


# Judged below: leave this part as it is.


def expect(found, expected, what):
    message = f"{what}: found {found!r}, expected {expected!r}"
    assert found == expected, message
    assert isinstance(found, int), f"{what}: found {type(found)}, not int"


exact = np.array([1000.0, -2.0, 0.5])
error = np.array([0.0, 0.02, 0.0])
expect(agreeing_digits(exact + error, exact), 4, "one is off by 0.02")
error = np.array([3.0, 0.0, 0.0])
expect(agreeing_digits(exact + error, exact), 2, "one is off by 3")
expect(agreeing_digits(np.float32(exact * (1 + 2e-6)), exact), 5, "float32")
third = np.full(4, 1 / 3)
expect(agreeing_digits(jnp.full(4, 1 / 3), third), 7, "1/3 in float32")
short = jnp.full(4, 1 / 3, jnp.bfloat16)
expect(agreeing_digits(short, third), 2, "1/3 in bfloat16")
expect(agreeing_digits(exact.copy(), exact), 16, "the same array")
expect(agreeing_digits(-exact, exact), 0, "the wrong sign")
expect(agreeing_digits(exact * 500, exact), 0, "off by a factor of 500")
for bad in (np.nan, np.inf):
    found = np.array([1000.0, bad, 0.5])
    expect(agreeing_digits(found, exact), 0, f"with {bad}")
try:
    found = agreeing_digits(np.array([1000.0]), exact)
except ValueError:
    pass
else:
    message = f"1 element compared with 3: found {found} digits"
    raise AssertionError(f"{message}, expected ValueError")
print("digits counted, from the wrong sign to the same bits")
