"""The compilation cache avoids recompiling."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._cache import trial
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/jit-and-recompilation"
SOURCE = "https://docs.jax.dev/en/latest/persistent_compilation_cache.html"
AFTER = ["jax.devices_visible"]
FRESH = True

EXPLAIN = Hint.see("JAX_EXPLAIN_CACHE_MISSES=1 python your_program.py", "shows why")
BROKEN = "if JAX warns about an entry, run `rm -r $JAX_COMPILATION_CACHE_DIR`; it won't replace it"
FOLDER = "see `ls -ld $JAX_COMPILATION_CACHE_DIR`; without write access, every start compiles again"


def program():
    """Return a new function object, whose compiled program is the same each time."""

    def step(x):
        """Return `x + sum(x)`, the sum over the devices, for `x: int32[d, w]`."""
        return x + jnp.sum(x, axis=0)

    return step


def programs(devices):
    """Yield the program that is compiled repeatedly."""
    sharding = NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))
    shape = len(devices), _collectives.WIDTH
    yield "step", program(), (jax.ShapeDtypeStruct(shape, np.int32, sharding=sharding),)


@with_defaults
def run():
    """Compile a program, load it from the cache, and see what JAX does if loading fails."""
    if jax.process_index():
        yield Finding(
            "JAX-CACHE-KEPT", "program", "info", "not applicable: only process 0 writes entries"
        )
        return
    [(_, _, (like,))] = programs(jax.local_devices())
    numbers = _collectives.blocks(like.shape[0])
    outcome = trial(program, jax.device_put(numbers, like.sharding))
    first, second, broken, refused = outcome.ways.values()

    text = "kept" if outcome.kept and not first.warned else "not kept"
    yield compare("JAX-CACHE-KEPT", "program, the first time", text, "kept", hint=EXPLAIN)
    read = outcome.kept and outcome.same and not second.warned and broken.warned
    text, name = "from the folder" if read else "compiled again", "program, the next time"
    yield compare("JAX-CACHE-TAKEN", name, text, "from the folder", hint=EXPLAIN)
    text = f"{first.seconds:.3f} s compiled, {second.seconds:.3f} s from the folder"
    yield Finding("JAX-CACHE-SECONDS", "time to the first result", "info", text)

    expected = numbers + numbers.sum(axis=0, dtype=np.int32)
    lost = {f"way:{way}": "" if np.array_equal(compiled.result, expected) else "other numbers"
            for way, compiled in outcome.ways.items()}  # fmt: skip
    yield from tally("JAX-CACHE-BITS", "compiled and cached runs that are correct", lost, BROKEN)
    text = reaction(broken) + ", and leaves it" * outcome.still_broken
    yield Finding("JAX-CACHE-BROKEN", "a broken entry", "info", text, hint=BROKEN)
    name = "a folder that cannot be written"
    yield Finding("JAX-CACHE-REFUSED", name, "info", reaction(refused), hint=FOLDER)


def reaction(compiled):
    """Return the reaction of JAX to a cache that it cannot use."""
    return f"JAX {'warns' if compiled.warned else 'says nothing'} and compiles"
