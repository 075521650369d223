"""Which API makes a TPU, as `tpustarter tpu create --dry-run` says and shows it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from tpustarter.cli.tpu.command import tpu
from tpustarter.cloud.api import api_choice
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.generations import GENERATIONS
from tpustarter.text.terminal import WIDTH

ZONE = "us-central1-c"
INSTANCE = "gcloud compute instances create bert"
GROUP = "gcloud compute instance-groups managed create bert"
QUEUED = "gcloud compute tpus queued-resources create bert"


def create(*more: str) -> Result:
    """Run `tpustarter tpu create bert` for a zone, without sending anything."""
    words = ["create", "bert", "--zone", ZONE, *more, "--dry-run", "--outside-grant"]
    return CliRunner().invoke(tpu, words)


@pytest.mark.parametrize(
    ("more", "command"),
    [
        (("--type", "v6e-8"), QUEUED),
        (("--type", "v6e-8", "--api", "compute"), INSTANCE),
        (("--type", "v5p-16", "--api", "compute"), GROUP),
        (("--type", "v6e-8", "--flex-start", "4h"), INSTANCE),
        (("--type", "tpu7x-8"), INSTANCE),
        (("--type", "tpu7x-64", "--spot"), GROUP),
        (("--type", "tpu7x-8", "--reservation", "mine"), INSTANCE),
        (("--type", "v5e-8", "--zone", "us-west4-a"), QUEUED),
    ],
)
def test_type_decides_api(more: tuple[str, ...], command: str) -> None:
    """The type decides which API is used, unless one is forced, and the command is shown."""
    result = create(*more)

    assert 0 == result.exit_code, result.exception
    assert command in " ".join(result.stdout.replace("\\\n", " ").split())
    assert [] == [
        line
        for line in result.stdout.splitlines()
        if len(line) > WIDTH and "resourcePolicies" not in line
    ]


@pytest.mark.parametrize(
    "more",
    [
        ("--type", "tpu7x-8", "--api", "cloud-tpu"),
        ("--type", "v4-8", "--api", "compute"),
        (
            "--type",
            "tpu8i-8",
        ),
        ("--type", "tpu7x-8", "--version", "v2-alpha-tpuv6e"),
        ("--type", "tpu7x-8", "--slices", "2"),
        ("--type", "tpu7x-8", "--reserved"),
        ("--type", "v6e-8", "--flex-start", "--spot"),
        ("--type", "v6e-8", "--flex-start", "60s"),
        ("--type", "v6e-8", "--flex-start", "4h", "--spot"),
        ("--type", "v4-8", "--flex-start", "4h"),
    ],
)
def test_impossible_request_is_refused_early(more: tuple[str, ...]) -> None:
    """An impossible request, such as one with several slices, is refused early."""
    result = create(*more)

    assert isinstance(result.exception, Problem)
    assert ExitCode.USAGE == result.exception.code
    assert result.exception.hint or "not both" in result.exception.summary


def test_apis_agree_with_table_of_generations() -> None:
    """The tables of APIs and generations agree, and each row has its sources."""
    rows = api_choice.read_generation_apis()
    known = [row for row in GENERATIONS if row.cloud_tpu_api is not None]

    assert {row.name for row in known} == {*rows}
    for row in known:
        assert bool(row.cloud_tpu_api) == ("cloud-tpu" in rows[row.name].apis)
        assert bool(row.compute_engine) == ("compute" in rows[row.name].apis)
        assert bool(row.compute_engine) == bool(rows[row.name].tpu_family)
        assert all(source.startswith("https://") for source in rows[row.name].sources)
