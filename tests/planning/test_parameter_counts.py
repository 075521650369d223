"""Parameters of models: those that are published, and those that transformers makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tpustarter.core.content import read_yaml
from tpustarter.planning.model_family import read_families
from tpustarter.planning.model_shape import ModelShape, read_model
from tpustarter.planning.weights import count_parameters, list_arrays

PUBLISHED, OF_TRANSFORMERS = (
    cast("list[dict[str, Any]]", read_yaml(Path(__file__).with_name(name).read_text("utf-8")))
    for name in ("published_models.yml", "transformers_counts.yml")
)


def model_of(config: dict[str, Any], folder: Path) -> ModelShape:
    """Return the sizes that are read from a file with this content."""
    (folder / "config.json").write_text(json.dumps(config))
    return read_model(folder)


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["name"])
def test_count_equals_published(row: dict[str, Any], tmp_path: Path) -> None:
    """The count equals the published one to the last parameter."""
    arrays = list_arrays(model_of(row["config"], tmp_path))
    total = sum(count_parameters(arrays).values())

    assert row["source"].startswith("https://")
    assert row["parameters"] == total + row.get("beside", 0)
    assert row.get("active") in (None, sum(array.active_count for array in arrays))


@pytest.mark.parametrize("row", OF_TRANSFORMERS, ids=lambda row: row["name"])
def test_count_equals_that_of_transformers(row: dict[str, Any], tmp_path: Path) -> None:
    """The count equals transformers' for biases, shared experts, dense layers and plain queries."""
    model = model_of(row["config"], tmp_path)

    assert row["parameters"] == sum(count_parameters(list_arrays(model)).values())
    if windows := row.get("windows"):
        assert windows == "".join("s" if window else "f" for window in model.windows)


def test_every_family_is_counted() -> None:
    """Every family is counted by published sizes and compared with transformers."""
    published = {row["config"].get("text_config", row["config"])["model_type"] for row in PUBLISHED}
    made = {row["config"]["model_type"] for row in OF_TRANSFORMERS}

    assert {*read_families()} == published == made
    assert len(PUBLISHED) >= 12


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["name"])
def test_shares_of_devices_sum_to_whole(row: dict[str, Any], tmp_path: Path) -> None:
    """Two of FSDP have each half of every matrix, and a device alone has everything."""
    for array in list_arrays(model_of(row["config"], tmp_path)):
        is_matrix = len(array.shape) == 3 or (len(array.shape) == 2 and not array.experts)

        assert array.count == array.count_per_device(1)
        if min(array.shape) > 1:
            assert array.count == array.count_per_device(1, 2) * (2 if is_matrix else 1)
