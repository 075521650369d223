"""`tpustarter tpu`: the group of commands that create, manage and delete a TPU."""

from __future__ import annotations

import importlib

import click

from tpustarter.cli.command_end import print_errors_as_json
from tpustarter.core.problem import ExitCode, Problem, find_schema_name
from tpustarter.core.short_ids import find_nearest

VERBS: dict[str, str] = {
    "zones": "offers",
    "types": "offers",
    "versions": "offers",
    "create": "create",
    "watch": "watch",
    "list": "list_tpus",
    "show": "list_tpus",
    "ssh-config": "ssh_config",
    "run": "run",
    "job": "job",
    "stop": "stop_and_start",
    "start": "stop_and_start",
    "delete": "delete",
    "cost": "cost",
    "doctor": "doctor",
}
"""Module of each verb, imported when the verb is used."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the verbs in the order of a TPU's life."""
        return [*VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"tpustarter.cli.tpu.{VERBS[cmd_name]}")
        return getattr(module, f"{cmd_name.replace('-', '_')}_command")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            matches = find_nearest(args[0], VERBS)
            hint = "run `tpustarter tpu --help` for the list of commands"
            if matches:
                hint = f"did you mean `tpustarter tpu {matches[0]}`?"
            with print_errors_as_json(find_schema_name(["tpu"]), wanted="--json" in args):
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
