"""Settings x checks: whatever a setting of JAX or XLA changes, no check blames the machine for it.

What changes no claim is set two dozen at a time here. Each alone, and on the whole suite:
`python -m tests.support.settings`, an hour on two cores.
"""

from __future__ import annotations

import pytest

from tests.support.settings import READ, SENSITIVE, TOGETHER, Setting, in_groups, is_blamed, run

SETTINGS = [*in_groups(READ, size=24), TOGETHER]


@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])
def test_effect_of_setting_is_not_machine_fault(setting: Setting) -> None:
    """A check that a setting alone breaks is a warning that names the setting, never a failure."""
    report = run(setting, SENSITIVE, devices=2)

    assert len(SENSITIVE) == len(report["results"])
    assert [] == [result["id"] for result in report["results"] if is_blamed(result)]
    assert "fail" not in {result["status"] for result in report["results"]}
