"""Arrays to files and back in each format, including the types that NumPy has no name for.

The rule to know: `np.savez` writes a bfloat16 as two nameless bytes, so its name is kept beside it.
"""

import importlib.util
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax import _arrays

MODULES = {"npz": "numpy", "msgpack": "msgpack", "orbax": "orbax.checkpoint"}


def installed(library):
    """Return whether a format's library can be imported; this imports only its parent package."""
    parent, _, child = MODULES[library].partition(".")
    if importlib.util.find_spec(parent) is None:
        return False
    return not child or importlib.util.find_spec(MODULES[library]) is not None


def dtype(name):
    """Return a dtype by its name, including those that NumPy lacks."""
    return np.dtype(np.bool_ if name == "bool" else getattr(jnp, name))


def npz(arrays, folder):
    """Return arrays after a round trip through `np.savez` and `np.load`, by name."""
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    raw: dict[str, Any] = {
        f"array {name}": np.frombuffer(array.tobytes(), np.uint8) for name, array in plain.items()
    }
    facts = {name: (array.dtype.name, array.shape) for name, array in plain.items()}
    path = folder / "arrays.npz"
    np.savez(path, facts=json.dumps(facts), **raw)
    with np.load(path) as file:
        facts = json.loads(str(file["facts"]))
        return {name: file[f"array {name}"].view(dtype(kind)).reshape(shape)
                for name, (kind, shape) in facts.items()}  # fmt: skip


def msgpack(arrays, folder):
    """Return arrays after a round trip through a msgpack file, by name."""
    import msgpack

    plain = {name: np.asarray(array) for name, array in arrays.items()}
    facts = {
        name: (array.dtype.name, array.shape, array.tobytes()) for name, array in plain.items()
    }
    path = folder / "arrays.msgpack"
    path.write_bytes(msgpack.packb(facts))
    facts = msgpack.unpackb(path.read_bytes())
    return {name: np.frombuffer(data, dtype(kind)).reshape(shape)
            for name, (kind, shape, data) in facts.items()}  # fmt: skip


def orbax(arrays, folder):
    """Return arrays after a round trip through an Orbax checkpoint, sharded as before, by name."""
    from orbax import checkpoint

    like = {name: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)
            for name, array in arrays.items()}  # fmt: skip
    with checkpoint.StandardCheckpointer() as file:
        file.save(folder / "orbax", arrays)
        file.wait_until_finished()
        back = file.restore(folder / "orbax", like)
    moved = [name for name, array in back.items() if array.sharding != arrays[name].sharding]
    return {name: array for name, array in back.items() if name not in moved}


def difference(sent, back):
    """Describe how a returned array differs from the one sent, or return an empty string."""
    if back is None:
        return "spread over other devices"
    return _arrays.difference(np.asarray(sent), np.asarray(back))


def plain_type(array, folder):
    """Return the type of an array after a round trip through `np.save` and `np.load`."""
    np.save(folder / "plain.npy", np.asarray(array))
    return str(np.load(folder / "plain.npy").dtype)


WAYS = {"npz": npz, "msgpack": msgpack, "orbax": orbax}
