"""Tests of conversions and of JAX as a language: the findings on each kind of fault."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import SingleDeviceSharding

from tests.checks.jax_sabotage_language import every_step_makes_a_new_function
from tests.support.jax_checks import check, failures, findings


def failed(patch: pytest.MonkeyPatch, name: str, function: str, broken: Any) -> set[str]:
    """Run a check with one of its functions broken, and return the codes of what failed."""
    patch.setattr(check(name), function, broken)
    return {code for code, _ in failures(name)}


def after(honest: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function whose result is changed."""
    return functools.wraps(honest)(lambda *arguments: change(honest(*arguments)))


# jax.array_layouts


def test_the_layout_that_is_read_wrongly_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the layout that is read wrongly is named, such as Fortran order."""
    honest = check("array_layouts").to_device

    def to_device(array: np.ndarray) -> jax.Array:
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        return honest(array.ravel(order="K").reshape(array.shape) if fortran else array)

    monkeypatch.setattr(check("array_layouts"), "to_device", to_device)
    failed_parts = {
        (finding.code, finding.entity) for finding in findings("array_layouts") if finding.entity
    }

    assert ("JAX-LAYOUT-DEVICE", "layout:columns first (Fortran)") in failed_parts
    assert ("JAX-LAYOUT-BACK", "layout:columns first (Fortran), bfloat16") in failed_parts
    assert all("Fortran" in str(entity) for _, entity in failed_parts)


def test_layout_lost_on_return_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout that changes one bit on its return is caught."""
    honest = check("array_layouts").to_numpy

    def to_numpy(array: jax.Array) -> np.ndarray:
        result = np.array(honest(array))
        if array.dtype == np.int8 and array.ndim == 2 and array.size:
            result[1, 2] ^= 1
        return result

    codes = failed(monkeypatch, "array_layouts", "to_numpy", to_numpy)

    assert {"JAX-LAYOUT-BACK"} == codes


def test_the_end_of_a_large_array_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost number at the end of a 64 MiB array is caught."""
    honest = check("array_layouts").to_device

    def to_device(array: np.ndarray) -> jax.Array:
        if array.size > 1_000_000:
            array = array.copy()
            array[-1, -1] = 0
        return honest(array)

    codes = failed(monkeypatch, "array_layouts", "to_device", to_device)

    assert {"JAX-LAYOUT-LARGE", "JAX-LAYOUT-LARGE-BACK"} == codes


def test_layouts_hold_the_same_numbers_in_different_memory() -> None:
    """Layouts hold the same numbers in different memory, or comparing them would prove nothing."""
    layouts = check("_layouts")
    for dtype in layouts.DTYPES:
        arrays = layouts.arrays(dtype)
        planes = {name: array for name, array in arrays.items() if array.shape == layouts.SHAPE}
        del planes["repeated"]
        strides = {array.strides for array in planes.values()}

        assert all((array == arrays["rows first (C)"]).all() for array in planes.values())
        assert len(strides) == 5
        assert not arrays["columns first (Fortran)"].flags.c_contiguous
        assert not arrays["read-only"].flags.writeable
        assert arrays["not aligned"].flags.aligned == (arrays["empty"].itemsize == 1)


# jax.sharded_to_numpy


def test_a_transpose_computed_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong transpose is caught, although all shards are right."""
    codes = failed(monkeypatch, "sharded_to_numpy", "turned", lambda x: x[::-1].T)

    assert {"JAX-SHARDED-TURNED"} == codes


def test_the_device_that_holds_other_numbers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of eight changed places."""
    module = check("sharded_to_numpy")
    honest = module.WAYS["parts"]

    def swapped(numbers: np.ndarray, sharding: Any) -> jax.Array:
        changed = numbers.copy()
        changed[4:6], changed[6:8] = numbers[6:8], numbers[4:6]
        return honest(changed, sharding)

    monkeypatch.setitem(module.WAYS, "parts", swapped)
    texts = {
        finding.entity: finding.found
        for finding in findings("sharded_to_numpy", "JAX-SHARDED-PARTS")
    }

    assert texts["sharding:rows, parts"] == "wrong numbers on device:2"
    assert 8 == texts[None]


def test_uneven_axis_is_information_and_needs_several_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An uneven axis is a fact with several devices, and isn't tested with one."""
    [uneven] = findings("sharded_to_numpy", "JAX-SHARDED-UNEVEN")
    devices = jax.local_devices()[:1]
    monkeypatch.setattr(jax, "local_devices", lambda: devices)

    assert (uneven.verdict, uneven.found) == ("info", "is refused")
    assert [] == findings("sharded_to_numpy", "JAX-SHARDED-UNEVEN")


# jax.donation


def test_a_donated_array_that_stays_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A donated array that stays is caught, because it costs memory in every step."""
    codes = failed(monkeypatch, "donation", "donate", lambda f, x: (np.array(jax.jit(f)(x)), ""))

    assert {"JAX-DONATION-GONE", "JAX-DONATION-UNUSED"} == codes


def test_a_lent_array_that_is_taken_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that is reused without donation is caught."""
    taking = functools.partial(jax.jit, donate_argnums=0)
    monkeypatch.setattr(jax, "jit", taking)
    lent = next(check("donation").run())

    assert (lent.code, lent.verdict, lent.found) == ("JAX-DONATION-LENT", "fail", "gone")


def test_donation_that_writes_numpy_memory_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU device may share the memory of the array it was given."""
    module, put, sent = check("donation"), jax.device_put, []
    honest = module.donate

    def device_put(arrays: Any, device: Any) -> Any:
        sent.append(arrays[0])
        return put(arrays, device)

    def donate(function: Any, x: jax.Array) -> Any:
        sent[0][:] = 9
        return honest(function, x)

    monkeypatch.setattr(jax, "device_put", device_put)

    assert "JAX-DONATION-NUMPY" in failed(monkeypatch, "donation", "donate", donate)


def test_second_run_in_process_is_judged_alike() -> None:
    """A second run in one process gives the same verdicts, though JAX warns only once."""
    assert [] == failures("donation") + failures("donation")


# jax.out_of_bounds, jax.indexing


def test_write_past_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write past the end that changes the last element is named."""
    honest = check("out_of_bounds").write

    def write(x: jax.Array, i: jax.Array) -> dict[str, jax.Array]:
        return {**honest(x, i), "x.at[i].set(-5)": x.at[i].set(-5, mode="clip")}

    monkeypatch.setattr(check("out_of_bounds"), "write", write)
    count, way = findings("out_of_bounds", "JAX-BOUNDS-WRITE")

    assert (count.found, count.expected, way.entity) == (5, 6, "way:x.at[i].set(-5)")
    assert str(way.found).startswith("[-5, -5, 22, 33, 44, 55, 66, -5, -5, -5], expected [0, -5,")


def test_a_fill_of_zeros_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out-of-bounds reads that return zero instead of NaN are named."""
    honest = check("out_of_bounds").read
    zeros = after(honest, lambda results: {**results, "jnp.take(y, i)": jnp.zeros(7)})
    monkeypatch.setattr(check("out_of_bounds"), "read", zeros)
    [_, way] = findings("out_of_bounds", "JAX-BOUNDS-READ")

    assert way.entity == "way:jnp.take(y, i)"


def test_index_rules_match_plain_loop() -> None:
    """The expected numbers of the index rules match those of a plain loop."""
    indices = check("_indices")
    x, r, w = (
        np.array(index, np.int32) for index in (range(0, 110, 11), indices.READ, indices.WRITE)
    )
    read = [int(x[min(max(index + 10 * (index < 0), 0), 9)]) for index in r]
    written, added = x.tolist(), x.tolist()
    for place in (int(index) + 10 * (index < 0) for index in w):
        if 0 <= place < 10:
            written[place], added[place] = -5, added[place] + 7

    assert read == indices.reads(x, r)["x[i]"].tolist()
    assert written == indices.writes(x, w)["x.at[i].set(-5)"].tolist()
    assert added == indices.writes(x, w)["x.at[i].add(7)"].tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("indexing", {"JAX-INDEX-LIST", "JAX-INDEX-WRITE"}), ("pytrees_and_keys", {"JAX-KEY-NUMPY"})],
)
def test_accepted_invalid_index_is_caught(
    monkeypatch: pytest.MonkeyPatch, name: str, expected: set[str]
) -> None:
    """An invalid index that JAX accepts, such as a list, is named."""
    assert expected == failed(monkeypatch, name, "refusal", lambda _: "nothing raised")


def test_an_index_that_writes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index operation that writes to its array is caught."""
    honest = check("indexing").mix

    def mix(line: np.ndarray, *others: Any) -> dict[str, Any]:
        line[0] = -1
        return honest(line, *others)

    monkeypatch.setattr(jax, "device_put", lambda arrays, _: jax.tree.map(jnp.array, arrays))

    assert {"JAX-INDEX-KEPT"} == failed(monkeypatch, "indexing", "mix", mix)


def test_mixed_index_giving_numpy_array_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mixed index that gives a NumPy array is named."""
    honest = check("indexing").mix

    def mix(*arguments: Any) -> dict[str, Any]:
        results = honest(*arguments)
        return {**results, "JAX array [NumPy mask]": np.asarray(results["JAX array [NumPy mask]"])}

    monkeypatch.setattr(check("indexing"), "mix", mix)
    [_, way] = findings("indexing", "JAX-INDEX-MIXED")

    assert (way.entity, way.found) == ("index:JAX array [NumPy mask]", "an array of NumPy")


# jax.weak_types, jax.recompilation, jax.control_flow


def test_sum_with_too_wide_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of int8 and bfloat16 with a wider type than bfloat16 is named."""
    honest = check("weak_types").with_other_arrays

    def wider(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(
            x.astype(jnp.float32) if x.dtype == jnp.bfloat16 else x for x in honest(*arrays)
        )

    monkeypatch.setattr(check("weak_types"), "with_other_arrays", wider)
    [_, wide] = findings("weak_types", "JAX-WEAK-ARRAYS")

    assert wide.entity == "sum:int8 + bfloat16"
    assert str(wide.found).startswith("float32 [0.0, 2.0,")


def test_each_call_that_compiles_again_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function made anew in each step is compiled in each step."""
    every_step_makes_a_new_function(monkeypatch, check("recompilation"))
    failed_calls = [finding for finding in findings("recompilation") if finding.entity]

    assert failed_calls[0].entity == "call:the same again"
    assert failed_calls[0].found == "traced 1 times, expected 0"
    assert len(failed_calls) == 3


def test_a_branch_in_python_that_compiles_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python branch on a traced value fails the check if it compiles without an error."""
    codes = failed(
        monkeypatch, "control_flow", "choose_in_python", lambda x: jnp.where(x > 0, x, 0)
    )

    assert {"JAX-CONTROL-PYTHON"} == codes


def test_loop_with_missing_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that lacks one of its 118 steps is named."""
    steps = after(check("control_flow").steps_to_one, lambda count: count - (count == 118))
    monkeypatch.setattr(check("control_flow"), "steps_to_one", steps)
    [_, call] = findings("control_flow", "JAX-CONTROL-FLOW")

    assert (call.entity, call.found) == ("call:steps_to_one(97)", "117")


def test_scan_that_forgets_carry_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan that forgets its carry is named, although the last number is right."""
    monkeypatch.setattr(check("control_flow"), "running_maximum", lambda x: (x.max(), x))
    [_, call] = findings("control_flow", "JAX-CONTROL-FLOW")

    assert call.entity == "call:running_maximum"


# jax.random_keys, jax.pytrees_and_keys


def test_numpy_makes_the_published_threefry_numbers() -> None:
    """The NumPy reference gives the published Threefry numbers."""
    threefry = check("_threefry")
    for key, (high, low), expected in threefry.VECTORS:
        actual = threefry.threefry(key, [high], [low])

        assert expected == (actual[0][0], actual[1][0])


def test_numpy_draws_what_jax_draws() -> None:
    """NumPy draws the same bits, numbers, split keys and folded keys as JAX."""
    threefry, words = check("_threefry"), (0xDEADBEEF, 1701)
    key = jax.random.wrap_key_data(jnp.array(words, jnp.uint32), impl="threefry2x32")
    folded = jax.random.key_data(jax.random.fold_in(key, 7))

    assert (threefry.bits(words, 33) == np.asarray(jax.random.bits(key, (33,)))).all()
    assert (threefry.uniform(words, 33) == np.asarray(jax.random.uniform(key, (33,)))).all()
    assert (threefry.fold_in(words, 7) == np.asarray(folded)).all()


@pytest.mark.parametrize("name", ["bits", "uniform", "split", "fold_in"])
def test_wrong_random_number_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Only the function with a wrong random number is named."""
    change = lambda results: {**results, name: results[name].at[1].multiply(2)}  # noqa: E731
    draw = after(check("random_keys").draw, change)
    codes = failed(monkeypatch, "random_keys", "draw", draw)

    assert {f"JAX-RANDOM-{name.upper().replace('_', '-')}"} == codes


def test_the_device_that_draws_other_numbers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that draws other numbers is named."""
    honest = check("random_keys").cipher

    def cipher(keys: jax.Array, counters: jax.Array) -> jax.Array:
        flip = (jax.lax.axis_index("d") == 3).astype(keys.dtype)
        return honest(keys, counters) ^ flip

    monkeypatch.setattr(check("random_keys"), "cipher", cipher)
    count, device = findings("random_keys", "JAX-RANDOM-VECTORS")

    assert (count.found, device.entity, device.found) == (7, "device:3", "6 of 6 numbers wrong")


def test_numbers_that_differ_the_second_time_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers that change on the second call are caught."""
    module, calls = check("random_keys"), []
    compile_ = jax.jit

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(words: jax.Array, *others: jax.Array) -> Any:
            calls.append(1)
            return compile_(function)(words + (len(calls) - 1), *others)

        return call

    monkeypatch.setattr(module.jax, "jit", jit)

    assert "JAX-RANDOM-AGAIN" in {code for code, _ in failures("random_keys")}


def test_tree_changed_by_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree whose leaves or containers change in a program is named."""
    module = check("pytrees_and_keys")
    honest = module.tree

    def tree(*leaves: Any) -> Any:
        built = honest(*leaves)
        inside = isinstance(leaves[0], jax.Array)
        return {**built, "model": tuple(built["model"])} if inside else built

    monkeypatch.setattr(module, "tree", tree)
    [_, way] = findings("pytrees_and_keys", "JAX-TREE-WAYS")

    assert (way.entity, way.found) == ("way:jit", "another structure")


def test_a_leaf_of_another_type_is_named() -> None:
    """A leaf of another type is named, even if its values are equal."""
    trees = check("_trees")
    sent = {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.int8)}

    assert "" == trees.differs(sent, dict(sent))
    assert "other numbers: int8" == trees.differs(sent, {**sent, "b": np.zeros(3, np.int32)})
    assert "other numbers: float32" == trees.differs(sent, {**sent, "a": np.float32([0, 0, -0.0])})


@pytest.mark.parametrize(
    ("function", "code"),
    [("wrap_key_data", "JAX-KEY-DATA"), ("PRNGKey", "JAX-KEY-OLD")],
)
def test_a_key_that_changes_is_caught(
    monkeypatch: pytest.MonkeyPatch, function: str, code: str
) -> None:
    """A key that changes on the way to its words or back is caught."""
    honest, words = getattr(jax.random, function), jnp.array([0, 7], jnp.uint32)

    def other(*_: Any, **__: Any) -> Any:
        return honest(words, impl="threefry2x32") if function == "wrap_key_data" else words

    monkeypatch.setattr(jax.random, function, other)

    assert code in {failure_code for failure_code, _ in failures("pytrees_and_keys")}


def test_key_changed_on_transfer_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that changes in a transfer to the host is caught."""
    honest, replacement = jax.device_get, {"k": jax.random.key(0)}
    monkeypatch.setattr(
        jax, "device_get", lambda tree: honest(replacement if "k" in tree else tree)
    )

    assert [("JAX-KEY-MOVED", None)] == failures("pytrees_and_keys")


def test_wrong_key_from_stack_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack of keys with two equal ones is caught."""
    broken = after(
        check("pytrees_and_keys").use, lambda results: (results[0], results[1] + 1, results[2])
    )
    codes = failed(monkeypatch, "pytrees_and_keys", "use", broken)

    assert {"JAX-KEY-STACKED"} == codes


# jax.dlpack, jax.round_trips


def test_dlpack_refused_on_tpu_is_information_with_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """DLPack is refused on a TPU, which is information with a hint."""
    honest, calls = check("dlpack").to_numpy, []

    def to_numpy(array: jax.Array) -> np.ndarray:
        calls.append(array)
        if len(calls) == 1:
            raise BufferError("__dlpack__ device only supported for TPU pinned host memory")
        return honest(array)

    monkeypatch.setattr(check("dlpack"), "to_numpy", to_numpy)
    [device] = findings("dlpack", "JAX-DLPACK-DEVICE")

    assert device.verdict == "info"
    assert str(device.found).startswith("refused: __dlpack__ device only supported")
    assert "copy through the host" in str(device.hint)


def test_without_a_cpu_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a CPU device, which DLPack needs, nothing is judged."""
    monkeypatch.setattr(check("_handover"), "cpu", lambda: None)
    results = findings("dlpack")

    assert ["info", "info"] == [finding.verdict for finding in results]
    assert "not applicable: JAX has no cpu" == results[-1].found


def test_cpu_missing_from_jax_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU that JAX_PLATFORMS leaves out is no error."""
    monkeypatch.setattr(jax, "devices", lambda _: jax.local_devices(backend="none"))

    assert check("_handover").cpu() is None


@pytest.mark.parametrize(
    ("function", "code"), [("to_numpy", "JAX-DLPACK-OUT"), ("add_one", "JAX-DLPACK-USED")]
)
def test_numbers_changed_by_dlpack_are_caught(
    monkeypatch: pytest.MonkeyPatch, function: str, code: str
) -> None:
    """On the way to NumPy, and in a program that uses what came."""
    broken = after(getattr(check("dlpack"), function), lambda result: result * 1 + 1)

    assert code in failed(monkeypatch, "dlpack", function, broken)


@pytest.mark.parametrize(("version", "verdict"), [((0, 6, 2), "info"), ((0, 10, 2), "fail")])
def test_memory_order_lost_by_dlpack_is_named(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], verdict: str
) -> None:
    """A memory order that DLPack loses, as in JAX 0.6.2, is named with a fix."""

    def from_numpy(array: np.ndarray) -> jax.Array:
        return jnp.asarray(array.ravel(order="K").reshape(array.shape))

    monkeypatch.setattr(check("dlpack"), "from_numpy", from_numpy)
    monkeypatch.setattr(jax, "__version_info__", version)
    [order] = findings("dlpack", "JAX-DLPACK-ORDER")

    assert (order.verdict, order.found) == (verdict, "wrong numbers")
    assert "ascontiguousarray" in str(order.hint)


def test_pytorch_returns_array_unchanged() -> None:
    """PyTorch returns arrays unchanged; a missing PyTorch is reported."""
    results = findings("dlpack", "JAX-DLPACK-TORCH")
    if importlib.util.find_spec("torch") is None:
        assert ["not applicable: it is not installed"] == [finding.found for finding in results]
        pytest.skip("PyTorch is not installed beside JAX here, so no array was handed to it.")

    assert [len(check("_handover").TORCH)] == [finding.found for finding in results]


def test_bfloat16_name_lost_in_file_has_hint() -> None:
    """The trap of https://github.com/jax-ml/ml_dtypes/issues/41, shown and not judged."""
    [plain] = findings("round_trips", "JAX-FILE-TYPE")

    assert plain.verdict == "info"
    assert plain.found in ("|V2", "bfloat16")
    assert "view(jnp.bfloat16)" in str(plain.hint)


def test_the_array_that_a_file_changed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that changed in a file is named, and so is the different training step."""
    ways = check("_files").WAYS

    def npz(arrays: dict[str, Any], folder: Path) -> dict[str, Any]:
        texts = check("_files").npz(arrays, folder)
        del texts["sharded"]
        return {**texts, "weights": -texts["weights"]}

    monkeypatch.setitem(ways, "npz", npz)
    texts = {finding.entity: finding.found for finding in findings("round_trips", "JAX-FILE-NPZ")}

    assert "spread over other devices" == texts["array:sharded"]
    assert "numbers changed" in str(texts["array:weights"])
    assert "JAX-FILE-NPZ-STEP" in {code for code, _ in failures("round_trips")}


@pytest.mark.parametrize("library", ["msgpack", "orbax"])
def test_optional_library_is_tried_or_named_as_missing(library: str) -> None:
    """An optional library is tested, or named as missing without a failure."""
    [finding, *_] = findings("round_trips", f"JAX-FILE-{library.upper()}")
    if not check("_files").installed(library):
        assert ("info", "not applicable: it is not installed") == (finding.verdict, finding.found)
        pytest.skip(f"`{library}` is not installed here, so no file of its was written.")

    assert "ok" == finding.verdict


def test_a_file_of_numpy_gives_back_every_bit(tmp_path: Path) -> None:
    """A NumPy file returns every bit, from any device."""
    place = SingleDeviceSharding(jax.local_devices()[3])
    sent = {"x": jax.device_put(np.arange(7, dtype=np.float16), place)}
    back = check("_files").npz(sent, tmp_path)

    assert isinstance(back["x"], np.ndarray)
    assert "" == check("_files").difference(sent["x"], back["x"])
