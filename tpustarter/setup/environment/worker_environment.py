"""The environment of a set-up profile, as the workers of a TPU make it for a job."""

from __future__ import annotations

from tpustarter.cloud.jobs.job_run import WorkerEnvironment
from tpustarter.setup.environment.setup_profiles import PROFILES

PROFILE_NAMES = tuple(name for name, profile in PROFILES.items() if profile.activated)
"""Set-up profiles whose environment a program runs in."""


def make_worker_environment(profile: str | None) -> WorkerEnvironment | None:
    """Return the environment of a profile; None without one."""
    if profile is None:
        return None
    one = PROFILES[profile]
    wheel = tuple(one.tpu_wheel.split())
    return WorkerEnvironment(one.name, one.folder, wheel, one.packages, one.versions[0])
