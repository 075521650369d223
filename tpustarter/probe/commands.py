"""The commands that the app sends to the probe, a JSON object a line; `do` tells them apart."""

from __future__ import annotations

from typing import Literal, TypedDict


class CheckNeeds(TypedDict, total=False):
    """The needs of a check, as its file states them."""

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
    """The fields of `Target` that have a default."""

    platform: str
    devices: int | None
    generation: str | None
    virtual: bool
    minutes: float | None
    uid: int | None


class ProbeTargetFields(OptionalTargetFields):
    """The fields of `Target` as JSON has them."""

    root: str


class TargetCommand(ProbeTargetFields):
    """The command that sets the target of all that follow."""

    do: Literal["target"]


class VersionsCommand(TypedDict):
    """The command that asks for the versions of Python and of the packages in it."""

    do: Literal["versions"]


class RunCheckCommand(TypedDict):
    """The command that has a check run."""

    do: Literal["check"]
    id: str
    framework: str
    needs: CheckNeeds
    timeout_s: float


class FinishCommand(TypedDict):
    """The command that ends a soak check early, with the findings of the time that it ran."""

    do: Literal["finish"]


class DrawnVariables(TypedDict, total=False):
    """The variables of a block that are to be drawn."""

    plot: list[str] | tuple[str, ...]
    x: str
    """The variable of the horizontal axis; empty for the number of the value."""
    show: list[str] | tuple[str, ...]
    growing: bool
    """True if the plot is sent while the block runs, too."""


class BlockOptions(DrawnVariables, total=False):
    """The fields of a block's command that may be missing."""

    alone: bool
    """True if the names of earlier blocks are not there."""
    framework: str | None
    folder: str
    """The folder that it works in; empty for the folder of the process."""


class BlockCommand(BlockOptions):
    """The command that has a block of a lesson run."""

    do: Literal["block"]
    id: str
    code: str
    file: str
    timeout_s: float
