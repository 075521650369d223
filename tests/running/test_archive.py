"""The probe's archive matches its sources, for every Python and every cached file."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tpustarter.core import cache, locations
from tpustarter.running import probe_archive

pytestmark = pytest.mark.first_use


def imported(probe: Path, module: str, *options: str) -> str:
    """Return from which file a fresh process takes a module of the archive."""
    program = (
        f"import sys; sys.path.insert(0, sys.argv[1]); import {module} as m; print(m.__file__)"
    )
    words = [sys.executable, "-I", "-S", *options, "-c", program, str(probe)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()).name


def lay_out(folder: Path, line: str = "") -> Path:
    """Write a folder of checks with one of them."""
    (folder / "host").mkdir(exist_ok=True, parents=True)
    (folder / "host/sample.py").write_text(f"def run():\n    raise SystemExit({line!r})\n")
    return folder


def kept() -> Path:
    """Return the file in which the archive is kept."""
    return locations.state_folder_path() / "cache" / "probe"


def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return for each archive that is built from now on whether it has bytecode, as they are."""
    built, zipped = list[bool](), probe_archive._zipped

    def count(files: dict[str, bytes], *, compiled: bool) -> bytes:
        built.append(compiled)
        return zipped(files, compiled=compiled)

    monkeypatch.setattr(probe_archive, "_zipped", count)
    return built


def test_same_python_uses_bytecode_and_others_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the same Python uses the archive's bytecode; others silently use the source."""
    own = probe_archive.build_probe_archive(tmp_path / "own.pyz")
    monkeypatch.setattr(probe_archive, "MAGIC_NUMBER", b"\x00\x01\r\n")
    monkeypatch.setattr(cache, "__version__", "another")
    other = probe_archive.build_probe_archive(tmp_path / "other.pyz")

    assert "host.pyc" == imported(own, "tpustarter.machine.host")
    assert "host.py" == imported(other, "tpustarter.machine.host")
    assert "host.pyc" == imported(
        own, "tpustarter.machine.host", "--check-hash-based-pycs", "always"
    )


def test_bytecode_shows_the_lines_of_its_source(tmp_path: Path) -> None:
    """A traceback names the file in the archive, and shows the line."""
    probe = probe_archive.build_probe_archive(
        tmp_path / "probe.pyz", lay_out(tmp_path / "checks", "told")
    )
    program = (
        "import sys, traceback; sys.path.insert(0, sys.argv[1])\n"
        "import tpustarter.checks.host.sample as sample\n"
        "try: sample.run()\n"
        "except SystemExit: traceback.print_exc()\n"
    )
    words = [sys.executable, "-I", "-c", program, str(probe)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert 'probe.pyz/tpustarter/checks/host/sample.py", line 2, in run' in done.stderr
    assert "raise SystemExit('told')" in done.stderr


def test_unchanged_archive_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second archive is the first one, to the byte."""
    built = counted(monkeypatch)
    first = probe_archive.build_probe_archive(tmp_path / "first.pyz").read_bytes()
    second = probe_archive.build_probe_archive(tmp_path / "second.pyz").read_bytes()

    assert first == second
    assert [True] == built


def test_a_changed_check_is_in_the_next_archive(tmp_path: Path) -> None:
    """A changed check is in the next archive, even with the same size and time."""
    checks = lay_out(tmp_path / "checks", "old")
    probe_archive.build_probe_archive(tmp_path / "probe.pyz", checks)
    before = (checks / "host/sample.py").stat()
    lay_out(tmp_path / "checks", "new")
    os.utime(checks / "host/sample.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    with zipfile.ZipFile(
        probe_archive.build_probe_archive(tmp_path / "probe.pyz", checks)
    ) as probe:
        text = probe.read("tpustarter/checks/host/sample.py").decode()
        bytecode = probe.read("tpustarter/checks/host/sample.pyc")

    assert "raise SystemExit('new')" in text
    assert b"new" in bytecode
    assert b"old" not in bytecode


@pytest.mark.parametrize("spoiled", [b"", b"0\n", b"half"])
def test_incomplete_archive_is_built_again(
    spoiled: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete archive in the cache is never run, but built again."""
    first = probe_archive.build_probe_archive(tmp_path / "probe.pyz").read_bytes()
    data = kept().read_bytes()
    kept().write_bytes(data[: len(data) // 2] if spoiled == b"half" else spoiled)
    built = counted(monkeypatch)

    assert first == probe_archive.build_probe_archive(tmp_path / "probe.pyz").read_bytes()
    assert [True] == built
    assert data == kept().read_bytes()


def test_archive_cache_is_unused_under_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under sudo the user's cache is neither read nor written: any program may have changed it."""
    probe_archive.build_probe_archive(tmp_path / "probe.pyz")
    data = kept().read_bytes()
    kept().unlink()
    built = counted(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(locations, "find_sudo_caller", lambda: (os.getuid(), os.getgid()))
        probe_archive.build_probe_archive(tmp_path / "probe.pyz")
        assert not kept().exists()
        kept().write_bytes(data)
        probe_archive.build_probe_archive(tmp_path / "probe.pyz")

    assert [False, False] == built


def test_archive_is_rebuilt_without_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a state folder the archive is rebuilt each time, without bytecode."""
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")
    built = counted(monkeypatch)
    probe = probe_archive.build_probe_archive(tmp_path / "probe.pyz")

    assert "host.py" == imported(probe, "tpustarter.machine.host")
    assert [False] == built


def test_broken_check_is_archived_unchanged(tmp_path: Path) -> None:
    """A check with a syntax error is archived unchanged, so that the tested Python reports it."""
    checks = lay_out(tmp_path / "checks")
    (checks / "host/broken.py").write_text("def run(:\n")
    with zipfile.ZipFile(
        probe_archive.build_probe_archive(tmp_path / "probe.pyz", checks)
    ) as probe:
        names = {name for name in probe.namelist() if "checks/host/broken" in name}

    assert {"tpustarter/checks/host/broken.py"} == names
