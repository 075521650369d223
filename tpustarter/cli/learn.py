"""`tpustarter learn`: list the lessons, or print one as text that reads well anywhere."""

from __future__ import annotations

from difflib import get_close_matches

import click

from tpustarter import content
from tpustarter.problem import ExitCode, Problem
from tpustarter.report.text import visible


@click.command(epilog="Example: tpustarter learn jax/precision")
@click.argument("lesson", required=False)
def learn(lesson: str | None) -> None:
    """List the lessons, or print one of them."""
    lessons = content.read_lessons()
    if lesson is None:
        for one in lessons:
            minutes = f"{one.header.get('minutes', '?')} min"
            click.echo(f"{one.id:<34} {minutes:>6}  {visible(one.title)}")
        return
    chosen = next((one for one in lessons if one.id == lesson), None)
    if chosen is None:
        near = get_close_matches(lesson, [one.id for one in lessons], n=1)
        raise Problem(
            f"there is no lesson `{lesson}`",
            hint=f"did you mean `{near[0]}`?" if near else "`tpustarter learn` lists them",
            code=ExitCode.USAGE,
        )
    for line in chosen.text.splitlines():
        click.echo(visible(line))
