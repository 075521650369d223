"""The sdist and the wheel of a release: their files, and the first command.

`CHECKOUT` is the folder that is built, where it isn't the one that has these tests.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY
from tpustarter.machine import shell
from tpustarter.text import invocation
from tpustarter.version import __version__

CHECKOUT = Path(os.environ.get("CHECKOUT", REPOSITORY))
MAN_PAGE = "share/man/man1/tpustarter.1"
FIGURES = (".svg", ".png")
INSIDE = "tpustarter"
"""The one package, which has the checks and the lessons inside."""
UNSHIPPED = {".1", "__pycache__", ".ruff_cache"}
"""The manual page lies elsewhere in the wheel, and what tools leave behind nowhere."""


def uv(*words: str) -> str:
    """Run uv, and return its standard output."""
    typed = shlex.split(shell.find_uv_command(os.environ) or "uv")
    command = [os.environ["UV"]] if "UV" in os.environ else typed  # `python3 -m uv run` sets it
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist and with the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--quiet", "--out-dir", str(folder), str(CHECKOUT))
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the wheel."""
    return built / f"tpustarter-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    """Return the sdist."""
    return built / f"tpustarter-{__version__}.tar.gz"


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by their path in it."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_wheel_holds_package_and_man_page(wheel: Path) -> None:
    """The wheel holds the package and its man page, and no tests or other package."""
    files = read_wheel(wheel)
    start = f"tpustarter-{__version__}"

    assert {"tpustarter", f"{start}.dist-info", f"{start}.data"} == {
        name.partition("/")[0] for name in files
    }
    assert [f"{start}.data/data/{MAN_PAGE}"] == [name for name in files if ".data/" in name]
    assert {"tpustarter/checks/host/space.py", "tpustarter/lessons/paths.yml"} <= {*files}
    assert [] == [name for name in files if re.search(r"(^|/)(tests|\.\w+)/|/test_", name)]


def test_wheel_has_every_file_of_the_checkout(wheel: Path) -> None:
    """The wheel has every file of the checkout byte for byte, so the suite holds for both."""
    places = {INSIDE: INSIDE, "checks": f"{INSIDE}/checks", "lessons": f"{INSIDE}/lessons"}
    expected = {
        f"{place}/{path.relative_to(CHECKOUT / folder).as_posix()}": path.read_bytes()
        for folder, place in places.items()
        for path in (CHECKOUT / folder).rglob("[!.]*")
        if path.is_file() and not UNSHIPPED & {path.suffix, *path.relative_to(CHECKOUT).parts}
    }
    packed = {
        name: data for name, data in read_wheel(wheel).items() if name.startswith(INSIDE + "/")
    }

    assert [] == sorted({*expected} ^ {*packed})
    assert [] == [name for name, data in expected.items() if packed[name] != data]


def test_no_figure_is_there_twice(wheel: Path) -> None:
    """Under another name either."""
    figures = [data for name, data in read_wheel(wheel).items() if name.endswith(FIGURES)]
    times = Counter(hashlib.sha256(data).digest() for data in figures)

    assert len(figures) > 50
    assert {1} == {*times.values()}


def test_sdist_has_sources_and_builds_the_same_wheel(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    """The wheel from the sdist is that from the checkout, byte for byte; tests are in neither."""
    with tarfile.open(sdist) as archive:
        paths = [Path(name).parts[1:] for name in archive.getnames()]
    uv("build", "--quiet", "--wheel", "--out-dir", str(tmp_path), str(CHECKOUT))

    assert {"tpustarter", "checks", "lessons", "pyproject.toml"} <= {path[0] for path in paths}
    assert {"README.md", "LICENSE", "PKG-INFO", ".gitignore"} >= {
        path[0] for path in paths if len(path) == 1 and path[0] != "pyproject.toml"
    }
    assert wheel.read_bytes() == (tmp_path / wheel.name).read_bytes()


def test_guide_states_sizes(sdist: Path, wheel: Path) -> None:
    """The guide states the sizes of both files and of the wheel's parts, within a tenth."""
    guide = (CHECKOUT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    stated = re.search(
        r"wheel has ([\d.]+) MB and the sdist ([\d.]+) MB. Of the wheel ([\d.]+) MB are figures, "
        r"([\d.]+) MB\s+lessons",
        " ".join(guide.split()),
    )
    with zipfile.ZipFile(wheel) as archive:
        sizes = [(one.filename, one.compress_size) for one in archive.infolist()]
    figures = sum(size for name, size in sizes if name.endswith(FIGURES))
    lessons = sum(size for name, size in sizes if name.startswith("tpustarter/lessons/"))
    bytes_now = [wheel.stat().st_size, sdist.stat().st_size, figures, lessons - figures]

    assert stated
    assert bytes_now == pytest.approx([float(text) * 1e6 for text in stated.groups()], rel=0.1)


def test_first_command_runs_from_wheel_file(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first command runs from the wheel's file, in uv's environment."""
    monkeypatch.delenv(invocation.VARIABLE)
    run = ("tool", "run", "--quiet", "--isolated", "--from", str(wheel), "tpustarter")

    assert f"tpustarter {__version__} (installed from {wheel})\n" == uv(*run, "--version")
    assert "healthy" == json.loads(uv(*run, "check", "host.space", "--json"))["verdict"]
    guide = uv(*run, "agents")
    assert f" --from {wheel} tpustarter agents --print" in guide
    entry = json.loads(guide[guide.index("  {") : guide.rindex("  }") + 3])
    server = entry["mcpServers"]["tpustarter"]
    words = [server["command"], *server["args"]]  # with mcp; the end of stdin is that of the server
    subprocess.run(words, stdin=subprocess.DEVNULL, check=True)
