"""A release: the version, the list of changes, and the workflow that builds and publishes it.

`tests/wheel` builds the sdist and the wheel and looks into them.
"""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.support.places import REPOSITORY
from tpustarter.version import __version__

WORKFLOW = REPOSITORY / ".github" / "workflows" / "release.yml"
CHANGELOG = REPOSITORY / ".github" / "CHANGELOG.md"

pytestmark = pytest.mark.skipif(
    not WORKFLOW.is_file(), reason="The workflow and the list of changes are in the checkout only."
)


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    """Return the jobs of the workflow by their name."""
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]


def test_newest_change_is_of_this_version() -> None:
    """The newest change is of this version, and versions are listed once, newest first."""
    text = CHANGELOG.read_text(encoding="utf-8")
    versions = re.findall(r"^## (\d+\.\d+\.\d+)$", text, re.MULTILINE)
    as_numbers = [tuple(map(int, version.split("."))) for version in versions]

    assert __version__ == versions[0]
    assert sorted({*as_numbers}, reverse=True) == as_numbers


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        (f"v{__version__}", 0),
        ("v", 1),
        (f"v{__version__}1", 1),
        ("v.*", 1),
    ],
)
def test_tag_must_be_the_version(jobs: dict[str, Any], tag: str, code: int) -> None:
    """The workflow's own step refuses another one."""
    (step,) = [one for one in jobs["build"]["steps"] if one.get("name") == "The tag is the version"]
    done = subprocess.run(
        ["bash", "-c", step["run"]], cwd=REPOSITORY, env={"GITHUB_REF_NAME": tag}, check=False
    )

    assert code == done.returncode


def test_every_supported_python_is_tried(jobs: dict[str, Any]) -> None:
    """Every supported Python is tested on both systems, from the oldest without a gap.

    The tests before a release run on the newest, too.
    """
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    oldest = int(re.findall(r'^requires-python = ">=3\.(\d+)"$', project, re.MULTILINE)[0])
    matrix = jobs["try"]["strategy"]["matrix"]
    tested = [step["env"]["UV_PYTHON"] for step in jobs["build"]["steps"] if "env" in step]

    assert [f"3.{minor}" for minor in range(oldest, 15)] == matrix["python"]
    assert ["ubuntu-latest", "macos-latest"] == matrix["os"]
    assert matrix["python"][-1:] == tested


def test_only_a_tried_tag_is_published(jobs: dict[str, Any]) -> None:
    """Only a tested tag is published, by one job with trusted publishing and without a secret."""
    allowed = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}

    assert ("build", "try") == (jobs["try"]["needs"], jobs["publish"]["needs"])
    assert "github.ref_type == 'tag'" == jobs["publish"]["if"]
    assert {"publish"} == allowed
    assert "secrets." not in WORKFLOW.read_text(encoding="utf-8")
