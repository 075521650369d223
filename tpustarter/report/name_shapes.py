"""Finds names by their shape: e-mails, buckets, projects, addresses, hosts, files and folders.

It errs on the side of replacing. What stays is listed here: public sites, folders that every Linux
has, Python's own library, and the packages whose frames a maintainer wants to read.
"""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Callable

Replace = Callable[[str, str], str]
"""Takes a kind and a name, and returns what stands for it."""

_SITES = re.compile(
    r"(?:[\w-]+\.)*(?:github\.com|github\.io|jax\.dev|google\.com|google\.dev|googleapis\.com|"
    r"googlesource\.com|python\.org|pytorch\.org|tensorflow\.org|"
    r"openxla\.org|readthedocs\.io|kaggle\.com|huggingface\.co|anaconda\.org|"
    r"metadata\.google\.internal)",
    re.IGNORECASE,
)
"""Hosts that are no secret of anybody's."""
_OWNERS = (
    r"(?:jax-ml|google|openxla|pytorch|google-pytorch|tensorflow|AI-Hypercomputer|googlecolab|"
    r"numpy|python|kubernetes|GoogleCloudPlatform|apple|skypilot-org|google-deepmind|keras-team|"
    r"huggingface|vllm-project|ray-project|Lightning-AI|marin-community)"
)
_BUCKETS = frozenset(
    ("jax-releases", "libtpu-releases", "libtpu-wheels", "pytorch-xla-releases",
     "pytorch-tpu-releases", "cloud-tpu-tpuvm-artifacts")
)  # fmt: skip
"""Buckets that documentation names."""
_PUBLIC_PATH = re.compile(rf"/{_OWNERS}(?:/[\w.#-]+)*/?|/tpu(?:/docs(?:/[\w.#-]+)*)?/?|/")
"""Paths on those sites that are kept: others may name a person, a project or a bucket."""
PACKAGES = frozenset((
    "PIL", "absl", "accelerate", "chex", "clu", "datasets", "diffusers", "distrax", "easydel",
    "einops", "equinox", "etils", "flax", "google", "grain", "grpc", "haiku", "huggingface_hub",
    "jax", "jaxlib", "jaxtyping", "kauldron", "keras", "keras_core", "levanter", "libtpu",
    "lightning", "maxtext", "ml_collections", "ml_dtypes", "numpy", "nvidia", "opt_einsum", "optax",
    "orbax", "pandas", "peft", "pip", "pluggy", "pytest", "pytorch_lightning", "ray", "requests",
    "safetensors", "scipy", "seqio", "setuptools", "sklearn", "t5", "tensorboard", "tensorflow",
    "tensorflow_datasets", "tensorstore", "tokenizers", "torch", "torch_tpu", "torch_xla",
    "torchax", "torchvision", "tpu_info", "tpustarter", "tqdm", "transformers", "triton",
    "urllib3", "uv", "vllm", "wheel", "whisper_jax",
))  # fmt: skip
"""Packages whose modules keep their names, so that a stack can be read."""
_PUBLIC_FOLDERS = re.compile(
    r"/(?:job|replica|task|device)|/usr(?:/local)?/lib/python3(?:\.\d+)?(?:/(?:site|dist)-packages)?|"
    r"/|/tmp(?:/libtpu_lockfile|/tpu_logs)?|/dev(?:/vfio(?:/\d+|/vfio)?|/accel\d+|/shm|/null)?|"
    r"/(?:usr/)?(?:local/)?s?bin(?:/(?:python3?(?:\.\d+)?|env|bash|sh))?|/usr(?:/local)?|"
    r"/(?:usr/)?lib(?:64)?(?:/x86_64-linux-gnu)?(?:/(?:lib(?:c|m|dl|rt|pthread|gcc_s)|ld-linux"
    r"[\w-]*|libstdc\+\+)[.\w-]*)?|/proc(?:/(?:self|\d+))?(?:/[a-z]{2,9})?(?:/\d+)?|"
    r"/etc(?:/(?:hosts|hostname|os-release|passwd|resolv\.conf))?|"
    r"/sys(?:/bus/pci/devices(?:/[0-9a-f:.]+)?|/kernel/mm/transparent_hugepage/enabled)?"
)
_PYTHON = re.compile(
    r"(?P<prefix>.*?)/(?P<lib>lib(?:64)?/python3(?:\.\d+)?t?|python3\d\d?\.zip)/(?P<rest>.+)"
)
_INSTALLED = re.compile(r"(?:(?:site|dist)-packages/)")
_SUFFIX = re.compile(r"\.(?:py|pyx|ipynb|sh|so|log|txt|json|yaml|yml|toml)$")
"""Suffixes that a pseudonym keeps: they say what a file is, and nothing of whose it is."""

_FRAME_OF_PACKAGE = re.compile(
    r"(?:jax/(?:_src|experimental|interpreters)|jaxlib|libtpu|torch|torch_xla|torch_tpu|numpy)/"
    r"[\w./+-]+"
)
"""How py-spy names a module of a package."""
_CHARACTER = r"[\w.+@%=~#$-]"
_FILES = (
    r"pyx?|ipynb|sh|bash|log|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|csv|tsv|npz|npy|pt|pth|"
    r"ckpt|bin|safetensors|parquet|tfrecords?|h5|hdf5|pkl|pickle|pem|key|crt|tar|gz|zip|whl|md|"
    r"proto|pb|textproto|mlir|hlo|so|pyz|sql|db"
)
_KEPT_FILES = re.compile(
    r"(?:xla_bridge|cloud_tpu_init|distributed|profiler|hardware_utils|__init__|__main__|setup|"
    r"environment_info|collect_env|asked|<string>|<stdin>|<frozen [\w.]+>)(?:\.py)?|"
    r"lib(?:tpu|c|m|pthread|stdc\+\+|gcc_s|dl|python3?[\d.]*)\.so[\d.]*|sdk\.so|tpu-vm\.log"
)
_BUCKET = re.compile(
    r"(?P<scheme>\b(?:gs|s3|gcs)://|\b(?:storage\.googleapis\.com|storage\.cloud\.google\.com)/|"
    r"(?<![\w/])/gcs/)(?P<bucket>[A-Za-z0-9][\w.-]*)(?P<path>/[^\s'\"`<>|)\]},;]*)?"
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,24}(?![\w-])")
_PROJECT = re.compile(
    r"((?<![\w~.-])projects/|(?<![\w-])--(?:quota-|billing-)?project[= ]|[?&]project=|"
    r"\bproject(?:_id|Id|-id)?['\"]?\s{0,2}[:=]\s{0,2}['\"]?)(?!project-\d)([\w:.-]{4,})"
)
_LINK = re.compile(r"(?P<scheme>\b(?:https?|grpcs?|ssh|git|ftp|tcp|dns)://(?:\[login\]@)?)"
                   r"(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?P<port>:\d+)?"
                   r"(?P<path>/[^\s'\"`<>)\]]*)?")  # fmt: skip
_HOST = re.compile(
    r"(?<![\w./@-])(?:t1v-n-[\w-]+|gke-[\w-]{8,}|tpu-vm-[\w-]+|"
    r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|ai|dev|"
    r"internal|lan|corp|intranet|local\b(?=\.)))(?::(?=\d))?(?![\w-]|\.\w)",
    re.IGNORECASE,
)  # fmt: skip
_SAID_HOST = re.compile(
    r"((?i:\brunning on machine:\s|\b(?:host|node|server)_?name['\"]?\s{0,2}[:=]\s{0,2}['\"]?)|"
    r"\bnode=')(?!host-\d)([\w.-]{2,})"
)
"""Where a log or a framework says which host it is on."""
_NETWORK = re.compile(r"(?<![\w:.-])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_IP4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_IP6 = re.compile(r"(?<![\w:.])(?=[0-9a-fA-F:]*\d)"
                  r"(?=[0-9a-fA-F:]*:[0-9a-fA-F:]*:)"
                  r"[0-9a-fA-F:]{2,39}(?:%\w+)?(?![\w:])")  # fmt: skip
_QUOTED = re.compile(r"(?P<quote>[\"'`])(?P<path>(?:~|\.{0,2})/[^\"'`\n]{1,400})(?P=quote)")
_FRAME = re.compile(r"(?P<before>\bFile \")(?P<path>[^\"\n]{1,400})(?=\")")
_ABSOLUTE = re.compile(
    rf"(?:(?<![\w./~])|(?<=-[IL]))(?:~\w*|\.{{1,2}})?(?:(?<!:)/)?/(?!/){_CHARACTER}*(?:/{_CHARACTER}+)*/?"
)
_WINDOWS = re.compile(r"\b[A-Za-z]:\\[^\s'\"<>|]+")
_RELATIVE = re.compile(
    rf"(?<![\w/.+@%=~#$-]){_CHARACTER}+(?:/{_CHARACTER}+)*\.(?:{_FILES})(?!\(|[\w-]|\.\w)|"
    rf"(?<![\w/.+@%=~#$-]){_CHARACTER}+/{_CHARACTER}+\.(?:{_FILES})(?![\w-])"
)
PSEUDONYM = re.compile(r"(?:project|host|user|email|bucket|address|path)-\d+(?:\.\w+)?")
"""What stands for a name, with the suffix of a file."""
_KEPT_ADDRESSES = ("169.254.169.254",)
"""Google's metadata server, the same on every machine."""


def replaced(text: str, replace: Replace) -> str:
    """Return a text with a pseudonym for everything that has the shape of a name."""
    text = _BUCKET.sub(lambda match: _bucket(match, replace), text)
    text = _LINK.sub(lambda match: _link(match, replace), text)
    text = _EMAIL.sub(lambda match: replace("email", match[0]), text)
    text = _PROJECT.sub(lambda match: match[1] + replace("project", match[2]), text)
    text = _FRAME.sub(lambda match: match["before"] + path(match["path"], replace), text)
    text = _QUOTED.sub(
        lambda match: match["quote"] + path(match["path"], replace) + match["quote"], text
    )
    for pattern in (_WINDOWS, _ABSOLUTE, _RELATIVE):
        text = pattern.sub(lambda match: path(match[0], replace), text)
    text = _SAID_HOST.sub(lambda match: match[1] + _said(match[2], replace), text)
    text = _HOST.sub(lambda match: _host(match[0], replace), text)
    for pattern in (_NETWORK, _IP4, _IP6):
        text = pattern.sub(lambda match: address(match[0], replace), text)
    return text


def path(name: str, replace: Replace) -> str:
    """Return a path as it may be told: public, with a public end, or as a pseudonym."""
    trimmed = name.rstrip(".,:;")
    rest = name[len(trimmed) :]
    return _path(trimmed, replace) + rest if trimmed else name


def _path(name: str, replace: Replace) -> str:
    if _PUBLIC_FOLDERS.fullmatch(name) or _KEPT_FILES.fullmatch(name) or PSEUDONYM.fullmatch(name):
        return name
    if _FRAME_OF_PACKAGE.fullmatch(name):
        return name
    parts = _PYTHON.fullmatch(name)
    if parts and (end := _public_end(parts["rest"])):
        prefix = parts["prefix"]
        known = not prefix or _PUBLIC_FOLDERS.fullmatch(prefix) or PSEUDONYM.fullmatch(prefix)
        start = prefix if known else replace("path", prefix)
        return f"{start}/{parts['lib']}/{end}"
    suffix = _SUFFIX.search(name)
    return replace("path", name) + (suffix[0] if suffix else "")


def _public_end(rest: str) -> str | None:
    """Return the end of a path below a Python's library, where it is a public package's."""
    inside = _INSTALLED.sub("", rest, count=1)
    is_installed = inside != rest
    first = re.split(r"[/.-]", inside, maxsplit=1)[0]
    public = PACKAGES if is_installed else sys.stdlib_module_names | {"lib"}
    return rest if first in public and re.fullmatch(r"[\w./+-]+", rest) else None


def address(text: str, replace: Replace) -> str:
    """Return an address as it may be told: loopback and the metadata server stay."""
    try:
        one = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        is_network_card = _NETWORK.fullmatch(text) is not None
        return replace("address", text) if is_network_card else text
    # 0.12.0.1 is a version of JAX, not an address: nothing can be reached at 0.x.
    nobody = one.version == 4 and int(one) >> 24 == 0
    if one.is_loopback or one.is_unspecified or nobody or text in _KEPT_ADDRESSES:
        return text
    return replace("address", text)


def _bucket(match: re.Match[str], replace: Replace) -> str:
    if match["bucket"] in _BUCKETS:
        return match[0]
    start = match["scheme"] + replace("bucket", match["bucket"])
    below = (match["path"] or "").rstrip(".:")
    return start + (f"/{replace('path', below)}" if below.strip("/") else below)


def _link(match: re.Match[str], replace: Replace) -> str:
    name, port, below = match["host"], match["port"] or "", match["path"] or ""
    if below.split("/")[1:2] and below.split("/")[1] in _BUCKETS:
        return match[0]
    if _SITES.fullmatch(name):
        kept = below if _PUBLIC_PATH.fullmatch(below.partition("?")[0]) and "?" not in below else ""
        rest = kept or (f"/{replace('path', below)}" if below.strip("/") else below)
        return f"{match['scheme']}{name}{port}{rest}"
    if re.fullmatch(r"bucket-\d+|host-\d+", name):
        shown = name
    elif name in ("localhost",) or re.fullmatch(r"[\d.]+|\[.*\]", name):
        shown = address(name.strip("[]"), replace) if name != "localhost" else name
    else:
        shown = replace("host", name)
    rest = f"/{replace('path', below)}" if below.strip("/") else below
    return f"{match['scheme']}{shown}{port}{rest}"


def _said(name: str, replace: Replace) -> str:
    return name if _IP4.fullmatch(name) or name == "localhost" else replace("host", name)


def _host(name: str, replace: Replace) -> str:
    bare = name.rstrip(":")
    if _SITES.fullmatch(bare) or PSEUDONYM.fullmatch(bare):
        return name
    return replace("host", bare) + name[len(bare) :]
