"""The environments that set-up can make: what each is for, and what follows from that.

The steps of a profile are in the header of a lesson; how to prove one is in `proof`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.checking import environments
from tpustarter.problem import ExitCode, Problem


@dataclass(frozen=True)
class Profile:
    """One kind of environment."""

    name: str
    meaning: str
    folder: str
    """Where it is made unless another folder is named, below home."""
    command: str
    """The command of tpustarter that uses the environment, and that proves it: `check` runs in
    it, `rehearse` compiles with it."""
    key: str
    """Under which name the state keeps its folder."""
    wheel: str
    """What to install on a machine without a TPU; on one with a TPU it is `jax[tpu]`."""
    packages: tuple[str, ...]
    """What the installation must have brought."""
    remembered: str
    """What comes of remembering it."""
    activated: bool
    """Whether people work in it, in a shell of theirs."""
    system: str | None = None
    """The one system it can be made on, as `uname -sm` tells."""


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            name="jax",
            meaning="the newest JAX, for checks, lessons and your programs",
            folder="tpu",
            command="check",
            key=environments.TESTED,
            wheel="jax",
            packages=("jax",),
            remembered="{folder} is tested when no other environment is active",
            activated=True,
        ),
        Profile(
            name="rehearse",
            meaning="the TPU compiler, for `tpustarter rehearse`",
            folder="tpu-rehearse",
            command="rehearse",
            key=environments.COMPILES,
            wheel="jax[tpu]",
            packages=("jax", "libtpu"),
            remembered="`tpustarter rehearse` compiles with {folder}",
            activated=False,
            system="Linux x86_64",
        ),
    )
}


def named(name: str) -> Profile:
    """Return the profile of a name; raises Problem for none."""
    if name not in PROFILES:
        choices = ", ".join(
            f"`{profile.name}` ({profile.meaning})" for profile in PROFILES.values()
        )
        raise Problem(
            f"there is no set-up profile `{name}`",
            hint=f"the profiles are: {choices}",
            code=ExitCode.USAGE,
        )
    return PROFILES[name]
