"""Logs that cannot be read."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_explain import typed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("/nowhere/train.log",), b"cannot be read: No such file"),
        (("/",), b"is a folder"),
        (("/proc/self/mem",), b"cannot be read"),
        (("ValueError: shapes do not fit",), b"run `tpustarter explain` without a file"),
        (("ValueError: " + "x " * 3000,), b"run `tpustarter explain` without a file"),
    ],
)
def test_unreadable_log_is_single_error(arguments: tuple[str, ...], expected: bytes) -> None:
    """A log that can't be read is one error with code 2, also with `--json`."""
    done = typed("explain", *arguments)
    assert (2, b"") == (done.returncode, done.stdout)
    assert expected in done.stderr
    assert b"Traceback" not in done.stderr
    document = json.loads(typed("explain", "--json", *arguments).stdout)
    assert "tpustarter.explain/1" == document["schema"]
