"""The command class and parameter types that reject empty values and non-finite numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

import click
from click.core import ParameterSource


class StrictCommand(click.Command):
    """A command that rejects an empty value, as from an unset shell variable."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; raises UsageError for an empty value."""
        typed, _, _ = self.make_parser(ctx).parse_args([*args])
        rest = super().parse_args(ctx, args)  # first, because it may show the help
        for parameter in self.params:
            if _has_blank(typed.get(str(parameter.name))) and not _is_passed_on(parameter, typed):
                raise click.UsageError(f"{_shown(parameter)} was given as an empty text", ctx)
        return rest


def _has_blank(value: object) -> bool:
    if isinstance(value, list | tuple):
        items: list[object] = [*value]
        return any(map(_has_blank, items))
    return isinstance(value, str) and not value.strip()


def _is_passed_on(parameter: click.Parameter, typed: dict[str, object]) -> bool:
    is_name = isinstance(parameter, click.Argument)
    return is_name and (parameter.type is click.UNPROCESSED or bool(typed.get("script")))


def _shown(parameter: click.Parameter) -> str:
    is_option = isinstance(parameter, click.Option)
    return f"`{parameter.opts[-1]}`" if is_option else f"`{str(parameter.name).upper()}`"


def refuse_typed_options(names: Collection[str], reason: str) -> None:
    """Raise UsageError for the first of these options that was typed, such as "--on REASON"."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {reason}")


def split_names(text: str | None) -> tuple[str, ...]:
    """Split `v5e-8,v6e-8` into names. A string without a name gives one empty, invalid name."""
    if text is None:
        return ()
    return tuple(name.strip() for name in text.split(",") if name.strip()) or ("",)


class FiniteRange(click.FloatRange):
    """A number within bounds that rejects `inf` and `nan`; no bound excludes `nan`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number of a text or a default; fails for infinity and NaN."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0}


class Seconds(click.ParamType[float]):
    """A positive time such as `0.42s`, `420ms` or `2min`; without a unit, in seconds."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the time in seconds; fails for anything else."""
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(us|ms|s|min|)", str(value).strip())
        if match is None or not float(match[1]):
            self.fail(f"found `{value}`, expected a time such as 0.42s, 420ms or 2min", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]
