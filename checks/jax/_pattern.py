"""Patterns in most of the free memory of every device: each is read, compared, and overwritten.

The rule to know: a word follows from its index, its chunk and the number of the pass, so a word
that is wrong, or at another index, differs. Every second pass writes the inverse of the one before.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _work
from tpustarter.checks.jax._shares import label

COLUMNS = 4096

ROWS = {"cpu": 64}
"""Rows of a chunk, by platform; on others `LARGE`."""

LARGE = 2**14
"""256 MiB of 4096 words a row."""

MOST = 1024
"""Maximum number of chunks: 256 GiB."""

UNTOLD = 2
"""Number of chunks if a device does not report its memory."""

PART = 0.9
"""Fraction of the free memory that is filled; the rest is for the programs' temporaries."""


def pattern(number, place, rows):
    """Return the words `uint32[1, rows, 4096]` of pass `number` in the chunk at `place`."""
    shape = (1, rows, COLUMNS)
    words = jax.lax.broadcasted_iota(jnp.uint32, shape, 1) * COLUMNS
    words += jax.lax.broadcasted_iota(jnp.uint32, shape, 2)
    key = _work.scatter(_work.scatter(place) + number // 2)
    return _work.scatter(words ^ key) ^ (jnp.uint32(0) - number % 2)


def written(number, place, rows):
    """Return the words that are written in a pass."""
    return pattern(number, place, rows)


def programs(devices):
    """Yield the programs that fill a chunk, and that compare one and write the next pattern.

    `step: uint32[d, 2]` is the number of the pass and the place of the chunk.
    """
    rows = ROWS.get(devices[0].platform, LARGE)

    def fill(step):
        """Return a new chunk with the pattern of its pass."""
        return written(step[0, 0], step[0, 1], rows)

    def turn(chunk, wrong, step):
        """Return the chunk for the next pass, its wrong words counted, and the next step."""
        number, place = step[0, 0], step[0, 1]
        lost = jnp.sum(chunk != pattern(number, place, rows), dtype=jnp.uint32)
        wrong = wrong.at[0, place].add(lost)
        return written(number + 1, place, rows), wrong, step.at[0, 1].add(1)

    mesh, count = Mesh(np.array(devices), ("d",)), len(devices)
    arguments = tuple(
        _collectives.argument(mesh, P("d"), count, *shape, dtype=np.uint32)
        for shape in ((rows, COLUMNS), (MOST,), (2,))
    )
    yield "fill", _work.mapped(fill, devices), arguments[2:]
    yield "turn", _work.mapped(turn, devices), arguments


class Memory:
    """Chunks of pattern on every device, and their wrong words."""

    def __init__(self, devices):
        """Fill the memory, or as much of it as can be allocated."""
        self.devices, self.chunks, self.passes, self.words = devices, [], 0, 0
        self.wrong, self.first = [0] * len(devices), {}
        (_, fill, _), (_, turn, (chunk, self._wrong, self._step)) = programs(devices)
        self.bytes = 4 * chunk.size // len(devices)
        self._turn = jax.jit(turn, donate_argnums=(0, 1, 2))
        self.limit_known, count = fitting([device.memory_stats() for device in devices], self.bytes)
        self._fill(jax.jit(fill), count)

    def _fill(self, fill, count):
        """Write the first pattern; if memory runs out, leave room for one more chunk."""

        def one_more():
            step = self._put(self._step, (0, len(self.chunks)))
            self.chunks.append(jax.block_until_ready(fill(step)))

        while len(self.chunks) < count:
            if not attempt(one_more):
                del self.chunks[-1:]
                return

    def _put(self, like, row):
        """Return an array that holds the same row on each device."""
        return jax.device_put(np.broadcast_to(np.uint32(row), like.shape), like.sharding)

    def leave_room(self, work):
        """Call `work`, and release a chunk each time that it runs out of memory."""
        while self.chunks:
            if attempt(work):
                return
            self.chunks.pop()
        work()

    def go_on(self):
        """Compare every chunk with its pattern, and write the next one."""
        wrong, step = self._put(self._wrong, 0), self._put(self._step, (self.passes, 0))
        for place, chunk in enumerate(self.chunks):
            self.chunks[place], wrong, step = self._turn(chunk, wrong, step)
        counts = _collectives.shard_rows(wrong, self.devices).astype(object)
        self.passes += 1
        self.words += len(self.devices) * len(self.chunks) * self.bytes // 4
        for place, row in enumerate(counts):
            self.wrong[place] += sum(row)
            for chunk in np.flatnonzero(row)[:1]:
                where = f"{row[chunk]} in chunk {chunk}, pass {self.passes}"
                self.first.setdefault(place, where)

    def lost(self):
        """Describe the wrong words of each device; an empty string if it has none."""
        texts = {place: f"{self.wrong[place]} wrong, first {where}"
                 for place, where in self.first.items()}  # fmt: skip
        return {label(device): texts.get(place, "") for place, device in enumerate(self.devices)}


def fitting(stats, size):
    """Return whether devices report their free memory, and the largest number of chunks to fill."""
    if not all(stat and "bytes_limit" in stat for stat in stats):
        return False, UNTOLD
    free = min(stat["bytes_limit"] - stat.get("bytes_in_use", 0) for stat in stats)
    return True, max(0, min(MOST, int(PART * free) // size))


def attempt(work):
    """Call `work`, and return False if it ran out of memory."""
    try:
        work()
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return False
    return True
