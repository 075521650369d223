"""Read the sizes of a model from its `config.json`.

An unusable file is reported as one error. Nothing is downloaded, and no code that comes with a
model is run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.json_values import is_array, is_object, items_of_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.planning.model_family import ModelFamily, read_families, read_harmless_keys
from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text, escape_text

CONFIG = "config.json"
MOST_BYTES = 2**20
LARGEST_SIZE = 2**31
"""The largest value that a size may have; a larger one is wrong by orders of magnitude."""
MOST_LAYERS = 10_000
_SHOWN = 60
"""Maximum length of an invalid value that an error quotes."""
_MOST_NAMED = 8
"""Maximum number of unread keys that are listed."""
_ALSO_READ = {
    "head_dim",
    "intermediate_size",
    "layer_types",
    "max_window_layers",
    "num_key_value_heads",
    "qk_head_dim",
    "sliding_window",
    "sliding_window_pattern",
    "use_sliding_window",
}
"""Keys whose values follow from others, or that only some models use."""
_NOT_COUNTED = {
    "vision_config": "the vision encoder and its projection",
    "audio_config": "the audio encoder and its projection",
    "num_nextn_predict_layers": "layers for multi-token prediction",
}
"""Keys for model parts that a plan leaves out."""


@dataclass(frozen=True)
class LatentAttention:
    """Sizes of multi-head latent attention, where the cache holds one vector per token."""

    query_rank: int | None
    """Size of the compressed query; None if queries are not compressed."""
    latent_rank: int
    """Size of the compressed keys and values."""
    plain_size: int
    """Size of the part of a head without positional encoding."""
    rotary_size: int
    """Size of the rotary part; in keys, all heads share it."""
    value_size: int


@dataclass(frozen=True)
class Experts:
    """The experts of each layer that has them."""

    count: int
    per_token: int
    size: int
    """Width of each expert's MLP."""
    shared_size: int = 0
    """Total width of the shared experts, which process every token."""
    shared_gate: bool = False


@dataclass(frozen=True, eq=False)
class ModelShape:
    """Everything about a model that its memory depends on."""

    family: ModelFamily
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    mlp: int
    """Width of the MLP in a layer without experts."""
    vocabulary: int
    context: int
    """The longest sequence that the model supports."""
    tied: bool
    """True if embedding and unembedding share one array."""
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    windows: tuple[int | None, ...]
    """For each layer, the number of tokens it attends to; None for all of them."""
    latent: LatentAttention | None = None
    experts: Experts | None = None
    dense_layers: int = 0
    """Number of layers with a plain MLP."""
    notes: tuple[str, ...] = ()
    """Notes on the parts and keys that the plan leaves out, without a full stop."""

    @property
    def expert_layers(self) -> int:
        """Number of layers with experts."""
        return self.layers - self.dense_layers


def read_model(path: Path) -> ModelShape:
    """Return the sizes of a model.

    Args:
        path: The model's `config.json`, or the folder that contains it.

    Raises:
        Problem: The file cannot be read, or does not describe a supported model.
    """
    config = _read_json(path)
    try:
        return _Reader(config).shape()
    except ValueError as error:
        hint = None
        if isinstance(error, _UnknownFamilyError):
            titles = phrases.join_words(f"`{name}`" for name in read_families())
            hint = f"these are known: {titles}"
        what = f"`{path}` cannot be planned with: {error}"
        raise Problem(what, hint=hint, code=ExitCode.USAGE) from error


class _UnknownFamilyError(ValueError):
    """Raised if no family has this `model_type`."""


def _read_json(path: Path) -> dict[str, object]:
    path = locations.expand_path(str(path))
    hint = "name the `config.json` of a model from Hugging Face, or the folder that has it"
    try:
        file = path / CONFIG if path.is_dir() else path
        text = locations.read_user_file(file, MOST_BYTES)
        value = json.loads(text)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise Problem(f"`{path}` {reason}", hint=hint, code=ExitCode.USAGE) from error
    except RecursionError:
        what = f"`{path}` is not JSON that anybody meant: it has too many levels"
        raise Problem(what, hint=hint, code=ExitCode.USAGE) from None
    except ValueError as error:  # also bytes that are not UTF-8, and numbers of 5,000 digits
        what = f"`{path}` is not JSON: {cut_text(escape_text(str(error)), 200)}"
        raise Problem(what, hint=hint, code=ExitCode.USAGE) from error
    if not is_object(value):
        what = f"`{path}` holds no JSON object, which a `config.json` is"
        raise Problem(what, hint=hint, code=ExitCode.USAGE)
    return value


class _Reader:
    """The values of one file, each validated as it is read."""

    def __init__(self, config: dict[str, object]) -> None:
        inner = config.get("text_config")
        self._outer = config
        self._read = {"model_type", "text_config", "quantization_config", *_NOT_COUNTED}
        self._config = {**config, **inner} if is_object(inner) else config
        self.family = self._find_family()

    def _find_family(self) -> ModelFamily:
        families = read_families()
        kind = self._config.get("model_type")
        # In small configs of multimodal Gemma 3, the inner text model has no `model_type`.
        for name in (kind, f"{kind}_text"):
            if isinstance(name, str) and name in families:
                return families[name]
        if kind is None:
            raise ValueError("it has no `model_type`")
        near = phrases.near_matches(str(kind)[:_SHOWN], families)
        meant = f"; did you mean {phrases.join_words((f'`{one}`' for one in near), 'or')}?"
        raise _UnknownFamilyError(
            f"its `model_type` is {_shown(kind)}, which is not known here{meant if near else ''}"
        )

    def _value(self, key: str) -> object:
        self._read.add(key)
        # Some files switch a feature off with null although the model class has it on by default.
        return self._config[key] if key in self._config else self.family.defaults.get(key)

    def _number(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        value = self._value(key)
        value = default if value is None else value
        if value is None:
            near = phrases.near_matches(key, (str(one)[:_SHOWN] for one in self._config))
            meant = f"; did you mean that by `{escape_text(near[0])}`?" if near else ""
            raise ValueError(f"it has no `{key}`{meant}")
        if type(value) is not int or not least <= value <= LARGEST_SIZE:
            raise ValueError(
                f"its `{key}` is {_shown(value)}, expected a whole number "
                f"from {least} to {LARGEST_SIZE}"
            )
        return value

    def _flag(self, key: str) -> bool:
        if key in ("always", "never"):
            return key == "always"
        value = self._value(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise ValueError(f"its `{key}` is {_shown(value)}, expected true or false")
        return value

    def shape(self) -> ModelShape:
        """Return the sizes.

        Raises:
            ValueError: A size is missing or out of range.
        """
        layers = self._number("num_hidden_layers")
        if layers > MOST_LAYERS:
            raise ValueError(f"its `num_hidden_layers` is {layers}, expected {MOST_LAYERS} at most")
        hidden, heads = self._number("hidden_size"), self._number("num_attention_heads")
        kv_heads = self._number("num_key_value_heads", heads)
        latent = self._latent() if self.family.latent else None
        if latent is None and heads % kv_heads:
            raise ValueError(
                f"its `num_attention_heads` is {heads}, "
                f"which {kv_heads} KV heads (`num_key_value_heads`) do not divide"
            )
        if self._value("head_dim") is None and latent is None and hidden % heads:
            raise ValueError(f"its `hidden_size` is {hidden}, which {heads} heads do not divide")
        experts = self._experts()
        dense = layers if experts is None else self._count_dense_layers(layers)
        mlp = self._number("intermediate_size") if dense else 0
        shape = ModelShape(
            family=self.family,
            layers=layers,
            hidden=hidden,
            heads=heads,
            kv_heads=kv_heads,
            head_size=self._number("head_dim", max(hidden // heads, 1)),
            mlp=mlp,
            vocabulary=self._number("vocab_size"),
            context=self._number("max_position_embeddings"),
            tied=self._flag("tie_word_embeddings"),
            qkv_bias=self._flag(self.family.qkv_bias),
            output_bias=self._flag(self.family.output_bias),
            mlp_bias=self._flag(self.family.mlp_bias),
            windows=self._windows(layers),
            latent=latent,
            experts=experts if dense < layers else None,
            dense_layers=dense,
        )
        return replace(shape, notes=tuple(self._notes()))  # last, once all keys are read

    def _latent(self) -> LatentAttention:
        return LatentAttention(
            self._number("q_lora_rank") if self._value("q_lora_rank") is not None else None,
            self._number("kv_lora_rank"),
            self._number("qk_nope_head_dim"),
            self._number("qk_rope_head_dim"),
            self._number("v_head_dim"),
        )

    def _experts(self) -> Experts | None:
        family = self.family
        if not family.experts:
            return None
        key = next((one for one in family.experts if self._value(one) is not None), None)
        count = self._number(key or family.experts[0])
        per_token, size = self._number("num_experts_per_tok"), self._number(family.expert_size)
        if per_token > count:
            raise ValueError(
                f"its `num_experts_per_tok` is {per_token}, expected {count} at most, "
                "which is the number of experts"
            )
        if not family.shared_experts:
            return Experts(count, per_token, size)
        if self._value(family.shared_experts) is None:
            return Experts(count, per_token, size)
        shared = self._number(family.shared_experts, least=0)
        is_size = family.shared_experts.endswith("_size")
        return Experts(count, per_token, size, shared if is_size else shared * size, is_size)

    def _count_dense_layers(self, layers: int) -> int:
        if self.family.dense_layers == "first-layers":
            first, every = (
                self._number("first_k_dense_replace", 0, least=0),
                self._number("moe_layer_freq", 1),
            )
            return sum(number < first or number % every > 0 for number in range(layers))
        if self.family.dense_layers == "sparse-step":
            every, listed = self._number("decoder_sparse_step", 1), self._value("mlp_only_layers")
            plain = {*items_of_type(listed, int)}
            if listed is not None and (not is_array(listed) or len(plain) != len(listed)):
                raise ValueError("its `mlp_only_layers` is no list of different whole numbers")
            return sum(number in plain or (number + 1) % every > 0 for number in range(layers))
        return 0

    def _windows(self, layers: int) -> tuple[int | None, ...]:
        everywhere: tuple[int | None, ...] = (None,) * layers
        kind = self.family.windows
        is_off = kind == "from-max-window-layers" and not self._flag("use_sliding_window")
        if kind == "none" or is_off or self._value("sliding_window") is None:
            return everywhere
        window = self._number("sliding_window")
        types = self._value("layer_types")
        if types is not None:
            known = ("sliding_attention", "full_attention")
            if not is_array(types) or any(one not in known for one in types):
                raise ValueError(f"its `layer_types` is no list of {phrases.join_words(known)}")
            if len(types) != layers:
                raise ValueError(f"its `layer_types` has {len(types)} entries for {layers} layers")
            return tuple(window if one == "sliding_attention" else None for one in types)
        if kind == "every-layer":
            return (window,) * layers
        if kind == "from-max-window-layers":
            first = self._number("max_window_layers", layers, least=0)
            return tuple(window if number >= first else None for number in range(layers))
        every = self._number("sliding_window_pattern", self._number("_sliding_window_pattern", 2))
        return tuple(window if (number + 1) % every else None for number in range(layers))

    def _notes(self) -> list[str]:
        left_out = [text for key, text in _NOT_COUNTED.items() if self._outer.get(key)]
        notes = [f"not counted: {phrases.join_words(left_out)}"] if left_out else []
        if self._outer.get("quantization_config"):
            notes.append(
                "the published weights are quantised, and `--weights` says what is planned with"
            )
        unread = sorted({*self._config} - self._read - read_harmless_keys() - _ALSO_READ)
        if unread := [key for key in unread if not key.startswith("_")]:
            names = (f"`{escape_text(key[:_SHOWN])}`" for key in unread)
            notes.append(f"not read: {phrases.join_words(names, most=_MOST_NAMED)}")
        return notes


def _shown(value: object) -> str:
    if is_array(value) or is_object(value):
        return "a list" if is_array(value) else "an object"
    return cut_text(escape_text(json.dumps(value, ensure_ascii=False)), _SHOWN)
