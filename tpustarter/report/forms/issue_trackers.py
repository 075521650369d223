"""The trackers where bugs are filed, and the way to fill in their forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.core.problem import ExitCode, Problem


@dataclass(frozen=True)
class IssueTracker:
    """A place that takes bug reports, with its form and its maintainers' questions."""

    id: str
    names: tuple[str, ...]
    """Other names that users type."""
    title: str
    file_at: str
    search_at: str
    form: str
    """The form's address; empty if none is public."""
    how: str
    """The way to put a report into the form."""
    packages: tuple[str, ...] = ()
    """Packages whose versions the maintainers ask for; empty for all."""
    note: str = ""
    """A warning to read before filing."""
    asked_in_form: tuple[str, ...] = ()
    """Questions that the form has as fields, or does not need."""
    on_cpu: str = ""
    """The setting that runs the same code without a TPU."""
    louder: str = ""
    """Variables for the most verbose log. Sources: docs.jax.dev/en/latest/config_options.html,
    docs.pytorch.org/xla/master (its troubleshooting page), read 2026-11."""
    dumps: str | None = None
    """Variables that dump the program as the compiler received it, in addition to XLA's own dump;
    None if none are known. Both are named if there are two, because in openxla/xla#23350 XLA's
    wrote nothing on a TPU. Source: github.com/openxla/xla/blob/main/docs/hlo_dumps.md (read
    2026-11)."""


_ONE_TEXT = "The issue is one text, so paste everything below the line."
TRACKERS = (
    IssueTracker(
        "jax",
        ("libtpu", "xla"),
        "JAX",
        "https://github.com/jax-ml/jax/issues/new?template=bug-report.yml",
        "https://github.com/jax-ml/jax/issues?q=is%3Aissue",
        "https://github.com/jax-ml/jax/blob/main/.github/ISSUE_TEMPLATE/bug-report.yml",
        "The form has two fields, `Description` and `System info`. Paste what is below each "
        "heading into its field, and the folded facts at the end with `System info`.",
        ("jax", "jaxlib"),
        on_cpu="`JAX_PLATFORMS=cpu`",
        louder="JAX_TRACEBACK_FILTERING=off ",
        dumps="JAX_DUMP_IR_TO=/tmp/ir",
    ),
    IssueTracker(
        "pytorch-xla",
        ("torch_xla", "pytorch/xla", "xla-torch"),
        "PyTorch/XLA",
        "https://github.com/pytorch/xla/issues/new?template=bug-report.md",
        "https://github.com/pytorch/xla/issues?q=is%3Aissue",
        "https://github.com/pytorch/xla/blob/master/.github/ISSUE_TEMPLATE/bug-report.md",
        _ONE_TEXT,
        ("torch_xla", "torch"),
        # Source: docs.cloud.google.com/tpu/docs/troubleshooting/trouble-pytorch (read 2026-11)
        "Google announced that this repository would be archived on 2026-11-15, and an archived "
        "one takes no new issues. Then search it for a workaround, and report to TorchTPU "
        "(`--for torchtpu`) what fails there too.",
        ("code", "cpu"),
        "`PJRT_DEVICE=CPU`",
        "PT_XLA_DEBUG=1 ",
        "XLA_SAVE_TENSORS_FMT=hlo XLA_SAVE_TENSORS_FILE=/tmp/hlo.txt",
    ),
    IssueTracker(
        "torchtpu",
        ("torch_tpu", "torch-tpu"),
        "TorchTPU",
        "https://github.com/google-pytorch/torch_tpu/issues/new",
        "https://github.com/google-pytorch/torch_tpu/issues?q=is%3Aissue",
        "",
        _ONE_TEXT,
        ("torch_tpu", "torch"),
        on_cpu='`device="cpu"`',
    ),
    IssueTracker(
        "tensorflow",
        ("tf",),
        "TensorFlow",
        "https://github.com/tensorflow/tensorflow/issues/new/choose",
        "https://github.com/tensorflow/tensorflow/issues?q=is%3Aissue",
        "https://github.com/tensorflow/tensorflow/blob/master/.github/ISSUE_TEMPLATE/"
        "tensorflow_issue_template.yaml",
        "Each heading is a field of the form, and the folded facts belong to `Current behavior?`. "
        "The form fences code and logs by itself, so leave those fences out.",
        ("tensorflow", "tensorflow-tpu"),
        asked_in_form=("code",),
        on_cpu="without `TPUStrategy`",
        dumps="",
    ),
    IssueTracker(
        "cloud-tpu",
        ("google-cloud", "gcp", "cloud"),
        "Cloud TPU support",
        "https://cloud.google.com/support-hub",
        "https://status.cloud.google.com",
        "https://cloud.google.com/support/docs/best-practice",
        "A case is a text and a few fields. Paste everything below the line, attach the archive, "
        "and add the names that this report leaves out.",
        asked_in_form=("code", "always", "cpu"),
    ),
)
"""Forms were read in 2026-11."""

NEWEST = {
    "jax": "0.12.0.1",
    "jaxlib": "0.12.0.1",
    "torch": "2.15.0",
    "torch_xla": "2.9.0",
    "torch_tpu": "0.2.0",
    "tensorflow": "2.21.0",
}
"""The newest releases as of 2026-11. There may be newer ones: nothing is looked up online."""
NEWEST_FOR = {
    ("jax", "3.10"): "0.6.2",
    ("jaxlib", "3.10"): "0.6.2",
    ("jax", "3.11"): "0.10.2",
    ("jaxlib", "3.11"): "0.10.2",
}
"""The newest releases for older Pythons."""
PINNED = {"torch": "torch_xla"}
"""Packages whose version another package decides; with that one, they never count as stale."""


def find_tracker(text: str) -> IssueTracker:
    """Return the tracker with this id or product name.

    Raises:
        Problem: There is no such tracker.
    """
    key = text.strip().casefold().replace(" ", "-")
    for one in TRACKERS:
        if key in (one.id, one.title.casefold().replace(" ", "-"), *one.names):
            return one
    raise Problem(
        f"`--for {text}` is not a tracker, expected one of {', '.join(t.id for t in TRACKERS)}",
        code=ExitCode.USAGE,
    )


def choose_tracker(installed: Sequence[str]) -> IssueTracker:
    """Return the tracker of the installed framework, or JAX's if there is none."""
    for package, tracker in (
        ("torch_tpu", "torchtpu"),
        ("torch_xla", "pytorch-xla"),
        ("jax", "jax"),
        ("tensorflow", "tensorflow"),
        ("tensorflow-tpu", "tensorflow"),
    ):
        if package in installed:
            return find_tracker(tracker)
    return find_tracker("jax")
