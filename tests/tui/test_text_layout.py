"""Texts that are wrapped again for every width."""

from __future__ import annotations

import pytest
from textual.content import Content

from tpustarter.text import terminal
from tpustarter.tui.kit import text_layout
from tpustarter.tui.kit.text_layout import style_sentence, wrap_text

ANSWER = "`key, subkey = jax.random.split(key)`, then `x = jax.random.uniform(subkey)`"


def test_code_in_sentence_stays_on_line_if_fitting() -> None:
    """Code in a sentence is not broken if it fits a line, and else breaks at a space."""
    assert [
        "key, subkey = jax.random.split(key), then",
        "x = jax.random.uniform(subkey)",
    ] == [line.plain for line in wrap_text(style_sentence(ANSWER), 70)]
    assert [
        "key, subkey =",
        "jax.random.split(key), then",
        "x =",
        "jax.random.uniform(subkey)",
    ] == [line.plain for line in wrap_text(style_sentence(ANSWER), 27)]


def test_wide_command_breaks_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that start this program stay on one line if they fit."""
    for module in (text_layout, terminal):
        monkeypatch.setattr(module, "tpustarter_command", lambda: "python3 -m uv run tpustarter")
    text = Content("python3 -m uv run tpustarter rehearse jax.all_gather")

    assert "python3 -m uv run tpustarter" == text_layout.wrap_text(text, 30)[0].plain
    assert ["python3 -m uv run", "tpustarter rehearse"] == [
        line.plain for line in text_layout.wrap_text(text, 20)[:2]
    ]
