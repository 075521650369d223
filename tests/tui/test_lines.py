"""Texts that are laid out anew for every width."""

from __future__ import annotations

import pytest
from textual.content import Content

from tpustarter import terminal
from tpustarter.tui import lines
from tpustarter.tui.lines import prose, wrapped

ANSWER = "`key, subkey = jax.random.split(key)`, then `x = jax.random.uniform(subkey)`"


def test_code_in_a_sentence_stays_on_one_line_where_it_fits() -> None:
    """A reader who compares four answers sees each call whole; a longer one breaks at a space."""
    assert [
        "key, subkey = jax.random.split(key), then",
        "x = jax.random.uniform(subkey)",
    ] == [line.plain for line in wrapped(prose(ANSWER), 70)]
    assert [
        "key, subkey =",
        "jax.random.split(key), then",
        "x =",
        "jax.random.uniform(subkey)",
    ] == [line.plain for line in wrapped(prose(ANSWER), 27)]


def test_a_command_that_is_wider_than_its_place_is_parted_between_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it fits, the words that start this program stay together."""
    for module in (lines, terminal):
        monkeypatch.setattr(module, "command", lambda: "python3 -m uv run tpustarter")
    text = Content("python3 -m uv run tpustarter rehearse jax.all_gather")

    assert "python3 -m uv run tpustarter" == lines.wrapped(text, 30)[0].plain
    assert ["python3 -m uv run", "tpustarter rehearse"] == [
        line.plain for line in lines.wrapped(text, 20)[:2]
    ]
