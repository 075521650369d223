"""A Python whose JAX has one bug, which a reproducer must show without tpustarter.

It is a virtual environment with links to this environment's JAX and without tpustarter. Its
`sitecustomize` waits for the import of JAX and then changes one public function.
"""

from __future__ import annotations

import importlib.util
import sys
import venv
from pathlib import Path

from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions

_PACKAGES = ("jax", "jaxlib", "ml_dtypes", "numpy", "opt_einsum", "scipy")
_HOOK = '''"""Breaks JAX once it is imported."""
import importlib.abc
import importlib.util
import sys


class Breaker(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name != "jax":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("jax")
        self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        break_it(module)


def break_it(jax):
    jnp, lax = jax.numpy, jax.lax
{breaks}

sys.meta_path.insert(0, Breaker())
'''

BREAKS: dict[str, tuple[str, str]] = {
    "jax.all_reduce": (
        "psum lacks what device 5 has",
        """
honest = lax.psum
lax.psum = lambda x, axis: honest(jnp.where(lax.axis_index(axis) == 5, 0, x), axis)
""",
    ),
    "jax.permute": (
        "the last device is sent zeros",
        """
honest = lax.ppermute
def ppermute(x, axis, perm):
    got = honest(x, axis, perm)
    return jnp.where(lax.axis_index(axis) == lax.axis_size(axis) - 1, jnp.zeros_like(got), got)
lax.ppermute = ppermute
""",
    ),
    "jax.all_gather": (
        "shards arrive in the reverse order",
        """
honest = lax.all_gather
def all_gather(x, axis_name, *, axis=0, tiled=False):
    got = honest(x, axis_name, axis=axis, tiled=tiled)
    return got if tiled else jnp.flip(got, axis)
lax.all_gather = all_gather
""",
    ),
    "jax.matmul_precision": (
        "plain products are made of bfloat16 factors",
        """
honest = jnp.matmul
def matmul(x, y, *, precision=None):
    if precision in (None, "default") and jax.config.jax_default_matmul_precision != "highest":
        x, y = (a.astype(jnp.bfloat16).astype(jnp.float32) for a in (x, y))
    return honest(x, y, precision=precision)
jnp.matmul = matmul
""",
    ),
    "jax.control_flow": (
        "switch takes the wrong branch where it is compiled",
        """
honest = lax.switch
def switch(index, branches, *operands):
    if isinstance(index, jax.core.Tracer):
        index = index % len(branches)
    return honest(index, branches, *operands)
lax.switch = switch
""",
    ),
    "jax.special_values": (
        "max passes over NaN",
        """
jnp.max = jnp.nanmax
""",
    ),
    "jax.out_of_bounds": (
        "take clips an index that is not there",
        """
honest = jnp.take
jnp.take = lambda x, i: honest(x, i, mode="clip")
""",
    ),
    "jax.devices_visible": (
        "the last of several devices is hidden",
        """
honest = jax.local_devices
jax.local_devices = lambda *args, **more: honest(*args, **more)[:-1] or honest(*args, **more)
""",
    ),
    "jax.linear_algebra": (
        "qr raises an error",
        """
def qr(a):
    raise NotImplementedError("qr of a matrix that has rows")
jnp.linalg.qr = qr
""",
    ),
    "jax.sorting": (
        "top_k ends the process",
        """
import os
def top_k(x, k):
    os.abort()
lax.top_k = top_k
""",
    ),
}
"""The bug for each check, in words and as statements that use `jax`, `jnp` and `lax`."""


def make_python(folder: Path, check_id: str) -> Interpreter:
    """Create a Python in which a check fails; an id without a row leaves JAX unchanged."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python3*/site-packages"))
    spec = importlib.util.find_spec("jax")
    here = Path(str(spec.origin if spec else None)).parents[1]
    for name in _PACKAGES:
        for source in (
            *here.glob(name),
            *here.glob(f"{name}.libs"),
            *here.glob(f"{name}-*.dist-info"),
        ):
            (packages / source.name).symlink_to(source)
    _, code = BREAKS.get(check_id, ("", "pass"))
    lines = "".join(f"    {line}\n" for line in code.strip().split("\n"))
    (packages / "sitecustomize.py").write_text(_HOOK.format(breaks=lines))
    return Interpreter(
        folder / "bin" / Path(sys.executable).name, "--python", read_framework_versions(folder)
    )
