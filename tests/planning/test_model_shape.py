"""Contents of a `config.json`: each that a plan can't use is one clear error."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.planning.test_parameter_counts import model_of
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.planning.model_family import read_families, read_harmless_keys
from tpustarter.planning.model_shape import MOST_BYTES, read_model

SMALL: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
MOE = {**SMALL, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
GEMMA = {**SMALL, "model_type": "gemma2", "head_dim": 16}
WRONG: dict[str, tuple[Any, str]] = {
    "list": ([], "holds no JSON object"),
    "number": (7, "holds no JSON object"),
    "empty": ({}, "no `model_type`"),
    "unknown-type": ({**SMALL, "model_type": "bert"}, '`model_type` is "bert"'),
    "typo-in-type": ({**SMALL, "model_type": "lama"}, "did you mean `llama`"),
    "type-of-number": ({**SMALL, "model_type": 3}, "`model_type` is 3"),
    "type-of-list": ({**SMALL, "model_type": ["llama"]}, "`model_type` is a list"),
    "steering-type": ({**SMALL, "model_type": "a\x1b[31mb"}, "a\\u001b[31mb"),
    "long-type": ({**SMALL, "model_type": "a" * 90_000}, "aaa..."),
    "no-size": ({k: v for k, v in SMALL.items() if k != "hidden_size"}, "no `hidden_size`"),
    "typo-in-key": (
        {**{k: v for k, v in SMALL.items() if k != "hidden_size"}, "hiden_size": 64},
        "did you mean that by `hiden_size`",
    ),
    "zero": ({**SMALL, "hidden_size": 0}, "`hidden_size` is 0"),
    "negative": ({**SMALL, "vocab_size": -1}, "`vocab_size` is -1"),
    "fraction": ({**SMALL, "hidden_size": 64.0}, "`hidden_size` is 64.0"),
    "text": ({**SMALL, "hidden_size": "64"}, '`hidden_size` is "64"'),
    "true": ({**SMALL, "num_hidden_layers": True}, "`num_hidden_layers` is true"),
    "null": ({**SMALL, "vocab_size": None}, "no `vocab_size`"),
    "huge": ({**SMALL, "hidden_size": 10**300}, "expected a whole number from 1 to"),
    "many-layers": ({**SMALL, "num_hidden_layers": 10**9}, "expected 10000 at most"),
    "flag": ({**SMALL, "tie_word_embeddings": "yes"}, "expected true or false"),
    "heads": ({**SMALL, "num_attention_heads": 5, "head_dim": 8}, "2 KV heads"),
    "kv-heads": ({**SMALL, "num_key_value_heads": 3}, "3 KV heads"),
    "head-size": ({**SMALL, "hidden_size": 66}, "which 4 heads do not divide"),
    "experts-per-token": ({**MOE, "num_experts_per_tok": 5}, "`num_experts_per_tok` is 5"),
    "no-experts": ({**SMALL, "model_type": "mixtral"}, "no `num_local_experts`"),
    "layer-type": ({**GEMMA, "layer_types": ["chunked_attention"] * 2}, "no list of sliding_"),
    "layer-types": ({**GEMMA, "layer_types": ["full_attention"]}, "1 entries for 2 layers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_unusable_value_is_one_error(name: str, tmp_path: Path) -> None:
    """An unusable value is one printable line with the key, found and expected."""
    value, words = WRONG[name]
    (tmp_path / "config.json").write_text(json.dumps(value))

    with pytest.raises(Problem) as found:
        read_model(tmp_path)

    assert words in found.value.summary
    assert ExitCode.USAGE == found.value.code
    assert found.value.summary.isprintable()
    assert len(found.value.summary) < 400 + len(str(tmp_path))


BYTES = {
    "empty": b"",
    "broken": b'{"model_type": ',
    "no-utf8": b'{"model_type": "\xff"}',
    "deep": b"[" * 200_000,
    "deep-object": b'{"a":' * 100_000,
    "digits": b'{"hidden_size": ' + b"9" * 6000 + b"}",
    "too-large": b" " * (MOST_BYTES + 1),
    "nul": b"\0" * 100,
}


@pytest.mark.parametrize("name", BYTES)
def test_unreadable_file_is_one_error(name: str, tmp_path: Path) -> None:
    """A file of any bytes and any size is one usage error."""
    file = tmp_path / "config.json"
    file.write_bytes(BYTES[name])

    with pytest.raises(Problem) as found:
        read_model(file)

    assert ExitCode.USAGE == found.value.code
    assert str(file) in found.value.summary


def test_missing_and_endless_files_are_errors(tmp_path: Path) -> None:
    """A folder without the file, and a device that never ends."""
    for path in (tmp_path, tmp_path / "none.json", Path("/dev/zero"), Path(os.devnull)):
        with pytest.raises(Problem, match=r"cannot be read|is not JSON"):
            read_model(path)


def test_unread_keys_are_named(tmp_path: Path) -> None:
    """Those that may change the model; keys that cannot, and private ones, are left out."""
    config = {**SMALL, "rope_theta": 1e4, "_name_or_path": "x", "new_attention": 1, "b\x1b": 2}
    notes = model_of(config, tmp_path).notes

    assert ("not read: `b\\x1b` and `new_attention`",) == notes


def test_parts_that_are_left_out_are_named(tmp_path: Path) -> None:
    """Encoders of images, layers for several tokens, and weights that were quantised."""
    text = {**SMALL, "model_type": "gemma3_text"}
    outer = {"model_type": "gemma3", "text_config": text, "vision_config": {"hidden_size": 8}}
    quantised = {**SMALL, "quantization_config": {"quant_method": "fp8"}}

    assert 1 == len(model_of(outer, tmp_path).notes)
    assert 1 == len(model_of(quantised, tmp_path).notes)
    assert () == model_of(SMALL, tmp_path).notes


@pytest.mark.parametrize(
    ("changes", "windows"),
    [
        ({"model_type": "mistral", "sliding_window": 8}, (8, 8)),
        ({"model_type": "mistral", "sliding_window": None}, (None, None)),
        ({"model_type": "mistral"}, (4096, 4096)),
        ({"model_type": "qwen2", "sliding_window": 8}, (None, None)),
        (
            {
                "model_type": "qwen2",
                "sliding_window": 8,
                "use_sliding_window": True,
                "max_window_layers": 1,
            },
            (None, 8),
        ),
        ({"model_type": "gemma2"}, (4096, None)),
        (
            {
                "model_type": "gemma2",
                "sliding_window": 8,
                "layer_types": ["full_attention", "sliding_attention"],
            },
            (None, 8),
        ),
        ({"model_type": "llama", "sliding_window": 8}, (None, None)),
    ],
)
def test_windows_follow_family(
    changes: dict[str, Any], windows: tuple[int | None, ...], tmp_path: Path
) -> None:
    """Sliding windows follow the file's list of layers, or else the rule of the model family."""
    assert windows == model_of({**SMALL, **changes}, tmp_path).windows


def test_data_files_have_sources() -> None:
    """A row for each family with the definition that it follows, and no key twice."""
    assert all(row.source.startswith("https://") for row in read_families().values())
    assert not read_harmless_keys() & {"hidden_size", "num_hidden_layers", "head_dim"}
