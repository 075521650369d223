"""The same work repeated on every device, compared bit for bit with its first results.

The rule to know: one compiled program runs the rounds that make the reference and those that are
compared with it; its arguments say which rounds. Two inputs alternate, so that no compiler can move
the work out of the loop. There is no communication, so a wrong number is its device's own.
"""

import time
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _work
from tpustarter.checks.jax._shares import label

SIZE = {"cpu": 128}
"""Numbers in a row of the inputs, by platform; on others `LARGE`."""

LARGE = 4096

NEVER = -(2**31)
"""The number of the first wrong round if there is none."""

FASTER = 8
"""Maximum growth factor of the number of rounds from one trip to the devices to the next."""

LOOK_S = 0.0005
"""Seconds between two polls for devices that are done."""


def programs(devices):
    """Yield the programs that make the inputs, run the rounds, and checksum their results.

    `span: int32[d, 2]` are the first round and the one after the last, `bits: uint32[d, 2, n, n]`
    the inputs, `reference: uint32[d, 2, ...]` what they gave at first.
    """
    names, size = _work.done_by(devices[0]), SIZE.get(devices[0].platform, LARGE)
    own = jax.ShapeDtypeStruct((size, size), np.uint32)
    shapes = [(2, *jax.eval_shape(_work.WORK[name], own).shape) for name in names]

    def prepare(_span):
        """Return the inputs, and zeros where their results will be."""
        number = jax.lax.broadcasted_iota(jnp.uint32, (1, 2, size, size), 1) * size
        number = (number + jax.lax.broadcasted_iota(jnp.uint32, number.shape, 2)) * size
        number = number + jax.lax.broadcasted_iota(jnp.uint32, number.shape, 3)
        return [_work.scatter(number), *(jnp.zeros((1, *shape), jnp.uint32) for shape in shapes)]

    def rounds(span, bits, *reference):
        """Return the wrong results and first bad round of each kind of work, and the last results.

        What was wrong is counted up to 2**32 - 1.
        """

        def one_more(number, state):
            wrong, first, last = state
            results, place = _work.one_round(number, bits[0], names), number & 1
            lost = _work.different(results, reference, place)
            first = jnp.where((lost > 0) & (first == NEVER), number, first)
            return wrong + jnp.minimum(lost, ~wrong), first, _work.kept(results, last, place)

        none = jnp.zeros(len(names), jnp.uint32), jnp.full(len(names), NEVER, jnp.int32)
        last = [jnp.zeros_like(array) for array in reference]
        state = jax.lax.fori_loop(span[0, 0], span[0, 1], one_more, (*none, last))
        wrong, first, last = state
        return [wrong[None], first[None], *last]

    def digest(*reference):
        """Return one number `uint32[1, kinds]` for all results of each kind."""
        return jnp.stack([_work.checksum(array) for array in reference])[None]

    mesh, count = Mesh(np.array(devices), ("d",)), len(devices)
    span = _collectives.argument(mesh, P("d"), count, 2)
    bits, *reference = (
        _collectives.argument(mesh, P("d"), count, *shape, dtype=np.uint32)
        for shape in ((2, size, size), *shapes)
    )
    yield "prepare", _work.mapped(prepare, devices), (span,)
    yield "rounds", _work.mapped(rounds, devices), (span, bits, *reference)
    yield "digest", _work.mapped(digest, devices), tuple(reference)


class Rounds:
    """The rounds that the devices have completed, and the results that were not the first ones."""

    def __init__(self, devices):
        """Make inputs and reference, in two rounds that are not counted."""
        (_, prepare, (self._span, *_)), (_, rounds, _), (_, digest, _) = programs(devices)
        self.devices, self.names = devices, _work.done_by(devices[0])
        self._rounds = jax.jit(rounds)
        self._bits, *blank = jax.jit(prepare)(self._between(0, 0))
        _, _, *self._reference = self._rounds(self._between(-2, 0), self._bits, *blank)
        self.digests = _collectives.shard_rows(jax.jit(digest)(*self._reference), devices)
        self.sizes = [array.size // (2 * len(devices)) for array in self._reference]
        self.completed, self.speeds = 0, []
        self.wrong = np.zeros((len(devices), len(self.names)), object)
        self.first = np.full(self.wrong.shape, NEVER)

    def _between(self, first, end):
        """Return the rounds to make, for each device."""
        row = np.broadcast_to(np.array([first, end], np.int32), self._span.shape)
        return jax.device_put(row, self._span.sharding)

    def go_on(self, lasts_s):
        """Make about as many rounds as fit into some seconds, and record their results."""
        times = 1
        if self.speeds:
            before, speeds = self.speeds[-1]
            times = max(1, min(FASTER * before, int(lasts_s * min(speeds))))
        span = jax.block_until_ready(self._between(self.completed + 1, self.completed + 1 + times))
        began = time.perf_counter()
        wrong, first, *_ = self._rounds(span, self._bits, *self._reference)
        passed_s = self._passed(first, began)
        wrong, first = (_collectives.shard_rows(x, self.devices) for x in (wrong, first))
        self.wrong += wrong.astype(object)
        self.first = np.where(self.first == NEVER, first, self.first)
        self.completed += times
        self.speeds.append((times, [times / seconds for seconds in passed_s]))

    def _passed(self, output, began):
        """Return the seconds from `began` until each device was done."""
        waiting = {shard.device: shard.data for shard in output.addressable_shards}
        passed_s = {}
        while waiting:
            for device in [device for device, part in waiting.items() if part.is_ready()]:
                passed_s[device] = time.perf_counter() - began
                del waiting[device]
            time.sleep(LOOK_S)
        return [passed_s[device] for device in self.devices]

    def outsiders(self):
        """Return for each device the results that differed from most devices' at the start."""
        names_of = {label(device): [] for device in self.devices}
        for name, digests in zip(self.names, self.digests.T.tolist(), strict=True):
            common, count = Counter(digests).most_common(1)[0]
            for device, digest in zip(names_of, digests, strict=True):
                if digest != common or count * 2 <= len(digests) > 1:
                    names_of[device].append(name)
        return {entity: f"not the bits of most devices in: {', '.join(names)}" if names else ""
                for entity, names in names_of.items()}  # fmt: skip

    def lost(self, kind):
        """Return for each device the wrong results of one kind of work, or an empty text."""
        pairs = zip(self.wrong[:, kind], self.first[:, kind], strict=True)
        texts = [f"{wrong} wrong, first in round {first} of {self.completed}" if wrong else ""
                 for wrong, first in pairs]  # fmt: skip
        return dict(zip(map(label, self.devices), texts, strict=True))
