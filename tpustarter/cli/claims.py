"""`tpustarter learn --old`: what an older tutorial says, and what is true today."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import click

from tpustarter.cli.saying import say
from tpustarter.problem import ExitCode
from tpustarter.terminal import visible

if TYPE_CHECKING:
    from tpustarter.learning.then_now import Claim


def _found(text: str) -> list[Claim]:
    """Return the claim of that name, those that hold the text as it stands, or what a search finds.

    Names of older tutorials are looked up letter by letter: `v2-nightly` is the beginning of one,
    and `xla_dist` is not the same as `dist`, while the search takes words apart and stems them.
    """
    from tpustarter.learning import search as searching
    from tpustarter.learning import then_now

    listed = then_now.read()
    claims = {claim.id: claim for claim in listed}
    if text.strip() in claims:
        return [claims[text.strip()]]
    if literally := then_now.search(listed, text):
        return literally
    shelf = searching.read_shelf()
    found = searching.Library(shelf, searching.read_synonyms()).search(text)
    hits = found.of("old")
    return [claims[hit.id] for hit in hits if hit.is_whole == hits[0].is_whole]


def search(text: str) -> None:
    """Print the claims of older tutorials about a text, whole."""
    claims = _found(text)
    for number, claim in enumerate(claims):
        if number:
            click.echo()
        click.echo(visible(f"{claim.id}  {claim.status}"))
        command = f"{claim.command}" if claim.command else "no lesson yet"
        proof = claim.proof or "not shown by code here"
        for label, value in (("then", claim.then), ("now", claim.now), ("read", command),
                             ("proof", proof), ("source", claim.source)):  # fmt: skip
            say(
                textwrap.wrap(
                    visible(value),
                    79,
                    initial_indent=f"  {label:<7}",
                    subsequent_indent=" " * 9,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )
    if not claims:
        error = (
            f"exit 5: no older claim is about `{visible(text)}`. Next: `tpustarter learn "
            "--search TEXT`"
        )
        click.echo(error, err=True)
        sys.exit(ExitCode.NOTHING_VERIFIED)
