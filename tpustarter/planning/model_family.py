"""The model families that a plan supports: rows of `families.yml`, by `model_type`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text

FILE = Path(__file__).with_name("families.yml")
HARMLESS = Path(__file__).with_name("harmless_keys.yml")

Windows = Literal["none", "every-layer", "all-but-every-nth", "from-max-window-layers"]
DenseLayers = Literal["none", "sparse-step", "first-layers"]


class ModelFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models whose arrays have the same names and differ only in size."""

    type: Text
    """The value of `model_type`."""
    title: Text
    source: Text
    """The model definition that the row follows."""
    latent: bool = False
    """True if keys and values are compressed into one vector per token (multi-head latent
    attention)."""
    qkv_bias: str = "never"
    """`never`, `always`, or the config key that is true if query, key and value have a bias."""
    output_bias: str = "never"
    mlp_bias: str = "never"
    norms_per_layer: int = 2
    head_norms: bool = False
    """True if queries and keys are normalised, with a scale of one head's size."""
    sinks: bool = False
    """True if each head has a learned attention sink."""
    windows: Windows = "none"
    """The layers with a sliding window if the config has no `layer_types`."""
    experts: tuple[str, ...] = ()
    """Possible keys for the number of experts per layer; the first one present is used."""
    expert_size: str = ""
    shared_experts: str = ""
    """Key for their total width, or for their number, which is multiplied by `expert_size`."""
    expert_bias: bool = False
    router_bias: bool = False
    dense_layers: DenseLayers = "none"
    """The layers that have a plain MLP instead of experts."""
    defaults: dict[str, object] = {}
    """Default values for keys that a config may omit."""


@functools.cache
def read_families() -> dict[str, ModelFamily]:
    """Return the families by `model_type`.

    Raises:
        Problem: The file or one of its rows is invalid.
    """
    return {family.type: family for family in yaml_rows.read_rows(FILE, ModelFamily)}


@functools.cache
def read_harmless_keys() -> frozenset[str]:
    """Return the keys that do not affect memory.

    Raises:
        Problem: The file is invalid.
    """
    try:
        return yaml_rows.convert_value(yaml_rows.load_yaml(HARMLESS), _KeyFile).keys
    except ValueError as error:
        raise Problem(f"`{HARMLESS.name}` cannot be used: {error}") from error


class _KeyFile(msgspec.Struct, forbid_unknown_fields=True):
    source: Text
    keys: frozenset[str]
