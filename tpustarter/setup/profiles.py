"""The environments that set-up can make: what each is for, and what follows from that.

The steps of a profile are in the header of a lesson; how to prove one is in `proof`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

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
    it, `rehearse` compiles with it, `serve` starts its server."""
    key: str
    """Under which name the state keeps its folder."""
    wheel: str
    """What to install on a machine without a TPU; several are parted by a blank."""
    tpu_wheel: str
    """What to install on one with a TPU."""
    packages: tuple[str, ...]
    """What the installation must have brought."""
    remembered: str
    """What comes of remembering it."""
    activated: bool
    """Whether people work in it, in a shell of theirs."""
    supports: str
    """What the Pythons of `versions` are for, in a few words."""
    versions: tuple[str, ...] = ("3.12", "3.13")
    """Pythons it can be made with, the preferred one first."""
    system: str | None = None
    """The one system it can be made on, as `uname -sm` tells."""
    not_on: Mapping[str, str] = field(default_factory=dict[str, str])
    """Generations of TPUs on which it computes nothing, each with what to do instead."""
    framework: str | None = None
    """The framework that `--framework` names to use it; null where nothing needs to be said."""

    @property
    def next_command(self) -> str:
        """Return what to type once it is made, after `tpustarter`."""
        if self.command == "serve":
            return f"serve {self.name}"
        return f"{self.command} --framework {self.framework}" if self.framework else self.command


_JUPYTER = Profile(
    name="jupyter",
    meaning="notebooks with JAX, for a browser here or elsewhere",
    folder="tpu-jupyter",
    command="serve",
    key=environments.JUPYTER,
    wheel="notebook matplotlib jax",
    tpu_wheel="notebook matplotlib jax[tpu]",
    packages=("notebook", "jax"),
    remembered="`tpustarter serve jupyter` starts the one in {folder}",
    activated=False,
    supports="the newest JAX",
)

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
            tpu_wheel="jax[tpu]",
            packages=("jax",),
            remembered="{folder} is tested when no other environment is active",
            activated=True,
            supports="the newest JAX",
        ),
        Profile(
            name="rehearse",
            meaning="the TPU compiler, to rehearse your programs",
            folder="tpu-rehearse",
            command="rehearse",
            key=environments.COMPILES,
            wheel="jax[tpu]",
            tpu_wheel="jax[tpu]",
            packages=("jax", "libtpu"),
            remembered="`tpustarter rehearse` compiles with {folder}",
            activated=False,
            supports="the newest JAX",
            system="Linux x86_64",
        ),
        Profile(
            name="pytorch-xla",
            meaning="PyTorch/XLA 2.9.0, its last release",
            folder="tpu-torch-xla",
            command="check",
            key=environments.TORCH_XLA,
            wheel="torch_xla==2.9.0",
            tpu_wheel="torch_xla[tpu]==2.9.0",
            packages=("torch_xla", "torch"),
            remembered="{folder} is tested with `--framework torch_xla`",
            activated=True,
            supports="PyTorch/XLA 2.9.0",
            versions=("3.12", "3.11", "3.13", "3.10"),
            system="Linux x86_64",
            framework="torch_xla",
        ),
        Profile(
            name="torchtpu",
            meaning="TorchTPU 0.2.0, which succeeds PyTorch/XLA",
            folder="tpu-torchtpu",
            command="check",
            key=environments.TORCH_TPU,
            wheel="torch_tpu==0.2.0",
            tpu_wheel="torch_tpu==0.2.0",
            packages=("torch_tpu", "libtpu"),
            remembered="{folder} is tested with `--framework torch_tpu`",
            activated=True,
            supports="TorchTPU 0.2.0",
            versions=("3.12", "3.13", "3.14", "3.11"),
            system="Linux x86_64",
            framework="torch_tpu",
        ),
        Profile(
            name="tensorflow",
            meaning="TensorFlow 2.20.0, the last with support for TPUs",
            folder="tpu-tensorflow",
            command="check",
            key=environments.TENSORFLOW,
            wheel="tensorflow-cpu==2.20.0",
            tpu_wheel="tensorflow-tpu==2.20.0 libtpu==0.0.31",
            packages=("tensorflow",),
            remembered="{folder} is tested with `--framework tensorflow`",
            activated=True,
            supports="TensorFlow 2.20.0",
            versions=("3.12", "3.11", "3.13", "3.10"),
            system="Linux x86_64",
            not_on={"tpu7x": "run `tpustarter setup keras`, for Keras 3 on JAX, which does"},
            framework="tensorflow",
        ),
        Profile(
            name="keras",
            meaning="Keras 3 on JAX, where TensorFlow programs can go on",
            folder="tpu-keras",
            command="check",
            key=environments.KERAS,
            wheel="keras jax",
            tpu_wheel="keras jax[tpu]",
            packages=("keras", "jax"),
            remembered="{folder} is tested with `--framework keras`",
            activated=True,
            supports="the newest JAX",
            framework="keras",
        ),
        _JUPYTER,
        replace(
            _JUPYTER,
            name="colab",
            meaning="notebooks on Colab's page, computed by this machine",
            folder="tpu-colab",
            key=environments.COLAB,
            remembered="`tpustarter serve colab` starts the one in {folder}",
        ),
        Profile(
            name="profiler",
            meaning="XProf in TensorBoard, which shows traces in a browser",
            folder="tpu-profiler",
            command="serve",
            key=environments.PROFILER,
            wheel="xprof tensorboard psutil jax",
            tpu_wheel="xprof tensorboard psutil jax[tpu]",
            packages=("xprof", "tensorboard", "jax"),
            remembered="`tpustarter serve profiler` starts the one in {folder}",
            activated=False,
            supports="the newest JAX",
        ),
    )
}


def _of_machine(name: str, meaning: str) -> Profile:
    """Return a profile that makes no environment."""
    return Profile(name, meaning, folder="", command="check", key="", wheel="", tpu_wheel="",
                   packages=(), remembered="", activated=False, supports="")  # fmt: skip


MACHINE = {
    profile.name: profile
    for profile in (
        _of_machine("editor", "terminals and editors that outlive a bad connection"),
        _of_machine("tuning", "settings of this machine with which TPU programs start sooner"),
        _of_machine("nfs-server", "a folder of this machine, shared with others over NFS"),
        _of_machine("nfs-client", "a folder that another machine shares over NFS"),
        _of_machine("gcs", "a Cloud Storage bucket as a folder, with Cloud Storage FUSE"),
        _of_machine("docker", "containers that reach the TPU, with Docker"),
    )
}
"""Set-ups that make no environment, and change the machine itself; see `machine_setup`."""

SIZES = {
    "jax": ("150 MB", "1 GB"),
    "jax[tpu]": ("400 MB", "1.2 GB"),  # uv links what is in its cache: measured with both
    "torch_xla==2.9.0": ("4.2 GB", "8 GB"),
    "torch_xla[tpu]==2.9.0": ("4.4 GB", "8 GB"),
    "torch_tpu==0.2.0": ("3.4 GB", "7 GB"),
    "tensorflow-cpu==2.20.0": ("350 MB", "2 GB"),
    "tensorflow-tpu==2.20.0 libtpu==0.0.31": ("600 MB", "3 GB"),
    "keras jax": ("200 MB", "1 GB"),
    "keras jax[tpu]": ("450 MB", "2 GB"),
    "xprof tensorboard psutil jax": ("300 MB", "1 GB"),
    "xprof tensorboard psutil jax[tpu]": ("550 MB", "2 GB"),
    "notebook matplotlib jax": ("250 MB", "1 GB"),
    "notebook matplotlib jax[tpu]": ("500 MB", "2 GB"),
}
"""What is downloaded, and what it takes on the disk with the download cache; rounded up."""


_SHORTEST = 3
"""Letters of the shortest piece of a name that is taken for it."""


def named(name: str) -> Profile:
    """Return the profile of a name, or of the framework it installs; raises Problem for none."""
    for profile in PROFILES.values():
        if name == profile.framework:
            return profile
    if name in MACHINE:
        return MACHINE[name]
    if name not in PROFILES:
        every = {**PROFILES, **MACHINE}
        width = max(map(len, every))
        choices = "".join(f"\n  {one.name:<{width}}  {one.meaning}" for one in every.values())
        near = get_close_matches(name, every, n=1, cutoff=0.8)  # a slip, and no other word
        alike = [one for one in every if len(name) >= _SHORTEST and name in one]
        hint = f"name one:{choices}"
        if near:
            hint = f"did you mean `tpustarter setup {near[0]}`?"
        elif alike:
            listed = "".join(f"\n  {one:<{width}}  {every[one].meaning}" for one in alike)
            hint = f"did you mean one of these?{listed}"
        raise Problem(f"there is no set-up profile `{name}`", hint=hint, code=ExitCode.USAGE)
    return PROFILES[name]
