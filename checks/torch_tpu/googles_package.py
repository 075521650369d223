"""The installed torch_tpu is Google's."""

from importlib import metadata

from tpustarter.checks.torch_tpu import _wheel
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 0.1
LESSON = "pytorch/which-library"
SOURCE = "https://github.com/google-pytorch/torch_tpu"

HOME = "https://github.com/google-pytorch/torch_tpu"
AGAIN = "make a new environment with `tpustarter setup torchtpu --folder PATH`"


def homes(fields):
    """Return the URLs of a project, from the fields of its metadata."""
    urls = [line.partition(",")[2].strip() for line in fields.get_all("Project-URL") or ()]
    return [address for address in (fields.get("Home-page"), *urls) if address]


def entry_points(package):
    """Return the package's entry points that `import torch` loads, by name."""
    points = (point for point in package.entry_points if point.group == "torch.backends")
    return {point.name: point.value for point in points}


def run(package=None):
    """Read the metadata of the installed distribution, without importing it."""
    package = package or metadata.distribution("torch_tpu")
    addresses = homes(package.metadata)
    yield compare(
        code="TTPU-PACKAGE-HOME",
        name="home page of the installed torch_tpu",
        found=HOME if HOME in addresses else ", ".join(addresses) or "none",
        expected=HOME,
        hint=Hint(f"another publisher used this name earlier: {AGAIN}", setup="torchtpu"),
    )
    yield compare(
        code="TTPU-PACKAGE-LIBTPU",
        name="torch_tpu requires libtpu",
        found=_wheel.requirement(package, "libtpu") is not None,
        expected=True,
        hint=Hint(
            f"Google's package requires libtpu, which opens the chips: {AGAIN}", setup="torchtpu"
        ),
    )
    yield compare(
        code="TTPU-PACKAGE-BACKEND",
        name="`import torch` loads it as a backend",
        found=entry_points(package).get("torch_tpu", "no"),
        expected="torch_tpu._loader:load",
        hint=Hint(f"files of this installation are missing: {AGAIN}", setup="torchtpu"),
    )
    yield Finding("TTPU-PACKAGE-VERSION", "torch_tpu", "info", package.version)
