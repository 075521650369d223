"""Texts that are laid out anew for every width."""

from __future__ import annotations

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
