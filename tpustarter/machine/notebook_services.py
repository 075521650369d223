"""Notebook services that lend a TPU, recognised by variables of their containers.

Their kernel's Python comes with frameworks that fit the TPU, and nobody there can change the
container: its network, its limits, and the metadata server that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class NotebookService:
    """A service whose notebooks run in containers that it manages."""

    name: str
    variables: tuple[str, ...]
    """Variables of which its containers set at least one."""


SERVICES = (
    NotebookService("Kaggle", ("KAGGLE_KERNEL_RUN_TYPE",)),
    NotebookService("Colab", ("COLAB_RELEASE_TAG", "COLAB_TPU_1VM")),
)
"""Kaggle is first, because its images without a TPU are made from Colab's and keep Colab's
variables. Sources: github.com/Kaggle/docker-python, Dockerfile.tmpl, tpu/Dockerfile and
patches/kaggle_module_resolver.py at 78aaa43; github.com/googlecolab/colabtools/issues/5566 (read
2026-11).
"""


def find_notebook_service(env: Mapping[str, str]) -> NotebookService | None:
    """Return the service whose container has these variables, or None."""
    return next(
        (service for service in SERVICES if any(env.get(name) for name in service.variables)), None
    )
