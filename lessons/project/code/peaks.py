"""Documented peaks of one chip, as Google's pages state them (2026-11)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Peaks:
    """What one chip can do at most."""

    tflops: float
    """In bfloat16, TFLOP/s."""
    gb_per_s: float
    """Of its HBM."""

    @property
    def corner(self):
        """FLOPs for each byte, from which on compute is the limit."""
        return 1000 * self.tflops / self.gb_per_s


CHIPS = {
    "v5e": Peaks(tflops=197, gb_per_s=819),
    "v5p": Peaks(tflops=459, gb_per_s=2765),
    "v6e": Peaks(tflops=918, gb_per_s=1638),
    "tpu7x": Peaks(tflops=2307, gb_per_s=7380),
}
