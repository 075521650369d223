"""The command line of the running command, for the user to type again with other values."""

from __future__ import annotations

from collections.abc import Sequence

import click


def rebuild_arguments(context: click.Context, **instead: Sequence[str]) -> list[str]:
    """Return the words of the typed command, with its options before its arguments.

    Args:
        context: The context of the running command.
        instead: Values that replace those of an option, by its parameter's name; an empty value
            leaves a flag out.
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
