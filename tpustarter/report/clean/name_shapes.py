"""The shapes of names: e-mails, buckets, projects, addresses, hosts, files and folders.

If in doubt, a text is replaced. The exceptions are listed in this module: public sites, folders
that every Linux has, Python's own library, and the packages whose frames a maintainer wants to
read.
"""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Callable

from tpustarter.machine import frameworks

Replace = Callable[[str, str], str]
"""Takes a kind and a name, and returns the pseudonym."""

_SITES = re.compile(
    r"(?:[\w-]+\.)*(?:github\.com|github\.io|jax\.dev|google\.com|google\.dev|googleapis\.com|"
    r"googlesource\.com|python\.org|pytorch\.org|tensorflow\.org|"
    r"openxla\.org|readthedocs\.io|kaggle\.com|huggingface\.co|anaconda\.org|"
    r"metadata\.google\.internal)",
    re.IGNORECASE,
)
"""Public hosts, which keep their names."""
_OWNERS = (
    r"(?:jax-ml|google|openxla|pytorch|google-pytorch|tensorflow|AI-Hypercomputer|googlecolab|"
    r"numpy|python|kubernetes|GoogleCloudPlatform|apple|skypilot-org|google-deepmind|keras-team|"
    r"huggingface|vllm-project|ray-project|Lightning-AI|marin-community)"
)
_BUCKETS = frozenset(
    (
        "jax-releases",
        "libtpu-releases",
        "libtpu-wheels",
        "pytorch-xla-releases",
        "pytorch-tpu-releases",
        "cloud-tpu-tpuvm-artifacts",
    )
)
"""Buckets that appear in public documentation."""
_PUBLIC_PATH = re.compile(rf"/{_OWNERS}(?:/[\w.#-]+)*/?|/tpu(?:/docs(?:/[\w.#-]+)*)?/?|/")
"""Paths on public sites that are kept; others may name a person, a project or a bucket."""
PACKAGES = frozenset(
    (
        "PIL",
        "absl",
        "accelerate",
        "chex",
        "clu",
        "datasets",
        "diffusers",
        "distrax",
        "easydel",
        "einops",
        "equinox",
        "etils",
        "flax",
        "google",
        "grain",
        "grpc",
        "haiku",
        "huggingface_hub",
        "jaxtyping",
        "kauldron",
        "keras_core",
        "levanter",
        "lightning",
        "maxtext",
        "ml_collections",
        "ml_dtypes",
        "nvidia",
        "opt_einsum",
        "optax",
        "orbax",
        "pandas",
        "peft",
        "pip",
        "pluggy",
        "pytest",
        "pytorch_lightning",
        "ray",
        "requests",
        "safetensors",
        "scipy",
        "seqio",
        "setuptools",
        "sklearn",
        "t5",
        "tensorboard",
        "tensorflow_datasets",
        "tensorstore",
        "tokenizers",
        "torchax",
        "torchvision",
        "tpu_info",
        "tpustarter",
        "tqdm",
        "transformers",
        "triton",
        "urllib3",
        "uv",
        "vllm",
        "wheel",
        "whisper_jax",
        *frameworks.DISTRIBUTIONS,
    )
)
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
"""Suffixes that a pseudonym keeps, because they show only a file's type."""

_FRAME_OF_PACKAGE = re.compile(
    r"(?:jax/(?:_src|experimental|interpreters)|jaxlib|libtpu|torch|torch_xla|torch_tpu|numpy)/"
    r"[\w./+-]+"
)
"""A package's module, as py-spy names it."""
_CHARACTER = r"[\w.+@%=~#$-]"
_FILES = (
    r"pyx?|ipynb|sh|bash|log|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|csv|tsv|npz|npy|pt|pth|"
    r"ckpt|bin|safetensors|parquet|tfrecords?|h5|hdf5|pkl|pickle|pem|key|crt|tar|gz|zip|whl|md|"
    r"proto|pb|textproto|mlir|hlo|so|pyz|sql|db"
)
_PUBLIC_FILES = re.compile(
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
_LINK = re.compile(
    r"(?P<scheme>\b(?:https?|grpcs?|ssh|git|ftp|tcp|dns)://(?:\[login\]@)?)"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?P<port>:\d+)?"
    r"(?P<path>/[^\s'\"`<>)\]]*)?"
)
_HOST = re.compile(
    r"(?<![\w./@-])(?:t1v-n-[\w-]+|gke-[\w-]{8,}|tpu-vm-[\w-]+|"
    r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|ai|dev|"
    r"internal|lan|corp|intranet|local\b(?=\.)))(?::(?=\d))?(?![\w-]|\.\w)",
    re.IGNORECASE,
)
_MESSAGE_HOST = re.compile(
    r"((?i:\brunning on machine:\s|\b(?:host|node|server)_?name['\"]?\s{0,2}[:=]\s{0,2}['\"]?)|"
    r"\bnode=')(?!host-\d)([\w.-]{2,})"
)
"""The words before a host's name in a log or a framework's message."""
_NETWORK = re.compile(r"(?<![\w:.-])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_IP4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_IP6 = re.compile(
    r"(?<![\w:.])(?=[0-9a-fA-F:]*\d)"
    r"(?=[0-9a-fA-F:]*:[0-9a-fA-F:]*:)"
    r"[0-9a-fA-F:]{2,39}(?:%\w+)?(?![\w:])"
)
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
_FAILED = r"['\"`]?,? (?:failed|fails|not found|was|is|has|does|could|cannot|can't|in which|not)\b"
"""Words after a name in a message, for names that may be common words."""
_NAME = r"[A-Za-z0-9][\w.:-]{2,62}"
_COMMON = (
    r"(?!(?:of|in|that|and|or|to|it|files?|names?|owners?|members?|roles?|access|setup|build|"
    r"check|code|list|load|update|upgrade|import|export|sync|start|test|tests|run|job|budget|"
    r"\w+(?:tion|sion|ment|ance|ence|ing|ity|ery))\b(?![.:-]\w))"
)
"""Excludes common words after "project" or "bucket", as in "project setup failed"."""
_UNCOMMON_NAME = r"(?=[\w.:-]*[\d-])" + _NAME + r"(?<![.:])"
"""A name that is not a common English word."""
_PERSON = r"[A-Za-z_][\w.+-]{0,31}"
_NAMES_IN_CONTEXT = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # Google Cloud: messages of its services and of gcloud
        rf"(?i:\bproject)[ #:=]{{1,2}}['\"`]?(?P<project>{_UNCOMMON_NAME})",
        rf"(?i:\bproject) ['\"`]?(?P<project>{_COMMON}{_NAME}){_FAILED}",
        rf"(?i:\bproject) (?P<quote>['\"`])(?P<project>{_NAME})(?P=quote)",
        r"(?i:\bproject[ _-]?(?:number|num|id)?)['\"]?[ :=#]{1,3}['\"]?(?P<project>\d{6,16})(?!\w)",
        rf"(?i:\bbucket(?:[ _-]?name)?)['\"]?[ :=]{{1,2}}['\"`]?(?P<bucket>{_UNCOMMON_NAME})(?!/)",
        rf"(?i:\bbucket) (?P<bucket>{_COMMON}{_NAME}){_FAILED}",
        rf"(?i:\bbucket) (?P<quote>['\"`])(?P<bucket>{_NAME})(?P=quote)",
        (
            r"(?<![\w-])gke_(?P<project>[a-z][a-z0-9.:-]{4,60})_[a-z]+-[a-z]+\d+(?:-[a-z])?"
            r"_(?P<host>[\w-]{1,64})"
        ),  # a kubectl context
        # ls -l, ps aux, ps -ef, top and id
        (
            rf"(?<![\w-])[-dlbcps][-rwxsStT]{{9}}[.+@]? +\d{{1,6}} +(?P<user>{_PERSON}) +"
            rf"(?P<user_2>{_PERSON}) +[\d,.]+[KMGT]? +(?:[A-Z][a-z]{{2}} +\d\d? +[\d:]{{4,5}}|"
            r"\d{4}-\d\d-\d\d [\d:.]+(?: [+-]\d{4})?) (?P<path>[^\n]{1,300})"
        ),
        rf"^[ \t]{{0,4}}(?P<user>{_PERSON}) +\d{{1,8}} +\d{{1,4}}\.\d +\d{{1,3}}\.\d +\d+ +\d+ ",
        (
            rf"^[ \t]{{0,4}}(?P<user>{_PERSON}) +\d{{1,8}} +\d{{1,8}} +\d{{1,3}} +"
            r"(?:\d\d:\d\d|[A-Z][a-z]{2} ?\d\d|\d{4}) "
        ),
        rf"^ {{0,8}}\d{{1,8}} (?P<user>{_PERSON}) +(?:rt|-?\d{{1,2}}) +-?\d{{1,2}} +[\d.]+[mgtp]? ",
        rf"(?:\b(?:e?[ug]id|groups)=|(?<=\)),)\d{{4,10}}\((?P<user>{_PERSON})\)",
        # prompts, scp and git
        r"(?<![\w.+-])git@[\w.-]{1,100}:(?P<path>[^\s'\"<>)\]]{1,300})",
        rf"(?<![\w.+@/-])(?P<user>{_PERSON})@(?P<host>\w[\w.-]{{0,62}})(?=:[~/$]|'s pass)",
        r"\bfile://(?:localhost)?(?P<path>/[^\s'\"<>)\]]{1,300})",
        # the ports of libtpu, of its metrics, of torch.distributed and of JAX
        (
            r"(?<![\w./@:-])(?P<host>(?!\S{1,99}\.(?:py|cc?|cpp|h|rs|go|js|cu):)[A-Za-z][\w-]{1,62}"
            r"(?:\.[\w-]{1,63}){0,8}):(?=(?:84[3-9]\d|8353|12355|29500)(?!\d))"
        ),
        # Weights & Biases
        rf"\blogged in as:? (?P<user>{_PERSON})(?: \((?P<user_2>{_PERSON})\))?",
        r"\bwandb: (?:[^\n]{0,120}? )??(?P<path>[A-Za-z][\w-]{1,63}/[A-Za-z][\w.-]+)(?=[\s,)]|$)",
    )
)
"""Contexts in which a text is a name. Each group is named after a kind, with a number if it
repeats."""
_SYSTEM_NAMES = frozenset(
    (
        "root",
        "nobody",
        "daemon",
        "adm",
        "sudo",
        "users",
        "wheel",
        "docker",
        "ubuntu",
        "systemd",
        "syslog",
        "messagebus",
        "localhost",
        "port",
        "pid",
        "line",
        "step",
        "steps",
        "tokens",
        "total",
        "count",
        "size",
        "global_step",
        "number",
    )
)
"""Names of users and groups that every machine has, and words before a number."""
PSEUDONYM = re.compile(r"(?:project|host|user|email|bucket|address|path)-\d+(?:\.\w+)?")
"""A pseudonym, possibly with a file suffix."""
_PUBLIC_ADDRESSES = ("169.254.169.254",)
"""Google's metadata server, which has this address on every machine."""


def replace_names(text: str, replace: Replace) -> str:
    """Return text in which everything with the shape of a name is a pseudonym."""
    for pattern in _NAMES_IN_CONTEXT:
        text = pattern.sub(lambda match: _replace_in_context(match, replace), text)
    text = _BUCKET.sub(lambda match: _replace_bucket(match, replace), text)
    text = _LINK.sub(lambda match: _replace_link(match, replace), text)
    text = _EMAIL.sub(lambda match: replace("email", match[0]), text)
    text = _PROJECT.sub(lambda match: match[1] + replace("project", match[2]), text)
    text = _FRAME.sub(lambda match: match["before"] + replace_path(match["path"], replace), text)
    text = _QUOTED.sub(
        lambda match: match["quote"] + replace_path(match["path"], replace) + match["quote"], text
    )
    for pattern in (_WINDOWS, _ABSOLUTE, _RELATIVE):
        text = pattern.sub(lambda match: replace_path(match[0], replace), text)
    text = _MESSAGE_HOST.sub(
        lambda match: match[1] + _replace_message_host(match[2], replace), text
    )
    text = _HOST.sub(lambda match: _replace_host(match[0], replace), text)
    for pattern in (_NETWORK, _IP4, _IP6):
        text = pattern.sub(lambda match: replace_address(match[0], replace), text)
    return text


def _replace_in_context(match: re.Match[str], replace: Replace) -> str:
    made, end = "", match.start()
    for group, name in match.groupdict().items():
        kind = group.partition("_")[0]
        if name is None or kind == "quote":
            continue
        made += match.string[end : match.start(group)]
        end = match.end(group)
        if kind == "path":
            made += replace_path(name, replace)
        elif name in _SYSTEM_NAMES or PSEUDONYM.fullmatch(name) or name in _BUCKETS:
            made += name
        else:
            made += replace(kind, name)
    return made + match.string[end : match.end()]


def replace_path(name: str, replace: Replace) -> str:
    """Return a path if it is public, or else a pseudonym, which may keep a public end."""
    trimmed = name.rstrip(".,:;")
    rest = name[len(trimmed) :]
    return _replace_trimmed_path(trimmed, replace) + rest if trimmed else name


def _replace_trimmed_path(name: str, replace: Replace) -> str:
    public = (_PUBLIC_FOLDERS, _PUBLIC_FILES, PSEUDONYM, _FRAME_OF_PACKAGE)
    if any(pattern.fullmatch(name) for pattern in public):
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
    """Return the end of a path in a Python's library, or None if it is in no public package."""
    inside = _INSTALLED.sub("", rest, count=1)
    is_installed = inside != rest
    first = re.split(r"[/.-]", inside, maxsplit=1)[0]
    public = PACKAGES if is_installed else sys.stdlib_module_names | {"lib"}
    return rest if first in public and re.fullmatch(r"[\w./+-]+", rest) else None


def replace_address(text: str, replace: Replace) -> str:
    """Return the pseudonym of an address; loopback, the metadata server and 0.x are kept."""
    try:
        one = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        is_network_card = _NETWORK.fullmatch(text) is not None
        return replace("address", text) if is_network_card else text
    # 0.12.0.1 is a version of JAX, not an address: nothing is reachable at 0.x.
    is_unroutable = one.version == 4 and int(one) >> 24 == 0
    if one.is_loopback or one.is_unspecified or is_unroutable or text in _PUBLIC_ADDRESSES:
        return text
    return replace("address", text)


def _replace_bucket(match: re.Match[str], replace: Replace) -> str:
    if match["bucket"] in _BUCKETS:
        return match[0]
    start = match["scheme"] + replace("bucket", match["bucket"])
    below = (match["path"] or "").rstrip(".:")
    return start + (f"/{replace('path', below)}" if below.strip("/") else below)


def _replace_link(match: re.Match[str], replace: Replace) -> str:
    name, port, below = match["host"], match["port"] or "", match["path"] or ""
    if below.split("/")[1:2] and below.split("/")[1] in _BUCKETS:
        return match[0]
    if _SITES.fullmatch(name):
        kept = below if _PUBLIC_PATH.fullmatch(below.partition("?")[0]) and "?" not in below else ""
        rest = kept or (f"/{replace('path', below)}" if below.strip("/") else below)
        return f"{match['scheme']}{name}{port}{rest}"
    if name == "localhost" or re.fullmatch(r"bucket-\d+|host-\d+", name):
        shown = name
    elif re.fullmatch(r"[\d.]+|\[.*\]", name):
        shown = replace_address(name.strip("[]"), replace)
    else:
        shown = replace("host", name)
    rest = f"/{replace('path', below)}" if below.strip("/") else below
    return f"{match['scheme']}{shown}{port}{rest}"


def _replace_message_host(name: str, replace: Replace) -> str:
    return name if _IP4.fullmatch(name) or name == "localhost" else replace("host", name)


def _replace_host(name: str, replace: Replace) -> str:
    bare = name.rstrip(":")
    if _SITES.fullmatch(bare) or PSEUDONYM.fullmatch(bare):
        return name
    return replace("host", bare) + name[len(bare) :]
