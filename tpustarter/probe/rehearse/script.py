"""Run the user's script on CPU devices, and lower its jitted functions for a TPU.

Only public API is used: `jax.jit` and `jax.pmap` are replaced before the script starts, and
`jax.export` lowers. So functions are seen if the script or a library jits them through these names.
Operations outside `jit` and functions that call back into Python (`jax.debug.print`) are not.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import re
import runpy
import signal
import sys
import types
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from tpustarter.machine.machine import cut_text
from tpustarter.probe.events import EndEventFields
from tpustarter.probe.finding import shorten_for_json
from tpustarter.probe.rehearse import device_queries, exports, jitted_functions, lowering_errors
from tpustarter.probe.rehearse.device_queries import PatchedDeviceQueries
from tpustarter.probe.rehearse.exports import LoweringJob
from tpustarter.probe.rehearse.jax_types import ArrayLike, JaxArray
from tpustarter.probe.rehearse.jax_types import JaxFunction as Jitted
from tpustarter.probe.rehearse.pmapped import PmappedFunction
from tpustarter.probe.rehearse.rehearsal_messages import (
    MOST_SHAPES,
    Emit,
    JitCallSiteFields,
    LoweringTargetFields,
    ProgramEventFields,
    ScriptCommand,
    make_program_event,
)
from tpustarter.probe.rehearse.user_file import make_unique_title

_Pytree = object
"""An array, or a container of arrays, as JAX accepts and returns them."""

_SIMPLE = (bool, int, float, str, tuple, type(None))

MOST_KNOWN = 1000
"""Most functions whose shapes are kept, because a script may create functions without end."""
MOST_TEXT = 120


def rehearse_script(command: ScriptCommand, emit: Emit) -> EndEventFields:
    """Run `path` with `argv`, emitting `met` for each set of shapes and `called` at the end.

    The script ends before call `most_calls` of a jitted function is computed, or after `most_s`
    seconds; None is no limit.
    """
    jax = importlib.import_module("jax")
    path = Path(command["path"])
    with PatchedDeviceQueries(jax) as answers:
        watch = JitWatch(Path(command["folder"]), path, emit, answers, command["tpus"])
        watch.most_calls = command.get("most_calls")
        watch.zeros = _Zeros(jax) if command.get("zeros") else None
        jit, pmap = jax.jit, jax.pmap
        vars(jax)["jit"] = _replacement(jit, watch)
        vars(jax)["pmap"] = _pmap_replacement(jit, pmap, watch)
        sys.argv = [str(path), *command["argv"]]
        sys.path[0:0] = [str(path.parent)]
        try:
            with _end_after(command.get("most_s")):
                runpy.run_path(str(path), run_name="__main__")
        except _LimitReached:
            return {"outcome": "done", "ended_early": True}
        except SystemExit as ending:
            if ending.code not in (None, 0):
                return {
                    "outcome": "exception",
                    "detail": shorten_for_json(f"it ended with exit code {ending.code}"),
                }
        except Exception as error:  # noqa: BLE001  the script's own; earlier programs still count
            lowering_errors.print_user_traceback(error, path)
            return lowering_errors.make_end_fields(error, path)
        finally:
            vars(jax).update(jit=jit, pmap=pmap)
            for function in watch.functions.values():
                if function.calls or watch.is_own(function):
                    emit({"event": "called", "function": function.as_fields()})
            if answers.queries.platform:
                emit({"event": "asked", "places": answers.queries.places})
    return {"outcome": "done", "ended_early": watch.is_at_limit()}


class _LimitReached(BaseException):
    """Raised to end a script at its limit; the script's `except Exception` does not catch it."""


@contextlib.contextmanager
def _end_after(seconds: float | None) -> Generator[None]:
    if seconds is None:
        yield
        return

    def end(*_: object) -> None:
        raise _LimitReached

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


Function = Callable[..., object]


class _Zeros:
    """Zeros in place of results; results of one type and sharding share an array."""

    def __init__(self, jax: types.ModuleType) -> None:
        self._jax = jax
        self._arrays: dict[tuple[object, ...], JaxArray] = {}
        self._results: dict[
            tuple[object, ...], tuple[object, list[tuple[ArrayLike, object]], _Pytree]
        ] = {}
        """By call, the function, the type and sharding of each array, and the pytree structure."""

    def make_result(
        self,
        watched: WatchedFunction,
        signature: tuple[str, ...],
        arguments: tuple[_Pytree, ...],
        named: dict[str, _Pytree],
    ) -> _Pytree:
        """Return zeros with the types and shardings of a call's results, compiling it to find them.

        Random keys are not numbers, so a function that returns any is called.
        """
        key = id(watched), signature
        if key not in self._results:
            job = watched.make_job(arguments, named)
            types, structure = self._jax.tree_util.tree_flatten(
                self._jax.eval_shape(job.function, *job.arguments, **job.named)
            )
            extended = self._jax.dtypes.extended
            if any(self._jax.dtypes.issubdtype(one.dtype, extended) for one in types):
                return watched.jitted(*arguments, **named)
            if not jitted_functions.is_jitted(job.function):
                raise TypeError("`make_job` returns a jitted function")
            compiled = job.function.lower(*job.arguments, **job.named).compile()
            shardings = self._jax.tree_util.tree_leaves(compiled.output_shardings)
            if len(self._results) > MOST_KNOWN:
                self._results.clear()
            leaves = [*zip(types, shardings, strict=True)]
            # The function is kept alive, so that its id is not reused.
            self._results[key] = watched, leaves, structure
        _, leaves, structure = self._results[key]
        zeros = [self._make_zeros(*leaf) for leaf in leaves]
        return self._jax.tree_util.tree_unflatten(structure, zeros)

    def _make_zeros(self, leaf: ArrayLike, sharding: object) -> JaxArray:
        key = leaf.shape, str(leaf.dtype), sharding
        zeros = self._arrays.get(key)
        if zeros is None or zeros.is_deleted():  # the script may have donated it
            zeros = self._jax.numpy.zeros(leaf.shape, leaf.dtype, device=sharding)
            self._arrays[key] = zeros
        return zeros


class JitCallSite:
    """A place in the source that passes a function to `jax.jit`, once or many times."""

    def __init__(self, name: str, where: str) -> None:
        self.name, self.where = name, where
        self.calls = self.made = 0
        self.signatures: list[tuple[str, ...]] = []
        """One for each compilation."""

    def as_fields(self) -> JitCallSiteFields:
        """Return the fields of the `called` event."""
        changed = ""
        if len(self.signatures) > 1:
            changed = _changed(self.signatures[-2], self.signatures[-1])
        return {
            "name": self.name,
            "where": self.where,
            "calls": self.calls,
            "made": self.made,
            "compilations": len(self.signatures),
            "changed": changed,
        }


class JitWatch:
    """The functions jitted so far, and the shapes of their calls."""

    def __init__(
        self,
        folder: Path,
        script: Path,
        emit: Emit,
        answers: PatchedDeviceQueries,
        tpus: Mapping[str, LoweringTargetFields],
    ) -> None:
        self._folder, self._script, self._emit = folder, script, emit
        self.answers = answers
        """Answers device queries; one made while tracing counts for that program, not for the
        script."""
        self._kinds = exports.group_by_device_kind(tpus)
        self.functions: dict[tuple[str, str], JitCallSite] = {}
        self.calls = 0
        self.most_calls: int | None = None
        """The script ends before this call of a jitted function; None for no limit."""
        self.zeros: _Zeros | None = None
        """Returns zeros in place of the results of jitted functions; None to compute them."""
        self._exported = 0
        self._titles: dict[str, str] = {}
        self._signatures: dict[tuple[object, str], set[tuple[str, ...]]] = {}

    def is_at_limit(self) -> bool:
        """Return whether the limit of calls is reached; a script may catch the exception."""
        return self.most_calls is not None and self.calls >= self.most_calls

    def list_signatures(self, fun: object, options: Mapping[str, object]) -> set[tuple[str, ...]]:
        """Return the signatures that a function was compiled for, kept across calls of `jit`."""
        if len(self._signatures) > MOST_KNOWN:
            self._signatures.clear()
        try:
            return self._signatures.setdefault((fun, repr(sorted(options.items()))), set())
        except TypeError:  # JAX also treats an unhashable one as a new function
            return set()

    def find_function(self, fun: object) -> JitCallSite:
        """Return the record of the function at one source line, and count one `jit` of it."""
        name, where = _place(fun, self._script.parent)
        function = self.functions.setdefault((name, where), JitCallSite(name, where))
        function.made += 1
        return function

    def is_own(self, function: JitCallSite) -> bool:
        """Return whether a function is defined in the script's folder, and not in a library."""
        file = self._script.parent / function.where.rpartition(":")[0]
        return file.is_file() and not {"site-packages", "dist-packages"} & {*file.parts}

    def _make_title(self, function: JitCallSite) -> str:
        title = f"{function.name}({_signature_text(function.signatures[-1])})"
        elsewhere = self._titles.get(title, function.where) != function.where
        longer = f"{title} at {function.where}" if elsewhere else title
        title = make_unique_title(title, longer, self._titles)
        self._titles[title] = function.where
        return title

    def lower_call(
        self, watched: WatchedFunction, arguments: tuple[_Pytree, ...], named: dict[str, _Pytree]
    ) -> None:
        """Lower a jitted function for a TPU with the argument shapes of this call."""
        function = watched.function
        number = len(function.signatures)
        if number > MOST_SHAPES:
            return
        title = self._make_title(function)
        wanted = tuple(name for names in self._kinds.values() for name in names)
        jax = importlib.import_module("jax")

        def warn(text: str) -> None:
            self._emit({"event": "warning", "program": title, "text": text})

        try:
            job = watched.make_job(arguments, named)
        except Exception as error:  # noqa: BLE001  an error affects only this program
            text = lowering_errors.describe_error_with_line(error, self._script)
            head: ProgramEventFields = {"event": "met", "program": title, "tpus": wanted}
            self._emit({**head, "error": text, "refused": False, "notes": []})
            return
        for device, names in self._kinds.items():
            self._exported += 1
            path = self._folder / f"script-{self._exported}.mlirbc"
            fields, queries = exports.lower_for_device(
                self.answers,
                job,
                device if device_queries.caches_traces_by_device(jax) else None,
                path,
                warn=warn,
                own=self._script,
            )
            fields["notes"] = [*device_queries.describe_queries(queries), *fields["notes"]]
            separate = queries.kind and queries.device is not None
            chosen = names if separate else wanted
            head = {"event": "met", "program": title, "tpus": chosen}
            self._emit(make_program_event(head, fields))
            if not separate:
                return


def _replacement(original: Callable[..., Jitted], watch: JitWatch) -> Callable[..., object]:
    def jit(fun: Function | None = None, /, **options: object) -> object:
        if fun is None:  # `@jax.jit(static_argnames=...)`
            return functools.partial(jit, **options)
        return WatchedFunction(original(fun, **options), fun, options, watch)

    jit.__doc__ = original.__doc__
    return jit


def _pmap_replacement(
    jit: Callable[..., Jitted], original: Callable[..., Jitted], watch: JitWatch
) -> Callable[..., object]:
    def pmap(fun: Function, axis_name: object = None, **options: Any) -> WatchedFunction:
        mapped = original(fun, axis_name, **options)
        pmapped = PmappedFunction(jit, mapped, options)
        static = {"static_argnums": options.get("static_broadcasted_argnums", ())}
        return WatchedFunction(mapped, fun, static, watch, pmapped)

    pmap.__doc__ = original.__doc__
    return pmap


class WatchedFunction:
    """A jitted function that reports each new set of argument shapes."""

    def __init__(
        self,
        jitted: Jitted,
        fun: Function,
        options: Mapping[str, object],
        watch: JitWatch,
        pmapped: PmappedFunction | None = None,
    ) -> None:
        self.jitted, self._watch, self._pmapped = jitted, watch, pmapped
        self.function = watch.find_function(fun)
        self._static = _static(fun, options)
        self._signatures = watch.list_signatures(fun, options)
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
            with contextlib.suppress(AttributeError):
                setattr(self, name, getattr(jitted, name))

    def __call__(self, *arguments: _Pytree, **named: _Pytree) -> _Pytree:
        """Call the function, after reporting new argument shapes."""
        with self._told(arguments, named) as signature, self._watch.answers.answer_for(None):
            if self._watch.zeros and signature is not None:
                zeros = self._watch.zeros
                return zeros.make_result(self, signature, arguments, named)
            return self.jitted(*arguments, **named)

    def make_job(self, arguments: tuple[_Pytree, ...], named: dict[str, _Pytree]) -> LoweringJob:
        """Return the program to lower for the arguments of a call."""
        if self._pmapped is None:
            return LoweringJob(self.jitted, arguments, named)
        return self._pmapped.make_job(arguments, named)

    def lower(self, *arguments: _Pytree, **named: _Pytree) -> _Pytree:
        """Lower the function, after reporting new argument shapes."""
        with self._told(arguments, named), self._watch.answers.answer_for(None):
            return self.jitted.lower(*arguments, **named)

    def trace(self, *arguments: _Pytree, **named: _Pytree) -> _Pytree:
        """Trace the function, after reporting new argument shapes."""
        with self._told(arguments, named), self._watch.answers.answer_for(None):
            return self.jitted.trace(*arguments, **named)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., object]:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> object:
        return getattr(self.jitted, name)

    @contextlib.contextmanager
    def _told(
        self, arguments: tuple[_Pytree, ...], named: dict[str, _Pytree]
    ) -> Generator[tuple[str, ...] | None]:
        # A call that cannot be traced does not count as a compilation.
        known = len(self.function.signatures)
        signature = self._look(arguments, named)
        is_new = len(self.function.signatures) > known
        try:
            yield signature
        except Exception:
            if is_new:
                del self.function.signatures[known]
            raise

    def _look(
        self, arguments: tuple[_Pytree, ...], named: dict[str, _Pytree]
    ) -> tuple[str, ...] | None:
        jax = importlib.import_module("jax")
        leaves = jax.tree_util.tree_leaves((arguments, named))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return None  # called while another function is traced
        function = self.function
        function.calls += 1
        parts = arguments, named
        if self._pmapped:  # it moves its arguments itself, without recompiling
            parts = jax.tree_util.tree_map(_without_sharding, parts)
        signature = _signature(jax, parts[0], parts[1], self._static)
        if signature not in self._signatures:
            self._signatures.add(signature)
            function.signatures.append(signature)
            self._watch.lower_call(self, arguments, named)
        self._watch.calls += 1
        if self._watch.is_at_limit():
            raise _LimitReached
        return signature


def _static(fun: Function, options: Mapping[str, object]) -> tuple[set[int], set[str]]:
    # Like JAX, infer positions from names and names from positions.
    given: Any = options.get("static_argnums")  # one or several, by number or by name
    numbers: set[int] = {given} if isinstance(given, int) else set(given or ())
    given = options.get("static_argnames")
    names: set[str] = {given} if isinstance(given, str) else set(given or ())
    with contextlib.suppress(TypeError, ValueError):
        parameters = list(inspect.signature(fun).parameters)
        numbers = {number % len(parameters) for number in numbers} if parameters else set()
        names |= {parameters[number] for number in numbers}
        numbers |= {number for number, name in enumerate(parameters) if name in names}
    return numbers, names


def _signature(
    jax: types.ModuleType,
    arguments: tuple[_Pytree, ...],
    named: dict[str, _Pytree],
    static: tuple[set[int], set[str]],
) -> tuple[str, ...]:
    # Types, shapes, structure and static values decide whether JAX recompiles.
    words: list[str] = []
    pairs = [*enumerate(arguments), *sorted(named.items())]
    for name, value in pairs:
        if name in static[0] or name in static[1]:
            words.append(shorten_for_json(f"{name}={_static_text(value)}"))
            continue
        leaves, structure = jax.tree_util.tree_flatten(value)
        if not jax.tree_util.treedef_is_leaf(structure):
            words.append(f"{len(leaves)} arrays in a {type(value).__name__}")
        words += [_leaf(leaf) for leaf in leaves]
    return tuple(words)


def _signature_text(signature: tuple[str, ...]) -> str:
    # The addresses of static objects mean nothing to a reader.
    text = re.sub(r"#\d+| at 0x[0-9a-f]+", "", ", ".join(signature))
    return cut_text(text, MOST_TEXT)


def _static_text(value: object) -> str:
    # The text differs whenever JAX recompiles.
    if isinstance(value, _SIMPLE):
        return str(value) if isinstance(value, str) else f"{value!r}"
    return f"{type(value).__name__}#{id(value)}"


def _leaf(leaf: object) -> str:
    # To JAX, a Python number has a type of its own.
    if not jitted_functions.is_array(leaf):
        return type(leaf).__name__
    sharding = getattr(leaf, "sharding", None)
    spread = getattr(sharding, "spec", "") if len(getattr(sharding, "device_set", ())) > 1 else ""
    weak = " weak" if getattr(leaf, "weak_type", False) else ""
    return f"{jitted_functions.format_hlo_type(leaf)}{weak}{' ' * bool(spread)}{spread}"


def _without_sharding(leaf: ArrayLike) -> object:
    jax = importlib.import_module("jax")
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if isinstance(leaf, jax.Array) else leaf


def _changed(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    for old, new in zip(before, after, strict=False):
        if old != new:
            return shorten_for_json(f"{old}, then {new}")
    return (
        "another number of arguments" if len(before) != len(after) else "a new function each time"
    )


def _place(fun: object, home: Path) -> tuple[str, str]:
    # Libraries wrap functions in objects of their own.
    inner: Any = inspect.unwrap(fun) if callable(fun) else fun  # with any attributes
    while hasattr(inner, "func") or hasattr(inner, "f"):
        inner = getattr(inner, "func", None) or inner.f
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__name__", type(inner).__name__)
    if code is None:
        return name, ""
    path = Path(code.co_filename)
    display_path = path.relative_to(home) if path.is_relative_to(home) else Path(path.name)
    return name, f"{display_path}:{code.co_firstlineno}"
