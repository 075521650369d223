"""Colab and Kaggle, recognised by their variables, and the paths suggested there."""

from __future__ import annotations

import pytest

from tpustarter.learning.content import paths
from tpustarter.learning.progress import course
from tpustarter.machine.notebook_services import SERVICES, find_notebook_service

KAGGLE, COLAB = {"KAGGLE_KERNEL_RUN_TYPE": "Batch"}, {"COLAB_RELEASE_TAG": "release-colab"}


@pytest.mark.parametrize(
    ("env", "name"),
    [
        (KAGGLE, "Kaggle"),
        (COLAB, "Colab"),
        ({"COLAB_TPU_1VM": "1"}, "Colab"),
        ({**COLAB, **KAGGLE}, "Kaggle"),
        ({"KAGGLE_KERNEL_RUN_TYPE": ""}, None),
        ({}, None),
    ],
)
def test_service_is_recognised_by_variables(env: dict[str, str], name: str | None) -> None:
    """Kaggle's images are made from Colab's, so its own variable counts first."""
    service = find_notebook_service(env)

    assert name == (service and service.name)


def test_each_service_has_a_path() -> None:
    """Each notebook service's path is suggested there, and followed if none was chosen."""
    all_paths = paths.read_paths()
    ids = {path.id for path in all_paths}
    followed = course.find_path_to_follow(all_paths, on_tpu=True, env=KAGGLE)
    suggested = {
        course.suggest_lesson_path({service.variables[0]: "1"}, on_tpu=True, frameworks=["jax"])[0]
        for service in SERVICES
    }

    assert {"kaggle", "colab"} == suggested
    assert suggested <= ids
    assert followed
    assert "kaggle" == followed.id
