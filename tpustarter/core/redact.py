"""Redaction of secrets, names and home folders in all text that is shown or written.

A secret is recognised by the environment variable whose value it is, or by its shape. The shapes
are those that detect-secrets maintains (Checkov's fork, `bc-detect-secrets`) and this module's own.
Only the patterns of detect-secrets are used: nothing is verified, so nothing is sent. Its guesses
by entropy or by a variable's name are left out, because they mistake hashes, versions and figures
for secrets. Every search is bounded.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from tpustarter.core import cache
from tpustarter.core.json_values import is_object

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_MAYBE_PATH = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_ANY_VALUE = re.compile(r"SECRET|PASS", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
"""A number, as in MAX_TOKENS, is secret only if its variable is named like a password."""
_SHORTEST_SECRET = 6
"""A shorter value is a word like `true`; replacing it would hide facts, not secrets."""
_FIRST_WORD = re.compile(r"\A\S+")
_SHORTEST_LINE = 16
"""Shortest line of a multi-line secret, such as a private key, that is a secret by itself."""
_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT",
             "DEVSHELL_PROJECT_ID")  # fmt: skip
"""Variables that hold the name of a Google Cloud project."""
_PROJECT = "[project]"
_LOGIN = re.compile(r"://([^\s/:@]{0,200}):(\S{1,200})@[^\s@]{1,300}$")
"""User and password in a URL that is a variable's whole value, such as a proxy's."""

_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![\w-])"
)
_ID = r"(?=[a-z0-9-]*[\d-])[a-z][a-z0-9-]{4,28}[a-z0-9](?![\w-])"
"""A project id in a sentence; a digit or hyphen sets it apart from common English words."""
_PROJECT_NAMES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # A path such as ~/projects/llm is not a Google resource name.
        (r"(?<![\w/~.-])projects/(?!\[)[\w:.-]+", "projects/[project]"),
        (r"/projects/(?!\[)[\w:.-]+(?=/(?:zones|locations|regions|global|topics|secrets)\b)",
         "/projects/[project]"),
        (rf"(?<![\w/~.-])((?i:project)[ #]{{1,2}}['\"`]?){_ID}", r"\1[project]"),
        (r"((?<![\w-])--project[= ]|[?&]project=)(?!\[)[\w:.-]+", r"\1[project]"),
    )
)  # fmt: skip

_HIDDEN = r"(?:secret|passw(?:or)?d|passphrase)"
_KEY = r"(?:token(?!s|i[sz])|(?:api|access|private|account|subscription)[_-]?key)"
_VALUE = r"[^\s'\",;\\]{4,}"
_NOT_A_FIGURE = (
    r"(?![-+]?\d[\d.,_]{0,40}(?:e[-+]?\d{1,3})?(?![\w.]))(?!token\[|[!\[])"
    r"(?!=\d{1,4}(?:\.\d{1,8}){1,3}(?:(?:a|b|rc|\.dev|\.post)\d{1,8})?(?![\w.]))"
)
"""Not secret: a number, an HLO or MLIR type, as in `%t = token[] after-all()`, or a version, as in
`tiktoken==0.14.0`.
"""
_QUOTE = r"\\{0,3}['\"]?"
_GIVEN = rf"[\w-]{{0,64}}{_QUOTE}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE}"

_NO_VALUE = (
    r"(?!(?:not?|none|null|un\w+|in\w+|required|wrong|weak|missing|empty|blank|expired|needed|too|"
    r"only|never|set|the|an?|your|what|correct|being|asked|given|used|hidden|sent|stored|read|same|"
    r"long|short|kept|also|now|still|from|for|by|as|at|to|on|optional|valid|ok)\b)"
)
"""Words that follow "the password is" in ordinary messages."""
_COMMAND = r"\b[^\n|;&]{0,200}?\s"
"""Text between a command's name and one of its options."""
_ARGUMENT = r"(?:'[^'\n]{1,2000}'|\"[^\"\n]{1,2000}\"|[^\s'\"]+)"

_PASSWORD_OPTION = rf"""(?x:
    (?: sqlcmd{_COMMAND}-P | ldap[a-z]{{3,12}}{_COMMAND}-w | redis-cli{_COMMAND}-a
      | mongo[a-z]{{0,12}}{_COMMAND}-p | smbclient{_COMMAND}-U[ =]?[\w.\\@-]{{1,128}}%
      | (?:docker|podman|helm|oras)\ (?:registry\ )?login{_COMMAND}-p ) [ =]?)"""
"""Commands that have a short option for a password."""
_PREFIXES = (
    r"dop_v1_|do[or]_v1_|fw_|glsa_|gsk_|hvs\.|hv[br]\.|KGAT_|lin_api_|lsv2_[a-z]{2}_|napi_|"
    r"nfp_|npr_|ntn_|nvapi-|pcsk_|pnu_|pplx-|pscale_[a-z]{2,5}_|pul-|rpa_|rubygems_|sb_secret_|sbp_|"
    r"shp[a-z]{2}_|sntry[su]_|sq[apu]_|tgp_v1_|tskey-[a-z]{3,9}-|vc[pik]_|wandb_v1_|whsec_|xai-|"
    r"[rs]k_(?:live|test|prod)_|A(?:TATT|TCTT)3|ATBB|AGE-SECRET-KEY-1|aph0_|bk[a-z]a_|CCIPAT_|figd_|"
    r"dp\.[a-z]{2,5}\.|dt0[a-z]\d\d\.|glc_eyJ|GOOG1E|HRKU-|NRAK-|ops_eyJ|PMAK-|xapp-|EAAA[El]"
)
"""Prefixes by which services mark their tokens. Sources: GitHub, "Supported secret
scanning patterns"; gitleaks, `config/gitleaks.toml` (both read 2026-11).
"""
_NO_WORDS = r"(?![a-z]{1,24}(?:[_-][a-z0-9]{1,24}){1,9}(?![\w-]))"
"""Excludes names of programs and files, such as `gsk_kernel_of_layer_2`."""

_MACHINE = r"(?:machine\s{1,8}\S{1,128}|default(?=\s{1,8}login))"
_USER = r"(?:-[uU]|--(?:proxy-)?user)[ =]{0,4}['\"]?[\w.@%+-]{0,128}"
_IN_ADDRESS = r"[^\s&'\"<>]{4,}"

KEY_BEGIN = re.compile(r"(?:-{4,5} ?BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY|Private-Lines: \d)")
KEY_END = re.compile(r"(?:-{4,5} ?END [A-Z0-9 ]{0,60}-*|Private-MAC)")
"""The first and last line of a private key; the lines between have no recognisable shape."""
_TOKENS = (
    (r"LS0tLS1CRUdJTi[\w+/=]{20,}", "RFC 7468, in base64"),
    (rf"(?:{_PREFIXES}){_NO_WORDS}(?=[\w.=-]{{0,64}}\d)[\w.=-]{{16,}}", "the sources of _PREFIXES"),
    (r"4(?:/|%2F)0A[\w-]{40,}", "Google: authorization code"),
    (r"APA91b[\w-]{100,}", "Google: Firebase"),
    (r"eyJhcGlfYWRkcmVzcyI6[\w+/=-]{20,}", "Neptune"),
    (r"ABSK[\w+/=]{60,}", "AWS: Bedrock"),
    (r"[\w.~]{3}\dQ~[\w.~-]{31,34}(?![\w-])", "Azure: client secret"),
    (r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?!\w)", "Azure DevOps"),
    (r"(?:dapi|dose)[0-9a-f]{32}(?:-\d)?(?!\w)", "Databricks"),
    (r"s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?!\w)", "Vault, before 1.10"),
    (r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}", "Terraform"),
    (r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}", "Discord: bot"),
    (r"key-[0-9a-f]{32}(?!\w)", "Mailgun"),
    (r"sk_[0-9a-f]{48}(?!\w)", "ElevenLabs"),
    (r"a[ks]-(?=[A-Za-z]{0,21}\d)[A-Za-z0-9]{22}(?![\w-])", "Modal"),
    (r"pat\w{14}\.[0-9a-f]{64}(?!\w)", "Airtable"),
    (r"\d/\d{16}:[0-9a-f]{32}(?!\w)", "Asana"),
    (r"secret_(?:[A-Za-z0-9]{43}|\w{1,64}_[0-9a-f]{32}\.\w{32})(?!\w)", "Notion, Lambda"),
    (r"fm\d[a-z]?_[\w+/=,]{40,}", "Fly.io"),
    (r"(?:cio[A-Za-z0-9]{32}|oy2[a-z0-9]{43}|cmVmd[A-Za-z0-9]{59})(?!\w)",
     "crates.io, NuGet, Artifactory"),
    (r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}(?!\w)", "Cloudflare"),
)  # fmt: skip
"""Patterns of tokens that can be recognised by shape alone, and their services."""

_OWN = (
    (rf"{KEY_BEGIN.pattern}[\s\S]*?({KEY_END.pattern}|$)", "[key]",
     "RFC 7468, RFC 4716, PuTTY"),
    (rf"(?<![\w-])(?:{'|'.join(pattern for pattern, _ in _TOKENS)})", "[token]", "see _TOKENS"),
    (r"\bya29\.[\w.-]+", "[token]", "Google: access token"),
    (r"(?<![\w/.:-])1//0[\w-]{20,}", "[token]", "Google: refresh token"),
    (r"\bAIza[\w-]{30,}", "[key]", "Google: API key"),
    (r"\bGOCSPX-[\w-]{20,}", "[secret]", "Google: client secret"),
    (r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}", "[token]", "Hugging Face"),
    (r"\bgh[pousr]_[A-Za-z0-9]{20,}", "[token]", "GitHub"),
    (r"\bgithub_pat_\w{20,}", "[token]", "GitHub: fine-grained"),
    (r"\bgl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[\w.-]{16,}", "[token]", "GitLab"),
    (r"\bnpm_[A-Za-z0-9]{20,}", "[token]", "npm"),
    (r"\bpypi-[\w-]{20,}", "[token]", "PyPI"),
    (r"\bxox[abeoprs]-[\w-]{10,}", "[token]", "Slack"),
    (r"(?<![\w-])sk-[\w-]{16,}", "[token]", "OpenAI, Anthropic"),
    (r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", "[key]", "AWS: id of a key"),
    (r"(?<![\w-])AKCp[A-Za-z0-9]{10,}", "[token]", "Artifactory"),
    (r"(?<!\d)\d{8,10}:AA[\w-]{33}(?![\w-])", "[token]", "Telegram: bot"),
    (r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*(?:\.[\w-]*){0,2}", "[token]",
     "RFC 7519, RFC 7516"),
    (r"(?i)(\bunseal key \d{1,2}: |\binitial root token: )\S+", r"\1[key]", "Vault"),
    (r"(discord(?:app)?\.com/api/webhooks/\d{1,20}/)[\w-]{40,}", r"\1[token]",
     "Discord: webhook"),
    (r"(hooks\.slack\.com/(?:services|triggers|workflows)/)[\w/+-]{20,}", r"\1[token]",
     "Slack: webhook"),
    (r"\$(?:apr1|y|[1256]|2[aby]|argon2[id]{1,2})\$[\w./$,=+-]{20,}", "[secret]", "crypt(5)"),
    (r"\bdckr_[po]at_[\w-]{16,}", "[token]", "Docker Hub"),
    (r"(?<![\w-])r8_[A-Za-z0-9]{20,}", "[token]", "Replicate"),
    (r"(?<![\w-])local-[0-9a-f]{40}(?!\w)", "[key]", "Weights & Biases: own server"),
    (r"(?i)\b(wandb login(?: --?[\w=:/.-]{1,80}){0,4} |wandb_api_key\W{1,4})[0-9a-f]{40}(?!\w)",
     r"\1[key]", "Weights & Biases"),
    (r"(?i)\b(wandb.login\(\W{0,4}(?:key\W{1,4})?|paste an api key [^\n:]{1,80}: )[0-9a-f]{40}",
     r"\1[key]", "Weights & Biases"),
    (r"(?i)\b(kaggle_key\W{1,4})[0-9a-f]{32}(?!\w)", r"\1[key]", "Kaggle"),
    (rf"(['\"]key{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE})[0-9a-f]{{32}}(?!\w)", r"\1[key]",
     "Kaggle: kaggle.json"),
    (r"(?i)(authtoken\s{1,4})[\w-]{20,}", r"\1[token]", "ngrok"),
    (r"(\w{2,20}://)[^\s/@'\"]{1,400}@", r"\1[login]@", "RFC 3986: user and password"),
    (r"(\w{2,20}://)[^\s/:@'\"]{0,100}:(?!\d{1,5}(?!\w))[^\s@'\"?#]{1,200}@(?=[\w.-])",
     r"\1[login]@", "a password with a slash, as people type it"),
    (r"(?i)\b(bearer) (?:(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{8,}|[\w.~+/=-]{32,})",
     r"\1 [token]", "RFC 6750"),
    (r"(?i)(\bdigest username=)[^\n]+", r"\1[secret]", "RFC 7616"),
    (rf"(?i)\b(authorization{_QUOTE}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE}\w{{2,20}}) [\w.~+/=-]{{4,}}",
     r"\1 [token]", "RFC 9110"),
    (rf"(?i)\b(cookie{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE})(?=[^\s=;'\"]{{1,128}}=)[^\n'\"]+",
     r"\1[secret]", "RFC 6265"),
    (rf"(?i)(\bx-(?:goog|amz)-(?:signature|credential|security-token)(?:=|%3D)){_IN_ADDRESS}",
     r"\1[secret]", "Google, AWS: signed addresses"),
    (rf"(?i)([?&;]sig(?:nature)?=){_IN_ADDRESS}", r"\1[secret]", "Azure: signed addresses"),
    (r"(?i)(\bsignature=)[0-9a-f]{40,}", r"\1[secret]", "AWS: Signature Version 4"),
    (rf"(\bcurl{_COMMAND}(?:-b|--cookie)[ =]{{0,4}})(?=['\"]?[^\s'\"=]{{1,128}}=){_ARGUMENT}",
     r"\1[secret]", "curl"),
    (rf"(\bcurl{_COMMAND}{_USER}:)[^\s'\"]+", r"\1[secret]", "curl"),
    (rf"(\b(?:mysql|mariadb)\w{{0,16}}{_COMMAND}-p)(?=['\"]?\w){_ARGUMENT}",
     r"\1[secret]", "MySQL"),
    (rf"(\bsshpass{_COMMAND}-p ?){_ARGUMENT}", r"\1[secret]", "sshpass"),
    (r"(-pass(?:in|out)?[ =]pass:)[^\s'\"]+", r"\1[secret]", "OpenSSL"),
    (rf"(\b{_PASSWORD_OPTION}){_ARGUMENT}", r"\1[secret]", "these commands"),
    (rf"(\b{_MACHINE}(?:\s{{1,8}}login\s{{1,8}}\S{{1,128}})?\s{{1,8}}password\s{{1,8}})(?!prompt)\S+",
     r"\1[secret]", "netrc(5)"),
    (rf"(?m)^(\s{{0,8}}password\s{{1,4}}){_NO_VALUE}\S+$", r"\1[secret]", "netrc(5), in lines"),
    (r"(?m)^([\w.*-]{1,253}:(?:\d{4,5}|\*):[A-Za-z_*][\w-]{0,63}:[\w*-]{1,63}:)\S+$",
     r"\1[secret]", "PostgreSQL: .pgpass"),
    (rf"(['\"]auth{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE})[\w+/=-]{{8,}}", r"\1[secret]",
     "Docker: config.json"),
    (r"((?<!\w)_auth\s{0,4}=\s{0,4})[^\s'\"]{8,}", r"\1[secret]", "npm: .npmrc"),
    (r"(?m)^(\s{0,8}pass = )\S{16,}$", r"\1[secret]", "rclone"),
    (rf"(?i)({_HIDDEN}{_GIVEN}){_VALUE}", r"\1[secret]", "a password that is given"),
    (rf"(?i)((?<![a-z0-9$])pwd{_QUOTE}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE})(?![/~.$]|\w:){_VALUE}",
     r"\1[secret]", "ODBC: other than a folder"),
    (rf"(?i)\b(pass(?:w(?:or)?d|phrase)\s{{1,4}}(?:is|was):?\s{{1,4}}{_QUOTE}){_NO_VALUE}{_VALUE}",
     r"\1[secret]", "a password in a sentence"),
    (rf"(?i)({_KEY}{_GIVEN}){_NOT_A_FIGURE}{_VALUE}", r"\1[secret]", "a key that is given"),
    (rf"(?i)(?<![\w-])(--?[\w-]{{0,32}}{_HIDDEN}[\w-]{{0,32}}\s{{1,4}})(?!-){_VALUE}",
     r"\1[secret]", "an option"),
    (rf"(?i)(?<![\w-])(--?[\w-]{{0,32}}{_KEY}[\w-]{{0,32}}\s{{1,4}})(?!-){_NOT_A_FIGURE}{_VALUE}",
     r"\1[secret]", "an option"),
)  # fmt: skip
"""Pattern, replacement, and the service or standard that defines the shape. No unbounded repeat
precedes a word, because a long line would take forever.
"""

_LEFT_OUT = ("ArtifactoryDetector", "BasicAuthDetector", "IPPublicDetector", "JwtTokenDetector",
             "PrivateKeyDetector")  # fmt: skip
"""Detectors that `_OWN` replaces with patterns of bounded time, and the one for IP addresses, which
are not secret.
"""
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_+-]{16,}")
_WINDOW, _OVERLAP = 1024, 512
"""Characters searched at once, and the overlap between searches: no token is longer than that."""


class Redactor:
    """Replaces secrets and private names; created once per run from the user's environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        replaced: dict[str, str] = {}
        for name, value in env.items():
            for secret in _secrets(name, value):
                if len(secret) >= _SHORTEST_SECRET:
                    replaced |= dict.fromkeys(_forms(secret), f"[${name}]")
            if name in _PROJECTS and len(value) >= _SHORTEST_SECRET:
                replaced[value] = _PROJECT
        self._home = _home(env.get("HOME", ""))
        # Longest first, because one secret may be the beginning of another.
        self._replaced = sorted(replaced.items(), key=lambda pair: -len(pair[0]))

    def redact_text(self, text: str) -> str:
        """Return text without secrets, e-mail addresses, project names and the home's path."""
        return self._redacted(text, keep_projects=False)

    def redact_command(self, text: str) -> str:
        """Return a command for the user to type: redacted like `redact_text`, but with its project.

        It is only for the user's own terminal; without the project it could not be pasted.
        """
        return self._redacted(text, keep_projects=True)

    def _redacted(self, text: str, *, keep_projects: bool) -> str:
        for secret, replacement in self._replaced:
            if not (keep_projects and replacement == _PROJECT):
                text = text.replace(secret, replacement)
        text = _EMAIL.sub("[email]", _without_shapes(text))
        for pattern, replacement in () if keep_projects else _PROJECT_NAMES:
            text = pattern.sub(replacement, text)
        return self._home.sub("~", text) if self._home else text

    def redact_secrets(self, text: str) -> str:
        """Return text without secrets; names and projects are kept, for pseudonyms."""
        for secret, replacement in self._replaced:
            if replacement != _PROJECT:
                text = text.replace(secret, replacement)
        return _without_shapes(text)

    def redact_value(self, value: object) -> Any:  # of the same type, which no type variable says
        """Return a copy of a JSON value with every string redacted."""
        if isinstance(value, str):
            return self.redact_text(value)
        if is_object(value):
            return {key: self.redact_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            items: list[object] = [*value]
            return [self.redact_value(item) for item in items]
        return value


def drop_incomplete_word(text: str) -> str:
    """Remove the last word of text that was cut off, because the word may be incomplete.

    Part of a secret has no recognisable shape, and part of a name is no known name, so neither may
    be
    shown.
    """
    return _FIRST_WORD.sub("", text[::-1])[::-1]


def drop_incomplete_line(text: str) -> str:
    """Remove the start of text that was cut off: its first line, or the first word of one line."""
    _, line_end, rest = text.partition("\n")
    return rest if line_end else _FIRST_WORD.sub("", text)


def _home(folder: str) -> re.Pattern[str] | None:
    # A folder whose name only begins the same must not match.
    name = folder.rstrip("/")
    return re.compile(rf"{re.escape(name)}(?![\w-])") if len(name) > 1 else None


def _secrets(name: str, value: str) -> Iterator[str]:
    # SSH_AUTH_SOCK and GOOGLE_APPLICATION_CREDENTIALS name files, but an AWS key may also begin
    # with a slash.
    names = _MAYBE_PATH if value.startswith("/") else _SECRET_NAME
    if names.search(name) and (_ANY_VALUE.search(name) or not _NUMBER.fullmatch(value)):
        yield value
    yield from _shaped(value)
    if login := _LOGIN.search(value):
        yield from {login[0][3:].rpartition("@")[0], login[2], unquote(login[2])}


def _forms(secret: str) -> Iterator[str]:
    # Forms in which a secret appears: quoted, encoded, joined to one line, or one of its lines.
    yield secret
    quoted = _quoted(secret)
    yield from quoted
    yield from (form for inner in quoted for form in _quoted(inner))
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from _in_base64(secret.encode(errors="surrogateescape"))
    lines = [line.strip() for line in re.split(r"\\[nr]|[\n\r]", secret) if line.strip()]
    if len(lines) > 1:
        yield from (joint.join(lines) for joint in (" ", "", "\\n", "\n", "\r\n", "\\r\\n"))
    # The first and last lines of a key are the same for all keys, so they identify none.
    pieces = re.split(r"\\[nr]|[\n\r\"'\\]", secret)
    yield from (piece for piece in pieces if len(piece) >= _SHORTEST_LINE and "-----" not in piece)


def _quoted(text: str) -> set[str]:
    return {json.dumps(text)[1:-1], json.dumps(text), repr(text)[1:-1], repr(text),
            shlex.quote(text)}  # fmt: skip


def _in_base64(secret: bytes) -> Iterator[str]:
    # The encoding of a secret depends on its offset modulo 3 in the encoded text.
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret).decode()
        # The first and the last characters hold bits of the neighbouring text.
        inner = encoded[before + (before > 0) : -4 if encoded.endswith("=") else None]
        if len(inner) >= 2 * _SHORTEST_SECRET:
            yield from (inner, inner.replace("+", "-").replace("/", "_"))


def _without_shapes(text: str) -> str:
    for pattern, replacement in _own():
        text = pattern.sub(replacement, text)
    for start, end in reversed(_merged(sorted(_spans(text)))):
        text = f"{text[:start]}[token]{text[end:]}"
    return text


def _shaped(text: str) -> Iterator[str]:
    for pattern, replacement in _own():
        if "\\" not in replacement:
            yield from (match[0] for match in pattern.finditer(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    # The maintained patterns are loaded only if some word could match.
    for start in range(0, len(text), _WINDOW):
        end = start + _WINDOW + _OVERLAP
        words = (match[0] for match in _LIKE_A_TOKEN.finditer(text, start, end))
        if any(re.search(r"\d", word) and re.search(r"[A-Za-z]", word) for word in words):
            for pattern in _load_patterns():
                matches = pattern.finditer(text, start, end)
                yield from (_span(match) for match in matches if _begins_a_word(match))


def _begins_a_word(match: re.Match[str]) -> bool:
    # A match at the end of a longer word, such as a program in base64, is no secret.
    before = match.string[max(0, match.start() - 1) : match.start()]
    return not (before + match[0][:1]).isalnum() or not before


def _span(match: re.Match[str]) -> tuple[int, int]:
    # The secret is the longest group, unless that is only a prefix.
    longest = max(range(match.re.groups + 1), key=lambda n: len(match[n] or "") if n else 0)
    start, end = match.span(longest if len(match[longest]) >= 10 else 0)
    inner = match.string[start:end]
    return start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@lru_cache(maxsize=1)
def _own() -> tuple[tuple[re.Pattern[str], str], ...]:
    # They take 8 ms to compile, which many programs that import this module never need.
    return tuple((re.compile(pattern), replacement) for pattern, replacement, _ in _OWN)


@lru_cache(maxsize=1)
def _load_patterns() -> tuple[re.Pattern[str], ...]:
    # Importing detect-secrets takes longer than most commands, because it can query services. Its
    # patterns are therefore cached until one of its plug-ins changes.
    package = find_spec("detect_secrets")
    [folder] = (package and package.submodule_search_locations) or [""]
    sources = [path.read_bytes() for path in sorted(Path(folder, "plugins").glob("*.py"))]
    with cache.open_cache("secrets", __file__) as known:
        patterns = known.get_or_read(b"".join(sources), _collect_patterns)
    return tuple(re.compile(str(pattern), int(flags)) for pattern, flags in patterns)


def _collect_patterns() -> list[list[str | int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # requests, which it imports, warns about untested versions
        base = import_module("detect_secrets.plugins.base")
        util = import_module("detect_secrets.core.plugins.util")
    detectors = util.get_mapping_from_secret_type_to_class().values()
    return [
        [pattern.pattern, pattern.flags]
        for detector in detectors
        if issubclass(detector, base.RegexBasedDetector) and detector.__name__ not in _LEFT_OUT
        for pattern in detector().denylist
    ]
