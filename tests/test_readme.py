"""The README is an entry: a newcomer's commands, and links to the rest, also in the wheel."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from tests.support.pages import README, links
from tpustarter.core import content, locations
from tpustarter.machine.frameworks import FRAMEWORKS
from tpustarter.probe.check_needs import CheckNeeds
from tpustarter.setup.environment.setup_profiles import SIZES

MOST_LINES = 220

checkout = pytest.mark.skipif(
    not README.is_file(), reason="The pages of the repository are in the checkout only."
)


@checkout
def test_readme_has_newcomer_and_gate_commands() -> None:
    """The first command as a line to copy, and the one that runs the tests."""
    readme = README.read_text(encoding="utf-8")

    assert "\npython3 -m pip install uv && python3 -m uv run tpustarter check\n" in readme
    assert "\npython3 -m uv run pytest\n" in readme
    assert not re.search(r"(pip install|uvx) tpustarter", readme)


@checkout
def test_readme_is_short_and_lists_ten_commands() -> None:
    """The README is short and lists ten commands; the reference lists the others."""
    readme = README.read_text(encoding="utf-8")

    assert len(readme.splitlines()) < MOST_LINES
    assert 10 == len(re.findall(r"^\| `tpustarter(?: [^`]+)?` \|", readme, re.MULTILINE))


@checkout
def test_sample_is_of_today() -> None:
    """The README's sample has today's count of quick claims and names all other frameworks."""
    readme = README.read_text(encoding="utf-8")
    others = ", ".join(sorted({*FRAMEWORKS} - {"jax"}))
    claims = [
        check
        for check in content.read_checks()
        if check.framework in ("host", "jax")
        and check.level in ("static", "quick")
        and check.needs == CheckNeeds()
    ]
    counted = re.findall(r"(?:(\d+) of )?(\d+) claims hold", readme)

    assert {str(len(claims)), ""} == {number for numbers in counted for number in numbers}
    assert f"\nwithout {others} (" in readme


def test_wheel_page_has_no_dead_link() -> None:
    """Files of the repository are not beside it, so that only whole addresses lead anywhere."""
    page = importlib.metadata.metadata("tpustarter").get_payload()

    assert page.startswith("# tpustarter\n")
    assert [] == [target for target in links(page) if not target.startswith("https://")]


@pytest.mark.parametrize(
    ("lesson", "wheel"),
    [("17-install-pytorch-xla", "torch_xla==2.9.0"), ("18-install-torchtpu", "torch_tpu==0.2.0")],
)
def test_setup_lesson_has_download_and_disk_size(lesson: str, wheel: str) -> None:
    """The set-up lesson gives the download and disk sizes of the plan."""
    text = (
        locations.content_folder("lessons")
        .joinpath(f"setup/{lesson}.md")
        .read_text(encoding="utf-8")
    )

    assert set(SIZES[wheel]) <= set(re.findall(r"[\d.]+ GB", text.replace("\n", " ")))
