"""Lower the user's file for TPUs: a function, a module, or a list of programs."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tpustarter.machine.machine import cut_text
from tpustarter.probe.events import EndEventFields
from tpustarter.probe.rehearse import (
    device_queries,
    exports,
    jitted_functions,
    lowering_errors,
    program_arguments,
    torch_module,
)
from tpustarter.probe.rehearse.device_queries import DeviceQueries, PatchedDeviceQueries, TpuDevice
from tpustarter.probe.rehearse.exports import LoweringJob
from tpustarter.probe.rehearse.rehearsal_messages import (
    Emit,
    LowerCommand,
    LoweredFields,
    ProgramEventFields,
    make_program_event,
)

Listed = tuple[str, LoweringJob, list[str]]
"""A program's name, its job, and notes on its arguments."""

DEVICES_PARAMETER = "devices"
"""Name of the first parameter of a function that lists programs; any other is a program itself."""

_WHILE_LOADED = (
    "a line outside of every function led there; what is below the line with `__main__` is not run"
)


def lower_programs(command: LowerCommand, emit: Emit) -> EndEventFields:
    """Lower the function, module or programs of a user's file.

    Emits `ready` just before the file runs, then `lowering` and `exported` for each program.
    """
    path = Path(command["file"])
    try:
        route = torch_module.choose_lowerer(command["torch"]) if command["torch"] else ""
    except lowering_errors.UnmetRequestError as error:
        return lowering_errors.make_end_fields(error, path)
    if route == "torch_xla":
        from tpustarter.probe.rehearse import torch_exports

        return torch_exports.lower_programs(
            command, emit, lambda: _find(_load(path), command["name"], path)
        )
    jax = importlib.import_module("jax")
    if route:
        importlib.import_module(route)
    with PatchedDeviceQueries(jax) as answers:
        emit({"event": "ready"})
        file = _File(jax, command, emit, answers, route)
        try:
            file.lower_all()
        except Exception as error:  # noqa: BLE001  the user's code may raise anything
            lowering_errors.print_user_traceback(error, path)
            more = ""
            if file.is_running and not isinstance(error, (ImportError, SyntaxError)):
                more += f" ({_WHILE_LOADED})"
            if file.queried_device:
                more += " (it had asked where it runs, and was answered `tpu`)"
            return lowering_errors.make_end_fields(error, path, more)
    return {"outcome": "done"}


class _File:
    """The programs of one file."""

    def __init__(
        self,
        jax: ModuleType,
        command: LowerCommand,
        emit: Emit,
        answers: PatchedDeviceQueries,
        route: str,
    ) -> None:
        self._jax, self._command, self._emit, self._answers = jax, command, emit, answers
        self._route = route
        """The library that turns a PyTorch module into functions; empty for a file of JAX
        functions."""
        self._path = Path(command["file"])
        self._module: ModuleType
        self._function: Callable[..., object]
        self._loading = DeviceQueries()
        self._files = 0
        self.is_running = False
        """True while the file itself runs, before its function is found."""
        self.queried_device = False
        """True if the file queried its device outside of a program."""

    def lower_all(self) -> None:
        """Lower all programs for each number of devices, and for each device kind if it matters."""
        tpus = self._command["tpus"]
        loaded = next(iter(exports.group_by_device_kind(tpus)))
        self._load(loaded)
        sizes: list[tuple[int, int] | None] = [None]
        if self._lists():
            sizes = [*sorted({(tpu["devices"], tpu["slices"]) for tpu in tpus.values()})]
        for size in sizes:
            count, slices = size or (None, 1)
            self._answers.devices_per_slice = count // slices if count and slices > 1 else None
            group = {
                name: tpu
                for name, tpu in tpus.items()
                if size in (None, (tpu["devices"], tpu["slices"]))
            }
            settled: set[str] = set()
            for device, names in exports.group_by_device_kind(group).items():
                if self._loading.kind and device != loaded:
                    self._load(device)
                    loaded = device
                if not self._lower(count, device, names, tuple(group), settled):
                    break

    def _load(self, device: TpuDevice) -> None:
        with self._answers.answer_for(device) as self._loading:
            try:
                self.is_running = True
                self._module = _load(self._path)
                self.is_running = False
                self._function = _find(self._module, self._command["name"], self._path)
            finally:
                self.queried_device |= self._loading.platform

    def _lists(self) -> bool:
        parameters = list(inspect.signature(self._function).parameters)
        return (
            not self._route
            and parameters[:1] == [DEVICES_PARAMETER]
            and not self._command["arguments"]
        )

    def _lower(
        self,
        count: int | None,
        device: TpuDevice,
        names: tuple[str, ...],
        wanted: tuple[str, ...],
        settled: set[str],
    ) -> bool:
        # Returns True if another kind of TPU may differ. Programs that did not query the kind are
        # `settled`: one lowering serves all TPUs that are `wanted`.
        titles: set[str] = set()
        differs, number = False, -1
        with self._answers.answer_for(device) as listing:
            programs = iter(self._programs(count))
            # Each program is lowered before the next one is requested, while a mesh that the user's
            # function sets around its `yield` is still active.
            while (listed := self._next(programs, listing)) is not None:
                number += 1
                if self._command["only"] not in (None, number):
                    continue
                name, job, made = listed
                title = make_unique_title(
                    str(name), f"{name}({_types(self._jax, job.arguments)})", titles
                )
                titles.add(title)
                if title in settled:
                    continue
                self._emit({"event": "lowering", "program": title})
                fields, queries = self._export(title, job, device)
                queries = queries.merge(listing).merge(self._loading)
                differs |= queries.kind
                if not queries.kind:
                    settled.add(title)
                route = [torch_module.describe_versions(self._route)] if self._route else []
                fields["notes"] = [
                    *route,
                    *device_queries.describe_queries(queries),
                    *made,
                    *fields["notes"],
                ]
                head: ProgramEventFields = {
                    "event": "exported",
                    "program": title,
                    "tpus": names if queries.kind else wanted,
                }
                self._emit(make_program_event(head, fields))
        return differs

    def _next(self, programs: Iterator[Listed], listing: DeviceQueries) -> Listed | None:
        try:
            return next(programs, None)
        finally:
            self.queried_device |= listing.platform

    def _export(
        self, title: str, job: LoweringJob, device: TpuDevice
    ) -> tuple[LoweredFields, DeviceQueries]:
        self._files += 1
        size = f"-{self._command['size']}" if self._command["size"] else ""
        file = Path(self._command["folder"]) / f"program{size}-{self._files}.mlirbc"

        def warn(text: str) -> None:
            self._emit({"event": "warning", "program": title, "text": text})

        if not isinstance(job.arguments, tuple | list):
            kind = type(job.arguments).__name__
            error = f"TypeError: the arguments are a {kind}, expected a tuple"
            return {"error": error, "refused": False, "notes": []}, DeviceQueries(device)
        # JAX caches types with their mesh, whose abstract device differs between programs.
        self._jax.clear_caches()
        return exports.lower_for_device(self._answers, job, device, file, warn=warn, own=self._path)

    def _programs(self, count: int | None) -> Iterator[Listed]:
        if self._route:
            from tpustarter.probe.rehearse import torchax_programs

            listed = torchax_programs.make_torchax_programs(self._function, self._command["name"])
            for name, function, arguments in listed:
                yield name, LoweringJob(function, arguments), []
            return
        if count is None:
            wanted = self._command["arguments"]
            _refuse_narrowing(self._jax, program_arguments.list_argument_dtypes(wanted))
            function, values, named, notes = program_arguments.bind_arguments(
                self._jax, self._module, self._function, wanted
            )
            yield self._command["name"], LoweringJob(function, values, named), notes
            return
        listing: Any = self._function(self._jax.devices()[:count], **self._sizes())  # of any type
        for listed in listing:
            try:
                name, function, arguments = listed
            except (TypeError, ValueError):
                kind = f"{type(listed).__name__} {listed!r}"
                raise TypeError(f"expected (name, function, arguments), found a {kind}") from None
            yield name, LoweringJob(function, arguments), []

    def _sizes(self) -> dict[str, int]:
        """Return the keyword arguments of a function that lists programs."""
        parameters = inspect.signature(self._function).parameters.values()
        wanted = self._command["dimension"]
        named = f"{self._command['name']}({', '.join(one.name for one in parameters)})"
        kinds = {one.name: one.kind for one in parameters}
        by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()
        if wanted and kinds.get(wanted) not in by_name and not takes_any:
            raise lowering_errors.UnmetRequestError(f"`{named}` has no parameter `{wanted}`")
        return {wanted: self._command["size"]} if wanted else {}


def make_unique_title(title: str, longer: str, titles: Collection[str]) -> str:
    """Return a title that no other program has: the longer one, numbered if necessary."""
    numbered = (f"{longer} #{number}" for number in range(2, len(titles) + 3))
    return next(text for text in (title, longer, *numbered) if text not in titles)


def _types(jax: ModuleType, arguments: object) -> str:
    leaves = jax.tree_util.tree_leaves(arguments)
    text = ", ".join(
        jitted_functions.format_hlo_type(leaf)
        if jitted_functions.is_array(leaf)
        else type(leaf).__name__
        for leaf in leaves
    )
    return cut_text(text, 60)


def _refuse_narrowing(jax: ModuleType, kinds: Iterable[str]) -> None:
    # JAX would silently make the type half as wide.
    for kind in kinds:
        if kind.endswith(("64", "128")) and kind != "complex64" and not jax.config.jax_enable_x64:
            hint = "set JAX_ENABLE_X64=1, or ask for the narrower type"
            text = f"{kind} is asked for, and 64-bit types are off: {hint}"
            raise lowering_errors.UnmetRequestError(text, {"narrows": True})


def _load(path: Path) -> ModuleType:
    # Files in the same folder can be imported, as when Python runs it.
    from importlib import util

    sys.path.insert(0, str(path.parent))
    spec = util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _find(module: ModuleType, name: str, path: Path) -> Callable[..., object]:
    function = getattr(module, name, None)
    if callable(function):
        return function
    names = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    listed = f"; it defines {', '.join(names[:8])}" if names else "; it defines no function"
    raise AttributeError(f"{path.name} has no function `{name}`{listed}")
