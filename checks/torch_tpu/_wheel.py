"""The requirements of the installed torch_tpu, read from its metadata."""

import re


def requirement(package, name):
    """Return the versions of `name` that a distribution requires, such as `>=0.0.50`, or None."""
    for line in package.requires or ():
        match = re.fullmatch(r"([\w.-]+)\s*\(?([^;()\[\]]*)\)?\s*(;.*)?", line)
        if match and re.sub(r"[-_.]+", "-", match[1]).lower() == name:
            return match[2].strip()
    return None


def numbers(version):
    """Return the release numbers of a version: `2.15.0+cpu` is (2, 15, 0)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def lies_within(version, limits):
    """Return whether a version satisfies limits such as `>=2.11.0,<=2.15.0`.

    Only `>=`, `<=`, `>`, `<`, `==` and `!=` are understood; others raise ValueError.
    """
    return all(_satisfies(numbers(version), limit.strip()) for limit in limits.split(",") if limit)


def _satisfies(version, limit):
    match = re.fullmatch(r"(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)", limit)
    if match is None:
        raise ValueError(f"this limit is not understood: {limit!r}")
    other = numbers(match[2])
    length = max(len(version), len(other))
    left, right = (part + (0,) * (length - len(part)) for part in (version, other))
    return {
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
        "==": left == right,
        "!=": left != right,
    }[match[1]]
