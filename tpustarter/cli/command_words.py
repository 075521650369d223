"""Rebuild the running command's command line, for the user to run again with other values."""

from __future__ import annotations

from collections.abc import Sequence

import click


def rebuild_arguments(context: click.Context, **instead: Sequence[str]) -> list[str]:
    """Return the running command's words, with its options last, or first with `--script`.

    Args:
        context: The running command's context.
        instead: Values that replace an option's, by parameter name; an empty value omits a flag.
    """
    options: list[str] = []
    names: list[str] = []
    for parameter in context.command.params:
        value = instead.get(str(parameter.name), context.params.get(str(parameter.name)))
        if isinstance(parameter, click.Argument):
            names += value or ()
            continue
        source = context.get_parameter_source(str(parameter.name))
        if str(parameter.name) not in instead and source is click.core.ParameterSource.DEFAULT:
            continue
        if isinstance(parameter, click.Option) and parameter.is_flag:
            options += [parameter.opts[0]] if value else []
            continue
        for one in value if isinstance(value, tuple | list) else (value,):
            options += [parameter.opts[0], f"{one:g}" if isinstance(one, float) else str(one)]
    command = ["tpustarter", str(context.command.name)]
    if context.params.get("script"):
        return [*command, *options, *(["--", *names] if names else [])]
    return [*command, *names, *options]
