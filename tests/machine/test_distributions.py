"""Package folders read without `importlib.metadata` give the same names and versions as with it."""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from tpustarter.machine import installed_distributions
from tpustarter.machine.installed_distributions import DistributionInfo


def lay(folder: Path, name: str, text: str | None, file: str = "METADATA") -> None:
    """Make the folder of one package; without a text it holds nothing."""
    place = folder / name
    place.mkdir(parents=True)
    if text is not None:
        (place / file).write_text(text, encoding="utf-8")


def test_installed_packages_match_importlib_metadata() -> None:
    """Installed packages have the names, versions and requirements of importlib.metadata."""
    names = sorted({one.metadata["Name"] for one in importlib.metadata.distributions()})

    found = installed_distributions.find_installed_distributions(names)

    assert len(names) > 20
    for name in names:
        fields = importlib.metadata.metadata(name)
        assert (fields["Name"], fields["Version"]) == found[name][0][:2]
        assert tuple(fields.get_all("Requires-Dist") or ()) == found[name][0].requires


@pytest.mark.parametrize("asked", ["torch-xla", "torch_xla", "Torch.XLA"])
@pytest.mark.parametrize("spelt", ["torch_xla", "Torch.XLA", "torch__xla"])
def test_name_is_found_in_any_spelling(tmp_path: Path, spelt: str, asked: str) -> None:
    """A name is found in any spelling, on the disk and in the request."""
    lay(tmp_path, f"{spelt}-2.9.0.dist-info", "Name: torch_xla\nVersion: 2.9.0\n\nText: no field\n")

    assert {
        asked: [DistributionInfo("torch_xla", "2.9.0")]
    } == installed_distributions.find_installed_distributions([asked], [str(tmp_path)])


def test_another_name_that_begins_alike_is_not_found(tmp_path: Path) -> None:
    """A name with the same beginning isn't found, nor a folder that isn't metadata."""
    lay(tmp_path, "jax_cuda12_plugin-0.7.dist-info", "Name: jax-cuda12-plugin\nVersion: 0.7\n")
    lay(tmp_path, "jax-0.7.data", "Name: jax\nVersion: 0.7\n")

    assert {"jax": []} == installed_distributions.find_installed_distributions(
        ["jax"], [str(tmp_path)]
    )


def test_requirements_are_read_to_end_of_header(tmp_path: Path) -> None:
    """Up to the first empty line; names of fields in any case."""
    text = (
        "Metadata-Version: 2.4\nname: jax\nVersion: 0.7.1\nSummary: a\n  b: c\n        \n"
        'Requires-Dist: jaxlib<=0.7.1,>=0.7.1\nRequires-Dist: libtpu==0.0.20.*; extra == "tpu"\n'
        "\nRequires-Dist: none of it\n"
    )
    lay(tmp_path, "jax-0.7.1.dist-info", text)

    (said,) = installed_distributions.find_installed_distributions(["jax"], [str(tmp_path)])["jax"]

    wanted = ("jaxlib<=0.7.1,>=0.7.1", 'libtpu==0.0.20.*; extra == "tpu"')
    assert DistributionInfo("jax", "0.7.1", wanted) == said


def test_the_first_folder_of_the_path_counts_first(tmp_path: Path) -> None:
    """The first folder of the path comes first, as in an import."""
    for number in (1, 2):
        lay(tmp_path / f"{number}", f"jax-{number}.dist-info", f"Name: jax\nVersion: {number}\n")

    found = installed_distributions.find_installed_distributions(
        ["jax"], [str(tmp_path / "2"), str(tmp_path / "1")]
    )["jax"]

    assert ["2", "1"] == [said.version for said in found]


def test_incomplete_package_has_no_name_or_version(tmp_path: Path) -> None:
    """An incomplete package is listed as Python sees it, without a name or a version."""
    lay(tmp_path, "jax-0.7.1.dist-info", None)
    lay(tmp_path, "numpy-2.0.dist-info", "", file="METADATA")

    found = installed_distributions.find_installed_distributions(
        ["jax", "numpy", "torch"], [str(tmp_path), str(tmp_path / "gone")]
    )

    assert {"jax": [DistributionInfo()], "numpy": [DistributionInfo()], "torch": []} == found


def test_an_egg_is_read_as_well(tmp_path: Path) -> None:
    """An egg is read too, as a folder or as a file."""
    lay(tmp_path, "jax-0.7.1-py3.11.egg-info", "Name: jax\nVersion: 0.7.1\n", file="PKG-INFO")
    (tmp_path / "numpy-2.0.egg-info").write_text("Name: numpy\nVersion: 2.0\n", encoding="utf-8")

    found = installed_distributions.find_installed_distributions(["jax", "numpy"], [str(tmp_path)])

    assert {
        "jax": [DistributionInfo("jax", "0.7.1")],
        "numpy": [DistributionInfo("numpy", "2.0")],
    } == found


def test_packages_outside_folders_are_read_by_importlib(tmp_path: Path) -> None:
    """Packages outside of folders, such as in a zip, are read by importlib."""
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("jax-0.7.1.dist-info/METADATA", "Name: jax\nVersion: 0.7.1\n")

    assert {
        "jax": [DistributionInfo("jax", "0.7.1")]
    } == installed_distributions.find_installed_distributions(["jax"], [str(archive)])


def test_other_package_finders_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finder of somebody's own counts as it does for Python."""

    class Finder:
        """A finder that serves packages from elsewhere, such as a database."""

        @staticmethod
        def find_distributions(context: importlib.metadata.DistributionFinder.Context):
            if context.name == "jax":
                yield Found()

    class Found(importlib.metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            return "Name: jax\nVersion: 7\n" if filename == "METADATA" else None

        def locate_file(self, path: object):
            raise NotImplementedError

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])

    found = installed_distributions.find_installed_distributions(["jax", "no-such-package"])

    assert DistributionInfo("jax", "7") == found["jax"][0]
    assert [] == found["no-such-package"]
