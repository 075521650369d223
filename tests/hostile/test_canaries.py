"""Canaries by outputs: no secret of this machine is in anything that is shown or written.

A row of `SOURCES` is where a secret comes from, with what must not be found; a row of `OUTPUTS` is
a command. All secrets are there at once, every command runs among them, and every byte of what
came of it is searched: both streams and each file below the home, the state and TMPDIR.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.fake_metadata import serve, values
from tests.support.machines import lay_out
from tests.support.places import SUPPORT
from tests.support.processes import HANG_S, until
from tests.support.secret_shapes import SHAPES
from tpustarter.core import locations

ROOT = SUPPORT.parents[1]


@dataclass(frozen=True)
class Source:
    """The strings, variables and output of one secret."""

    needles: tuple[str, ...]
    """What must not be found; pieces of the secret, for half of one is too much."""
    env: dict[str, str] = field(default_factory=dict)
    printed: tuple[str, ...] = ()
    """What checks and programs print of it, beside the values in `env`."""


def _forms(secret: str) -> tuple[str, ...]:
    plain = secret.encode()
    return (
        json.dumps(secret),
        repr(secret),
        quote(secret, safe=""),
        " ".join(secret.splitlines()),
        base64.b64encode(plain).decode(),
        base64.b64encode(b"user:" + plain).decode(),
    )


def _variable(name: str, value: str, *needles: str) -> Source:
    """Return a secret that is the value of a variable, printed as it is and in other forms."""
    encoded = base64.b64encode(value.encode()).decode()[4:24]
    return Source((*needles, encoded), {name: value}, _forms(value))


def _token(text: str, needle: str) -> Source:
    """Return a token that only its shape reveals, in a variable with a neutral name."""
    return Source((needle,), {f"NEUTRAL_{abs(hash(text))}": text}, (f"using {text} now", text))


def _pem(core: str) -> str:
    lines = [f"{core}{number}ABCDEFGHIJKLMNOPQRSTUV0123456789" for number in range(3)]
    return "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])


PROJECTS = (
    "GOOGLE_CLOUD_PROJECT",
    "CLOUDSDK_CORE_PROJECT",
    "GCP_PROJECT",
    "GCLOUD_PROJECT",
    "DEVSHELL_PROJECT_ID",
)
AT_LINE_START = (".pgpass", ".pgpass for all", "rclone")
"""Shapes that nothing comes before in a line; these outputs have them in the middle of one."""
SOURCES: dict[str, Source] = {
    "a telling name: token": _variable("HF_TOKEN", "zq7canary01uvwxyz", "zq7canary01"),
    "a telling name: key": _variable("WANDB_API_KEY", "zq7canary02uvwxyz", "zq7canary02"),
    "a telling name: password": _variable("DB_PASSWORD", "zq7canary03 horse 'x\"", "zq7canary03"),
    "a telling name: secret that looks like a path": _variable(
        "AWS_SECRET_ACCESS_KEY", "/zq7canary04/uvwxyz+x", "zq7canary04"
    ),
    "a telling name: credentials as JSON": _variable(
        "SERVICE_CREDENTIALS", json.dumps({"private_key": _pem("zq7canary05")}), "zq7canary05"
    ),
    "a number for a password": _variable("PGPASSWORD", "90817263544", "90817263544"),
    "Slack": _token("xoxb-123456789012-zq7canary06", "zq7canary06"),
    "OpenAI": _token("sk-proj-zq7canary07abcdefgh", "zq7canary07"),
    "GitLab": _token("glpat-zq7canary08abcdefghij", "zq7canary08"),
    "npm": _token("npm_zq7canary09abcdefghijklmnopqrstuvwxy", "zq7canary09"),
    "GitHub": _token("ghp_zq7canary10abcdefghijklmnopqrstuvwxyz", "zq7canary10"),
    "a new GitHub token": _token("github_pat_zq7canary11abcdefghij", "zq7canary11"),
    "Hugging Face": _token("hf_zq7canary12abcdefghij", "zq7canary12"),
    "Google OAuth": _token("ya29.zq7canary13-abc", "zq7canary13"),
    "a Google API key": _token("AIzazq7canary14abcdefghijklmnopqrstuvwx", "zq7canary14"),
    "an AWS key id": _token("AKIAZQ7CANARY15ABCDE", "ZQ7CANARY15"),
    "a JSON web token": _token("eyJzq7canary16.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "zq7canary16"),
    "PyPI": _token("pypi-zq7canary17abcdefghijklmn", "zq7canary17"),
    "Stripe": _token("sk_live_zq7canary18abcdefghijk12", "zq7canary18"),
    "SendGrid": _token(f"SG.zq7canary19{'a' * 11}.{'b1' * 21}c", "zq7canary19"),
    "a Slack webhook": _token(
        "https://hooks.slack.com/services/T0AB1CD2E/B0AB1CD2E/zq7canary20abcdefghijklm",
        "zq7canary20",
    ),
    "Square": _token(f"sq0csp-zq7canary21{'a1' * 16}", "zq7canary21"),
    "Telegram": _token("1234567890:AAzq7canary22abcdefghijklmnopqrstuv", "zq7canary22"),
    "Mailchimp": _token("1234567890abcdef1234567890abcdef-us12", "1234567890abcdef"),
    "a bearer": Source(("zq7canary23",), {}, ("Authorization: Bearer zq7canary23abc",)),
    "a basic login": Source(("enE3Y2FuYXJ5",), {}, ("Authorization: Basic enE3Y2FuYXJ5MjQ6eA==",)),
    "a password in a command": Source(("zq7canary25",), {}, ("psql --password zq7canary25abc",)),
    "an access key in JSON": Source(("zq7canary26",), {}, ('{"access_key": "zq7canary26abc"}',)),
    "a proxy": Source(
        ("zq7canary27", "zq7canary28"),
        {
            "http_proxy": "http://ada:zq7canary27@proxy:3128",
            "HTTPS_PROXY": "http://ada:zq7canary28%40x@proxy:3128",
        },
        ("cannot log in as ada:zq7canary27", "password is zq7canary28@x"),
    ),
    "a package index": Source(
        ("zq7canary29",),
        {"UV_INDEX_URL": "https://ada:zq7canary29@index.example/simple"},
        ("Looking in https://ada:zq7canary29@index.example/simple",),
    ),
    "a key of several lines": _variable("DEPLOY_KEY", _pem("zq7canary30"), "zq7canary30"),
    "a key of several lines under a neutral name": _variable(
        "NEUTRAL_PEM", _pem("zq7canary31"), "zq7canary31"
    ),
    "a key that only stands in the log": Source(("zq7canary32",), {}, (_pem("zq7canary32"),)),
    **{
        f"the project in {name}": Source(
            (f"zq7-lab-{number}",),
            {name: f"zq7-lab-{number}"},
            (f"gs://zq7-lab-{number}-data", f"of zq7-lab-{number}."),
        )
        for number, name in enumerate(PROJECTS)
    },
    "a refresh token of Google's": _token("1//0gzq7canary50abcdefghijklmno", "zq7canary50"),
    "Docker Hub": _token("dckr_pat_zq7canary51abcdefghijk", "zq7canary51"),
    "Replicate": _token("r8_zq7canary52abcdefghijklmnopqrstuvw", "zq7canary52"),
    "a login of W&B": Source(("5353aa53" * 5,), {}, (f"wandb login {'5353aa53' * 5}",)),
    "a key of Kaggle's": Source(
        ("54bb5454" * 4,), {}, (json.dumps({"username": "ada", "key": "54bb5454" * 4}),)
    ),
    "a cookie": Source(("zq7canary55",), {}, ("Set-Cookie: sid=zq7canary55; Path=/",)),
    "a cookie of curl": Source(("zq7canary56",), {}, ("curl -s -b sid=zq7canary56 https://h/x",)),
    "a password of curl": Source(("zq7canary57",), {}, ("curl -u ada:zq7canary57 https://h/x",)),
    "ngrok": Source(("zq7canary58",), {}, ("ngrok config add-authtoken 2zq7canary58abcdefghijk",)),
    "a password of MySQL": Source(("zq7canary59",), {}, ("mysql -u root -pzq7canary59",)),
    "a password of sshpass": Source(("zq7canary60",), {}, ("sshpass -p zq7canary60 ssh h",)),
    "a password of a database": Source(("zq7canary61",), {}, ("Uid=ada;Pwd=zq7canary61;",)),
    "a password in a sentence": Source(("zq7canary62",), {}, ("the password is zq7canary62",)),
    "a signed address": Source(
        ("zq7canary63",), {}, ("https://h/o?X-Amz-Signature=zq7canary63ab",)
    ),
    "a project in a path": Source(
        ("zq7-lab-9",), {}, ("GET /v2/projects/zq7-lab-9/locations/us-east5-a: 403",)
    ),
    "an e-mail address": Source(("zq7.ada@",), {}, ("as zq7.ada@example.com",)),
    "the name of the home folder": Source(("zq7-ada-home",)),
    **{
        f"a shape: {name}": Source(shape.pieces[-1:], {}, (shape.text,))
        for name, shape in SHAPES.items()
        if name not in AT_LINE_START
    },
    "an argument of the process that has the TPU": Source(("zq7canary40", "ZQ7CANARY41")),
    "attributes of the machine": Source(("zq7canary42", "zq7-lab-8")),
}

CHECK = '''"""Tells what it should not."""

import json
import os
import sys

from tpustarter.probe.finding import Finding

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


def run():
    texts = json.load(open(os.environ["TEXTS"]))
    print(*texts, sep="\\n")
    print(*texts, sep="\\n", file=sys.stderr)
    print(json.dumps(texts), repr(texts))
    for text in texts:
        yield Finding("SAMPLE-TEXT", text, "VERDICT", text, "x" * 490 + " " + text, hint=text)
    if RAISES:
        raise RuntimeError("\\n".join(texts))
'''
CHECKS = {"leaks_pass": ("ok", False), "leaks_fail": ("fail", False), "leaks_raise": ("ok", True)}

OUTPUTS = {
    "text, JUnit, a kept report": "check host.* -v --junit {out}/junit.xml --html {out}/h --save",
    "text of what passed": "check host.leaks_pass",
    "JSON and a comparison": "check host.* --json --compare last --save",
    "text of a comparison": "check host.leaks_pass host.holder --compare last",
    "events": "check host.* --ndjson",
    "an explanation": "explain {log}",
    "an explanation as JSON": "explain --no-look --json {log}",
    "a bug report": "report --log {log} --no-ask --no-reproduce --yes --out {out}",
    "a bug report as JSON": "report --log {log} --no-ask --no-reproduce --json",
    "a busy TPU": "check jax.devices_visible --json",
    "a Python that is none": "check --python {bad} --json",
    "a check that is not there": "check {token}",
}
"""Commands; `{out}` is a folder that is searched, `{log}` a log, `{bad}` a program that prints
all and is no Python."""
PROGRAMS = {
    "a report of a bug": (
        "import json, os\nfrom tpustarter import __main__\n"
        "from tpustarter.core import content\n"
        "texts = json.load(open(os.environ['TEXTS']))\n"
        "def broken(*_): raise ZeroDivisionError(' '.join(texts))\n"
        "content.read_checks = broken\nsys.argv = ['tpustarter', 'check', '--json']\n"
        "__main__.main()"
    ),
    "the log of a set-up": (
        "import json, os\nfrom pathlib import Path\nfrom tpustarter.core import locations\n"
        "from tpustarter.core.redact import Redactor\n"
        "from tpustarter.running.supervised_command import LineLog\n"
        "lines = LineLog(locations.make_state_folder() / 'setup-1.log', Redactor(os.environ))\n"
        "for text in json.load(open(os.environ['TEXTS'])):\n"
        "    lines.write(text.encode() + b'\\n')\n    print(lines.fresh and lines.fresh.pop())\n"
    ),
    "the output of a lesson": (
        "import os\nfrom pathlib import Path\n"
        "from tests.support.made_lessons import list_blocks, fence, make_lesson, make_session\n"
        "code = 'import json, os\\ntexts = json.load(open(os.environ[\"TEXTS\"]))\\n'\n"
        "code += 'print(*texts, sep=chr(10))\\n1 / 0'\n"
        "lesson = make_lesson(Path(os.environ['LESSONS']), fence(code))\n"
        "session = make_session(lesson)\n"
        "print(*session.run(list_blocks(lesson)[0]))\nsession.close()\n"
    ),
}


@dataclass(frozen=True)
class Place:
    """The environment and folders of the commands, and the files that they have written."""

    env: dict[str, str]
    home: Path
    inputs: Path

    def run(self, words: list[str]) -> bytes:
        """Run a command among the canaries; return the bytes of its output streams."""
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            timeout=120,
            check=False,
            env=self.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
        )
        assert b"Traceback (most" not in done.stderr, done.stderr
        return done.stdout + b"\n" + done.stderr

    def command(self, name: str) -> bytes:
        """Run a row of `OUTPUTS`."""
        bad, token = self.inputs / "bad", "hf_zq7canary12abcdefghij"
        places = {"out": self.home, "bad": bad, "log": self.inputs / "train.log"}
        arguments = OUTPUTS[name].format(**places, token=token).split()
        drive = [
            str(SUPPORT / "drive.py"),
            str(self.inputs / "checks"),
            str(self.inputs / "machine"),
            json.dumps(self.env),
            "-",
        ]
        return self.run([*drive, *arguments])

    def program(self, name: str) -> bytes:
        """Run a row of `PROGRAMS`."""
        return self.run(["-c", f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{PROGRAMS[name]}"])

    def written(self) -> dict[str, bytes]:
        """Return every file that there is now."""
        files = (path for path in self.home.rglob("*") if path.is_file() and not path.is_symlink())
        written = {str(path.relative_to(self.home)): path.read_bytes() for path in files}
        packed = {name: data for name, data in written.items() if name.endswith(".gz")}
        return written | {f"{name} unpacked": gzip.decompress(packed[name]) for name in packed}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    """Lay out a machine whose TPU somebody uses, with every secret there is."""
    inputs = tmp_path_factory.mktemp("inputs")
    home = tmp_path_factory.mktemp("place") / "zq7-ada-home"
    (home / "tmp").mkdir(parents=True)
    checks = inputs / "checks"
    shutil.copytree(locations.content_folder("checks"), checks)
    for name, (verdict, raises) in CHECKS.items():
        text = CHECK.replace("VERDICT", verdict).replace("RAISES", str(raises))
        (checks / "host" / f"{name}.py").write_text(text)
    texts = [
        text for source in SOURCES.values() for text in (*source.env.values(), *source.printed)
    ]
    texts.append(f"at {home}/train.py")
    (inputs / "texts.json").write_text(json.dumps(texts))
    held = "The TPU is already in use by process with pid 4242"
    beside = "".join(
        f"{text} {'x' * length} {held}\n" for text in texts for length in (0, 100, 140)
    )
    (inputs / "train.log").write_text(beside + "".join(f"ValueError: {text}\n" for text in texts))
    (inputs / "bad").write_text(
        "#!/bin/sh\n"
        + "\n".join(f"printf '%s\\n' {json.dumps(text)!r}" for text in texts if "'" not in text)
    )
    (inputs / "bad").chmod(0o755)
    metadata = {
        **values("v5litepod-4"),
        "attributes/ssh-keys": "ada:ssh-ed25519 zq7canary42",
        "attributes/startup-script": "export TOKEN=zq7canary42",
        "zone": "projects/zq7-lab-8/zones/us-central1-b",
    }
    with serve(metadata) as address:
        env = {
            variable: value for source in SOURCES.values() for variable, value in source.env.items()
        }
        env |= {
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "PATH": os.environ["PATH"],
            "TEXTS": str(inputs / "texts.json"),
            "LESSONS": str(inputs),
            "GCE_METADATA_HOST": address,
            "no_proxy": "*",
        }
        holder = {
            "pid": 4242,
            "command": "python train.py --password zq7canary40 --id AKIAZQ7CANARY41ABCDE",
        }
        (inputs / "machine").mkdir()
        lay_out(inputs / "machine", "v5e", chips=4, holder=holder)
        yield Place(env, home, inputs)


def found(data: bytes) -> list[str]:
    """Return the sources whose secrets are in the output, even across a line break."""
    joined = re.sub(rb"\s+", b"", data)
    return [
        name
        for name, source in SOURCES.items()
        for needle in source.needles
        if needle.encode() in data or needle.encode() in joined
    ]


def test_no_canary_is_in_any_output(place: Place) -> None:
    """Sources by outputs: none is found."""
    outputs = {name: place.command(name) for name in OUTPUTS}
    outputs |= {name: place.program(name) for name in PROGRAMS}
    outputs |= {f"file {name}": data for name, data in place.written().items()}
    leaks = {name: leaked for name, data in outputs.items() if (leaked := found(data))}
    # What leads back from pseudonyms to names stays on the machine; it holds no secret.
    names = leaks.pop("file .local/state/tpustarter/report-names.json", [])
    count = sum(len(leaked) for leaked in leaks.values())
    print(f"canaries: {len(SOURCES)} sources, {len(outputs)} outputs, {count} found")

    assert {} == leaks
    assert {"the name of the home folder"} >= set(names)
    assert [name for name in outputs if "bug-" in name]
    assert [name for name in outputs if "saved-" in name]
    assert [name for name in outputs if "/logs/" in name]
    assert [name for name in outputs if name.endswith(".gz unpacked")]
    assert b"already in use" in outputs["an explanation as JSON"]
    assert b"4242" in outputs["a busy TPU"]
    assert b"claims" in outputs["text, JUnit, a kept report"]


def test_a_passing_run_leaves_no_raw_log(place: Place) -> None:
    """A run that passes leaves neither its checks' raw output nor its folder."""
    before = set(place.written())
    place.command("text of what passed")
    made = {name for name in set(place.written()) - before if "last-check" not in name}

    assert set() == made


@pytest.mark.skipif(sys.platform != "linux", reason="the log is found by its place below the home")
def test_search_finds_canaries_in_raw_log(place: Place) -> None:
    """While a check runs its log is raw: the same search sees the canaries in it."""
    slow = place.inputs / "checks/host/leaks_slow.py"
    # It hangs until it is stopped.
    text = CHECK.replace("VERDICT", "ok").replace("RAISES", "__import__('time').sleep(600)")
    slow.write_text(text.replace("TIMEOUT_S = 60", "TIMEOUT_S = 600"))
    drive = [
        str(SUPPORT / "drive.py"),
        str(place.inputs / "checks"),
        str(place.inputs / "machine"),
        json.dumps(place.env),
        "-",
    ]
    with subprocess.Popen(
        [sys.executable, *drive, "check", "host.leaks_slow"],
        env=place.env,
        cwd=place.home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:

        def canaries() -> list[str]:
            logs = (path for path in place.home.rglob("*.log") if "/runs/" in str(path))
            return found(b"".join(path.read_bytes() for path in logs))

        until(lambda: len(canaries()) > 30, "canaries in the raw log")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=HANG_S)
    slow.unlink()

    assert [] == [name for name in place.written() if "/runs/" in name]
