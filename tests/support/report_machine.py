"""A TPU VM with secrets everywhere, none of which a report may contain.

Each secret contains `NEEDLE`, or is one of `NEEDLES`, so that one search finds them all. They are
in variables, files, file names, process arguments, metadata, logs, check results, the names of host
and user, and in everything that a framework prints, returns and raises.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

from tests.support.fake_metadata import values
from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions
from tpustarter.machine import host

NEEDLE = b"zq7"
NEEDLES = (
    NEEDLE,
    b"10.77.66.55",
    b"2001:db8:77::66",
    b"42:01:0a:77:66:55",
    b"777666555444",
    base64.b64encode(b"zq7secret-of-a-variable").rstrip(b"=")[:-2],
)
"""Secrets in lowercase, in which the outputs are searched."""
USER, HOST, PROJECT, BUCKET = "zq7ada", "t1v-n-zq700aa-w-0", "zq7-lab-314", "zq7-bucket"
TOKENS = (
    "hf_zq7abcdefghijklmnop",
    "ghp_zq7abcdefghijklmnopqrstuvwxyz0123456",
    "ya29.zq7abcdefghijk-lm",
    "AKIAZQ7ABCDEFGHIJKLM",
    "eyJzq7abcdefghi.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
    "zq7secret-of-a-variable",
)
TEXTS = (
    *TOKENS,
    f"user {USER} on {HOST}: /home/{USER}/zq7run/zq7train.py line 3",
    f"saved to gs://{BUCKET}/zq7dir/zq7step_100.npz of projects/{PROJECT}/locations/us-central1-b",
    f"mail {USER}@example.com, zq7bot@{PROJECT}.iam.gserviceaccount.com",
    "connect 10.77.66.55:8471 or addr=10.77.66.55, [2001:db8:77::66]:80, 42:01:0a:77:66:55",
    'File "zq7module/zq7model.py", line 7, in step',
    f'File "/opt/{USER}/lib/python3.12/site-packages/zq7pkg/core.py", line 1 in f',
    "export WANDB_API_KEY=zq7abcdef0123456789 && psql --password zq7hunter2",
    "https://ada:zq7pass@zq7corp.example.com/zq7/path?token=zq7abc and ssh://zq7box/x",
    "-----BEGIN PRIVATE KEY-----\nzq7AAAABBBBCCCCDDDDEEEEFFFFGGGG0123\n-----END PRIVATE KEY-----",
    f"--project={PROJECT} --config=zq7secret.yaml dump=/zq7/dump:/zq7/other -I/zq7/include",
    "\x1b[31mzq7train.py\x1b[0m in ~/zq7dir and C:\\Users\\zq7ada\\x.py, projects/777666555444/x",
    "<zq7x.py>, (zq7y.ipynb), //zq7corp/zq7z.bin, open('/srv/zq7 my/zq7file.txt'), {zq7q.py:150}",
    "[/zq7/a.py](https://localhost:8080/#) gcloud storage cp gs://zq7-other/zq7 .; x=zq7.json",
    "Running on machine: zq7otherhost, project number 777666555444 or zq7-meta-1, zq7-gcloud-1",
    "zq7ADA".lower().upper() + f" {HOST.upper()} {PROJECT.upper()}",
    '"refresh_token": "1//0zq7AbCdEfGhIjKlMnOpQrSt" dckr_pat_zq7AbCdEfGhIjKlMnOpQ',
    "r8_zq7AbCdEfGhIjKlMnOpQ, ngrok authtoken 2zq7AbCdEfGhIjKlMnOpQr",
    "Set-Cookie: sid=zq7abc; a=zq7b",
    "curl -b sid=zq7abc https://h.example; curl -u ada:zq7pw https://h.example",
    "mysql -u root -pzq7pw; sshpass -p zq7pw ssh h; Uid=ada;Pwd=zq7pw; the password is zq7pw1",
    "https://storage.googleapis.com/b/o?X-Goog-Signature=zq7abcdef",
    "project zq7stranger failed, bucket 'zq7stranger', gke_zq7-strange_us-central1-a_zq7cluster",
    "zq7stranger@zq7strange:~$ id; uid=1001(zq7stranger) groups=1001(zq7stranger),4(adm)",
    "-rw-r--r-- 1 zq7stranger zq7group 4096 Nov 22 10:00 zq7file",
    "zq7stranger 4242 0.0 0.1 123456 7890 ? Sl 10:00 0:01 python",
    "git@github.com:zq7org/zq7repo.git file:///home/zq7stranger connect zq7strange:8470",
    "project number 777666555444, wandb: zq7entity/zq7project",
    "wandb: Currently logged in as: zq7stranger (zq7entity)",
)
"""Texts in the output of programs, in logs and in results."""

_HOSTILE_JAX = """
import json, os, sys
from types import SimpleNamespace
__version__ = "0.12.0.1"
config = SimpleNamespace(values={{}})
texts = json.loads(os.environ["ZQ7_TEXTS"])
print(*texts, sep="\\n")
print(*texts, sep="\\n", file=sys.stderr, flush=True)
client = SimpleNamespace(platform_version="\\n".join(texts))

def local_devices():
    {devices}
    return [SimpleNamespace(platform="cpu", device_kind=(texts or ["cpu"])[0], client=client)]

def device_count():
    return 1

process_count = device_count

def print_environment_info(return_string=False):
    lines = [f"{{name}}={{value}}" for name, value in os.environ.items()
             if name.startswith(("JAX_", "XLA_"))]
    return "\\n".join(["jax: 0.12.0.1", *texts, *lines])
"""
DEVICES = {
    "answers": "pass",
    "raises": 'raise RuntimeError("\\n".join(texts))',
    "hangs": "import time; time.sleep(600)  # until it is ended",
    "dies": "os._exit(3)",
}
"""Code that runs when JAX's devices are requested."""


def hostile_python(folder: Path, devices: str = "answers") -> Interpreter:
    """Create a Python whose JAX prints secrets, and whose devices work, raise, hang or die."""
    python = make_python(folder, jax="0.12.0.1", libtpu="0.0.50.1")
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "jax.py").unlink()
    (packages / "jax").mkdir()
    (packages / "jax/numpy.py").write_text("def ones(shape): return 1 / 0\n")
    claim = next(packages.glob("jax-*.dist-info"))
    (claim / "INSTALLER").write_text("zq7pip\n")
    (claim / "direct_url.json").write_text(
        json.dumps(
            {
                "url": f"https://{USER}@zq7corp.example.com/zq7/jax.git",
                "zq7": TOKENS[0],
                "vcs_info": {"vcs": "zq7", "requested_revision": "zq7-branch"},
            }
        )
    )
    for hidden in ("libtpu-0.0.17+zq7corp", "libtpu-zq7"):
        (packages / f"{hidden}.dist-info").mkdir()
    source = _HOSTILE_JAX.format(devices=DEVICES[devices])
    (packages / "jax/__init__.py").write_text(source)
    return Interpreter(python, "--python", read_framework_versions(folder))


def telling_machine(root: Path, home: Path, address: str, generation: str | None) -> host.Machine:
    """Lay out the machine, with the user's files below `home`.

    Args:
        root: The root of the machine.
        home: A folder that this process may write to and that the real Python reads.
        address: The address of the metadata server.
        generation: The generation of its chips, which a process uses; None for no chips.
    """
    holder = {
        "pid": 4242,
        "command": f"python /home/{USER}/zq7train.py --password zq7pass --id {TOKENS[3]}",
    }
    machine = lay_out(root, generation, chips=4, holder=holder if generation else None)
    (root / "etc/passwd").write_text(
        f"root:x:0:0::/root:/bin/sh\n{USER}:x:1000:1000::/home/{USER}:/bin/sh\n"
    )
    (root / "etc/hostname").write_text(f"{HOST}\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n10.77.66.55 zq7peer zq7peer.internal\n")
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/cpuinfo").write_text("model name\t: AMD EPYC zq7 Processor\n")
    (root / "proc/vmstat").write_text("oom_kill zq7\noom_kill 2\n")
    (root / "proc/uptime").write_text("7200.51 zq7\n")
    logs = root / "tmp/tpu_logs"
    logs.mkdir()
    log = "\n".join(TEXTS)
    for name in (
        f"tpu_driver.{HOST}.{USER}.log.INFO.20261122-101112.4242",
        "zq7own.log",
        "tpu_driver.zq7other.host.zq7bob.log.ERROR.20261122-101112.1",
    ):
        (logs / name).write_text(log)
    gcloud = home / ".config/gcloud/configurations"
    gcloud.mkdir(parents=True)
    (gcloud / "config_zq7").write_text(
        f"[core]\naccount = zq7bot@{PROJECT}.iam.gserviceaccount.com\nproject = zq7-gcloud-1\n"
    )
    env = {
        **machine.env,
        "HOME": str(home),
        "USER": USER,
        "LOGNAME": USER,
        "HOSTNAME": HOST,
        "GCE_METADATA_HOST": address,
        "PATH": "/usr/bin:/bin",
        "ZQ7_TEXTS": json.dumps(TEXTS),
        "HF_TOKEN": TOKENS[0],
        "NEUTRAL": TOKENS[1],
        "MY_SECRET": TOKENS[5],
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "TPU_NAME": "zq7-tpu",
        "BUCKET_URI": f"gs://{BUCKET}/x",
        "TPU_WORKER_HOSTNAMES": "10.77.66.55",
        "JAX_COORDINATOR_ADDRESS": "zq7peer:1234",
        "XLA_FLAGS": "--xla_dump_to=/zq7/dump --zq7_flag=1 --xla_cpu_enable=zq7",
        "LIBTPU_INIT_ARGS": "--xla_tpu_enable_x=zq7 zq7",
        "JAX_ZQ7_OPTION": "zq7",
        "JAX_COMPILATION_CACHE_DIR": "/zq7/cache",
        "TPU_ACCELERATOR_TYPE": "zq7-8",
        "JAX_ENABLE_X64": "zq7",
        "TPU_LIBRARY_PATH": "/zq7/libtpu.so",
        "LD_PRELOAD": "/zq7/x.so",
        "VIRTUAL_ENV": "/zq7/venv",
    }
    return host.Machine(machine.root, env)


def telling_metadata() -> dict[str, str]:
    """Return the metadata with secrets: attributes, and facts about the project."""
    kind = values("v5litepod-4")
    tpu_env = kind["attributes/tpu-env"] + "RUNTIME_VERSION: 'zq7-image'\nNODE_ID: 'zq7-tpu'\n"
    return {
        **kind,
        "attributes/tpu-env": tpu_env,
        "attributes/ssh-keys": f"{USER}:ssh-ed25519 zq7key",
        "/computeMetadata/v1/project/project-id": "zq7-meta-1",
        "/computeMetadata/v1/project/numeric-project-id": "777666555444",
        "name": HOST,
        "hostname": f"{HOST}.us-central1-b.c.{PROJECT}.internal",
        "machine-type": "projects/1/machineTypes/zq7-machine",
        "service-accounts/default/email": f"zq7bot@{PROJECT}.iam.gserviceaccount.com",
    }


def telling_report(started: str = "2026-11-20T10:00:00+00:00") -> dict[str, Any]:
    """Return a stored report of a successful self-check, with secrets in all fields."""
    finding = {
        "code": "HOST-ZQ7",
        "name": TEXTS[6],
        "verdict": "warn",
        "found": TEXTS[7],
        "expected": TEXTS[8],
        "unit": "zq7",
        "entity": "zq7",
        "hint": TEXTS[9],
        "lesson": None,
    }
    return {
        "schema": "tpustarter.report/1",
        "tool": {"version": "zq7"},
        "started": started,
        "target": {
            "python": "/zq7/bin/python",
            "python_version": "3.9.zq7",
            "frameworks": {"jax": "zq7", "zq7pkg": "1.0"},
            "env": {"ZQ7": "zq7"},
            "settings": ["JAX_ZQ7"],
            "platform": "zq7",
            "kind": "zq7",
        },
        "host": {"chips": 3, "generation": "zq7"},
        "selection": {"level": "quick", "ids": ["zq7"]},
        "results": [
            {"id": "host.chips", "status": "zq7", "findings": [finding]},
            {"id": "host.zq7", "status": "fail", "findings": []},
        ],
        "verdict": "healthy",
        "verified_on": "tpu",
    }


def telling_summary() -> dict[str, Any]:
    """Return the stored summary of the last check, with secrets in all fields."""
    return {
        "when": "2026-11-20T10:00:00+00:00",
        "level": "quick",
        "ids": ["zq7"],
        "counts": {"pass": 1, "zq7": 2},
        "headline": " ".join(TEXTS),
        "verdict": "zq7",
        "verified_on": "tpu",
        "exit_code": 0,
    }


def found_in(data: bytes) -> list[bytes]:
    """Return the needles in some output, ignoring case."""
    small = data.lower()
    return [needle for needle in NEEDLES if needle.lower() in small]


if sys.platform == "win32":
    raise RuntimeError("it lays out a Linux machine")
