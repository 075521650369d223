"""Arguments made by a user's file: their types, and values passed untraced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tpustarter.probe.rehearse import program_arguments


def init(key: Any, width: int, *, scale: float = 1.0, activation: Any = None) -> dict[str, Any]:
    """Make parameters, among them a function, as libraries keep them."""
    assert isinstance(key, jax.core.Tracer), "it was computed"
    return {"w": jax.random.normal(key, (width, width)) * scale, "act": activation or jnp.tanh}


def forward(params: Any, x: Any, config: Any, power: int = 1) -> Any:
    """Use values that cannot be traced."""
    assert not isinstance(power, jax.core.Tracer)
    for _ in range(power * config["layers"]):
        x = params["act"](x @ params["w"])
    return x


FILE = SimpleNamespace(
    init=init,
    both=lambda: (jnp.ones((8, 8)), jnp.zeros(4)),
    CONFIG={"layers": 2},
    batch=jnp.ones((3, 16)),
    nn=SimpleNamespace(relu=jax.nn.relu),
)


def make(function: Any, *arguments: Any) -> tuple[Any, list[Any], dict[str, Any], list[str]]:
    """Make the call of a function."""
    return program_arguments.bind_arguments(jax, FILE, function, arguments)


def test_call_gives_types_without_computing() -> None:
    """A call gives array types without computing, and keeps what is no array."""
    _, (params, x), named, notes = make(
        forward, "init(u32[2], 16, scale=2.0, activation=nn.relu)", ["bfloat16", [3, 16]]
    )

    assert jax.ShapeDtypeStruct((16, 16), jnp.float32) == params["w"]
    assert jax.nn.relu is params["act"]
    assert jax.ShapeDtypeStruct((3, 16), jnp.bfloat16) == x
    assert {} == named
    assert len(notes) == 1
    assert notes[0].startswith("`params` has")


def test_values_of_plain_function_are_fixed() -> None:
    """Otherwise JAX would trace its numbers, and the shapes that depend on them fail."""
    function, values, named, _ = make(forward, "init(u32[2], 16)", "batch", "CONFIG", "power=3")
    jaxpr = jax.make_jaxpr(lambda w, x: function({"w": w, "act": jnp.tanh}, x))(
        values[0]["w"], values[1]
    )

    assert 2 == len(values)
    assert {} == named
    assert (3, 16) == values[1].shape
    assert 6 == str(jaxpr).count("dot_general")


def test_jitted_function_keeps_its_static_values() -> None:
    """A jitted function keeps the static arguments that it declares itself."""
    jitted = jax.jit(forward, static_argnames=("power",))
    function, values, named, _ = make(jitted, "*both()", "n=-1", "power=3")

    assert jitted is function
    assert [(8, 8), (4,)] == [value.shape for value in values]
    assert {"n": -1, "power": 3} == named


@pytest.mark.parametrize(
    ("argument", "error"),
    [("absent()", AttributeError), ("nn.absent", AttributeError), ("init(f32[])", TypeError)],
)
def test_wrong_call_raises_error_of_python(argument: str, error: type[Exception]) -> None:
    """The error of the user's own file is the best one there is."""
    with pytest.raises(error):
        make(forward, argument)


def test_types_of_all_arrays_are_listed() -> None:
    """Among them those inside of a call, which JAX could narrow as well."""
    arguments = [["float64", [8]], "init(u32[2], f64[])", "n=s64[3]", "4"]

    assert ["float64", "uint32", "float64", "int64"] == [
        *program_arguments.list_argument_dtypes(arguments)
    ]
