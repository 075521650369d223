"""The cache: it is never stale, and a damaged or missing cache costs only time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tpustarter.core import cache, content, locations, yaml_rows
from tpustarter.explain import known_failures

pytestmark = pytest.mark.first_use

SOUND = '''"""{title}"""
FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {{}}
TIMEOUT_S = {timeout_s}
LESSON = "start/x"
SOURCE = "https://x"


def run():
    yield
'''


def write_check(folder: Path, *, title: str = "A claim.", timeout_s: str = "5") -> Path:
    """Write the only check of a folder."""
    file = folder / "host" / "sample.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(SOUND.format(title=title, timeout_s=timeout_s))
    return file


def kept() -> Path:
    """Return the path of the cache of checks."""
    return locations.state_folder_path() / "cache" / "checks"


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that collects each file parsed from now on."""
    parsed, parse = list[Path](), content._parse

    def count(source: bytes, path: Path) -> dict[str, object]:
        parsed.append(path)
        return parse(source, path)

    monkeypatch.setattr(content, "_parse", count)
    return parsed


def test_unchanged_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second read parses nothing and gives the same checks and lessons."""
    parsed = counted(monkeypatch)
    write_check(tmp_path)
    first = content.read_checks(tmp_path), content.read_checks(), content.read_lessons()
    count = len(parsed)
    monkeypatch.setattr(content, "read_yaml", None)

    assert first == (content.read_checks(tmp_path), content.read_checks(), content.read_lessons())
    assert count == len(parsed)


def test_unchanged_table_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of known failures is not parsed again while it is unchanged."""
    first = yaml_rows.load_yaml(known_failures.FILE)
    monkeypatch.setattr(content, "read_yaml", None)

    assert first == yaml_rows.load_yaml(known_failures.FILE)


def test_changed_file_with_unchanged_time_is_read_again(tmp_path: Path) -> None:
    """A changed file is read again by its content, even if its time is unchanged."""
    file = write_check(tmp_path, timeout_s="5")
    before = file.stat()
    assert [5] == [check.timeout_s for check in content.read_checks(tmp_path)]
    write_check(tmp_path, timeout_s="7")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert (before.st_size, before.st_mtime_ns) == (file.stat().st_size, file.stat().st_mtime_ns)
    assert [7] == [check.timeout_s for check in content.read_checks(tmp_path)]


def test_moved_file_is_known_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moved file uses the cached content with its new path."""
    write_check(tmp_path)
    content.read_checks(tmp_path)
    parsed = counted(monkeypatch)
    (tmp_path / "host/sample.py").rename(tmp_path / "host/other.py")
    (check,) = content.read_checks(tmp_path)

    assert ("host.other", tmp_path / "host/other.py") == (check.id, check.path)
    assert [] == parsed


def test_broken_check_has_same_error_each_time(tmp_path: Path) -> None:
    """Errors are not cached: each read finds the same error and line again."""
    file = write_check(tmp_path)
    content.read_checks(tmp_path)
    file.write_text(file.read_text() + "def broken(:\n")
    reasons = [content.read_checks(tmp_path)[0].broken for _ in range(3)]

    assert ["line 12: invalid syntax"] * 3 == reasons


@pytest.mark.parametrize("salt", ["__version__", "version of Python", "reader"])
def test_other_version_or_python_shares_no_cache(
    salt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of tpustarter, Python or the reader ignores cached entries."""
    write_check(tmp_path)
    content.read_checks(tmp_path)
    parsed = counted(monkeypatch)
    if salt == "__version__":
        monkeypatch.setattr(cache, "__version__", "99.0")
    elif salt == "version of Python":
        monkeypatch.setattr(sys, "version", "3.99.0 (main)")
    else:
        (tmp_path / "content.py").write_text("# reads otherwise\n")
        monkeypatch.setattr(content, "__file__", str(tmp_path / "content.py"))
    content.read_checks(tmp_path)

    assert 1 == len(parsed)


def spoil(file: Path, how: str) -> None:
    """Damage the cache of checks."""
    text = file.read_text()
    first, second = text.splitlines()
    texts = {
        "foreign": f"{cache._hash(b'[1]')}\n[1]",
        "foreign and no JSON": f"{cache._hash(b'{')}\n{{",
        "empty": "",
        "half": text[: len(text) // 2],
        "no JSON": "\x00\xff" + text,
        "another value": f"{first}\n{second.replace('5', '6')}",
        "a list": "0\n[1]",
        "nested": "0\n" + "[" * 99_999,
        "huge": f"{first}\n{second}{' ' * cache.MAX_BYTES}",
    }
    file.unlink()
    if how == "a folder":
        file.mkdir()
    elif how == "a pipe":
        os.mkfifo(file)
    elif how == "no file at all":
        file.symlink_to(file)
    else:
        file.write_text(texts[how], encoding="latin-1")


@pytest.mark.parametrize(
    "how",
    [
        "foreign",
        "foreign and no JSON",
        "empty",
        "half",
        "no JSON",
        "another value",
        "a list",
        "nested",
        "huge",
        "a folder",
        "a pipe",
        "no file at all",
    ],
)
def test_damaged_cache_is_ignored_and_rebuilt(how: str, tmp_path: Path) -> None:
    """Damaged entries are read again without a message, and the cache is written anew."""
    write_check(tmp_path)
    first = content.read_checks(tmp_path)
    spoil(kept(), how)

    assert first == content.read_checks(tmp_path)
    assert first == content.read_checks(tmp_path)
    assert how == "a folder" or "\n" in kept().read_text()


def test_unusable_state_folder_disables_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unusable state folder disables the cache without an error."""
    write_check(tmp_path)
    (tmp_path / "file").touch()
    for place in (tmp_path / "file/state", "/proc/nowhere", "/dev/full/state", "relative"):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TPUSTARTER_HOME", str(place))

        assert ["A claim"] == [check.title for check in content.read_checks(tmp_path)]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(locations, "replace_file", full)

    assert ["A claim"] == [check.title for check in content.read_checks(tmp_path)]
    assert not kept().exists()


def test_value_changed_by_json_is_not_cached(tmp_path: Path) -> None:
    """A value that JSON would change, such as integer keys, is not cached."""
    values = [{1: 2}, {"a": (1, 2)}, float("nan"), float("inf"), {"a": {1}}, b"a", 10**5000]
    for value in values:
        with cache.open_cache("sample", __file__) as known:
            assert value is known.get_or_read(b"source", lambda: value)  # noqa: B023  called at once

    assert not (locations.state_folder_path() / "cache").exists()


def test_the_cache_does_not_grow_without_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries used in this run stay; older ones fill only the remaining room."""
    monkeypatch.setattr(cache, "MOST", 3)
    for number in range(10):
        with cache.open_cache("sample", __file__) as known:
            for source in (number, 0):
                known.get_or_read(str(source).encode(), lambda: number)  # noqa: B023  called at once
    lines = (locations.state_folder_path() / "cache/sample").read_text().splitlines()

    assert [9, 0, 8] == [*json.loads(lines[1]).values()]


def test_two_processes_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    """Each process replaces the whole file, so the next run always reads a complete one."""
    write_check(tmp_path)
    program = (
        "import pathlib, sys\n"
        "from tpustarter.core import content, locations\n"
        "place = locations.state_folder_path() / 'cache/checks'\n"
        "for _ in range(100):\n"
        "    place.unlink(missing_ok=True)\n"
        "    (check,) = content.read_checks(pathlib.Path(sys.argv[1]))\n"
        "    assert check.title == 'A claim' and not check.broken\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(locations.PACKAGE.parent)}
    running = [subprocess.Popen(words, env=env, stderr=subprocess.PIPE) for _ in range(2)]

    assert [b"", b""] == [process.communicate()[1] for process in running]
    assert ["A claim"] == [check.title for check in content.read_checks(tmp_path)]
    assert 2 == len(kept().read_text().splitlines())
    assert [kept()] == [*kept().parent.iterdir()]


def test_cache_is_unused_under_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under sudo the cache is neither written nor trusted."""
    write_check(tmp_path)
    content.read_checks(tmp_path)
    data = kept().read_bytes()
    kept().unlink()
    parsed = counted(monkeypatch)
    monkeypatch.setattr(locations, "find_sudo_caller", lambda: (os.getuid(), os.getgid()))
    content.read_checks(tmp_path)

    assert not kept().exists()
    kept().write_bytes(data)
    content.read_checks(tmp_path)
    assert 2 == len(parsed)
