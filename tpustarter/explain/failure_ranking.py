"""Ranking of the failures in a log: the most likely cause first, consequences last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tpustarter.explain.known_failures import KnownFailure
from tpustarter.explain.log_scanner import FailureSign, FoundFailure, LogScan

Confidence = Literal["confirmed", "likely", "possible"]
_ROLES = ("cause", "symptom", "notice")
_CONFIDENCES = ("confirmed", "likely", "possible")
_TPU = re.compile(r"(?<!u)tpu|torch_xla|\bxla:\d|/dev/(?:accel\d|vfio)", re.IGNORECASE)
_NO_TPU = re.compile(
    r"\bxla_bridge(?:\.py)?:\d+\]?:? (?:Unable to initialize|Initializing) backend 'tpu.*"
)
"""JAX's notes that it tries a TPU and finds none, which it prints on every GPU machine."""
_OTHER_ACCELERATOR = re.compile(
    r"CUDA error|CUDA out of memory|CUDA_ERROR|cudaError|\bcuda:\d|NVIDIA-SMI|\bNCCL (?:INFO|WARN)|"
    r"\bGPU \d+ has a total|gpu_(?:model_runner|worker)|\b(?:Cuda|Gpu)Device\(|xla/service/gpu|"
    r"nvidia\.com/gpu|\bROCm\b|hipError|intel_extension_for|torch[._-]xpu|\bxpu:\d|Level.?Zero|"
    r"\bSYCL\b|\bsycl::|habana|\bhpu\b|\bGaudi|torch_npu|\bnpu:\d|\bmps:\d|"
    r"\b(?:METAL|Metal) device|registering PJRT plugin (?:cuda|rocm)|on platform (?:GPU|METAL)\b"
)
"""Words printed by programs that run on another accelerator."""
_OTHER_CRASH = re.compile(
    r"^.*?(?:PC: )?@ +0x[0-9a-f]+ [^\n]*\b(?:ray|c10|at|torch|arrow|grpc|sycl|nccl)::", re.MULTILINE
)
"""A crash's stack frame in a library that does not use TPUs."""


@dataclass(frozen=True)
class FailureMatch:
    """A failure that a log shows, with its signs and the confidence."""

    failure: KnownFailure
    confidence: Confidence
    signs: tuple[FailureSign, ...]
    """In the log's order."""
    explained_by: str = ""
    """Id of the failure that caused this one; empty for a root cause."""
    here: str = ""
    """The evidence from this machine, if any."""
    hint: str = ""
    """The fix that this evidence suggests."""


def rank_failures(scan: LogScan, failures: Sequence[KnownFailure]) -> list[FailureMatch]:
    """Return the failures that a log shows, sorted from the most likely root cause to effects."""
    if _is_of_other_accelerator(scan.last):
        failures = [one for one in failures if one.role == "notice"]
    found = {
        one.id: match
        for one in failures
        if (match := _match(one, scan.seen.get(one.id, FoundFailure()))) is not None
    }
    by = {
        consequence: match.failure.id
        for match in found.values()
        if match.confidence != "possible"
        for consequence in match.failure.explains
        if consequence != match.failure.id
    }
    matches = [
        FailureMatch(match.failure, match.confidence, match.signs, by.get(match.failure.id, ""))
        for match in found.values()
    ]
    return sort_matches(matches)


def _is_of_other_accelerator(end_of_log: str) -> bool:
    """Return whether a log shows another accelerator or a non-TPU crash, and no TPU."""
    others = (_OTHER_ACCELERATOR, _OTHER_CRASH)
    if not any(one.search(end_of_log) for one in others):
        return False
    return not _TPU.search(_NO_TPU.sub("", end_of_log))


def sort_matches(matches: Iterable[FailureMatch]) -> list[FailureMatch]:
    """Sort matches, most likely root cause first."""
    return sorted(matches, key=_order)


def _match(failure: KnownFailure, seen: FoundFailure) -> FailureMatch | None:
    if seen.signs.get("unless") or (failure.needs and not seen.signs.get("needs")):
        return None
    shown = seen.signs.get("shows", [])
    suggested = seen.signs.get("suggests", [])
    different = len({sign.pattern for sign in suggested})
    if not shown and not suggested:
        return None
    sure: Confidence = "likely" if shown or different > 1 else "possible"
    signs = sorted([*shown, *suggested], key=lambda sign: sign.line)
    return FailureMatch(failure, sure, tuple(signs))


def _order(match: FailureMatch) -> tuple[int, ...]:
    role = _ROLES.index(match.failure.role)
    return (
        bool(match.explained_by),
        role == 2,  # a notice
        _CONFIDENCES.index(match.confidence),
        role,
        match.signs[0].line,
    )
