"""The environments that set-up can create, with each one's purpose and settings.

A profile's steps are in a lesson's header; its proof is in `environment_proof`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tpustarter.checking.plan import environments
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import frameworks
from tpustarter.text import phrases

NEWEST_JAX = ("3.12", "3.13", "3.14")
"""Pythons for the newest JAX, the preferred one first."""


@dataclass(frozen=True)
class SetupProfile:
    """A kind of environment that set-up can create, or a set-up of the machine.

    Those of the machine have only a name, a title and a purpose.
    """

    name: str
    title: str
    """Its subject in a few words, such as `notebooks with JAX`."""
    purpose: str = ""
    """The words that follow the title after a comma; empty if the title is enough."""
    folder: str = ""
    """Its default folder, relative to the home folder."""
    command: str = "check"
    """The tpustarter command that uses and proves the environment: `check` runs in it, `rehearse`
    compiles with it, `serve` starts its server."""
    key: str = ""
    """The key of its folder in the state file."""
    wheel: str = ""
    """Packages to install on a machine without a TPU, separated by spaces."""
    tpu_wheel: str = ""
    """Packages to install on a machine with a TPU."""
    packages: tuple[str, ...] = ()
    """Packages that the installation must provide."""
    registered_text: str = ""
    """The effect of remembering the environment, as a sentence."""
    activated: bool = False
    """True if people activate it in their own shell."""
    supports: str = ""
    """The software that needs one of `versions`, in a few words."""
    versions: tuple[str, ...] = NEWEST_JAX
    """Python versions that it can be created with, the preferred one first."""
    system: str | None = None
    """The only system that it can be created on, as `uname -sm` prints it; None for any."""
    not_on: Mapping[str, str] = field(default_factory=dict[str, str])
    """TPU generations that it does not support, each with what to do instead."""
    framework: str | None = None
    """The framework for `--framework`; None if the option is not needed."""
    first_command: str = ""
    """Arguments of `tpustarter` for its first use, if `command` only proves it."""

    @property
    def meaning(self) -> str:
        """The title and the purpose as one clause."""
        return f"{self.title}, {self.purpose}" if self.purpose else self.title

    @property
    def next_command(self) -> str:
        """Arguments of `tpustarter` for the first use of the environment."""
        if self.first_command:
            return self.first_command
        if self.command == "serve":
            return f"serve {self.name}"
        return f"{self.command} --framework {self.framework}" if self.framework else self.command


_JUPYTER = SetupProfile(
    name="jupyter",
    title="notebooks with JAX",
    purpose="for a browser here or elsewhere",
    folder="tpu-jupyter",
    command="serve",
    key=environments.JUPYTER,
    wheel="notebook matplotlib jax",
    tpu_wheel="notebook matplotlib jax[tpu]",
    packages=("notebook", "jax"),
    registered_text="`tpustarter serve jupyter` starts the one in {folder}",
    activated=False,
    supports="the newest JAX",
)


def _framework_profile(framework: str, purpose: str, folder: str) -> SetupProfile:
    row = frameworks.FRAMEWORKS[framework]
    return SetupProfile(
        name=row.profile,
        title=row.release,
        purpose=purpose,
        folder=folder,
        command="check",
        key=framework,
        wheel=row.wheel,
        tpu_wheel=row.tpu_wheel,
        packages=(framework,),
        registered_text=f"{{folder}} is tested with `--framework {framework}`",
        activated=True,
        supports=row.release if row.pythons else "the newest JAX",
        versions=row.pythons or NEWEST_JAX,
        framework=framework,
    )


PROFILES = {
    profile.name: profile
    for profile in (
        SetupProfile(
            name="jax",
            title="the newest JAX",
            purpose="for checks, lessons and your programs",
            folder="tpu",
            command="check",
            key=environments.TESTED,
            wheel="jax",
            tpu_wheel="jax[tpu]",
            packages=("jax",),
            registered_text="{folder} is tested when no other environment is active",
            activated=True,
            supports="the newest JAX",
        ),
        SetupProfile(
            name="rehearse",
            title="the TPU compiler",
            purpose="to rehearse your programs",
            folder="tpu-rehearse",
            command="rehearse",
            key=environments.COMPILES,
            wheel="jax[tpu]",
            tpu_wheel="jax[tpu]",
            packages=("jax", "libtpu"),
            registered_text="`tpustarter rehearse` compiles with {folder}",
            activated=False,
            supports="the newest JAX",
            system="Linux x86_64",
        ),
        replace(
            _framework_profile("torch_xla", "its last release", "tpu-torch-xla"),
            packages=("torch_xla", "torch"),
            system="Linux x86_64",
        ),
        replace(
            _framework_profile("torch_tpu", "which succeeds PyTorch/XLA", "tpu-torchtpu"),
            packages=("torch_tpu", "libtpu"),
            system="Linux x86_64",
        ),
        replace(
            _framework_profile("tensorflow", "the last with support for TPUs", "tpu-tensorflow"),
            system="Linux x86_64",
            not_on={"tpu7x": "run `tpustarter setup keras`, for Keras 3 on JAX, which does"},
        ),
        replace(
            _framework_profile("keras", "where TensorFlow programs can go on", "tpu-keras"),
            title="Keras 3 on JAX",
            packages=("keras", "jax"),
        ),
        # vllm-tpu 0.32.0 pins tpu-inference 0.32.0, and that jax 0.11.2, libtpu 0.0.48,
        # flax 0.12.10, torchax 0.0.13 and torchvision 0.25.0, hence torch 2.10.0. This jax has no
        # wheel for 3.11, and nixl 0.3.0 none for 3.13, so that 3.12 is the only Python. libtpu's
        # wheel needs glibc 2.31 (manylinux_2_31). Source: their metadata (read 2026-11-30).
        # Source of the generations:
        # https://docs.vllm.ai/projects/tpu/en/latest/getting_started/quickstart/ (read 2026-11).
        SetupProfile(
            name="vllm",
            title="vLLM 0.32.0 for TPUs",
            purpose="a server of language models",
            folder="tpu-vllm",
            command="check",
            key=environments.VLLM,
            wheel="vllm-tpu==0.32.0",
            tpu_wheel="vllm-tpu==0.32.0",
            packages=("vllm_tpu", "jax"),
            registered_text="{folder}/bin/vllm is the server, and checks and lessons never use it",
            activated=True,
            supports="what vllm-tpu 0.32.0 pins",
            first_command="learn project/serve-a-language-model",
            versions=("3.12",),
            system="Linux x86_64",
            not_on={
                "v2": "sample from JAX yourself, as `tpustarter learn project/generate` does",
                "v3": "sample from JAX yourself, as `tpustarter learn project/generate` does",
            },
        ),
        _JUPYTER,
        replace(
            _JUPYTER,
            name="colab",
            title="notebooks on Colab's page",
            purpose="computed by this machine",
            folder="tpu-colab",
            key=environments.COLAB,
            registered_text="`tpustarter serve colab` starts the one in {folder}",
        ),
        SetupProfile(
            name="profiler",
            title="XProf in TensorBoard",
            purpose="which shows traces in a browser",
            folder="tpu-profiler",
            command="serve",
            key=environments.PROFILER,
            wheel="xprof tensorboard psutil jax",
            tpu_wheel="xprof tensorboard psutil jax[tpu]",
            packages=("xprof", "tensorboard", "jax"),
            registered_text="`tpustarter serve profiler` starts the one in {folder}",
            activated=False,
            supports="the newest JAX",
        ),
    )
}


MACHINE = {
    profile.name: profile
    for profile in (
        SetupProfile("editor", "terminals and editors that outlive a bad connection"),
        SetupProfile("tuning", "settings of this machine with which TPU programs start sooner"),
        SetupProfile("nfs-server", "a folder of this machine", "shared with others over NFS"),
        SetupProfile("nfs-client", "a folder that another machine shares over NFS"),
        SetupProfile("gcs", "a Cloud Storage bucket as a folder", "with Cloud Storage FUSE"),
        SetupProfile("docker", "containers that reach the TPU", "with Docker"),
    )
}
"""Set-ups that create no environment but change the machine itself; see `machine_setup`."""

SIZES = {
    "jax": ("150 MB", "1 GB"),
    "jax[tpu]": ("400 MB", "1.2 GB"),  # uv links files from its cache: measured with both
    "torch_xla==2.9.0": ("4.2 GB", "8 GB"),
    "torch_xla[tpu]==2.9.0": ("4.4 GB", "8 GB"),
    "torch_tpu==0.2.0": ("3.4 GB", "7 GB"),
    "tensorflow-cpu==2.20.0": ("350 MB", "2 GB"),
    "tensorflow-tpu==2.20.0 libtpu==0.0.31": ("600 MB", "3 GB"),
    "keras jax": ("200 MB", "1 GB"),
    "keras jax[tpu]": ("450 MB", "2 GB"),
    # The download is the sum of the 257 files that the index resolves to. 10.4 GB were on the disk,
    # of which 5 GB are libraries for GPUs that torch brings. Measured on 2026-11-30.
    "vllm-tpu==0.32.0": ("5.2 GB", "11 GB"),
    "xprof tensorboard psutil jax": ("300 MB", "1 GB"),
    "xprof tensorboard psutil jax[tpu]": ("550 MB", "2 GB"),
    "notebook matplotlib jax": ("250 MB", "1 GB"),
    "notebook matplotlib jax[tpu]": ("500 MB", "2 GB"),
}
"""Sizes of the download, and of the installation with the download cache, rounded up."""


_SHORTEST = 3
"""Minimum length of a name for which profiles that contain it are suggested."""


def find_profile(name: str) -> SetupProfile:
    """Return the profile with this name, or the one that installs this framework.

    Raises:
        Problem: There is no such profile.
    """
    for profile in PROFILES.values():
        if name == profile.framework:
            return profile
    if name in MACHINE:
        return MACHINE[name]
    if name not in PROFILES:
        every = {**PROFILES, **MACHINE}
        width = max(map(len, every))
        choices = "".join(f"\n  {one.name:<{width}}  {one.meaning}" for one in every.values())
        near = phrases.near_matches(name, every)
        alike = [one for one in every if len(name) >= _SHORTEST and name in one]
        hint = f"name one:{choices}"
        if near:
            hint = f"did you mean `tpustarter setup {near[0]}`?"
        elif alike:
            listed = "".join(f"\n  {one:<{width}}  {every[one].meaning}" for one in alike)
            hint = f"did you mean one of these?{listed}"
        raise Problem(f"there is no set-up profile `{name}`", hint=hint, code=ExitCode.USAGE)
    return PROFILES[name]
