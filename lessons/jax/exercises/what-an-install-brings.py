"""Find out what an install brings.

`pip install flax` installs Flax, what Flax needs, what those packages need,
and so on. Write `installed_with`, which returns the names of all packages
that one install brings, itself included. Each name is there once, even
where two packages need each other.
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
    return {package, *needs.get(package, [])}  # your code here


# Judged below: leave this part as it is.

CASES = {
    "numpy": {"numpy"},
    "optax": {"optax", "jax", "jaxlib", "numpy", "scipy", "ml-dtypes"},
    "grain": {"grain", "array-record", "numpy"},
    "flax": set(NEEDS) - {"grain", "array-record"} | {"numpy"},
}
for package, expected in CASES.items():
    found = set(installed_with(package, NEEDS))
    missing = sorted(expected - found)
    extra = sorted(found - expected)
    assert not missing, f"{package}: {missing} are missing"
    assert not extra, f"{package}: found {extra}, expected none of them"
circle = {"a": ["b"], "b": ["c", "a"], "c": ["b"]}
found = set(installed_with("a", circle))
message = f"packages that need each other: found {sorted(found)}"
assert found == {"a", "b", "c"}, f"{message}, expected ['a', 'b', 'c']"
alone = "jax" not in installed_with("grain", NEEDS)
assert alone, "grain brings jax, expected not"
print("flax brings", len(installed_with("flax", NEEDS)), "of these packages")
