"""Files of torchax that torch_xla overwrote, because it has a folder of that name too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tpustarter.machine import installed_distributions
from tpustarter.probe.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    import importlib.metadata


def overwritten(path: Sequence[str] | None = None) -> Iterator[Finding]:
    """Compare the files of torchax with its record, where torch_xla is installed too."""
    both = installed_distributions.find_installed_distributions(("torchax", "torch-xla"), path)
    if not all(both.values()):
        return
    import importlib.metadata  # slow, but it reads the record

    options: dict[str, Any] = {} if path is None else {"path": list(path)}
    by_name = {
        name: package
        for name in ("torchax", "torch-xla")
        for package in importlib.metadata.distributions(name=name, **options)
        if package.metadata and package.metadata["Name"]
    }
    if not {"torchax", "torch-xla"} <= by_name.keys():
        return
    changed = sum(_differs(file) for file in by_name["torchax"].files or ())
    yield Finding(
        code="HOST-FRAMEWORKS-TORCHAX",
        name="files of torchax that torch_xla overwrote",
        verdict="fail" if changed else "warn",
        found=changed,
        expected="torchax and torch_xla in separate environments" if not changed else 0,
        hint="make a separate environment for each, because both write to `torchax`",
    )


def _differs(file: importlib.metadata.PackagePath) -> bool:
    """Return whether an installed Python file differs from its recorded hash."""
    if file.hash is None or file.hash.mode != "sha256" or file.suffix != ".py":
        return False
    import base64
    import hashlib

    try:
        digest = hashlib.sha256(file.read_binary()).digest()
    except OSError:
        return True
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value
