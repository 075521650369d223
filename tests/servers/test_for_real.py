"""Set-up of servers for real: made, proved, interrupted, served, and undone.

A lane of the gate of its own: the environment comes from the package index, once for all tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S, processes, until_gone
from tpustarter.core import locations
from tpustarter.running.supervised_command import _NO_NETWORK

TIMEOUT_S = 600
HOSTILE = """\
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.allow_origin = "*"
c.ServerApp.disable_check_xsrf = True
c.IdentityProvider.token = ""
"""
"""What older tutorials write into a configuration."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a home in which `tpustarter setup jupyter --yes` was run to its end."""
    home = tmp_path_factory.mktemp("made")
    (home / ".jupyter").mkdir()
    for name in ("jupyter_config.py", "jupyter_server_config.py", "jupyter_notebook_config.py"):
        (home / ".jupyter" / name).write_text(HOSTILE)
    done = tpustarter(home, "setup", "jupyter", "--yes")
    if "blocked" in done.stdout.lower() or _NO_NETWORK[:32] in done.stdout:
        pytest.skip(
            "This makes an environment from the package index, which was not reached, or "
            "there is no Python 3.12 or newer here."
        )
    assert 0 == done.returncode, done.stdout + done.stderr
    (home / "said").write_text(done.stdout)
    yield home
    shutil.rmtree(home)


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a person with this home; downloads are kept as before."""
    cache = os.environ.get("UV_CACHE_DIR") or str(Path(os.path.expanduser("~root"), ".cache/uv"))  # noqa: PTH111
    return {
        **os.environ,
        "HOME": str(home),
        "TPUSTARTER_HOME": str(home / "state"),
        "UV_CACHE_DIR": cache,
        "COLUMNS": "80",
    }


def tpustarter(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the program to its end."""
    return subprocess.run(
        [sys.executable, "-m", "tpustarter", *words],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def listing(home: Path) -> list[str]:
    """Return the files of a home folder, without the program's state folder."""
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if not path.is_relative_to(home / "state")
    )


def states(home: Path) -> list[str]:
    """Return the state of each step."""
    steps = json.loads(tpustarter(home, "setup", "jupyter", "--json").stdout)["steps"]
    return [step["state"] for step in steps]


def test_server_is_proved_by_browser_requests(made: Path) -> None:
    """Every claim about the server holds, whatever the user's own configuration contains."""
    said = " ".join((made / "said").read_text().replace("|", "").split())

    for claim in (
        "it listens on 127.0.0.1 alone",
        "with no token every request is answered with 403",
        "with a wrong token every request is answered with 403",
        "the token is in no command line",
        "a page of a stranger may not talk to it",
        "without the token nobody may talk to the kernel",
        "its cells run in ~/tpu-jupyter",
        "it computes on the platform cpu",
        "it sees 8 virtual CPU devices: found 8",
        "its process has gone",
        "the server has ended, and its port is closed",
        "no TPU was tested",
    ):
        assert claim in said
    assert {} == processes(made / "state")


def test_second_run_changes_nothing(made: Path) -> None:
    """A second run changes no file and starts nothing."""
    before = {path: path.lstat().st_mtime_ns for path in (made / "tpu-jupyter").rglob("*")}
    done = tpustarter(made, "setup", "jupyter", "--yes")

    assert (0, "") == (done.returncode, done.stderr)
    assert "run " not in done.stdout
    assert before == {path: path.lstat().st_mtime_ns for path in (made / "tpu-jupyter").rglob("*")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_interruption_during_proof_leaves_nothing_and_continues(number: int, made: Path) -> None:
    """Server and kernel end with the program, and the next run proves it and no more."""
    marker = made / "tpu-jupyter/.tpustarter-setup.json"
    fields = json.loads(marker.read_text())
    marker.write_text(json.dumps({**fields, "proof": None}))
    words = [sys.executable, "-m", "tpustarter", "setup", "jupyter", "--yes"]
    with subprocess.Popen(words, env=environment(made), stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        for line in one.stdout:
            if "a kernel has started" in line:
                assert len(processes(made / "state")) >= 4
                one.send_signal(number)

    until_gone(made / "state")
    assert ["done", "done", "done", "todo", "todo"] == states(made)
    again = tpustarter(made, "setup", "jupyter", "--yes")
    assert 0 == again.returncode, again.stdout
    assert "run     install" not in again.stdout
    assert ["done"] * 5 == states(made)


def test_served_page_opens_and_kernels_end_with_server(made: Path) -> None:
    """A page and a kernel with the token, 403 without, and nothing left after TERM."""
    words = [sys.executable, "-m", "tpustarter", "serve", "jupyter", "--port", "18881"]
    with subprocess.Popen(
        words, env=environment(made), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout is not None
        url = one.stdout.readline().split()[-1]
        token = url.partition("token=")[2]
        assert (200, 403) == (asked("GET", url), asked("GET", "http://127.0.0.1:18881/api/kernels"))
        kernels = "http://127.0.0.1:18881/api/kernels"
        assert 201 == asked("POST", kernels, {"Authorization": f"token {token}"})
        assert any("ipykernel" in words_of(pid) for pid in processes(made / "state"))
        assert not any(token in words_of(pid) for pid in processes(made / "state"))
        one.terminate()
        assert 143 == one.wait(TIMEOUT_S)
        assert token not in (one.stderr.read() if one.stderr else "")

    assert {} == processes(made / "state")


def asked(method: str, url: str, headers: dict[str, str] | None = None) -> int:
    """Return the HTTP status of a request."""
    request = urllib.request.Request(url, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=HANG_S) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def words_of(pid: int) -> str:
    """Return the command line of a process, as everybody on this machine can read it."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_only_colab_page_gets_in(made: Path) -> None:
    """A browser's request from Colab's page is granted, and one from another page is refused."""
    done = tpustarter(made, "setup", "colab", "--yes")
    said = " ".join(done.stdout.replace("|", "").split())

    assert 0 == done.returncode, done.stdout + done.stderr
    for claim in (
        "a page of https://colab.research.google.com may",
        "a page of a stranger may not talk to it",
        "a page of a stranger may not either",
        "its process has gone",
    ):
        assert claim in said
    assert {} == processes(made / "state")
    assert 0 == tpustarter(made, "setup", "colab", "--undo", "--yes").returncode
    assert not (made / "tpu-colab").exists()
    assert (made / "tpu-jupyter").is_dir()


def test_the_profiler_shows_a_trace_that_was_made(made: Path) -> None:
    """Traced, served on loopback and read back; served again it answers, and is undone."""
    done = tpustarter(made, "setup", "profiler", "--yes")
    said = " ".join(done.stdout.replace("|", "").split())

    assert 0 == done.returncode, done.stdout + done.stderr
    for claim in (
        "it listens on 127.0.0.1 alone",
        "the viewer has what was traced",
        "TensorBoard shows a trace of jax",
    ):
        assert claim in said
    words = [sys.executable, "-m", "tpustarter", "serve", "profiler", "--port", "18882"]
    with subprocess.Popen(
        words,
        env=environment(made),
        cwd=made,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
    ) as one:
        assert one.stdout is not None
        assert "TensorBoard is at http://127.0.0.1:18882/#profile\n" == one.stdout.readline()
        assert 200 == asked("GET", "http://127.0.0.1:18882/data/plugin/profile/runs")
        one.terminate()
    assert {} == processes(made / "state")
    assert 0 == tpustarter(made, "setup", "profiler", "--undo", "--yes").returncode
    assert not (made / "tpu-profiler").exists()


def first_cell(lesson: str) -> str:
    """Return the cell that a lesson tells its readers to paste first."""
    text = (locations.content_folder("lessons") / lesson).read_text(encoding="utf-8")
    (fence,) = [one for one in text.split("\n```") if "SOURCE = " in one]
    return fence.removeprefix("text\n")


def run_cells(
    codes: list[str], python: Path, folder: Path, env: dict[str, str]
) -> list[tuple[str, list[dict[str, str]]]]:
    """Run cells in a kernel of this Python; return each cell's output in the saved notebook.

    That is the text that its processes wrote, and the forms of each result, by MIME type.
    """
    file = folder / "first.ipynb"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "id": f"cell-{number}", "source": code} for number, code in enumerate(codes)]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    file.write_text(json.dumps(book))
    words = [str(python), "-m", "nbconvert", "--to", "notebook", "--inplace", "--execute"]
    limit = f"--ExecutePreprocessor.timeout={TIMEOUT_S}"
    subprocess.run([*words, limit, str(file)], env=env, check=True)
    shown: list[tuple[str, list[dict[str, str]]]] = []
    for saved in json.loads(file.read_text())["cells"]:
        outputs = saved["outputs"]
        printed = "".join("".join(one["text"]) for one in outputs if "text" in one)
        results = [one["data"] for one in outputs if "data" in one]
        shown.append((printed, [{kind: "".join(one[kind]) for kind in one} for one in results]))
    return shown


@pytest.mark.timeout(TIMEOUT_S)  # an environment is made twice
def test_first_cell_leaves_the_kernel_as_it_was(made: Path, tmp_path: Path) -> None:
    """The first cell installs into its own environment, and shows HTML and text."""
    cell = first_cell("start/12-on-kaggle.md")
    assert cell == first_cell("start/06-on-colab.md")
    wheel = next(Path("dist").glob("tpustarter-*.whl"), None) or REPOSITORY
    own = str(tmp_path / "tpustarter")
    code = cell.replace('"tpustarter"', repr(str(wheel.absolute()))).replace("/tmp/tpustarter", own)
    code = code.replace(" --html", " host.frameworks jax.every_device --html")
    gone = code.replace(str(wheel.absolute()), str(tmp_path / "gone.whl"))
    python = made / "tpu-jupyter/bin/python"
    freeze, env = [str(python), "-m", "pip", "freeze"], environment(tmp_path)
    before = subprocess.run(freeze, capture_output=True, check=True).stdout

    first, again = run_cells([code, gone], python, tmp_path, env)

    assert before == subprocess.run(freeze, capture_output=True, check=True).stdout
    printed, (shown,) = first
    assert ("", {"text/html", "text/plain"}) == (printed, shown.keys())
    for form in shown.values():
        assert {"host.frameworks", "jax.every_device"} <= {*re.findall(r"[\w.]+", form)}, form
    assert shown["text/plain"].replace("\n", "").isprintable()
    assert max(map(len, shown["text/plain"].splitlines())) <= 80, shown["text/plain"]
    printed, results = again
    assert [] == results  # nor that of the first run
    assert "gone" in printed


def test_undo_leaves_nothing(made: Path) -> None:
    """Undo restores the home folder to its state before the set-up."""
    assert 0 == tpustarter(made, "setup", "jupyter", "--undo", "--yes").returncode

    # Jupyter itself keeps something for a person who has used it.
    kept = (".jupyter", "said", ".ipython", ".local/share/jupyter")
    left = [path for path in listing(made) if not path.startswith(kept)]
    assert [] == [path for path in left if path not in (".local", ".local/share")]
    assert HOSTILE == (made / ".jupyter/jupyter_server_config.py").read_text()
    assert 5 == tpustarter(made, "serve", "jupyter").returncode
