"""Tests of `tpustarter plan` as a command: 80 columns, JSON by its schema, exit codes."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from tests.planning.test_parameter_counts import PUBLISHED
from tests.support.pages import REFERENCE
from tests.support.places import GOLDEN
from tpustarter.cli.plan import plan
from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import WIDTH

SCHEMA = json.loads(resources.files("tpustarter.planning").joinpath("schema.json").read_text())
CONFIGS = {row["name"]: row["config"] for row in PUBLISHED}
TEXTS = {
    "plan-llama": ("Llama 3.1 8B", []),
    "plan-llama-serve": ("Llama 3.1 8B", ["--serve", "--context", "8192", "--tpu", "v5e-4,v6e-1"]),
    "plan-deepseek-formulas": (
        "DeepSeek V3",
        ["--serve", "--tpu", "v6e-64", "--weights", "fp8", "-v"],
    ),
    "plan-too-big": ("Mixtral 8x7B v0.1", ["--tpu", "v5e-8,v6e-256", "--remat", "dots"]),
}
"""The model and the options of each golden text."""


def planned(folder: Path, name: str, *options: str) -> Result:
    """Run the command on a model's file."""
    (folder / "config.json").write_text(json.dumps(CONFIGS[name]))
    return CliRunner().invoke(plan, [str(folder), *options])


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_golden(name: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The text is the golden one, within 80 columns."""
    model, options = TEXTS[name]
    done = planned(tmp_path, model, *options)
    golden = GOLDEN / f"{name}.txt"
    if pytestconfig.getoption("--golden"):
        golden.write_text(done.stdout, encoding="utf-8")

    assert golden.read_text(encoding="utf-8") == done.stdout
    assert [] == [line for line in done.stdout.splitlines() if len(line) > WIDTH]
    assert ("too-big" in name) == bool(done.exit_code)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("options", [[], ["--serve"]])
def test_json_follows_schema(name: str, options: list[str], tmp_path: Path) -> None:
    """The JSON document has the exit code of the process and the same figures as the text."""
    done = planned(tmp_path, name, "--json", *options)
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)

    assert done.exit_code == document["exit_code"]
    assert document["exit_code"] == int(not all(one["fits"] for one in document["tpus"]))
    for one in document["tpus"]:
        assert one["needed_bytes"] == sum(part["bytes"] for part in one["parts"])
        assert one["devices"] == one["tensor"] * one["groups"]


def test_rehearsal_is_compared(tmp_path: Path) -> None:
    """A rehearsal is compared for its TPUs, in text and in JSON."""
    memory = {"arguments": 6 * 2**30}
    result = {"program": "step", "tpu": "v5e-16", "hbm_bytes": 14 * 2**30, "memory": memory}
    file = tmp_path / "rehearsal.json"
    file.write_text(json.dumps({"schema": "tpustarter.rehearsal/1", "results": [result]}))
    done = planned(tmp_path, "Llama 3.1 8B", "--rehearsal", str(file), "--json")
    document = json.loads(done.stdout)
    compared = document["rehearsals"][0]
    tpu = document["tpus"][0]
    text = planned(tmp_path, "Llama 3.1 8B", "--rehearsal", str(file)).stdout

    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert ["v5e-16"] == [one["name"] for one in document["tpus"]]
    assert (14 * 2**30, tpu["needed_bytes"]) == (compared["rehearsed"], compared["planned"])
    assert sum(part["bytes"] for part in tpu["parts"][:2]) == compared["state"]
    assert "14.00 GiB" in text


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"schema": "tpustarter.rehearsal/1"}', "[" * 9000]
)
def test_other_file_is_no_rehearsal(text: str, tmp_path: Path) -> None:
    """A file that is no rehearsal is one error with the command that makes one."""
    file = tmp_path / "rehearsal.json"
    file.write_text(text)
    done = planned(tmp_path, "Llama 3.1 8B", "--rehearsal", str(file))

    assert isinstance(done.exception, Problem)
    assert str(file) in done.exception.summary


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--context", "200000"], "`--context` is 200000"),
        (["--weights", "int8"], "weights in int8 are for serving"),
        (["--tpu", ","], "unknown TPU type"),
        (["--tensor", "64"], "32 heads do not divide by 64"),
    ],
)
def test_impossible_options_are_errors(options: list[str], words: str, tmp_path: Path) -> None:
    """Impossible options are errors, also as JSON."""
    done = planned(tmp_path, "Llama 3.1 8B", *options, "--json")
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)

    assert isinstance(done.exception, Problem)
    assert words in document["error"]["what"]


LESSON = locations.content_folder("lessons") / "setup" / "23-plan-a-week-on-a-grant.md"
SHOWN = re.compile(r"```sh\ntpustarter plan qwen3-8b ([^\n]+)\n```\n\n```text\n(.+?)```", re.DOTALL)


def test_lesson_shows_what_is_printed(tmp_path: Path) -> None:
    """The lesson shows exactly the printed output for the file that its readers write."""
    text = LESSON.read_text(encoding="utf-8")
    config = re.search(r"```json\n(.+?)```", text, re.DOTALL)
    assert config
    (tmp_path / "config.json").write_text(config[1])
    outputs = SHOWN.findall(text)

    assert 2 == len(outputs)
    for options, shown in outputs:
        printed = CliRunner().invoke(plan, [str(tmp_path), *options.split()]).stdout.splitlines()
        assert [] == [line for line in shown.splitlines() if line not in {*printed, "..."}]


@pytest.mark.skipif(
    not REFERENCE.is_file(), reason="The pages of the repository are in the checkout only."
)
def test_reference_shows_what_is_printed() -> None:
    """The reference page shows the rows of a golden text."""
    rows = re.findall(r"^(?:GiB|v5e-4|v6e-1) +\S+ .+$", REFERENCE.read_text(), re.MULTILINE)
    golden = (GOLDEN / "plan-llama-serve.txt").read_text(encoding="utf-8").splitlines()

    assert 3 == len(rows)
    assert {*rows} <= {*golden}
