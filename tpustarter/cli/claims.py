"""`tpustarter learn --old`: what an older tutorial says, and what is true today."""

from __future__ import annotations

import sys
import textwrap

import click

from tpustarter.problem import ExitCode
from tpustarter.terminal import visible


def search(text: str) -> None:
    """Print every claim that holds all words of a text."""
    from tpustarter.learning import then_now

    claims = then_now.search(then_now.read(), text)
    for number, claim in enumerate(claims):
        if number:
            click.echo()
        click.echo(visible(f"{claim.id}  {claim.status}"))
        command = f"{claim.command}" if claim.command else "no lesson yet"
        proof = claim.proof or "not shown by code here"
        for label, value in (("then", claim.then), ("now", claim.now), ("read", command),
                             ("proof", proof), ("source", claim.source)):  # fmt: skip
            for line in textwrap.wrap(value, 70, break_long_words=False, break_on_hyphens=False):
                click.echo(visible(f"  {label:<7}{line}"))
                label = ""  # noqa: PLW2901  printed once
    if not claims:
        error = (
            f"exit 5: no older claim contains `{visible(text)}`; next: `tpustarter learn --search`"
        )
        click.echo(error, err=True)
        sys.exit(ExitCode.NOTHING_VERIFIED)
