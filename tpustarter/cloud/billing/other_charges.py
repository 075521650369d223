"""Charges in addition to a TPU's chips, which no grant covers and no estimate includes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OtherCharge:
    """A charge in addition to a TPU VM's chips, such as its disk, and the source for it."""

    what: str
    why: str
    """One or two sentences."""
    source: str
    """A page, read 2026-11."""


BESIDE_CHIPS: tuple[OtherCharge, ...] = (
    OtherCharge(
        "disks",
        "A TPU VM comes with a boot disk of 100 GiB, and each disk that you attach or leave behind "
        "is billed until you delete it. Your first bill shows whether the boot disk is on it.",
        "https://docs.cloud.google.com/tpu/docs/setup-persistent-disk",
    ),
    OtherCharge(
        "external addresses",
        "Each worker gets one unless you create the TPU with `--internal-ips`. An address that "
        "you reserved is billed while nothing uses it, too.",
        "https://cloud.google.com/vpc/network-pricing",
    ),
    OtherCharge(
        "traffic",
        "What leaves Google Cloud or goes from one region to another is billed, so keep the "
        "bucket in the region of the TPU.",
        "https://cloud.google.com/vpc/network-pricing",
    ),
    OtherCharge(
        "buckets and other machines",
        "Storage, other virtual machines and notebooks in the project are billed as they always "
        "are.",
        "https://cloud.google.com/storage/pricing",
    ),
)
