"""`tpustarter learn --old`: claims of older tutorials, each with what is true today."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.core.problem import ExitCode
from tpustarter.text.terminal import escape_text

if TYPE_CHECKING:
    from tpustarter.learning.content.tutorial_claims import TutorialClaim


def _found(text: str) -> list[TutorialClaim]:
    """Return the claim with this id, the claims that contain the text, or a search's results.

    Names in older tutorials are matched literally: `v2-nightly` may be the beginning of one, and
    `xla_dist` is not `dist`, whereas the search splits words and stems them.
    """
    from tpustarter.learning.content import tutorial_claims
    from tpustarter.learning.search import search

    listed = tutorial_claims.read_claims()
    claims = {claim.id: claim for claim in listed}
    if text.strip() in claims:
        return [claims[text.strip()]]
    if literally := tutorial_claims.search_claims(listed, text):
        return literally
    sources = search.read_sources()
    found = search.SearchLibrary(sources, search.read_synonyms()).search(text)
    hits = found.select_kind("old")
    return [claims[hit.id] for hit in hits if hit.has_every_word == hits[0].has_every_word]


def print_outdated_claims(text: str) -> None:
    """Print the older tutorials' claims that match a query; exit with 5 if none does."""
    claims = _found(text)
    for number, claim in enumerate(claims):
        if number:
            click.echo()
        click.echo(escape_text(claim.heading))
        command = f"{claim.command}" if claim.command else "no lesson yet"
        for label, value in (
            ("then", claim.then),
            ("now", claim.now),
            ("read", command),
            ("shown by", claim.proof or ""),
            ("source", claim.source),
        ):
            if not value:
                continue
            echo_lines(
                textwrap.wrap(
                    escape_text(value),
                    79,
                    initial_indent=f"  {label:<9}",
                    subsequent_indent=" " * 11,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )
    if not claims:
        error = (
            f"exit 5: no older claim is about `{escape_text(text)}`. Next: `tpustarter learn "
            "--search TEXT`"
        )
        click.echo(error, err=True)
        sys.exit(ExitCode.NOTHING_VERIFIED)
