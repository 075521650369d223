"""The two ways of rehearsing PyTorch: torch_xla against torchax, as a table.

    python tests/benchmarks/torch_rehearsal.py COMPILER --torch_xla PYTHON --torchax PYTHON
        [--tpu v5e-8,v6e-8] [--only mlp,resnet_block,gpt2]

COMPILER is a Python with jax and libtpu; the others have what their option names. The transformer
needs `transformers` in both. All weights are on `meta`: nothing is downloaded or run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODELS = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels=256):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        hidden = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(x + self.second_norm(self.second(hidden)))


def mlp():
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))
        return module, torch.zeros(4096, 1024)


def resnet_block():
    with torch.device("meta"):
        return Block(), torch.zeros(32, 256, 14, 14)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=4, n_embd=512, n_head=8, vocab_size=32000, use_cache=False)
    with torch.device("meta"):
        module = GPT2LMHeadModel(config)
        tokens = torch.zeros(8, 512, dtype=torch.long)
    return module, {"input_ids": tokens, "labels": tokens}
"""
NAMES = {"mlp": "MLP", "resnet_block": "ResNet block", "gpt2": "GPT-2, 4 layers"}
MIB = 2.0**20


def main() -> None:
    """Print the size of each environment, and a line for each program, way and TPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compiler")
    parser.add_argument("--torch_xla")
    parser.add_argument("--torchax")
    parser.add_argument("--tpu", default="v5e-8,v6e-8")
    parser.add_argument("--only", default=",".join(NAMES))
    asked = parser.parse_args()
    ways = {name: getattr(asked, name) for name in ("torch_xla", "torchax") if getattr(asked, name)}
    for way, python in ways.items():
        prefix = Path(python).parents[1]
        used = subprocess.run(["du", "-sm", prefix], capture_output=True, text=True, check=True)
        print(f"{way}: {int(used.stdout.split()[0]) / 1024:.1f} GiB on the disk")
    print(
        f"\n{'program':<30}{'way':<11}{'TPU':<8}{'answer':<14}{'arguments':>10}{'temporaries':>12}"
        f"{'all':>9}  {'compiled in':>11}"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "models.py"
        file.write_text(MODELS)
        for name in asked.only.split(","):
            title = NAMES[name]
            for way, python in ways.items():
                began = time.monotonic()
                results = rehearse(asked, file, name, way, python)
                for result in results:
                    print(row(f"{title}: {result['program']}", way, result), flush=True)
                print(f"{'':<30}{way:<11}all in {time.monotonic() - began:.0f} s", flush=True)


def rehearse(
    asked: argparse.Namespace, file: Path, name: str, way: str, python: str
) -> list[dict[str, Any]]:
    """Return the results of one module, lowered one way."""
    command = [
        sys.executable,
        "-m",
        "tpustarter",
        "rehearse",
        f"{file}:{name}",
        "--framework",
        way,
        "--python",
        python,
        "--compiler",
        asked.compiler,
        "--tpu",
        asked.tpu,
        "--fresh",
        "--jobs",
        "1",
        "--json",
    ]
    environment = {**os.environ, "TPUSTARTER_HOME": str(file.parent / "state")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    document = json.loads(done.stdout)
    if "error" in document:
        print(f"{name} by {way}: {document['error']}")
    return document.get("results", [])


def row(title: str, way: str, result: dict[str, Any]) -> str:
    """Return one answer as a line."""
    memory = result.get("memory") or {}
    sizes = [memory.get(key) for key in ("arguments", "temporaries")] + [result.get("hbm_bytes")]
    texts = ["-" if size is None else f"{size / MIB:.1f}" for size in sizes]
    reason = "" if result["status"] == "compiles" else f"  {result['reason']}"
    return (
        f"{title:<30}{way:<11}{result['tpu']:<8}{result['status']:<14}{texts[0]:>10}"
        f"{texts[1]:>12}{texts[2]:>9}  {result['seconds']:>9.1f} s{reason}"
    )


if __name__ == "__main__":
    main()
