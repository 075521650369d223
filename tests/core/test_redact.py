"""Redaction of secrets, names and home folders from every text, in bounded time."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import secret_shapes
from tests.support.places import TESTS
from tests.support.secret_shapes import SHAPES
from tpustarter.core.redact import Redactor
from tpustarter.learning.drawings import block_drawings
from tpustarter.machine import tpus
from tpustarter.machine.machine import clean_text
from tpustarter.probe.finding import MAX_TEXT, shorten_for_json
from tpustarter.probe.lesson import growing_plots, plots

SECRETS = {
    "HF_TOKEN": "hf_AbCdEfGhIjKlMnOpQrSt",
    "WANDB_API_KEY": "0123456789abcdef0123",
    "DB_PASSWORD": "correct horse battery",
}


@given(st.text(max_size=40), st.sampled_from(sorted(SECRETS)), st.text(max_size=40))
def test_a_seeded_secret_never_survives(before: str, name: str, after: str) -> None:
    """A secret of the environment is removed whatever text surrounds it."""
    redacted = Redactor(SECRETS).redact_text(before + SECRETS[name] + after)

    assert SECRETS[name] not in redacted


@pytest.mark.parametrize(
    "secret",
    [
        "ya29.a0AfH6SMBxyz-_123",
        "ghp_0123456789abcdefghij0123456789",
        "Authorization: Bearer abcdefgh12345678",
        "somebody@example.com",
        "projects/my-project-123/zones/us-central1-b",
        "password=hunter22",
        "xoxb-123456789012-abcdefghijkl",
        "sk-proj-abcdefghijklmnop1234",
        "glpat-abcdefghij0123456789",
        "npm_abcdefghijklmnopqrstuvwx",
        "github_pat_11ABCDEFG0123456789abc",
        "AKIAIOSFODNN7EXAMPLE",
        "http://user:hunter22@proxy:3128",
        "train.py --password hunter22",
        "train.py --aws-access-key abcd1234efgh",
        '{"api_key": "abcd1234efgh"}',
        "glrt-abcdefghij0123456789",
        "https://0123456789hunter@host/a",
        "Authorization: Basic dXNlcjpodW50ZXIy",
        '\\"api_key\\": \\"abcd1234efgh\\"',
        "gcloud --project my-project-123",
        "Permission denied on resource project my-project-123.",
        "there is no Project 'my-project-123'",
        "https://console.cloud.google.com/compute?project=my-project-123",
        "https://tpu.googleapis.com/v2/projects/my-project-123/locations/us-central1-b",
        "sk_live_0123456789abcdefghijklmn",
        "SG.abcdefghijklmnopqrstu1.0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
        "https://hooks.slack.com/services/T0ABCDEF1/B0ABCDEF1/abcdefghijklmnop12345678",
        "0123456789abcdef0123456789abcdef-us12",
        "1234567890:AAabcdefghijklmnopqrstuvwxyz0123456",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
        '"refresh_token": "1//0gAbCdEfGhIjKlMnOpQrStUvWxYz012345"',
        "dckr_pat_AbCdEfGhIjKlMnOpQrStUvWxYz0",
        "r8_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
        f"local-{'ab12' * 10}",
        f"wandb login {'ab12' * 10}",
        f"wandb login --relogin --host=https://wandb.corp.example {'ab12' * 10}",
        f"WANDB_API_KEY {'ab12' * 10}",
        f'{{"username":"ada","key":"{"ab12" * 8}"}}',
        "Cookie: session=hunter2abc",
        "> Set-Cookie: SID=hunter2abc;Path=/",
        "curl -s -b sid=hunter2abc",
        "ngrok config add-authtoken 2abcDEFghiJKLmnoPQRstuVWXyz_0123456789",
        "curl -X GET -u ada:hunter2",
        "mysql -u root -phunter2",
        "sshpass -p hunter2",
        "Server=db;Uid=ada;Pwd=hunter2",
        "passphrase: hunter2abc",
        "the password is hunter2",
        "The passphrase was: correcthorse",
        "https://a.blob.core.windows.net/b?sv=2024&sig=abc%2Bdef1234",
        "https://storage.googleapis.com/b/o?X-Goog-Signature=0123456789abcdef",
        "https://b.s3.amazonaws.com/o?X-Amz-Signature=0123456789abcdef",
        "openssl rsa -passin pass:hunter2",
        "machine api.wandb.ai login user password hunter2",
    ],
)
def test_known_shapes_of_secrets_are_taken_out(secret: str) -> None:
    """Tokens, addresses and project names are removed by their shape alone."""
    value = secret.rsplit(maxsplit=1)[-1] if "PRIVATE" not in secret else "MIIE"
    for word in ("my-project-123", value):
        assert word not in Redactor({}).redact_text(f"log: {secret} end") or word == "log"
    for word in ("hunter2", "ab12ab12", "AbCdEf"):
        assert word not in Redactor({}).redact_text(f"log: {secret} end")


@pytest.mark.parametrize("name", SHAPES)
def test_no_piece_of_any_known_secret_is_left(name: str) -> None:
    """No part of a secret is left, alone on a line or quoted in a report."""
    shape = SHAPES[name]
    for before, after in (("", ""), ("log:\n", "\nend")):
        assert not shape.is_in(Redactor({}).redact_text(f"{before}{shape.text}{after}"))


@pytest.mark.parametrize("name", secret_shapes.TOKENS)
def test_token_is_known_wherever_it_stands(name: str) -> None:
    """A token is recognised by its shape, whatever its characters and surroundings."""
    for seed in range(5):
        shape = secret_shapes.shape_of(secret_shapes.TOKENS[name], seed)
        for text in ("using {} now", 'x = "{}"', "--flag={}", "({})", "{}, y"):
            assert not shape.is_in(Redactor({}).redact_text(text.format(shape.text))), text


KEY = (
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n"
    "-----END PRIVATE KEY-----"
)
FORMS = {
    "as it is": str,
    "as JSON": json.dumps,
    "as Python writes it": repr,
    "quoted for a shell": shlex.quote,
    "joined": lambda secret: secret.replace("\n", " "),
    "without line ends": lambda secret: secret.replace("\n", ""),
    "its middle alone": lambda secret: secret.splitlines()[1],
    "in an address": quote,
    "in a query": quote_plus,
    "in base64": lambda secret: b64encode(secret.encode()).decode(),
    "in base64 behind a name": lambda secret: b64encode(f"user:{secret}".encode()).decode(),
    "in base64 for addresses": lambda secret: urlsafe_b64encode(b"{" + secret.encode()).decode(),
}


@pytest.mark.parametrize("name", FORMS)
def test_multiline_secret_is_removed_in_every_form(name: str) -> None:
    """A multi-line secret is removed if printed quoted, joined or line by line."""
    for variable in ("SSH_KEY", "NEUTRAL"):
        form = FORMS[name](KEY)
        redacted = Redactor({variable: KEY}).redact_text(f"env: {form} end")

        assert "MIIEvQIBADANBgkqhkiG9w0" not in redacted
        assert form[20:60] not in redacted


def test_short_line_of_secret_is_kept_elsewhere() -> None:
    """A short line inside a key is not removed from other texts."""
    secret = KEY.replace("\nBAQE", "\nstep\nBAQE")

    assert "step 7 of 9" == Redactor({"SSH_KEY": secret}).redact_text("step 7 of 9")


@pytest.mark.parametrize(
    "name", ["GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"]
)
def test_the_name_of_a_project_is_taken_out(name: str) -> None:
    """A project's name is removed everywhere, also without `projects/` before it."""
    redacted = Redactor({name: "my-secret-lab"}).redact_text(
        "bucket gs://my-secret-lab-data of my-secret-lab"
    )

    assert "my-secret-lab" not in redacted


@pytest.mark.parametrize(
    "text",
    [
        "task-0123456789abcdefgh",
        "risk-adjusted-returns-are-low",
        "http://host:8080/a@b",
        "max_tokens=2048 of them",
        "--tokenizer bert-base --num-tokens 4096 --max-token 2048",
        "asttokens==3.0.1, + tiktoken==0.14.0, tiktoken==1.0rc1, huggingface-token==2026.1.dev3",
        "token_count: 131072, tokens: 1.5e9",
        "%t.1 = token[] after-all(), infeed-token = token[] custom-call()",
        "%0 = stablehlo.create_token : !stablehlo.token",
        "commit 8151f02b634d0e529c3c02677f1946a7739ff99f",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "0000:00:04.0 1ae0:0063 (rev 01)",
        "jaxlib-0.12.0-cp312-cp312-manylinux_2_27_x86_64.whl",
        "the project is in order, a project of another person, Project files, project-and-access",
        "numpy@1.26.4 and cpython@3.12.1",
        "/mnt/disks/projects/llm/train.py, ~/projects/llm, ./projects/llm",
        "basic arithmetic in float32, basic matrix-multiplication",
        "--xla_force_host_platform_device_count=8",
        "local-1, local-0123456789abcdef and tpu-vm-local-" + "ab12" * 10,
        "in a//0 and 1//0 = inf, https://host/1//0gAbCdEfGhIjKlMnOpQrStUvWxYz",
        "wandb: commit " + "ab12" * 10 + ", WANDB_MODE=offline",
        "dckr_pat_, r8_w, r8_int8_dot_general",
        '"key": "value", "key": "0123456789abcdef", key: ' + "ab12" * 8,
        "Cookie: none, set-cookie is not sent, cookies: 3",
        "curl -b cookies.txt -u ada https://host:8080/x, tar -b 20 a=b",
        "mysql -p, mysql -u root -P 3306, mkdir -p a/b, sshpass -e ssh host",
        "PWD=/home/u/x OLDPWD=/tmp pwd=~/x pwd: ./x echo $PWD pwd=$PWD",
        "the password is required, password is incorrect, a passphrase is not needed",
        "a password is asked for; the password was wrong; the secret is patience",
        "signature=(i32, f32) sig=4, ?design=big, signature: f(x)",
        "all tests pass: 46 of 46, pass:46",
        "enter the authtoken of ngrok, authtoken is set",
        "login node password prompt, machine tpu-vm password prompt",
        "pattern-match patterns, xai-explainability-for-tpus, key-value, as-is, pul-request-1",
        "sk_learn, gsk_kernel_of_layer_2, fw_bw_pass_1, dapi, dose-response, shpat, ntn_1, s.shape",
        "train.py:1234: error: x, host.example:8470:zone-a, a:1:b:c:d, train.py:12:5:E501:line",
        "bearer of good news, a bearer token is needed, Digest: sha256, digest username",
        "pass = 1, pass = all_of_them, v1.0-rc1, v1.0-0123456789abcdef",
        "docker login ghcr.io && docker run -p 8080:80 x, docker run -p 8888:8888 login",
        "https://host:8080/a/b?c=d@e, see http://a.example/x:y and z@1.2",
        "Private-Lines, unseal key, auth: none, 'auth': None, --auth=basic, _auth",
        "fm2_, hvs.py, dp.py, dt0.001, 4/0, 1/2:3, $6 and $1$, Q~",
        "TUzvUgFNTElSMjQuMC4wZ2l0AAElCQEDBQcBAwkLAxUDBQcLDQ8RAxUXGRsdHyEjJScpKy0vMTM1Nzk7PT9B" * 3
        + "==",
    ],
)
def test_harmless_lookalike_of_secret_stays(text: str) -> None:
    """Numbers, versions, hashes, paths, HLO types and compiled kernels are kept."""
    assert text == Redactor({}).redact_text(text)


@pytest.mark.parametrize("folder", ["golden", "samples/hlo"])
def test_reports_and_programs_stay_as_they_are(folder: str) -> None:
    """Reports and programs of every kind of machine contain nothing taken for a secret."""
    for path in filter(Path.is_file, (TESTS / folder).rglob("*")):
        text = path.read_text(encoding="utf-8")

        assert text == Redactor({}).redact_text(text), path.name


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("/home/ada", "~"),
        ("/home/ada/x", "~/x"),
        ("in /home/ada.", "in ~."),
        ("/home/ada2/x", "/home/ada2/x"),
        ("/home/ada-old", "/home/ada-old"),
    ],
)
def test_the_home_folder_has_no_name(text: str, redacted: str) -> None:
    """The home folder is shortened; a folder with the same prefix in its name is not."""
    assert redacted == Redactor({"HOME": "/home/ada/"}).redact_text(text)


def test_login_from_variable_is_removed_everywhere() -> None:
    """The password of a proxy is removed percent-encoded and decoded."""
    redact = Redactor({"https_proxy": "http://ada:hunter%4022@proxy:3128"})

    assert "hunter" not in redact.redact_text("407 for ada:hunter%4022, that is hunter@22")


def test_number_is_no_secret_unless_password() -> None:
    """`MAX_TOKENS=100000` does not remove every 100000 from a report."""
    redact = Redactor({"MAX_TOKENS": "100000", "PGPASSWORD": "271828182"})

    assert "100000 of [$PGPASSWORD]" == redact.redact_text("100000 of 271828182")


@pytest.mark.first_use
def test_the_maintained_patterns_are_those_of_detect_secrets() -> None:
    """The patterns of detect-secrets load only for text like a token, and none of them guesses."""
    program = (
        "import sys\nfrom tpustarter.core.redact import Redactor\n"
        "redact_text = Redactor({}).redact_text\n"
        "redact_text('pass  host.space  /usr/lib/python3.12 46 of 46')\n"
        "print('detect_secrets' in sys.modules)\n"
        "print(redact_text('sq0csp-' + 'a1' * 21 + 'b'))\n"
        "print('detect_secrets' in sys.modules)"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]

    assert [["False", "[token]", "True"], ["False", "[token]", "False"]] == printed


def test_a_short_word_is_no_secret() -> None:
    """A variable named TOKEN with the value `true` does not remove `true` from a report."""
    assert Redactor({"USE_TOKEN": "true"}).redact_text("it is true") == "it is true"


TOKEN = f"hf_{'QqZz' * 9}"
REDACT = Redactor({}).redact_text


def _bars(text: str) -> str:
    left = plots.list_drawings({"plot": ["loss"]}, {"loss": {text: 1.0}})
    names: dict[str, Any] = {}
    grown = growing_plots.LivePlotWatcher({"plot": ["loss"]}, names, lambda _: None)
    names["loss"] = {text: 1.0}
    return repr(block_drawings.parse_drawings([*left, grown.read_plot()], REDACT))


def _refused(text: str) -> str:
    with pytest.raises(LookupError) as error:
        tpus.find_generation(text)
    return REDACT(str(error.value))


CUTS = {
    "a finding": (MAX_TEXT, lambda text: REDACT(shorten_for_json(text))),
    "a fact of the machine": (40, lambda text: REDACT(clean_text(text, 40))),
    "names in a drawing": (60, _bars),
    "a type that is refused": (60, _refused),
}
"""Texts that are cut before they are redacted, since the probe cannot redact: place and text."""


@pytest.mark.parametrize(("limit", "shown"), CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("secret", [TOKEN, f"{TOKEN}{'Qq' * 800}"], ids=["token", "long token"])
def test_half_a_secret_is_never_shown(limit: int, shown: Callable[[str], str], secret: str) -> None:
    """A secret cut anywhere in a text shows no part of itself."""
    before = range(max(0, limit - len(TOKEN) - 8), limit + 1)
    texts = {count: shown(f"{('say ' * count)[:count]} {secret} now") for count in before}

    assert {} == {count: text for count, text in texts.items() if "QqZz" in text}
