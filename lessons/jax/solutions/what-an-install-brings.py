"""What Flax needs has needs of its own. Keep a list of packages that you
still have to look at.

Take a package from the list. If you have not seen it yet, remember it and
put what it needs on the list.

Looking whether you have seen it comes first, because two packages that need
each other would otherwise keep you busy for ever.

The loop runs while the list is not empty. `to_look_at.pop()` takes a name
from it, and `to_look_at += needs.get(name, [])` adds what it needs.

Learned: An install brings a whole graph of packages, and one old package in
it can hold back the version of JAX.
"""

NEEDS = {  # the main ones, in November 2026
    "flax": ["jax", "optax", "orbax-checkpoint", "tensorstore", "numpy"],
    "optax": ["jax", "jaxlib", "numpy"],
    "orbax-checkpoint": ["jax", "tensorstore", "numpy"],
    "tensorstore": ["numpy", "ml-dtypes"],
    "jax": ["jaxlib", "ml-dtypes", "numpy", "scipy"],
    "jaxlib": ["numpy", "scipy", "ml-dtypes"],
    "ml-dtypes": ["numpy"],
    "scipy": ["numpy"],
    "grain": ["array-record", "numpy"],
    "array-record": ["numpy"],
}


def installed_with(package, needs):
    """Return the set of all packages that `pip install package` brings.

    A package that is no key of `needs` needs nothing.
    """
    seen = set()
    to_look_at = [package]
    while to_look_at:
        name = to_look_at.pop()
        if name not in seen:
            seen.add(name)
            to_look_at += needs.get(name, [])
    return seen
