"""Each framework is complete: every table of frameworks has it."""

from __future__ import annotations

import pytest

from tpustarter.core import content
from tpustarter.machine import frameworks
from tpustarter.machine.frameworks import FRAMEWORKS
from tpustarter.probe import adapters
from tpustarter.report.collect.frameworks import STEPS
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES, SIZES

NAMES = sorted(FRAMEWORKS)


def test_frameworks_and_adapters_have_one_order() -> None:
    """Frameworks and adapters have the same order, so none lacks an adapter."""
    assert list(FRAMEWORKS) == list(adapters.ADAPTERS)


@pytest.mark.parametrize("name", NAMES)
def test_framework_has_checks_and_a_version(name: str) -> None:
    """Without a distribution it would never count as installed."""
    assert name in {check.framework for check in content.read_checks()}
    assert name in frameworks.DISTRIBUTIONS


@pytest.mark.parametrize("name", NAMES)
def test_framework_can_be_set_up(name: str) -> None:
    """Hints lead to its profile, which knows how much its packages download."""
    row = FRAMEWORKS[name]

    assert row.profile in PROFILES
    assert {row.wheel, row.tpu_wheel} <= {*SIZES}


def test_every_profile_has_steps_in_a_lesson() -> None:
    """Every profile has its steps in exactly one lesson, and no lesson has an unknown profile."""
    in_lessons = [name for one in content.read_lessons() for name in one.header.get("setups", {})]

    assert sorted([*PROFILES, *MACHINE]) == sorted(in_lessons)


@pytest.mark.parametrize("name", NAMES)
def test_bug_report_asks_the_framework(name: str) -> None:
    """A bug report asks the framework, or one that it computes with."""
    assert any(one in STEPS for one in (name, *FRAMEWORKS[name].required_frameworks))


@pytest.mark.parametrize("name", NAMES)
def test_choosing_devices_changes_no_setting(name: str) -> None:
    """The program's own variables do not count as the user's settings."""
    for platform in FRAMEWORKS[name].platforms:
        env = frameworks.platform_variables(name, platform, 8, {})

        assert () == frameworks.list_behaviour_variables(name, env)
