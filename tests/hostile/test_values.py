"""Every option and argument of every command gets an unusable value, through `main` itself.

What there is to give comes from the commands, so a new option is tried as soon as it is there. A
row of `BESIDE` is what a command needs besides to look at the value at all.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click
import pytest

from tests.support.processes import HANG_S
from tpustarter import __main__
from tpustarter.cli import cli
from tpustarter.core.problem import ExitCode

VALUES = {
    "empty": "",
    "blank": " ",
    "dash": "-",
    "home": "~",
    "home-of-nobody": "~nobody-is-called-this",
    "folder": ".",
    "root": "/",
    "device": "/dev/null",
    "endless": "/dev/zero",
    "full": "/dev/full",
    "long": "a" * 300,
    "longest": "b" * 5000,
    "newline": "a\nb",
    "escape": "a\x1b[31mb\x1b]0;c\x07",
    "no-utf8": "a\udcffb",
    "not-a-number": "nan",
    "endless-number": "1e999",
    "negative-zero": "-0",
    "negative": "-1",
    "huge": "9" * 400,
    "other-digits": "٣",
    "backwards": "a\u202eb",
    "shell": "$(id);`id` 'x' \"y\" %s {} {0}",
    "brackets": "[" * 200 + "**/../*",
    "pair": "=a=b=",
}
GRANT = ["--allow", "v6e:64:spot:us-east1-d"]
TYPE, ZONE = ["--type", "v6e-8"], ["--zone", "us-central1-b"]
LESSON = ["jax/precision"]
BESIDE = {
    "check": (["host.space"], []),
    "learn --notebook": (LESSON, []),
    "learn --code": (LESSON, []),
    "learn --python": (LESSON, ["--run"]),
    "learn --devices": (["no/such-lesson"], ["--run"]),
    "learn --from": ([], ["--which"]),
    "learn --need": ([], ["--which"]),
    "learn --have": ([], ["--which"]),
    "rehearse": (["step.py:step"], []),
    "rehearse --script": ([], []),
    "report": ([], ["--no-ask"]),
    "report --open": ([], []),
    "report --compare": ([], []),
    "serve": (["profiler"], []),
    "trc --start": ([], GRANT),
    "trc --days": ([], GRANT),
    "tpu create": ([], [*TYPE, *ZONE]),
    "tpu create --type": ([], ZONE),
    "tpu create --zone": ([], TYPE),
}
"""Names and options beside the value, for a command or for one place of it."""
MODEL = {
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 128,
    "head_dim": 16,
}
VARIABLES = (
    "TPUSTARTER_HOME",
    "HOME",
    "XDG_STATE_HOME",
    "SUDO_UID",
    "VIRTUAL_ENV",
    "PATH",
    "COLUMNS",
    "TERM",
    "PWD",
    "USER",
    "CLOUDSDK_CONFIG",
    "CLOUDSDK_CORE_PROJECT",
    "CLOUDSDK_COMPUTE_ZONE",
    "CLOUDSDK_ACTIVE_CONFIG_NAME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "JAX_PLATFORMS",
    "XLA_FLAGS",
    "TPU_NAME",
)
COMMANDS = [
    ("learn",),
    ("setup",),
    ("tpu", "create", "bert", "--type", "v6e-8", "--dry-run"),
]
"""Commands that read variables, and send nothing."""
NOT_TRIED = {("TPUSTARTER_HOME", "root"), ("HOME", "root"), ("XDG_STATE_HOME", "root")}
"""Options that would write outside of the folder of the test."""
OF_RUN = (126, 127)
"""Codes of `run` alone: of a command that cannot be started."""


@dataclass(frozen=True)
class Place:
    """An option or an argument that takes a value."""

    command: tuple[str, ...]
    parameter: click.Parameter
    others: tuple[str, ...]
    """Words that the command cannot do without."""
    has_json: bool
    """Whether it can print one JSON document."""

    @property
    def name(self) -> str:
        """Return its name in `BESIDE`."""
        option = isinstance(self.parameter, click.Option)
        return " ".join([*self.command, self.parameter.opts[0] if option else ""]).strip()

    def words(self, value: str) -> list[str]:
        """Return the command line with a value in this place."""
        names, options = BESIDE.get(self.name, BESIDE.get(" ".join(self.command), ((), ())))
        if isinstance(self.parameter, click.Argument):
            # `completion --` begins what a shell asks.
            dashes = [] if self.command == ("completion",) else ["--"]
            return [*self.command, *options, *self.others, *dashes, value]
        option, count = self.parameter.opts[0], self.parameter.nargs
        given = [f"{option}={value}"] if count == 1 else [option, *[value] * count]
        return [*self.command, *names, *options, *self.others, *given]


def places(group: click.Group = cli, *before: str) -> Iterator[Place]:
    """Yield every place for a value of every command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        if isinstance(command, click.Group):
            yield from places(command, *before, name)
            continue
        dry = ["--dry-run"] if any("--dry-run" in one.opts for one in command.params) else []
        has_json = any("--json" in one.opts for one in command.params)
        for parameter in command.params:
            if not getattr(parameter, "is_flag", False):
                needed = [one for one in command.params if one.required and one is not parameter]
                others = ["bert" for one in needed if isinstance(one, click.Argument)]
                yield Place((*before, name), parameter, (*dry, *others), has_json)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in a folder with one program, without a network and with nothing of Google's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text("import jax\n\ndef step(x):\n    return x\n")
    (tmp_path / "bert").mkdir()  # the model of `plan`, which needs a name as other commands do
    (tmp_path / "bert" / "config.json").write_text(json.dumps(MODEL))
    for name in [name for name in os.environ if name.startswith(("CLOUDSDK_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    nobody = "127.0.0.1:9"
    monkeypatch.setenv("GCE_METADATA_HOST", nobody)
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://{nobody}")
    monkeypatch.delenv("TPUSTARTER_TPU_ENDPOINT", raising=False)


class Kept(io.BytesIO):
    """A stream that keeps its bytes after the text stream around it is closed."""

    def close(self) -> None:
        """Keep the bytes: closing does nothing."""


class Hung(BaseException):
    """A command did not end."""


def ended(words: list[str]) -> tuple[int, str, str]:
    """Run the program here; returns its exit code, its stdout and its stderr."""
    outputs = Kept(), Kept()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    handlers = {number: signal.getsignal(number) for number in numbers}

    def hang(_: int, __: FrameType | None) -> None:
        raise Hung(words)

    with pytest.MonkeyPatch.context() as patch, Path(os.devnull).open() as stdin:
        patch.setattr(sys, "argv", ["tpustarter", *words])
        patch.setattr(sys, "stdin", stdin)
        for name, output in zip(("stdout", "stderr"), outputs, strict=True):
            patch.setattr(sys, name, io.TextIOWrapper(output, "utf-8", write_through=True))
        signal.signal(signal.SIGALRM, hang)
        signal.alarm(int(HANG_S))
        try:
            __main__.main()
        except SystemExit as end:
            code = end.code
        finally:
            signal.alarm(0)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            stdout, stderr = (output.getvalue().decode() for output in outputs)
    assert isinstance(code, int)
    return code, stdout, stderr


@pytest.mark.parametrize("place", [*places()], ids=lambda place: place.name)
def test_invalid_option_value_has_documented_code(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    """An invalid value ends with a documented code, no traceback and no control characters."""
    wrong = {name: why for name, value in VALUES.items() if (why := tried(place, value, capfd))}

    assert {} == wrong


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("variable", VARIABLES)
def test_invalid_variable_has_documented_code(
    variable: str,
    words: tuple[str, ...],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A variable with an invalid value ends with a documented code, like an option."""
    wrong: dict[str, str] = {}
    for name, value in VALUES.items():
        if (variable, name) in NOT_TRIED:
            continue
        monkeypatch.setenv(variable, value)
        code, stdout, stderr = ended([*words])
        text = stdout + stderr + "".join(capfd.readouterr())
        if why := _wrong(code, text, value):
            wrong[name] = why

    assert {} == wrong


ADDRESSES = {
    "bare-v6": "::1:80",
    "nested": "[[127.0.0.1]]:9",
    "zone": "[fe80::1%lo]:9",
    "user": "a@127.0.0.1:9",
    "scheme": "http://127.0.0.1:9",
    "port": "127.0.0.1:99999",
    "elsewhere": "192.0.2.1:9",
}


@pytest.mark.parametrize("variable", ["TPUSTARTER_TPU_ENDPOINT", "GCE_METADATA_HOST"])
def test_invalid_address_ends_with_error(
    variable: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of TPUs ends soon, with an error: nobody has credentials there."""
    wrong: dict[str, str] = {}
    for name, value in {**VALUES, **ADDRESSES}.items():
        monkeypatch.setenv(variable, value)
        code, stdout, stderr = ended(["tpu", "list", "--project", "abc-def-1"])
        text = stdout + stderr + "".join(capfd.readouterr())
        is_taken = code not in (ExitCode.USAGE, ExitCode.DENIED)
        if why := _wrong(code, text, value) or (f"it ends with {code}" if is_taken else ""):
            wrong[name] = why

    assert {} == wrong


LONG = "a" * 300
CODES = [
    (["rehearse", "~"], 2, "`~`"),
    (["rehearse", LONG], 2, LONG),
    (["rehearse", "--script", LONG], 2, LONG),
    (["check", "host.space", "--junit", LONG], 74, LONG),
    (["learn", *LESSON, "--notebook", LONG], 74, LONG),
    (["learn", *LESSON, "--code", LONG], 2, LONG),
    (["learn", "project/the-project", "--code", "/proc"], 74, "`/proc/"),
    (["report", "--no-ask", "--yes", "--out", LONG], 74, LONG),
    (["learn", "--import", "/dev/zero"], 78, "`/dev/zero`"),
    (["explain", "/dev/zero"], 2, "`/dev/zero`"),
    (["trc", *GRANT, "--start", "9999-12-31", "--days", "3660"], 2, "`9999-12-31`"),
    (["setup", "--folder", "/dev/null"], 2, "`/dev/null`"),
    (["tpu", "create", "bert", "--type", "v6e--8", *ZONE, "--dry-run"], 2, "v6e--8"),
    (["rehearse", "step.py:step", "--timeout", "nan"], 2, "nan"),
    (["report", "--no-ask", "--wait", "nan"], 2, "nan"),
    (["check", "--level", "soak", "--minutes", "nan", "--list"], 2, "nan"),
    (["learn", "no-utf8-\udcff"], 2, "`no-utf8-\\xff`"),
    (["explain", "a\nb"], 2, "`a\\nb`"),
    (["plan", LONG], 2, LONG),
    (["plan", "~"], 2, "cannot be read"),
    (["plan", "/dev/zero"], 2, "`/dev/zero`"),
    (["plan", "a\nb"], 2, "`a\\nb`"),
    (["plan", "step.py"], 2, "`step.py` is not JSON"),
    (["plan", "bert", "--tensor", "2"], 2, "3 heads do not divide by 2"),
    (["plan", "bert", "--context", "129"], 2, "`--context` is 129"),
    (["plan", "bert", "--batch", "9" * 400], 2, "--batch"),
    (["plan", "bert", "--tpu", "v6e--8"], 2, "v6e--8"),
    (["plan", "bert", "--rehearsal", "/dev/zero"], 2, "`/dev/zero`"),
    (["plan", "bert", "--rehearsal", "bert/config.json"], 2, "`bert/config.json`"),
]
"""A command line, the code that it ends with, and the value as the error has it."""


@pytest.mark.parametrize(("words", "code", "named"), CODES, ids=lambda one: str(one)[:60])
def test_invalid_value_has_its_exit_code(words: list[str], code: int, named: str) -> None:
    """An invalid value ends with its own exit code and an error that names it."""
    ended_with, _, stderr = ended(words)

    assert code == ended_with
    assert named in stderr


def test_too_long_state_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder whose path is too long is named, like one that can't be written."""
    monkeypatch.setenv("TPUSTARTER_HOME", f"/tmp/{LONG}")
    code, _, stderr = ended(["setup"])

    assert ExitCode.CONFIGURATION == code
    assert LONG in stderr


def tried(place: Place, value: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Return the mistake in how the program takes a value; empty if there is none."""
    words = place.words(value)
    if place.has_json and (why := _wrong_json(place, words)):
        return why
    code, stdout, stderr = ended(words)
    text = stdout + stderr + "".join(capfd.readouterr())
    is_run = place.command == ("run",)
    if why := _wrong(code, text, value, is_run=is_run):
        return why
    is_refused = not value.strip() or (_is_number(place.parameter) and value not in "٣")
    if is_refused and not is_run and code != ExitCode.USAGE:
        return f"it is taken, with {code}: {text[:300]}"
    if code not in (ExitCode.OK, ExitCode.NOTHING_VERIFIED) and not stderr:
        return f"it ends with {code} and says nothing"
    return ""


def _wrong(code: int, text: str, value: str, *, is_run: bool = False) -> str:
    """Return the fault in an outcome that no value may have; empty if there is none."""
    if code not in {*ExitCode} - {ExitCode.BUG, *(() if is_run else OF_RUN)}:
        return f"it ends with {code}: {text[-300:]}"
    if "Traceback" in text:
        return text[text.index("Traceback") :]
    if not value.isprintable() and (value in text or "\x1b" in text):
        return f"it is printed as it is: {text[:300]!r}"
    return ""


def _is_number(parameter: click.Parameter) -> bool:
    return isinstance(parameter.type, type(click.INT) | type(click.FLOAT))


def _wrong_json(place: Place, words: list[str]) -> str:
    """Return the mistake in the JSON document of the same command; empty if there is none."""
    code, stdout, _ = ended([*place.command, "--json", *words[len(place.command) :]])
    try:
        told = json.loads(stdout)["exit_code"]
    except (KeyError, ValueError):
        return f"with --json it prints what is none: {stdout[:300]}"
    return "" if told == code else f"the document says {told}, and it ends with {code}"
