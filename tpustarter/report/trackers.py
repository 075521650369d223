"""Where bugs are filed, and how each tracker's own form is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.problem import ExitCode, Problem


@dataclass(frozen=True)
class Tracker:
    """One place that takes reports."""

    id: str
    names: tuple[str, ...]
    """Other names that people type."""
    title: str
    file_at: str
    search_at: str
    form: str
    """Where its form was read; empty where none is public."""
    how: str
    """How a report gets into it."""
    packages: tuple[str, ...] = ()
    """Whose versions its maintainers ask for; empty for all."""
    note: str = ""
    """What to know of it before."""


_ONE_TEXT = "The issue is one text, so paste everything below the line."
TRACKERS = (
    Tracker(
        "jax", ("libtpu", "xla"), "JAX",
        "https://github.com/jax-ml/jax/issues/new?template=bug-report.yml",
        "https://github.com/jax-ml/jax/issues?q=is%3Aissue",
        "https://github.com/jax-ml/jax/blob/main/.github/ISSUE_TEMPLATE/bug-report.yml",
        "The form has two fields, `Description` and `System info`. Paste what is below each "
        "heading into its field, and the folded facts at the end with `System info`.",
        ("jax", "jaxlib")),
    Tracker(
        "pytorch-xla", ("torch_xla", "pytorch/xla", "xla-torch"), "PyTorch/XLA",
        "https://github.com/pytorch/xla/issues/new?template=bug-report.md",
        "https://github.com/pytorch/xla/issues?q=is%3Aissue",
        "https://github.com/pytorch/xla/blob/master/.github/ISSUE_TEMPLATE/bug-report.md",
        _ONE_TEXT, ("torch_xla", "torch"),
        # Source: docs.cloud.google.com/tpu/docs/troubleshooting/trouble-pytorch (read 2026-11)
        "Google announced that this repository would be archived on 2026-11-15, and an archived "
        "one takes no new issues. Then search it for a workaround, and report to TorchTPU "
        "(`--for torchtpu`) what fails there too."),
    Tracker(
        "torchtpu", ("torch_tpu", "torch-tpu"), "TorchTPU",
        "https://github.com/google-pytorch/torch_tpu/issues/new",
        "https://github.com/google-pytorch/torch_tpu/issues?q=is%3Aissue", "", _ONE_TEXT,
        ("torch_tpu", "torch")),
    Tracker(
        "tensorflow", ("tf",), "TensorFlow",
        "https://github.com/tensorflow/tensorflow/issues/new/choose",
        "https://github.com/tensorflow/tensorflow/issues?q=is%3Aissue",
        "https://github.com/tensorflow/tensorflow/blob/master/.github/ISSUE_TEMPLATE/"
        "tensorflow_issue_template.yaml",
        "Each heading is a field of the form, and the folded facts belong to `Current behavior?`. "
        "The form fences code and logs by itself, so leave those fences out.",
        ("tensorflow", "tensorflow-tpu")),
    Tracker(
        "cloud-tpu", ("google-cloud", "gcp", "cloud"), "Cloud TPU support",
        "https://cloud.google.com/support-hub", "https://status.cloud.google.com",
        "https://cloud.google.com/support/docs/best-practice",
        "A case is a text and a few fields. Paste everything below the line, attach the archive, "
        "and add the names that this report leaves out."),
)  # fmt: skip
"""Forms were read in 2026-11."""

NEWEST = {
    "jax": "0.12.0.1",
    "jaxlib": "0.12.0.1",
    "torch": "2.15.0",
    "torch_xla": "2.9.0",
    "torch_tpu": "0.2.0",
    "tensorflow": "2.21.0",
}
"""The newest releases of 2026-11. A newer one may be out: nothing is asked online."""
NEWEST_FOR = {("jax", "3.10"): "0.6.2", ("jaxlib", "3.10"): "0.6.2",
              ("jax", "3.11"): "0.10.2", ("jaxlib", "3.11"): "0.10.2"}  # fmt: skip
"""What an older Python gets at most."""
PINNED = {"torch": "torch_xla"}
"""A package whose version another one decides: alone it is not stale."""


def named(text: str) -> Tracker:
    """Return the tracker that somebody names, by its id or the product; raises Problem."""
    key = text.strip().casefold().replace(" ", "-")
    for one in TRACKERS:
        if key in (one.id, one.title.casefold().replace(" ", "-"), *one.names):
            return one
    raise Problem(
        f"`--for {text}` is not a tracker, expected one of {', '.join(t.id for t in TRACKERS)}",
        code=ExitCode.USAGE,
    )


def of_frameworks(installed: Sequence[str]) -> Tracker:
    """Return where the framework that is installed takes reports; JAX where there is none."""
    for package, tracker in (("torch_tpu", "torchtpu"), ("torch_xla", "pytorch-xla"),
                             ("jax", "jax"), ("tensorflow", "tensorflow"),
                             ("tensorflow-tpu", "tensorflow")):  # fmt: skip
        if package in installed:
            return named(tracker)
    return named("jax")
