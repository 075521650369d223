"""The commands that the app sends to the probe as JSON lines, distinguished by `do`."""

from __future__ import annotations

from typing import Literal, TypedDict


class CheckNeeds(TypedDict, total=False):
    """The needs of a check, as stated in its file."""

    chips: int
    container: bool
    devices: int
    generation: str | list[str]
    google_cloud: bool
    hosts: int
    packages: list[str]
    platform: str
    slices: int


class OptionalTargetFields(TypedDict, total=False):
    """The fields of `Target` that have defaults."""

    platform: str
    devices: int | None
    generation: str | None
    virtual: bool
    minutes: float | None
    uid: int | None


class ProbeTargetFields(OptionalTargetFields):
    """The fields of `Target` in JSON form."""

    root: str


class TargetCommand(ProbeTargetFields):
    """The command that sets the target for all that follow."""

    do: Literal["target"]


class VersionsCommand(TypedDict):
    """The command that requests the versions of Python and its packages."""

    do: Literal["versions"]


class ProgramStoreFields(TypedDict, total=False):
    """The optional fields of a command that may load compiled programs."""

    program_store: str
    """The folder with programs that earlier runs compiled; without it, all are compiled."""


class RunCheckCommand(ProgramStoreFields):
    """The command that runs a check."""

    do: Literal["check"]
    id: str
    framework: str
    needs: CheckNeeds
    timeout_s: float


class FinishCommand(TypedDict):
    """The command that ends a soak check early, with its findings so far."""

    do: Literal["finish"]


class PlottedVariables(TypedDict, total=False):
    """The variables of a block to draw."""

    plot: list[str] | tuple[str, ...]
    x: str
    """The variable with the x values; empty to use each value's index."""
    show: list[str] | tuple[str, ...]
    growing: bool
    """True to send the plot while the block is running too."""


class BlockOptions(PlottedVariables, ProgramStoreFields, total=False):
    """The optional fields of a block's command."""

    lesson: str
    """The lesson whose programs are loaded from the store."""
    alone: bool
    """True to run without the names of earlier blocks."""
    framework: str | None
    folder: str
    """The working folder; empty for the process's own."""


class BlockCommand(BlockOptions):
    """The command that runs a block of a lesson."""

    do: Literal["block"]
    id: str
    code: str
    file: str
    timeout_s: float
