"""Lines by host out of labelled pieces, as srun and mpirun write them."""

from __future__ import annotations

import json

import pytest

from tpustarter.slices.starting import mpi_launcher, slurm_launcher
from tpustarter.slices.starting.labelled_output import HostLineSplitter, LabelFormat

LONG = json.dumps({"event": "facts", "fill": "é" * 1000})
EXACT = json.dumps({"event": "facts", "fill": "x" * 994})


def srun_label(text: str, host: int = 0) -> bytes:
    """Return a line as `srun --label` writes it."""
    data = text.encode()
    parts = [data[i : i + 1024] for i in range(0, len(data), 1024)]
    return b"".join(b"%d: %s\n" % (host, part) for part in parts)


@pytest.mark.parametrize(
    ("labels", "data", "expected"),
    [
        (slurm_launcher.LABELS, b"0: a\n1: b\n", [(0, "a"), (1, "b")]),
        (slurm_launcher.LABELS, b"08: a\n 9: b\n10: 7: c\n", [(8, "a"), (9, "b"), (10, "7: c")]),
        (slurm_launcher.LABELS, b"srun: error: x\n0: \n", [(None, "srun: error: x"), (0, "")]),
        (slurm_launcher.LABELS, srun_label(LONG, 3), [(3, LONG)]),
        (slurm_launcher.LABELS, srun_label(EXACT) + b"0: b\n", [(0, EXACT), (0, "b")]),
        (slurm_launcher.LABELS, b"0: no end", [(0, "no end")]),
        (mpi_launcher.LABELS, b"[1,0]<stdout>:a\n[1,12]<stderr>: b\n", [(0, "a"), (12, " b")]),
        (
            mpi_launcher.LABELS,
            b"[1,0]<stdout>:ab[1,1]<stdout>:xy\n[1,0]<stdout>:c\n[1,1]<stdout>:z\n",
            [(1, "xy"), (0, "abc"), (1, "z")],
        ),
        (
            mpi_launcher.LABELS,
            b"own[1,0]<stdout>:a\nown\n",
            [(None, "own"), (0, "a"), (None, "own")],
        ),
        (mpi_launcher.LABELS, b"[1,0]<stdout>:a[1,1]<stdout>:b", [(0, "a"), (1, "b")]),
        (slurm_launcher.LABELS, b"9" * 5000 + b": a\n", [(None, "9" * 5000 + ": a")]),
        (
            mpi_launcher.LABELS_5,
            b"[1,0]<stdout>: a\n[prterun-h-7@1,1]<stdout>: b\n",
            [(0, "a"), (1, "b")],
        ),
    ],
)
def test_labelled_pieces_become_lines(
    labels: LabelFormat, data: bytes, expected: list[tuple[int | None, str]]
) -> None:
    """Labelled output becomes lines, whatever pieces it arrives in."""
    for size in (1, 7, len(data)):
        lines = HostLineSplitter(labels, 1 << 20)
        found = [one for i in range(0, len(data), size) for one in lines.feed(data[i : i + size])]
        assert expected == [*found, *lines.take_rest()]


def test_endless_line_is_given_out_in_parts() -> None:
    """An endless line is given out in parts, so it can't fill the memory."""
    lines = HostLineSplitter(slurm_launcher.LABELS, 1000)

    found = [*lines.feed(b"0: " + b"x" * 2500)]

    assert 1 <= len(found)
    assert "x" * 2500 == "".join(text for _, text in [*found, *lines.take_rest()])
