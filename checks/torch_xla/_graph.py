"""The program that PyTorch/XLA would compile for a tensor, as the HLO text of its graph.

The rule to know: `tensor.dtype` is the dtype that PyTorch assumes, and only the graph shows which
dtype the device computes with. Nothing is compiled or executed. PyTorch/XLA has no public name
for this; its own troubleshooting guide uses the same private one.
Source: https://docs.pytorch.org/xla/master/learn/troubleshoot.html
"""

import re

import torch_xla


def text(*tensors):
    """Return the HLO of the graph that computes these XLA tensors."""
    return torch_xla._XLAC._get_xla_tensors_hlo(list(tensors))  # noqa: SLF001


def input_types(tensor):
    """Return the types that a graph reads from device memory, such as `["s64"]`."""
    entry = re.search(r"^ENTRY .*?\((.*)\) ->", text(tensor), re.MULTILINE)
    return re.findall(r": (\w+)\[", entry[1]) if entry else []


def output_types(tensor):
    """Return the types that a graph returns, such as `["f32"]`."""
    entry = re.search(r"^ENTRY .*\) -> \((.*)\) {", text(tensor), re.MULTILINE)
    return re.findall(r"(\w+)\[", entry[1]) if entry else []


def dots(*tensors):
    """Return the lines of a graph's matrix products."""
    return [line.strip() for line in text(*tensors).splitlines() if re.search(r"= \S+ dot\(", line)]


def precision(*tensors):
    """Return the precisions that a graph's products request, such as `{"highest"}`."""
    found = (re.search(r"operand_precision=\{(\w+),\w+\}", line) for line in dots(*tensors))
    return {match[1] if match else "default" for match in found}
