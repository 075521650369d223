"""The set-up of every test: its own home, 8 virtual CPU devices, and importable checks."""

from __future__ import annotations

import fcntl
import gc
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.update(JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="8")
# Texts name the command as it works for their reader; tests compare them under one name.
os.environ["TPUSTARTER_COMMAND"] = "tpustarter"
# Tests start hundreds of processes, whose imports should be compiled only once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import tpustarter
from tpustarter.core import locations, redact, yaml_rows
from tpustarter.explain import known_failures, library_errors, log_prefixes, program_mistakes
from tpustarter.learning.content import paths, tutorial_claims
from tpustarter.learning.search import search, search_index
from tpustarter.running import probe_archive, run_folder

sys.dont_write_bytecode = False
# `nohup ... &` makes this process and all its children ignore SIGINT and SIGHUP. The second keeps
# doing nothing here, but what a test starts has the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
pytest.register_assert_rewrite("tests.support")  # its assertions should show values, too


# An example's time depends on the load of the machine; a test that limits it does so itself.
_ANY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("any-machine", **_ANY_MACHINE)
settings.load_profile("any-machine")


SEED = "TPUSTARTER_SEED"
"""Environment variable with the seed of random tests."""
MARKERS = (
    "first_use: the program has never been used in the home of this test",
    "root: needs root and Linux namespaces (fakes a TPU VM from outside)",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--golden`, which rewrites golden files, and options for reproducible randomness."""
    parser.addoption("--golden", action="store_true", help="write golden texts anew")
    parser.addoption("--seed", type=int, help="the seed of random tests, as a run has printed it")
    parser.addoption("--shuffle", action="store_true", help="run files and tests in random order")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and choose a seed, which workers inherit by the variable."""
    given = config.option.seed
    seed = os.environ.get(SEED, random.randrange(10**6)) if given is None else given
    os.environ[SEED] = str(seed)
    config.option.hypothesis_seed = config.option.seed = int(seed)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_report_header(config: pytest.Config) -> str:
    """Return a line with the seed for the report's header."""
    return f"seed of random tests: {config.option.seed} (--seed)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests within each, so that fixtures of a file stay shared."""
    if not config.option.shuffle:
        return
    chance = random.Random(config.option.seed)
    files = sorted({item.path for item in items})
    place = {path: chance.random() for path in files}
    items.sort(key=lambda item: (place[item.path], chance.random()))


def pytest_collection_finish() -> None:
    """Exempt imported objects from garbage collection, a third of the app tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the lanes that the README's command leaves out, with their commands."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    from tests.support.lanes import LANES

    terminalreporter.section("left out, for it takes longer")
    for lane in LANES:
        if lane.name not in ("lint", "suite"):
            terminalreporter.line(f"{lane.command:<42} {lane.tries} ({lane.minutes} min)")
    terminalreporter.line(f"{'.ci/run':<42} all of them, as before each change that lands")


REPOSITORY = Path(__file__).parents[1]

if (REPOSITORY / "checks").is_dir() and Path(tpustarter.__file__).parents[1] == REPOSITORY:
    tpustarter.__path__.append(str(REPOSITORY))  # in a wheel, checks/ is inside the package


@pytest.fixture(scope="session")
def used_before(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """Return a folder with the caches that the program builds from its content at first use.

    One worker builds them for all.
    """
    from tests.support import kept_archives

    shared = tmp_path_factory.getbasetemp()
    if hasattr(pytestconfig, "workerinput"):  # the folder of one worker of several
        shared = shared.parent
    (shared / "archives").mkdir(exist_ok=True)
    os.environ[kept_archives.FOLDER] = str(shared / "archives")
    kept_archives.keep_archives()
    made = shared / "used-before" / "state" / "cache"
    with (shared / "used-before.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            begun = Path(tempfile.mkdtemp(dir=shared))
            use_program(begun)
            begun.rename(shared / "used-before")
    assert {"probe", "secrets", "synonyms"} <= {file.name for file in made.iterdir()}
    return made


def use_program(folder: Path) -> None:
    """Build the caches in the state folder of a home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPUSTARTER_HOME", str(folder / "state"))
        probe_archive.build_probe_archive(folder / "probe.pyz")
        search_index.open_index(search.read_sources())
        search.read_synonyms()
        paths.read_paths()
        tutorial_claims.read_claims()
        for table in (known_failures, program_mistakes, library_errors, log_prefixes):
            yaml_rows.load_yaml(table.FILE)
        redact._load_patterns.cache_clear()  # collecting tests may have read the patterns
        redact.Redactor({}).redact_text(f"a word like a token, {'a1' * 20}")


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Path]:
    """Give each test its own home and state folder, and release its run folders afterwards.

    Unless the test is marked `first_use`, the caches of an earlier use are in it: building them for
    each test would take a tenth of the time of all tests.
    """
    folder = tmp_path_factory.mktemp("home")
    if not request.node.get_closest_marker("first_use"):
        cache = folder / "state" / "cache"
        cache.mkdir(parents=True)
        for file in request.getfixturevalue("used_before").iterdir():
            (cache / file.name).hardlink_to(file)
    for name in list(os.environ):
        if name.startswith(("XDG_", "TPU_", "TPUSTARTER_HOME", "CONDA_", "VIRTUAL_ENV")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TPUSTARTER_HOME", str(folder / "state"))
    locations.pop_move_notices()  # notices left by another test
    yield folder
    if not {"warm", "session"} & {*request.fixturenames}:  # their process outlives a test
        for run in list(run_folder._marks):
            run_folder.remove_run_folder(run)


@pytest.fixture(scope="session")
def kept_programs(pytestconfig: pytest.Config) -> Path | None:
    """Return the folder of programs that JAX compiled for earlier runs of the tests.

    A stored program is judged like a new one, as `tests/hostile/test_program_store.py` shows.
    `TPUSTARTER_GATE=whole` compiles all of them anew.
    """
    cache = getattr(pytestconfig, "cache", None)  # none with `-p no:cacheprovider`
    if cache is None or os.environ.get("TPUSTARTER_GATE") == "whole":
        return None
    return cache.mkdir("programs")


@pytest.fixture
def stored_programs(home: Path, kept_programs: Path | None) -> None:
    """Let the lessons of a test load programs that JAX compiled for earlier lessons."""
    if kept_programs:
        (home / "state").mkdir(exist_ok=True)
        (home / "state" / "programs").symlink_to(kept_programs)


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python that stands in for one with JAX and libtpu."""
    from tests.support.stub_compiler import make_compiler

    return str(make_compiler(tmp_path_factory.mktemp("compiler")))


@pytest.fixture(autouse=True, scope="session")
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Cache the programs that JAX compiles in this process, because most are compiled repeatedly.

    Optimizations are disabled, as in JAX's own tests, which saves a quarter of the checks' time,
    and code is generated by XLA's older emitters, which saves a third. The lanes of other Pythons
    set the variable, so that checks also run with what users get.
    """
    if jax := sys.modules.get("jax"):
        if "JAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
            jax.config.update("jax_disable_most_optimizations", True)
            from tests.support.compiler_flags import fast_compiler

            with pytest.MonkeyPatch.context() as patch:  # no process that a test starts sees it
                for name, value in fast_compiler(level=None).items():
                    patch.setenv(name, value)
                jax.devices()  # reads the flags, once
        jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
