"""`tpustarter tpu`: get a TPU from Google Cloud, look after it, and give it back."""

from __future__ import annotations

import importlib

import click

from tpustarter.cli.endings import json_even_if_it_breaks
from tpustarter.problem import ExitCode, Problem, schema_of
from tpustarter.short_ids import nearest

VERBS: dict[str, str] = {
    "zones": "tpu_offers",
    "types": "tpu_offers",
    "versions": "tpu_offers",
    "create": "tpu_create",
    "watch": "tpu_watch",
    "list": "tpu_list",
    "show": "tpu_list",
    "ssh-config": "tpu_ssh_config",
    "run": "tpu_run",
    "stop": "tpu_power",
    "start": "tpu_power",
    "delete": "tpu_delete",
    "cost": "tpu_cost",
    "doctor": "tpu_doctor",
}
"""The module that holds each verb, which is loaded when the verb is asked for."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the verbs, in the order of a TPU's life."""
        return [*VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a verb, loading its module; None where there is none of this name."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"tpustarter.cli.{VERBS[cmd_name]}")
        return getattr(module, f"{cmd_name.replace('-', '_')}_command")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb; raises Problem for one that is not there."""
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            matches = nearest(args[0], VERBS)
            hint = "run `tpustarter tpu --help` for the list of commands"
            if matches:
                hint = f"did you mean `tpustarter tpu {matches[0]}`?"
            with json_even_if_it_breaks(schema_of(["tpu"]), wanted="--json" in args):
                raise Problem(
                    f"there is no command `tpu {args[0]}`", hint=hint, code=ExitCode.USAGE
                )
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Verbs,
    epilog="Example: tpustarter tpu create bert --type v6e-8 --zone us-central1-b --dry-run",
)
def tpu() -> None:
    """Get a TPU from Google Cloud, look after it, and give it back.

    Each of these commands shows the gcloud command that does the same. With --dry-run, it sends
    nothing and needs no credentials.
    """
