"""Errors that no row knows: the component that failed, and what a log without a TPU gets."""

from __future__ import annotations

import pytest

from tests.support.failures import explain
from tpustarter.explain import explanation_text, last_error

_CUDA = "xla_bridge:662: registering PJRT plugin cuda from /v/a.so"


def test_component_comes_before_calling_library() -> None:
    """A check in C++ is not blamed on the Python that made the call."""
    found = explain(
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.10/site-packages/transformers/model.py", line 9, in forward\n'
        "    y = x * 2\n"
        "RuntimeError: torch_xla/csrc/some.cpp:7 : Check failed: a == b",
    )

    assert found.library is None
    assert found.mistake
    assert "torch_xla" in found.mistake.mistake.component


@pytest.mark.parametrize(
    "log",
    [
        "RuntimeError: CUDA error: device-side assert\nSegmentation fault (core dumped)",
        "*** SIGSEGV received at time=1 ***\nPC: @ 0x7f00 (unknown) ray::core::Worker::Run()",
        "terminate called\nSegmentation fault (core dumped) in Level Zero driver",
        f"{_CUDA}\nxla_bridge:942: Initializing backend 'tpu'\nSegmentation fault (core dumped)",
        "ValueError: no such device\nids 0, 1 on platform GPU\nSegmentation fault (core dumped)",
    ],
)
def test_other_accelerator_is_no_failure(log: str) -> None:
    """A crash on a GPU, or in a library without a TPU, is none of a TPU."""
    assert explain(log).matches == ()


def test_tpu_beside_cuda_words_is_explained() -> None:
    """A log that also names a TPU keeps its failure."""
    found = explain("cuda:0 is not there, TPU is\nSegmentation fault (core dumped)")

    assert "bad-node-sigsegv" == found.matches[0].failure.id


@pytest.mark.parametrize(
    "error", ["LLVM ERROR: Cannot select: intrinsic", f"{_CUDA}\nSegmentation fault (core dumped)"]
)
def test_notice_does_not_hide_crash(error: str) -> None:
    """JAX's notice about other backends doesn't hide a crash."""
    note = "INFO:jax._src.xla_bridge:Unable to initialize backend 'rocm': module has no attribute"
    found = explain(f"{note}\n{error}")

    assert not found.is_explained
    assert found.last_error == error.rpartition("\n")[2]


@pytest.mark.parametrize(
    ("word", "expected"), [("Bad StatusOr access: ", "torch_xla"), ("", ""), ("{{node x}} ", "tf")]
)
def test_advice_follows_framework(word: str, expected: str) -> None:
    """Only a log of JAX gets the advice to use `jax.live_arrays()`."""
    log = f"RuntimeError: {word}RESOURCE_EXHAUSTED: Attempting to allocate 2.00G. That was not "
    found = explain(log + "possible. There are 1.00G free.; (0x0x0_HBM0)")
    fixes = explanation_text.list_fixes(found.matches[0], "", found.framework)

    assert bool(expected) != any("jax.live_arrays" in fix for fix in fixes)


def test_launcher_names_error_of_cut_traceback() -> None:
    """The launcher of torch_xla prints the error above its traceback."""
    found = explain(
        "Exception in device=TPU:0: no such thing\nTraceback (most recent call last):\n"
        '  File "/v/lib/python3.10/site-packages/torch_xla/distributed/x.py", line 3, in f\n',
    )

    assert not found.is_cut
    assert "no such thing" in found.last_error


def test_cut_traceback_names_last_call() -> None:
    """The library in whose call it ends is shown, also in a quotation."""
    found = explain(
        "> ImportError          Traceback (most recent call last)\n"
        "> File <frozen importlib._bootstrap>:1050, in _gcd_import(name, package, level)\n> \n"
        "> File /v/lib/python3.10/site-packages/flax/core.py:58, in _load(self)\n"
        ">      57 try:\n> ---> 58     return f()\n>      59 except Exception as e:",
    )

    assert found.is_cut
    assert found.library
    assert ("flax", "_load") == (found.library.library, found.library.function)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("code: NO_SUCH\nurl: https://example.com/docs/resource-error", ""),
        ('"error": {\n  "code": 418,\n  "message": "The pot is short"\n}', "The pot is short"),
        ("ValueError: it\nHint: see the error page", "ValueError: it"),
        ("ABORTED: gone", "ABORTED: gone"),
    ],
)
def test_last_error_is_no_help(log: str, expected: str) -> None:
    """An address, a hint and an opening brace are no error."""
    assert expected == last_error.find_last_error(log)
