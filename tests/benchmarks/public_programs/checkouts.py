"""The checkouts of public repositories, and shapes in place of what their programs load.

The folder with the checkouts is in `PUBLIC_CHECKOUTS`; each is in `OWNER+NAME`.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding


class StandIn(types.ModuleType):
    """A module of a data pipeline, which answers every name with another one of its kind."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name)

    def __call__(self, *_: object, **__: object) -> StandIn:
        """Stand in for a function."""
        return StandIn(self.__name__)

    def __or__(self, _: object) -> StandIn:
        """Stand in for a type, also as an alternative or with parameters."""
        return self

    __ror__ = __getitem__ = __or__

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (object,)


def enter(repository: str, *folders: str, without: tuple[str, ...] = ()) -> Path:
    """Make the modules in folders of a checkout importable; return the checkout.

    Args:
        repository: `OWNER/NAME`, as on GitHub.
        folders: The folders of it.
        without: Modules that a stand-in replaces, because they only load data.
    """
    checkout = Path(os.environ["PUBLIC_CHECKOUTS"]) / repository.replace("/", "+")
    for folder in folders:
        sys.path.insert(0, str(checkout / folder))
    for name in without:
        sys.modules[name] = StandIn(name)
    return checkout


def load(name: str, path: Path) -> types.ModuleType:
    """Return the module of one file, which is not found by the name that it has there."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def run_cells(notebook: Path, *beginnings: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that the cells of a notebook define, of those that begin as asked.

    Args:
        notebook: The `.ipynb` file.
        beginnings: The first letters of the cells to run.
        names: Names that they find, in place of those of other cells.
    """
    found = dict(names)
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"]).lstrip()
        if cell["cell_type"] == "code" and text.startswith(beginnings):
            exec(compile(text, notebook.name, "exec"), found)  # the public program
    return found


def array(shape: tuple[int, ...], dtype: Any = "float32") -> jax.ShapeDtypeStruct:
    """Return the shape of an array that a program would load or draw."""
    return jax.ShapeDtypeStruct(shape, dtype)


def key() -> jax.ShapeDtypeStruct:
    """Return the shape of a random key."""
    return jax.eval_shape(lambda: jax.random.key(0))


def put(device: Any, *trees: Any) -> tuple[Any, ...]:
    """Return the trees with their arrays on one device."""
    return place(SingleDeviceSharding(device), *trees)


def spread(mesh: jax.sharding.Mesh, spec: PartitionSpec, *trees: Any) -> tuple[Any, ...]:
    """Return the trees with their arrays sharded over a mesh, all in the same way."""
    return place(NamedSharding(mesh, spec), *trees)


def place(sharding: Any, *trees: Any) -> tuple[Any, ...]:
    """Return the trees with the shapes of their arrays under a sharding."""

    def one(leaf: Any) -> Any:
        if not hasattr(leaf, "dtype"):
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    return jax.tree.map(one, trees)
