"""The table of TPU generations, with a source for every row.

Unknown is None, never a guess. If public sources differ, all their figures are kept and results are
judged by the lowest. This module travels with the probe, so it uses only the standard library.
Sources were read in 2026-11. No figure was measured on a TPU.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

_DOCS = "https://docs.cloud.google.com/tpu/docs"
_BLOG = "https://cloud.google.com/blog/products/compute/tpu-8t-and-tpu-8i-technical-deep-dive"
_COMPUTE = "https://docs.cloud.google.com/compute/docs/tpus/tpu-machines"
_GKE = "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus"
_JAX = "https://github.com/jax-ml/jax/blob/cec06d1/jax/_src/tpu_info.py"
_JAX_PCI = "https://github.com/jax-ml/jax/blob/cec06d1/jax/_src/hardware_utils.py"
_AI = "https://github.com/AI-Hypercomputer"
_TPU_INFO = f"{_AI}/cloud-accelerator-diagnostics/blob/fe85c12/tpu_info/tpu_info/device.py"
_BENCHMARKS = f"{_AI}/accelerator-microbenchmarks/blob"
_SYSTEM = f"{_BENCHMARKS}/6a306a8/src/accelerator_microbenchmarks/core/system.py"
_SPECS = f"{_BENCHMARKS}/1678bb8/src/accelerator_microbenchmarks/specs/tpu7x.py"

FIELD_SOURCES: dict[str, str] = {
    **dict.fromkeys(("cores_per_chip", "device_kinds"), _JAX),
    "matmul_dtypes": _JAX,
    **dict.fromkeys(("devices_per_chip", "nodes"), _TPU_INFO),
    **dict.fromkeys(("image_family", "compute_engine"), _COMPUTE),
    "machine_types": _GKE,
    "runtime_version": f"{_DOCS}/runtimes",
    "cloud_tpu_api": f"{_DOCS}/tpus-in-compute-engine",
}
"""Sources of a field for all rows, if they differ from each row's `source`."""


class SourcedFigure(NamedTuple):
    """A figure, the public page or file that it is from, and other sources' figures."""

    value: float
    source: str
    others: tuple[tuple[float, str], ...] = ()

    @property
    def lowest_value(self) -> float:
        """The lowest of all the figures. Results are judged by this one."""
        return min([self.value, *(value for value, _ in self.others)])


class PciId(NamedTuple):
    """PCI ids of a chip, for vendor 0x1ae0."""

    device: int
    subsystem: int | None
    functions_per_chip: int | None
    source: str = _TPU_INFO


@dataclass(frozen=True)
class Generation:
    """A TPU generation; every figure is per chip unless its name says otherwise."""

    name: str
    title: str
    aliases: tuple[str, ...]
    """Other names that people type; the first is the prefix of accelerator types."""
    source: str
    """The page or file for all figures of the row that have no source of their own."""
    cores_per_chip: int
    """Number of TensorCores."""
    counts: Literal["cores", "chips"] | None = None
    """Unit of the number in a type name such as `v4-8`."""
    devices_per_chip: int | None = None
    """Number of JAX devices; a v4 or v5p chip's two cores form one device (megacore)."""
    chips_per_host: tuple[int, ...] = ()
    """Chips in a TPU VM, for each VM shape; slices larger than one VM consist of 4-chip VMs."""
    chips_per_pod: int | None = None
    """Largest number of chips connected by one interconnect."""
    slice_chips: tuple[int, ...] | None = None
    """Documented slice sizes in chips; None allows any whole number of VMs."""
    hbm_gib: SourcedFigure | None = None
    """Capacity in GiB (2**30 bytes)."""
    hbm_gb_per_s: SourcedFigure | None = None
    """HBM bandwidth in GB/s (10**9 bytes)."""
    ici_gb_per_s: SourcedFigure | None = None
    """Bandwidth to other chips in GB/s, both directions together."""
    bf16_tflops: SourcedFigure | None = None
    """Peak rate in TFLOP/s; those of integer types are in TOP/s (10**12 each)."""
    int8_tops: SourcedFigure | None = None
    fp8_tflops: SourcedFigure | None = None
    int4_tops: SourcedFigure | None = None
    matmul_dtypes: tuple[str, ...] = ()
    """Types that both operands of a matmul can have without a cast."""
    pci: tuple[PciId, ...] = ()
    nodes: Literal["accel", "vfio"] | None = None
    """Device nodes of a TPU VM: /dev/accel0 or /dev/vfio/0."""
    device_kinds: tuple[str, ...] = ()
    """Values of `jax.devices()[0].device_kind`."""
    runtime_version: str | None = None
    """Cloud TPU software version for JAX and PyTorch."""
    machine_types: tuple[tuple[str, int], ...] = ()
    """Machine types, each with its number of chips per VM."""
    image_family: str | None = None
    """Image family in the Compute Engine project `ubuntu-os-accelerator-images`."""
    cloud_tpu_api: bool | None = None
    """True if `gcloud compute tpus` can create it."""
    compute_engine: bool | None = None
    """True if `gcloud compute instances create` can create it."""


_FP8 = ("float32", "bfloat16", "float8_e5m2", "float8_e4m3fn")
_FP8_FNUZ = ("float32", "bfloat16", "float8_e5m2", "float8_e4m3b11fnuz")
_INTEGERS = ("int8", "uint8", "int4", "uint4")
_LITE_SLICES = (1, 4, 8, 16, 32, 64, 128, 256)
_IMAGE_2204 = "ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e"

# fmt: off
# Each row is one paragraph: names, shape, memory and links, speed, host, access.
GENERATIONS: tuple[Generation, ...] = (
    Generation(
        name="v2", title="TPU v2", aliases=("v2",), source=f"{_DOCS}/v2",
        cores_per_chip=2, counts="cores", devices_per_chip=2, chips_per_host=(4,),
        chips_per_pod=512, slice_chips=(4, 16, 64, 128, 256),
        # tpu-info has 8 GiB for each of two devices, JAX has 16e9 bytes for the chip.
        hbm_gib=SourcedFigure(16, _TPU_INFO, ((14.9, _JAX),)),
        hbm_gb_per_s=SourcedFigure(716, _JAX),
        bf16_tflops=SourcedFigure(46, _JAX), matmul_dtypes=("float32",),
        pci=(PciId(0x0027, 0x004E, 1),), nodes="accel", device_kinds=("TPU v2",),
        runtime_version="tpu-ubuntu2204-base", cloud_tpu_api=True, compute_engine=False,
    ),
    Generation(
        name="v3", title="TPU v3", aliases=("v3", "tpu-v3-device", "tpu-v3-slice"),
        source=f"{_DOCS}/v3",
        cores_per_chip=2, counts="cores", devices_per_chip=2, chips_per_host=(4,),
        chips_per_pod=1024, hbm_gib=SourcedFigure(32, f"{_DOCS}/v3"),
        hbm_gb_per_s=SourcedFigure(900, f"{_DOCS}/v3", ((825, _JAX),)),
        bf16_tflops=SourcedFigure(123, f"{_DOCS}/v3", ((140, _JAX),)), matmul_dtypes=("float32",),
        pci=(PciId(0x0027, 0x004F, 1),), nodes="accel", device_kinds=("TPU v3",),
        runtime_version="tpu-ubuntu2204-base", cloud_tpu_api=True, compute_engine=False,
        machine_types=(("ct3-hightpu-4t", 4), ("ct3p-hightpu-4t", 4)),
    ),
    Generation(
        name="v4", title="TPU v4", aliases=("v4", "tpu-v4-podslice"), source=f"{_DOCS}/v4",
        cores_per_chip=2, counts="cores", devices_per_chip=1, chips_per_host=(4,),
        chips_per_pod=4096, hbm_gib=SourcedFigure(32, f"{_DOCS}/v4"),
        hbm_gb_per_s=SourcedFigure(1200, f"{_DOCS}/v4", ((1230, _JAX),)),
        bf16_tflops=SourcedFigure(275, f"{_DOCS}/v4"), int8_tops=SourcedFigure(275, f"{_DOCS}/v4"),
        matmul_dtypes=("float32", "bfloat16"),
        pci=(PciId(0x005E, None, 1),), nodes="accel", device_kinds=("TPU v4",),
        runtime_version="tpu-ubuntu2204-base", cloud_tpu_api=True, compute_engine=False,
        machine_types=(("ct4p-hightpu-4t", 4),),
    ),
    Generation(
        name="v5e", title="TPU v5e", source=f"{_DOCS}/v5e",
        aliases=("v5litepod", "v5lite", "tpu-v5-lite-podslice", "tpu-v5-lite-device"),
        cores_per_chip=1, counts="chips", devices_per_chip=1, chips_per_host=(1, 4, 8),
        chips_per_pod=256, slice_chips=_LITE_SLICES,
        hbm_gib=SourcedFigure(16, _TPU_INFO),
        # Editions of the page differ: 819 GBps, and 800 GiBps, which is 859 GB/s.
        hbm_gb_per_s=SourcedFigure(819, f"{_DOCS}/v5e", ((859, f"{_DOCS}/v5e"), (820, _JAX))),
        ici_gb_per_s=SourcedFigure(400, f"{_DOCS}/v5e"),
        bf16_tflops=SourcedFigure(197, f"{_DOCS}/v5e"),
        int8_tops=SourcedFigure(393, f"{_DOCS}/v5e", ((394, _JAX),)),
        int4_tops=SourcedFigure(788, _JAX),
        matmul_dtypes=_FP8_FNUZ + _INTEGERS,
        # Users also report /dev/accel0, so existing nodes take precedence over this table.
        pci=(PciId(0x0063, None, 1),), nodes="vfio", device_kinds=("TPU v5 lite", "TPU v5e"),
        runtime_version="v2-alpha-tpuv5-lite", cloud_tpu_api=True, compute_engine=False,
        machine_types=(("ct5lp-hightpu-1t", 1), ("ct5lp-hightpu-4t", 4), ("ct5lp-hightpu-8t", 8),
                       ("ct5l-hightpu-1t", 1), ("ct5l-hightpu-4t", 4), ("ct5l-hightpu-8t", 8)),
        image_family=_IMAGE_2204,
    ),
    Generation(
        name="v5p", title="TPU v5p", aliases=("v5p", "tpu-v5p-slice"), source=f"{_DOCS}/v5p",
        cores_per_chip=2, counts="cores", devices_per_chip=1, chips_per_host=(4,),
        chips_per_pod=8960, hbm_gib=SourcedFigure(95, f"{_DOCS}/v5p", ((95.9, _JAX),)),
        hbm_gb_per_s=SourcedFigure(2765, f"{_DOCS}/v5p", ((2460, _JAX),)),
        ici_gb_per_s=SourcedFigure(1200, f"{_DOCS}/v5p"),
        bf16_tflops=SourcedFigure(459, f"{_DOCS}/v5p"),
        fp8_tflops=SourcedFigure(459, f"{_DOCS}/v5p"),
        int8_tops=SourcedFigure(918, _JAX), int4_tops=SourcedFigure(1840, _JAX),
        matmul_dtypes=_FP8_FNUZ + _INTEGERS,
        pci=(PciId(0x0062, None, 1),), nodes="vfio", device_kinds=("TPU v5", "TPU v5p"),
        runtime_version="v2-alpha-tpuv5", cloud_tpu_api=True, compute_engine=True,
        machine_types=(("ct5p-hightpu-4t", 4),), image_family=_IMAGE_2204,
    ),
    Generation(
        name="v6e", title="TPU v6e (Trillium)", source=f"{_DOCS}/v6e",
        aliases=("v6e", "trillium", "v6lite", "tpu-v6e-slice"),
        cores_per_chip=1, counts="chips", devices_per_chip=1, chips_per_host=(1, 4, 8),
        chips_per_pod=256, slice_chips=_LITE_SLICES,
        hbm_gib=SourcedFigure(32, f"{_DOCS}/tpu7x"),
        hbm_gb_per_s=SourcedFigure(1638, f"{_DOCS}/v6e", ((1640, _JAX),)),
        ici_gb_per_s=SourcedFigure(800, f"{_DOCS}/v6e"),
        bf16_tflops=SourcedFigure(918, f"{_DOCS}/v6e", ((920, _JAX),)),
        fp8_tflops=SourcedFigure(918, f"{_DOCS}/tpu7x", ((920, _JAX),)),
        int8_tops=SourcedFigure(1836, f"{_DOCS}/v6e", ((1840, _JAX),)),
        int4_tops=SourcedFigure(3680, _JAX),
        matmul_dtypes=_FP8_FNUZ + _INTEGERS,
        pci=(PciId(0x006F, None, 1),), nodes="vfio", device_kinds=("TPU v6 lite", "TPU v6e"),
        runtime_version="v2-alpha-tpuv6e", cloud_tpu_api=True, compute_engine=True,
        machine_types=(("ct6e-standard-1t", 1), ("ct6e-standard-4t", 4), ("ct6e-standard-8t", 8)),
        image_family=_IMAGE_2204,
    ),
    Generation(
        name="tpu7x", title="TPU7x (Ironwood)", source=f"{_DOCS}/tpu7x",
        aliases=("tpu7x", "ironwood", "v7x", "v7", "tpu7"),
        cores_per_chip=2, counts="cores", devices_per_chip=2, chips_per_host=(1, 4),
        chips_per_pod=9216, hbm_gib=SourcedFigure(192, f"{_DOCS}/tpu7x"),
        hbm_gb_per_s=SourcedFigure(7380, f"{_DOCS}/tpu7x", ((7400, _JAX),)),
        ici_gb_per_s=SourcedFigure(1200, f"{_DOCS}/tpu7x"),
        bf16_tflops=SourcedFigure(2307, f"{_DOCS}/tpu7x", ((2310, _JAX),)),
        fp8_tflops=SourcedFigure(4614, f"{_DOCS}/tpu7x", ((4600, _JAX),)),
        # int8 is not native, and Google's own benchmarks give two peaks for it.
        int8_tops=SourcedFigure(4614, _SYSTEM, ((2307, _SPECS),)),
        matmul_dtypes=_FP8, pci=(PciId(0x0076, None, 2),), nodes="vfio",
        device_kinds=("TPU7x", "TPU7"), cloud_tpu_api=False, compute_engine=True,
        machine_types=(("tpu7x-standard-1t", 1), ("tpu7x-standard-4t", 4)),
        image_family="ubuntu-accel-2404-amd64-tpu-tpu7x",
    ),
    Generation(
        name="tpu8i", title="TPU 8i", aliases=("tpu8i", "v8i"), source=_BLOG,
        cores_per_chip=2, chips_per_pod=1152, hbm_gib=SourcedFigure(287.8, _JAX),
        hbm_gb_per_s=SourcedFigure(8601, _BLOG, ((8600, _JAX),)),
        bf16_tflops=SourcedFigure(1101, _JAX), fp8_tflops=SourcedFigure(8808, _JAX),
        matmul_dtypes=_FP8,
        pci=(PciId(0x0083, None, None, _JAX_PCI),), device_kinds=("TPU8i",),
    ),
    Generation(
        name="tpu8t", title="TPU 8t", aliases=("tpu8t", "v8t"), source=_BLOG,
        cores_per_chip=1, chips_per_pod=9600, hbm_gib=SourcedFigure(215.1, _JAX),
        hbm_gb_per_s=SourcedFigure(6528, _BLOG, ((6400, _JAX),)),
        bf16_tflops=SourcedFigure(996.1, _JAX), fp8_tflops=SourcedFigure(5976.9, _JAX),
        int8_tops=SourcedFigure(996.1, _JAX), int4_tops=SourcedFigure(11953.8, _JAX),
        matmul_dtypes=_FP8,
        pci=(PciId(0x007C, None, None, _JAX_PCI),), device_kinds=("TPU8t",),
    ),
)
# fmt: on
