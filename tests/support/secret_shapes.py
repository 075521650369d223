"""Secrets in the formats of many services, generated at run time so that no scanner reports them.

A row is a text that a log may contain. `<` and `>` enclose the secret, and `{a20}` stands for 20
characters from an alphabet of `_ALPHABETS`. The formats are from the services' documentation,
GitHub's list of supported secret scanning patterns, and gitleaks (read 2026-11).
"""

from __future__ import annotations

import random
import re
import string
from dataclasses import dataclass

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "d": "123456789",
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + "234567",
    "w": string.ascii_letters + string.digits + "-_",
}
_PIECE = 10
"""Length in characters of a secret's pieces, none of which may be left."""

TOKENS = {
    "GitHub, fine-grained": "github_pat_{a22}_{a59}",
    "GitHub, OAuth": "gho_{a36}",
    "GitLab, with a checksum": "glpat-{a27}.01.{l9}",
    "Bitbucket": "ATBB{a32}",
    "Atlassian": "ATATT3xFfGF0{w180}",
    "Hugging Face": "hf_{a34}",
    "Hugging Face, organisation": "api_org_{a34}",
    "OpenAI, project": "sk-proj-{w74}T3BlbkFJ{w74}",
    "Anthropic": "sk-ant-api03-{w93}AA",
    "OpenRouter": "sk-or-v1-{h64}",
    "Groq": "gsk_{a52}",
    "xAI": "xai-{a80}",
    "Perplexity": "pplx-{a48}",
    "LangSmith": "lsv2_pt_{h32}_{h10}",
    "Together": "tgp_v1_{w43}",
    "Pinecone": "pcsk_{a69}",
    "NVIDIA": "nvapi-{w64}",
    "Fireworks": "fw_{a22}1",
    "ElevenLabs": "sk_{h48}",
    "Modal": "ak-{a21}1",
    "RunPod": "rpa_{u39}2",
    "Lambda": "secret_acme_{h32}.{a32}",
    "Anyscale": "aph0_{w80}",
    "AWS, id of a key": "AKIA{u16}",
    "AWS, Bedrock": "ABSK{b120}=",
    "Azure, client secret": "{a3}8Q~{a34}",
    "Azure DevOps": "{a76}AZDO{a4}",
    "Slack, bot": "xoxb-{d12}-{d13}-{a24}",
    "Slack, app": "xapp-1-A{u10}-{d13}-{h64}",
    "npm": "npm_{a36}",
    "PyPI": "pypi-AgEIcHlwaS5vcmc{w150}",
    "RubyGems": "rubygems_{h48}",
    "crates.io": "cio{a32}",
    "NuGet": "oy2{l43}",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.{w60}.{w43}",
    "JSON web encryption": "eyJhbGciOiJSU0EifQ.{w80}.{w16}.{w60}.{w22}",
    "age": "AGE-SECRET-KEY-1{u58}",
    "Google, access token": "ya29.a0{w150}",
    "Google, authorization code": "4/0A{w70}",
    "Google, HMAC": "GOOG1E{u55}",
    "Kaggle": "KGAT_{h32}",
    "W&B": "wandb_v1_{a60}",
    "Neptune": "eyJhcGlfYWRkcmVzcyI6{b120}",
    "Telegram": "{d10}:AA{w33}",
    "Discord": "MT{a24}.G{a5}.{w38}",
    "Stripe": "sk_live_{a99}",
    "Stripe, webhook": "whsec_{a31}1",
    "Twilio": "SK{h32}",
    "SendGrid": "SG.{w22}.{w43}",
    "Mailgun": "key-{h32}",
    "Databricks": "dapi{h32}-2",
    "Vault, service": "hvs.{w90}",
    "Vault, batch": "hvb.{w140}",
    "Vault, older": "s.{a23}1",
    "Terraform": "{a14}.atlasv1.{w67}",
    "Linear": "lin_api_{a40}",
    "Notion": "ntn_{a46}",
    "Airtable": "pat{a14}.{h64}",
    "Asana": "1/{d16}:{h32}",
    "Figma": "figd_{w40}",
    "Grafana": "glsa_{a32}_{h8}",
    "New Relic": "NRAK-{u26}2",
    "Sentry": "sntrys_eyJ{a80}_{a43}",
    "DigitalOcean": "dop_v1_{h64}",
    "Heroku": "HRKU-AA{w58}",
    "Fly.io": "fm2_{b100}",
    "Netlify": "nfp_{a36}",
    "Supabase": "sbp_{h40}",
    "PlanetScale": "pscale_pw_{w43}",
    "Neon": "napi_{l64}",
    "Tailscale": "tskey-auth-{a11}-{a32}",
    "Cloudflare": "v1.0-{h24}-{h146}",
    "Doppler": "dp.st.prd.{a43}",
    "Pulumi": "pul-{h40}",
    "1Password": "ops_eyJ{a200}",
    "Shopify": "shpat_{h32}",
    "CircleCI": "CCIPAT_{a22}_{h40}",
    "Buildkite": "bkua_{h40}",
    "Prefect": "pnu_{a36}",
    "Postman": "PMAK-{h24}-{h34}",
    "Dynatrace": "dt0c01.{u24}.{u64}",
    "Sonar": "sqp_{h40}",
    "a hash of crypt": "$6${a8}${a86}",
}
"""Secrets that are recognized by their format alone."""
TEXTS = {
    "AWS, credentials file": "aws_secret_access_key = <{b40}>",
    "AWS, session in JSON": '"SessionToken": "<{b300}>"',
    "Azure, storage": "AccountName=acme;AccountKey=<{b86}==>;EndpointSuffix=core.windows.net",
    "Azure, key of a service": "Ocp-Apim-Subscription-Key: <{h32}>",
    "Slack, workflow": "https://hooks.slack.com/triggers/T{u8}/{d13}/<{h32}>",
    "Discord, webhook": "https://discord.com/api/webhooks/{d18}/<{w68}>",
    "Telegram, address": "https://api.telegram.org/bot<{d9}:AA{w33}>/sendMessage",
    "npm, _authToken": "//npm.example.com/:_authToken=<{h36}>",
    "npm, _auth": "//npm.example/:_auth=<{b20}>",
    "netrc, in lines": "machine api.example.com\n  login ada\n  password <{a14}>",
    "netrc, without a login": "machine api.example.com password <{a14}>",
    "netrc, default": "default login ada password <{a14}>",
    ".pgpass": "db.example.com:5432:prod:ada:<{a14}>",
    ".pgpass for all": "*:*:*:ada:<{a14}>",
    "an address of a database": "DATABASE_URL=postgresql+psycopg2://ada:<{a14}>@db.example.com/x",
    "an address without a user": "redis://:<{a14}>@cache:6379/0",
    "a slash in a password": "postgres://ada:<{a8}/{a8}>@db/x",
    "libpq": "host=db user=ada password=<{a14}> dbname=x",
    "Docker, config": '{{"auths": {{"ghcr.io": {{"auth": "<{b24}>"}}}}}}',
    "Docker, login": "docker login -u ada -p <{a14}> ghcr.io",
    "Kubernetes, key": "client-key-data: <LS0tLS1CRUdJTi{b80}>",
    "Kubernetes, token": "    token: <{a40}>",
    "Google, service account": (
        '"private_key": "-----BEGIN PRIVATE KEY-----\\n<{b60}>\\n-----END PRIVATE KEY-----\\n"'
    ),
    "Google, code in an address": "http://localhost:8085/?code=<4/0A{w60}>&scope=email",
    "Kaggle, variable": "KAGGLE_KEY=<{h32}>",
    "W&B, prompt": "wandb: Paste an API key from your profile and hit enter: <{h40}>",
    "W&B, call": 'wandb.login(key="<{h40}>")',
    "Comet": 'Experiment(api_key="<{a25}>")',
    "ClearML": '"secret_key" = "<{a50}>"',
    "MLflow": "MLFLOW_TRACKING_URI=https://ada:<{a12}>@mlflow.example.com",
    "MLflow, basic": "Authorization: Basic <{b24}>",
    "Twilio, variable": "TWILIO_AUTH_TOKEN=<{h32}>",
    "Vault, header": "X-Vault-Token: <s.{a24}>",
    "Vault, unseal": "Unseal Key 1: <{b44}>",
    "Bearer": "Authorization: Bearer <{a30}>",
    "Bearer, alone": "sent Bearer <{w40}>",
    "Digest": 'Authorization: Digest username="ada", response="<{h32}>"',
    "OpenSSH": "-----BEGIN OPENSSH PRIVATE KEY-----\n<{b70}\n{b70}>\n-----END KEY-----",
    "SSH2": "---- BEGIN SSH2 PRIVATE KEY ----\n<{b70}\n{b70}>\n---- END SSH2 KEY ----",
    "PuTTY": "Private-Lines: 2\n<{b64}\n{b64}>\nPrivate-MAC: 0",
    "redis-cli": "redis-cli -h cache -a <{a14}> ping",
    "sqlcmd": "sqlcmd -S db -U ada -P <{a14}>",
    "LDAP": "ldapsearch -D cn=ada -w <{a14}>",
    "rclone": "pass = <{w30}>",
}
"""Secrets that are recognized by the text next to them."""


@dataclass(frozen=True)
class SecretShape:
    """A text with a secret in it."""

    text: str
    secret: str

    @property
    def pieces(self) -> tuple[str, ...]:
        """The pieces of the secret, none of which may be left."""
        starts = range(max(1, len(self.secret) - _PIECE + 1))
        pieces = (self.secret[start : start + _PIECE] for start in starts)
        return tuple(piece for piece in pieces if "\n" not in piece)

    def is_in(self, text: str) -> bool:
        """Return whether a piece of the secret is in a text."""
        return any(piece in text for piece in self.pieces)


def shape_of(template: str, seed: int = 35) -> SecretShape:
    """Return a row with random characters filled in, the same for the same seed."""
    chance = random.Random(f"{seed} {template}")

    def fill(match: re.Match[str]) -> str:
        return "".join(chance.choices(_ALPHABETS[match[1]], k=int(match[2])))

    filled = re.sub(r"\{([a-z])(\d+)\}", fill, template).replace("{{", "{").replace("}}", "}")
    secret = filled.partition("<")[2].rpartition(">")[0]
    return SecretShape(filled.replace("<", "").replace(">", ""), secret or filled)


SHAPES = {name: shape_of(template) for name, template in {**TOKENS, **TEXTS}.items()}
