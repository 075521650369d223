"""Every host check passes on a sound machine and does not pass under its sabotage."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checks.host_sabotage import (
    JAX,
    JAXLIB,
    LIBTPU,
    SABOTAGE,
    SOUND,
    TORCH,
    TORCH_XLA,
    Findings,
    environment,
    foreign,
    frameworks,
    installed,
    locking,
    logs,
    needing,
    run,
    run_to_silence,
    served,
    sound,
)
from tests.support.fake_metadata import serve, values
from tests.support.machines import lay_out
from tpustarter.core import content
from tpustarter.machine import host
from tpustarter.probe.finding import Hint, Verdict

CHECKS = [check for check in content.read_checks() if check.framework == "host"]


def test_every_check_has_sound_machine_and_sabotage() -> None:
    """Every check has a sound machine and a sabotage, so it has been seen to fail."""
    names = {check.id.removeprefix("host.") for check in CHECKS}

    assert names == set(SOUND)
    assert names == set(SABOTAGE)


@pytest.mark.parametrize("name", SOUND)
def test_a_check_passes_on_a_sound_machine(name: str, tmp_path: Path) -> None:
    """Nothing is reported as a warning or failure on a sound machine."""
    results = SOUND[name](tmp_path)

    assert results
    assert [f for f in results if f.verdict in ("warn", "fail")] == []


CASES = [
    pytest.param(*case, id=f"{name}-{index}-{case[0]}")
    for name, broken in SABOTAGE.items()
    for index, case in enumerate(broken)
]


@pytest.mark.parametrize(("code", "verdict", "make"), CASES)
def test_a_check_does_not_pass_under_its_sabotage(
    code: str, verdict: Verdict, make: Callable[[Path], Findings], tmp_path: Path
) -> None:
    """Each finding has what was found and expected, and each warning and failure a hint."""
    findings = make(tmp_path)
    judged = [f for f in findings if (f.code, f.verdict) == (code, verdict)]

    assert judged
    assert judged[0].found is not None
    assert verdict == "info" or judged[0].expected is not None
    assert [] == [f.code for f in findings if f.verdict in ("warn", "fail") and not f.hint]


REFUSED = [
    # setting, value that no JAX program starts with, what is expected in its place
    ("JAX_DEFAULT_MATMUL_PRECISION", "bogus", "default, high, highest, bfloat16, tensorfloat32 or"),
    ("JAX_DEFAULT_MATMUL_PRECISION", "HIGHEST", "highest"),
    ("JAX_DEFAULT_MATMUL_PRECISION", "bf16_bf16_f32_x3", "BF16_BF16_F32_X3"),
    ("JAX_DEFAULT_MATMUL_PRECISION", "", "default, high,"),
    ("JAX_ENABLE_X64", "banana", "0 or 1"),
    ("JAX_ENABLE_X64", "", "0 or 1"),
    ("JAX_DEBUG_NANS", "maybe", "0 or 1"),
    ("JAX_NUM_CPU_DEVICES", "x", "a whole number"),
    ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "soon", "a number"),
    ("JAX_TRACEBACK_FILTERING", "of", "off"),
    ("JAX_LOGGING_LEVEL", "debug", "DEBUG"),
]


@pytest.mark.parametrize(("name", "value", "expected"), REFUSED)
def test_a_setting_that_jax_refuses_is_a_failure(
    name: str, value: str, expected: str, tmp_path: Path
) -> None:
    """A setting that JAX refuses is a failure, on a laptop too, with a similar valid value."""
    [finding] = run("environment", lay_out(tmp_path, env={name: value}))

    assert "fail" == finding.verdict
    assert str(finding.expected).startswith(expected)
    assert f"run `unset {name}`" == finding.hint


def test_setting_accepted_by_jax_is_no_mistake(tmp_path: Path) -> None:
    """Every word of the tables, switches in capitals, and numbers as Python reads them."""
    settings = importlib.import_module("tpustarter.checks.host._settings")
    accepted = [(name, word) for name, words in settings.WORDS.items() for word in words]
    accepted += [
        ("JAX_ENABLE_X64", "True"),
        ("JAX_DEBUG_NANS", "OFF"),
        ("JAX_NUM_CPU_DEVICES", "8"),
    ]
    accepted += [("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5"), ("JAX_PLATFORMS", "")]
    lay_out(tmp_path)
    codes = [run("environment", host.Machine(tmp_path, dict([pair])))[0].code for pair in accepted]

    assert {"HOST-ENVIRONMENT-CLEAN"} == set(codes)


@pytest.mark.parametrize("value", ["tpus", "TPU", "tpu, cpu"])
def test_misspelt_platform_gets_command_that_corrects(value: str, tmp_path: Path) -> None:
    """A misspelt platform gets one command that corrects the whole setting."""
    results = run("environment", sound(tmp_path, env={"JAX_PLATFORMS": value}))
    hints = {finding.hint for finding in results if finding.verdict == "fail"}

    assert {"run `unset JAX_PLATFORMS`, or write `JAX_PLATFORMS=tpu,cpu`"} == hints


def test_laptop_gets_no_advice_to_request_tpu(tmp_path: Path) -> None:
    """A laptop gets no advice to request a TPU for the same mistake."""
    results = run("environment", lay_out(tmp_path, env={"JAX_PLATFORMS": "tpus"}))

    assert "run `unset JAX_PLATFORMS`, or write `JAX_PLATFORMS=cpu`" == results[0].hint


def test_tpu_platform_on_machine_without_tpu_is_named(tmp_path: Path) -> None:
    """JAX would stop there; on a TPU VM the same value is right."""
    env = {"JAX_PLATFORMS": "tpu,cpu"}
    (tmp_path / "vm").mkdir()
    [laptop] = run("environment", lay_out(tmp_path, env=env))
    [vm] = run("environment", sound(tmp_path / "vm", env=env))

    assert ("warn", "run `unset JAX_PLATFORMS`") == (laptop.verdict, laptop.hint)
    assert "ok" == vm.verdict


def test_checks_are_read_without_running_them() -> None:
    """Every host check is sound, static, and applies only where it can judge."""
    assert [check.broken for check in CHECKS] == [None] * len(SOUND)
    assert {check.level for check in CHECKS} == {"static"}


ALONE = [check.id.removeprefix("host.") for check in CHECKS if "hosts" not in check.needs]
"""Checks that look at one machine, and not at what many have handed in."""


@pytest.mark.parametrize("name", ALONE)
def test_a_check_raises_nothing_on_an_empty_machine(name: str, tmp_path: Path) -> None:
    """A system without /proc and /sys is asked all the same."""
    run_to_silence(name, host.Machine(tmp_path, {}))


SILENT_MODES = ("stranger", "broken", "nothing", "garbage", "partly broken", "empty")


@pytest.mark.parametrize("mode", [*SILENT_MODES, "nobody"])
@pytest.mark.parametrize("kind", ["no TPU", "a TPU", "a TPU, not asked", "variables tell the type"])
def test_empty_metadata_never_passes(mode: str, kind: str, tmp_path: Path) -> None:
    """No verdict; a warning where libtpu would wait for it; a verdict where variables tell it."""
    env = {"TPU_SKIP_MDS_QUERY": "1"} if "asked" in kind or "tell" in kind else {}
    if kind == "variables tell the type":
        env["TPU_ACCELERATOR_TYPE"] = "v5litepod-8"
    with contextlib.ExitStack() as stack:
        address = "127.0.0.1:1"
        if mode != "nobody":
            address = stack.enter_context(serve(values("v5litepod-8"), mode))  # type: ignore[arg-type]
        layout = {} if kind == "no TPU" else {"chips": 8}
        place = lay_out(
            tmp_path,
            *(["v5e"] if layout else []),
            google=True,
            env={"GCE_METADATA_HOST": address, **env},
            **layout,
        )  # type: ignore[arg-type]
        findings, is_without_verdict = run_to_silence("metadata", place)
    verdicts = {finding.code: finding.verdict for finding in findings}
    is_warned = kind == "a TPU" and mode != "partly broken"

    assert ("HOST-METADATA-CHIPS" in verdicts) == (kind == "variables tell the type")
    assert (verdicts["HOST-METADATA-ANSWER"] == "warn") == is_warned
    assert is_without_verdict == (kind != "variables tell the type" and not is_warned)


def no_free_space(_: Path) -> tuple[int, int, int]:
    """Raise an error when asked for the free space."""
    raise OSError


SILENT: dict[str, Callable[[Path], tuple[host.Machine, dict[str, Any]]]] = {
    "chips": lambda root: (host.Machine(root, {}), {}),
    "huge_pages": lambda root: (lay_out(root, "v5e", chips=8, thp=""), {}),
    "locked_memory": lambda root: (lay_out(root, "v5e", chips=8, container="docker"), {}),
    "space": lambda root: (sound(root), {"usage": no_free_space}),
}
"""Machines on which what a check reads says nothing."""


@pytest.mark.parametrize("name", SILENT)
def test_unreadable_machine_gives_no_verdict(name: str, tmp_path: Path) -> None:
    """A machine that can't be read gets no verdict."""
    machine, seams = SILENT[name](tmp_path)

    assert run_to_silence(name, machine, **seams)[1]


def test_a_busy_tpu_is_no_defect(tmp_path: Path) -> None:
    """A busy TPU is a warning with the user's name, the process's age and its command line."""
    results = run("holder", sound(tmp_path, holder={"pid": 4242, "age_s": 125}, lock="live"))

    assert {f.verdict for f in results} == {"warn"}
    assert results[0].found == "pid 4242, alice for 2 min: python train.py"
    assert 4242 == Hint.of(results[0].hint).ends


def test_no_advice_to_remove_a_lock_before_looking(tmp_path: Path) -> None:
    """`rm` is advised only after `lsof`, and only if no process holds the lock."""
    lock = run("holder", foreign(tmp_path))[-1]

    assert lock.hint is not None
    assert lock.hint.index("lsof") < lock.hint.index("rm ")


def test_lock_that_libtpu_ignores_is_no_defect(tmp_path: Path) -> None:
    """A lock file is no defect if a chip mask is set, because libtpu then ignores the file."""
    lock = run("holder", foreign(tmp_path, env={"TPU_VISIBLE_CHIPS": "0"}))[-1]

    assert (lock.verdict, lock.code) == ("info", "HOST-HOLDER-LOCK")


def test_secrets_in_variables_are_never_shown(tmp_path: Path) -> None:
    """Values are shown only of variables that hold words and switches."""
    secret = "s3cr3t"
    env = {
        "XRT_TPU_CONFIG": secret,
        "LD_PRELOAD": f"/{secret}",
        "XLA_FLAGS": f"--xla_dump_to={secret} --xla_tpu_x={secret}",
        "LIBTPU_INIT_ARGS": f"--xla_gpu_x={secret}",
        "TPU_LIBRARY_PATH": f"/{secret}",
        "TPU_NAME": f"grpc://{secret}",
        "MEGASCALE_COORDINATOR_ADDRESS": secret,
    }
    results = environment(tmp_path, **env)

    assert len(results) == len(env)
    assert secret not in repr(results)


def test_tpu_variables_on_laptop_are_only_information(tmp_path: Path) -> None:
    """A leftover that a CPU run does not mind is no warning there."""
    env = {"TPU_LOAD_LIBRARY": "0", "JAX_PLATFORMS": "cpu"}
    results = run("environment", lay_out(tmp_path, env=env))

    assert {f.verdict for f in results} == {"info"}


def test_the_missing_libtpu_has_an_exact_command(tmp_path: Path) -> None:
    """The command names this Python, keeps the JAX that is there, and adds its libtpu."""
    results = frameworks(tmp_path, JAX, JAXLIB)
    hint = next(f.hint for f in results if f.code == "HOST-FRAMEWORKS-LIBTPU")

    assert hint is not None
    assert hint.endswith("'jax[tpu]==0.12.0.1'`")


@pytest.mark.parametrize(
    ("specifier", "version", "allowed"),
    [
        ("==0.0.50.*", "0.0.50.1", True),
        ("==0.0.50.*", "0.0.5", False),
        ("<=0.12.0.1,>=0.11.2", "0.12.0.1", True),
        ("<=0.12.0.1,>=0.11.2", "0.12.1", False),
        ("~=0.0.14", "0.0.21", True),
        ("~=0.0.14", "0.1.0", False),
        ("!=2.0", "2.0.0", False),
        ("==2.9", "2.9.0+cpu", True),
        ("@ file:///x", "1", None),
        (">=1", "unknown", None),
    ],
)
def test_versions_are_compared_as_pip_does(
    specifier: str, version: str, allowed: bool | None
) -> None:
    """Versions are compared as pip does; a specifier that isn't understood never matches."""
    versions = importlib.import_module("tpustarter.checks.host._versions")

    assert versions.allows(specifier, version) is allowed


def test_python_without_framework_gets_setup_command(tmp_path: Path) -> None:
    """A Python without a framework gets one set-up command, the same on every machine."""
    results = list(run("frameworks", sound(tmp_path), path=[str(tmp_path)]))

    assert "run `tpustarter setup jax`" == results[0].hint


def test_old_tensorflow_is_not_replaced_by_jax(tmp_path: Path) -> None:
    """For an old TensorFlow, the advice is the set-up of TensorFlow, not that of JAX."""
    found = frameworks(tmp_path, ("tensorflow", "2.15.0", []))
    [old] = [one for one in found if (one.code, one.verdict) == ("HOST-FRAMEWORKS-VERSION", "warn")]

    assert isinstance(old.hint, Hint)
    assert "tensorflow" == old.hint.setup


def test_slice_worker_gets_command_for_all_workers(tmp_path: Path) -> None:
    """The zone comes from metadata; the name is a placeholder where nothing tells it."""
    results = served("one_host", tmp_path, values("v5litepod-32", worker=0, hosts=4))

    assert results[0].found == 4
    assert "ssh NAME --zone=us-central1-b --worker=all" in (results[0].hint or "")


def test_every_hint_of_a_sabotage_is_one_line(tmp_path: Path) -> None:
    """A hint is one command or one sentence, and prints nothing but text."""
    for name, broken in SABOTAGE.items():
        for index, (_, _, make) in enumerate(broken):
            for finding in make(tmp_path / f"{name}{index}"):
                assert (finding.hint or "x").isprintable()
                assert finding.name.isprintable()


def test_a_colab_notebook_is_in_order(tmp_path: Path) -> None:
    """Nobody there can change the container's network, and variables stand in for metadata."""
    colab = {
        "COLAB_TPU_1VM": "1",
        "TPU_ACCELERATOR_TYPE": "v5e-1",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1",
        "TPU_HOST_BOUNDS": "1,1,1",
    }
    layout = {"chips": 1, "container": "docker", "host_network": False, "env": colab}
    machine = lay_out(tmp_path, "v5e", **layout)  # type: ignore[arg-type]
    names = {*ALONE} - {"python", "space", "frameworks"}
    results = [finding for name in names for finding in run_to_silence(name, machine)[0]]

    assert host.count_visible_devices(machine) == 1
    assert [finding for finding in results if finding.verdict in ("warn", "fail")] == []


@pytest.mark.parametrize(("service", "said"), [("Kaggle", True), ("", False)])
def test_hint_names_service_whose_pin_changes(
    service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, said: bool
) -> None:
    """A command for the kernel's own Python replaces what the service has chosen."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr("sys.base_prefix", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", service)
    install = importlib.import_module("tpustarter.checks.host._install")
    hint = install.into_this_python("libtpu==0.0.17")

    assert said == ("Kaggle" in hint)
    assert "libtpu==0.0.17" in str(hint.command)


def test_chosen_single_host_is_no_missing_chip(tmp_path: Path) -> None:
    """On one of four hosts, TPU_WORKER_HOSTNAMES=localhost only confines a process."""
    env = {"TPU_WORKER_HOSTNAMES": "localhost"}
    metadata = values("v5litepod-32", worker=1, hosts=4)
    results = served("metadata", tmp_path, metadata, env=env)

    assert [finding.code for finding in results if finding.verdict == "fail"] == []


FLAGS_TAKEN = [
    {"XLA_FLAGS": "--xla_dump_to=/x --xla_gpu_autotune_level=0"},
    {"XLA_FLAGS": "  --xla_dump_hlo_as_text  "},
    {"XLA_FLAGS": "--xla_dump_to='/a b' --xla_cpu_enable_fast_math=\"true\""},
    {"XLA_FLAGS": "--xla_dump_to=/a --xla_dump_to=/a"},
    {"XLA_FLAGS": ""},
    {"XLA_FLAGS": "/etc/passwd"},
    {"LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib 1024 --megascale_x=1"},
    {"LIBTPU_INIT_ARGS": "-xla_tpu_a=true --noxla_tpu_b --v=1 --2a886c8_x=1"},
    {"LIBTPU_INIT_ARGS": "--xla_tpu_a=1,2,3"},
]


@pytest.mark.parametrize("env", FLAGS_TAKEN)
def test_accepted_flags_are_no_mistake(env: dict[str, str], tmp_path: Path) -> None:
    """Flags that XLA and libtpu accept are not reported as mistakes."""
    codes = [finding.code for finding in environment(tmp_path, **env)]

    assert {"HOST-ENVIRONMENT-CLEAN"} == {*codes} - {"HOST-ENVIRONMENT-SETTING"}


def test_libtpu_flag_in_xla_flags_is_reported_once(tmp_path: Path) -> None:
    """The table of variables names it and where it belongs; it is not unknown as well."""
    for flag in ("--xla_tpu_x=1", "--megascale_x=1", "--2a886c8_x=1", "--xla_jf_x=1"):
        (tmp_path / flag).mkdir()
        results = run("environment", lay_out(tmp_path / flag, env={"XLA_FLAGS": flag}))

        assert ["HOST-ENVIRONMENT-VARIABLE"] == [finding.code for finding in results], flag


def test_values_of_flags_are_never_shown(tmp_path: Path) -> None:
    """Names of flags are; a value, or a word that is no flag, may be anything."""
    secret = "s3cr3t"
    env = {
        "XLA_FLAGS": f"--xla_a={secret},--xla_b={secret} {secret} --xla_{secret}-x --c='{secret}",
        "LIBTPU_INIT_ARGS": f"{secret} '--{secret}' --xla_tpu_a='7' --a={secret};--b={secret}",
    }
    results = environment(tmp_path, **env)

    assert len(results) > 6
    assert secret not in repr(results)


def test_libtpu_flags_on_laptop_are_only_information(tmp_path: Path) -> None:
    """Flags of libtpu on a laptop are only information, but XLA's are read everywhere."""
    env = {"LIBTPU_INIT_ARGS": "xla_tpu_a=1", "XLA_FLAGS": "xla_dump_to=/x"}
    results = run("environment", lay_out(tmp_path, env=env))

    assert [("variable:XLA_FLAGS", "fail"), ("variable:LIBTPU_INIT_ARGS", "info")] == [
        (finding.entity, finding.verdict) for finding in results
    ]


LOCKING = [
    # limit in bytes, more of the machine, verdict
    ("unlimited", {"container": "docker"}, "ok"),
    (1 << 30, {"container": "docker"}, "ok"),
    (8 << 20, {"container": "docker", "rights": 1 << 14}, "ok"),
    (8 << 20, {"container": "docker", "rights": 1 << 13}, "warn"),
    (8 << 20, {"container": "docker", "generation": "v4"}, "ok"),
    (8 << 20, {"container": "docker", "nodes": False}, "warn"),
    (8 << 20, {"container": "docker", "env": {"COLAB_RELEASE_TAG": "1"}}, "info"),
    (8 << 20, {}, "info"),
    ("?", {"container": "docker"}, "info"),
]


@pytest.mark.parametrize(("limit", "options", "verdict"), LOCKING)
def test_memory_lock_limit_matters_in_containers_with_vfio(
    limit: int | str, options: dict[str, Any], verdict: Verdict, tmp_path: Path
) -> None:
    """More than this machine's memory is never locked; a right or no VFIO makes it moot."""
    [finding] = locking(tmp_path, limit, **options)

    assert verdict == finding.verdict


@pytest.mark.parametrize(
    ("mode", "env", "verdict", "expected"),
    [
        (0o777, {}, "ok", "writable"),
        (0o755, {"TPU_LOG_DIR": "disabled"}, "info", "logs are disabled"),
        (0o755, {"TPU_LOG_DIR": "logs"}, "info", "a relative path"),
        (0o755, {"TPU_LOG_DIR": "/tmp/mine"}, "ok", "not there yet"),
        (0o755, {"TPU_LOG_DIR": "/tmp/mine/deeper"}, "warn", "no parent folder"),
        (0o755, {"TPU_LOG_DIR": "/home/alice"}, "warn", None),
        (0o755, {"TPU_LOG_DIR": "/tmp"}, "ok", "writable"),
    ],
)
def test_log_folder_is_that_of_libtpu(
    mode: int, env: dict[str, str], verdict: Verdict, expected: str | None, tmp_path: Path
) -> None:
    """TPU_LOG_DIR names another one, or turns logs off."""
    [finding] = logs(tmp_path, mode, **env)

    assert verdict == finding.verdict
    assert expected in (None, finding.found)


def test_matching_packages_are_not_reported(tmp_path: Path) -> None:
    """NumPy and its kind are named where a framework asks for another version."""
    results = frameworks(tmp_path, *needing("numpy")[:2], ("numpy", "2.5.5", []), LIBTPU)

    assert [] == [
        finding.code for finding in results if "NUMPY" in finding.code or finding.name == "numpy"
    ]


@pytest.mark.parametrize(("build", "told"), [("tensorflow", True), ("tensorflow-cpu", False)])
def test_torch_xla_needs_tensorflow_build_for_cpu(build: str, told: bool, tmp_path: Path) -> None:
    """Its own warning asks for tensorflow-cpu, so that is no mistake beside it."""
    torch_xla = ("torch_xla", "2.9.0", ["libtpu==0.0.21; extra == 'tpu'"])
    found = frameworks(tmp_path, (build, "2.20.0", []), torch_xla, ("libtpu", "0.0.21", []))

    assert told == ("HOST-FRAMEWORKS-TENSORFLOW" in {one.code for one in found})


@pytest.mark.parametrize(
    ("libtpu", "verdict"),
    [("0.0.14", "ok"), ("0.0.31", "ok"), ("0.0.32", "fail"), ("0.0.52", "fail")],
)
def test_a_libtpu_with_which_tensorflow_ends_is_named(
    libtpu: str, verdict: str, tmp_path: Path
) -> None:
    """`libtpu~=0.0.14` allows them all, and `import tensorflow` then aborts the process."""
    tensorflow = ("tensorflow-tpu", "2.20.0", ["libtpu~=0.0.14"])
    found = frameworks(tmp_path, tensorflow, ("libtpu", libtpu, []))
    codes = {one.code: one for one in found}

    assert "ok" == codes["HOST-FRAMEWORKS-LIBTPU-PIN"].verdict
    assert verdict == codes["HOST-FRAMEWORKS-TENSORFLOW-LIBTPU"].verdict
    assert (verdict == "ok") == (codes["HOST-FRAMEWORKS-TENSORFLOW-LIBTPU"].hint is None)


@pytest.mark.parametrize("build", ["tensorflow", "tensorflow-cpu", "tensorflow-tpu"])
def test_no_tensorflow_is_advised_on_tpu7x(build: str, tmp_path: Path) -> None:
    """On a TPU7x, the hint leads to another library, because TensorFlow doesn't run there."""
    packages = installed(tmp_path / "site", (build, "2.20.0", []))
    found = run("frameworks", lay_out(tmp_path / "machine", "tpu7x"), path=packages)
    judged = [one for one in found if one.verdict != "info"]
    [told] = [one for one in judged if one.code.startswith("HOST-FRAMEWORKS-TENSORFLOW")]

    assert "HOST-FRAMEWORKS-TENSORFLOW-TPU7X" == told.code
    assert "setup jax" in (told.hint or "")
    assert "setup tensorflow" not in (told.hint or "")


def test_tensorflow_for_input_is_no_mistake_beside_jax(tmp_path: Path) -> None:
    """Many read their data with it; the TPU is JAX's."""
    results = frameworks(tmp_path, JAX, JAXLIB, LIBTPU, ("tensorflow", "2.21.0", []))

    assert [] == [finding.code for finding in results if finding.verdict not in ("ok", "info")]


IN_FORCE = [
    # variable, value, part of the name of its finding, what it shows
    ("JAX_DISABLE_JIT", "1", "compiles and runs each operation on its own", "1"),
    ("JAX_DEFAULT_PRNG_IMPL", "rbg", "changes every random number", "rbg"),
    ("JAX_THREEFRY_PARTITIONABLE", "false", "if off, gives the random numbers of JAX", "false"),
    ("JAX_DEFAULT_DEVICE", "/a path of mine", "names the device", "set"),
    ("JAX_LOG_COMPILES", "1", "no documented result", "set"),
    ("JAX_ENABLE_X46", "secret", "is not a setting that tpustarter knows", "set"),
    (
        "XLA_FLAGS",
        "--xla_cpu_enable_fast_math=true --xla_dump_to=/mine",
        "lets the compiler ignore NaN",
        "--xla_cpu_enable_fast_math=true",
    ),
    (
        "LIBTPU_INIT_ARGS",
        "--xla_jf_conv_full_precision",
        "multiplies in float32",
        "--xla_jf_conv_full_precision",
    ),
]


@pytest.mark.parametrize(("name", "value", "says", "shows"), IN_FORCE)
def test_a_setting_that_is_in_force_is_named(
    name: str, value: str, says: str, shows: str, tmp_path: Path
) -> None:
    """A setting that takes effect is named as information, without showing paths."""
    findings = run("environment", lay_out(tmp_path, env={name: value}))

    [finding] = [f for f in findings if f.code == "HOST-ENVIRONMENT-SETTING"]
    assert f"variable:{name}" == finding.entity
    assert ("info", shows) == (finding.verdict, finding.found)
    assert says in finding.name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_DEBUG_NANS", "0"),
        ("JAX_THREEFRY_PARTITIONABLE", "True"),
        ("JAX_PLATFORMS", "cpu"),
        ("JAX_NUMPY_RANK_PROMOTION", "allow"),
        ("JAX_COORDINATOR_ADDRESS", "10.0.0.1:8476"),
        ("JAX_SLICE_INDEX", "0"),
        ("XLA_FLAGS", "--xla_dump_to=/tmp/x"),
    ],
)
def test_harmless_settings_are_not_named(name: str, value: str, tmp_path: Path) -> None:
    """JAX's own value, a place, and a flag that only writes files."""
    findings = run("environment", lay_out(tmp_path, env={name: value}))

    assert [] == [f for f in findings if f.code == "HOST-ENVIRONMENT-SETTING"]


@pytest.mark.parametrize(
    "packages",
    [
        [("jax", "0.5.0", []), JAXLIB],
        [("jax", "0.4.32", []), ("jaxlib", "0.4.32", [])],
        [JAX],
        [JAX, JAXLIB, ("libtpu", "0.0.21", [])],
        [("torch", "2.8.0+cpu", []), ("torch_xla", "2.9.0", [])],
    ],
)
def test_machine_without_tpu_gets_no_tpu_package_advice(
    tmp_path: Path, packages: list[tuple[str, str, list[str]]]
) -> None:
    """`jax[tpu]` would fetch 400 MB that such a machine cannot use."""
    findings = run("frameworks", lay_out(tmp_path), path=installed(tmp_path / "site", *packages))

    assert [] == [finding.hint for finding in findings if "[tpu]" in (finding.hint or "")]


def test_the_frameworks_that_share_a_libtpu_are_named(tmp_path: Path) -> None:
    """The frameworks that share a libtpu are named, with a command for separate environments."""
    path = installed(tmp_path / "site", JAX, JAXLIB, TORCH, TORCH_XLA, LIBTPU)
    findings = run("frameworks", lay_out(tmp_path), path=path)
    [shared] = [one for one in findings if one.code == "HOST-FRAMEWORKS-LIBTPU-SHARED"]

    assert ("info", "0.0.50.1, accepted by jax") == (shared.verdict, shared.found)
    assert "`tpustarter setup jax` and `tpustarter setup pytorch-xla`" in (shared.hint or "")


@pytest.mark.parametrize(
    ("packages", "code"),
    [
        ([TORCH], "HOST-FRAMEWORKS-TORCH-ALONE"),
        ([TORCH, TORCH_XLA, ("libtpu", "0.0.21", [])], "HOST-FRAMEWORKS-LIBTPU-SHARED"),
        ([TORCH, TORCH_XLA], "HOST-FRAMEWORKS-TORCH-XLA-TPU7X"),
        ([("torchax", "0.0.13", []), TORCH], "HOST-FRAMEWORKS-TORCHAX"),
    ],
)
def test_torch_that_is_in_order_is_left_alone(
    packages: list[tuple[str, str, list[str]]], code: str, tmp_path: Path
) -> None:
    """Torch without a TPU, one framework with its libtpu, another chip, and torchax by itself."""
    path = installed(tmp_path / "site", *packages)
    findings = run("frameworks", lay_out(tmp_path), path=path)

    assert [] == [one for one in findings if one.code == code]
