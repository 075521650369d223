"""`tpustarter plan`: a model's needs on each TPU, calculated from its `config.json`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_if_waiting, echo_lines
from tpustarter.cli.parameters import StrictCommand, split_names
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import choose_paint, wrap

if TYPE_CHECKING:
    from tpustarter.planning.model_memory import PlanOptions
    from tpustarter.planning.model_shape import ModelShape

SCHEMA = "tpustarter.plan/1"
CONTEXT = 4096
"""Tokens per sequence, unless the user chooses another number or the model allows fewer."""
_TYPES = ("f32", "bf16", "fp8", "int8", "int4")
_HELP = """Work out what a language model needs on each TPU, from its config.json.

CONFIG is the config.json of a model from Hugging Face, or the folder that has it. Nothing is
downloaded. Known are Llama, Mistral, Mixtral, Gemma 1 to 3, Qwen 2 and 3 with and without
experts, DeepSeek V2 and V3, and GPT-OSS.

Without --tpu, the plan names the smallest slice of each generation that holds the model, of
sizes in powers of two. It shows the memory of one device: weights, Adam's state, gradients and
activations for training, or with --serve weights, KV cache and activations. It also shows the
sizes over which the model can be sharded, and the largest batch and the longest context that
fit.

This is arithmetic. Parameters, weights, optimizer state and KV cache are exact. Activations are
an estimate, because the compiler decides what exists at the same time. --formulas shows how each
figure comes about. What your own program needs is counted by `tpustarter rehearse`, and
--rehearsal compares both.

\b
Exit codes:
  0  each TPU in the plan holds the model
  1  one of them doesn't
"""


@click.command(
    cls=StrictCommand,
    help=_HELP,
    short_help="Work out what a language model needs on each TPU.",
    epilog="Example: tpustarter plan config.json --tpu v5e-16,v6e-8"
    "\n\ntpustarter plan config.json --serve --context 8192",
)
@click.argument("config", metavar="CONFIG")
@click.option("--serve", is_flag=True, help="Plan for serving instead of training.")
@click.option("--tpu", "names", metavar="NAME[,NAME...]", help="TPUs to plan for.")
@click.option(
    "--context",
    type=click.IntRange(1, 2**31),
    metavar="N",
    help=f"Tokens of a sequence.  [default: {CONTEXT}, or what the model is made for]",
)
@click.option(
    "--batch",
    type=click.IntRange(1, 2**20),
    default=1,
    show_default=True,
    metavar="N",
    help="Sequences on each FSDP device, or in each replica of --serve.",
)
@click.option(
    "--tensor",
    type=click.IntRange(1, 2**16),
    metavar="N",
    help="Devices that share each matrix.  [default: 1; with --serve the most that divide]",
)
@click.option(
    "--weights",
    type=click.Choice(_TYPES),
    help="Type of the weights.  [default: f32; with --serve bf16]",
)
@click.option(
    "--moments",
    type=click.Choice(_TYPES[:2]),
    default="f32",
    show_default=True,
    help="Type of Adam's moments.",
)
@click.option(
    "--cache",
    type=click.Choice(_TYPES[:-1]),
    default="bf16",
    show_default=True,
    help="Type of the KV cache.",
)
@click.option(
    "--remat",
    type=click.Choice(["full", "dots", "none"]),
    default="full",
    show_default=True,
    help="What jax.checkpoint recomputes: each layer, all but matmuls, or nothing.",
)
@click.option(
    "--scores",
    is_flag=True,
    help="Attention makes a matrix of scores, as it does without a flash kernel.",
)
@click.option(
    "--rehearsal",
    metavar="FILE",
    help="Compare with the output of `tpustarter rehearse --json`.",
)
@click.option("-v", "--formulas", is_flag=True, help="Show each array, and each figure's formula.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def plan(
    *,
    config: str,
    names: str | None,
    rehearsal: str | None,
    formulas: bool,
    as_json: bool,
    **options: Any,  # with the options' types
) -> None:
    """Plan a model on TPUs; `_HELP` has the command's help."""
    with print_errors_as_json(SCHEMA, wanted=as_json):
        from tpustarter.planning import (
            model_shape,
            plan_document,
            plan_text,
            rehearsal_comparison,
            tpu_fit,
        )

        path = locations.expand_path(config)
        echo_if_waiting(path)
        model = model_shape.read_model(path)
        chosen = _options(model, options)
        results = rehearsal_comparison.read_rehearsal(Path(rehearsal)) if rehearsal else []
        typed = split_names(names) or list(dict.fromkeys(result.tpu for result in results))
        plans = tpu_fit.plan_tpus(model, chosen, typed)
        if not plans:
            what = f"no TPU has a number of devices that {chosen.tensor} divides"
            raise Problem(what, hint="leave `--tensor` out", code=ExitCode.USAGE)
        compared = rehearsal_comparison.compare_plans(plans, results)
        notes = plan_text.warn_of_types(chosen, plans)
        code = plan_document.exit_code(plans)
        if as_json:
            print_result(plan_document.make_json_document(model, chosen, plans, compared, notes))
        else:
            paint = choose_paint(plan_text.COLOURS)
            lines = plan_text.render_plan(
                model, chosen, plans, compared, named=bool(typed), formulas=formulas, paint=paint
            )
            echo_lines([*lines, *_ending(notes)])
    sys.exit(code)


def _options(model: ModelShape, options: dict[str, Any]) -> PlanOptions:
    from tpustarter.planning.model_memory import QUANTISED, PlanOptions

    serve = options["serve"]
    context = options.pop("context") or min(CONTEXT, model.context)
    if context > model.context:
        what = f"`--context` is {context}, and this model is made for {model.context} tokens"
        raise Problem(what, code=ExitCode.USAGE)
    weights = options.pop("weights") or ("bf16" if serve else "f32")
    if weights in QUANTISED and not serve:
        raise Problem(
            f"weights in {weights} are for serving, and Adam updates f32 or bf16",
            hint="add `--serve`, or leave `--weights` out",
            code=ExitCode.USAGE,
        )
    return PlanOptions(context=context, weights=weights, **options)


def _ending(notes: list[str]) -> list[str]:
    lines = [line for note in notes for line in ["", *wrap(note, "note  ", " " * 6)]]
    text = "Now let the compiler count your own program. This lists those of your folder:"
    return [*lines, "", *wrap(text), "  tpustarter rehearse"]
