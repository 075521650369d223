"""The table of options names every one of the JAX at hand, and the lane sets those that matter."""

from __future__ import annotations

import importlib
from typing import Any

import jax

from tests.support.settings import FLAGS, LIBTPU, OPTIONS, QUIET

options: Any = importlib.import_module("tpustarter.checks.host._options")
in_force: Any = importlib.import_module("tpustarter.checks.host._in_force")


def test_every_option_of_this_jax_is_known() -> None:
    """A new JAX brings new ones: each gets its row in `checks/host/_options.py`.

    Some are options of versions alone, or once a module of JAX is imported.
    """
    names = {name.upper() for name in jax.config.values}

    assert set() == names - in_force.all_options() - {*in_force.EXTRA_VARIABLES}


def test_lane_tries_every_setting_that_changes_results() -> None:
    """Options, flags of XLA and flags of libtpu have a value of their own there."""
    assert {*options.RESULTS, *options.REFUSALS} == set(OPTIONS)
    assert set(options.FLAGS) == {*FLAGS, *LIBTPU}
    assert in_force.all_options() > set(QUIET)


def test_no_value_of_the_lane_is_the_default() -> None:
    """A setting that is JAX's own value would show nothing."""
    assert [] == [name for name, value in OPTIONS.items() if in_force._is_default(name, value)]
