"""Runs a command on a machine that looks like a TPU VM: PCI, nodes, locks, and metadata.

    python tests/support/fake_tpu_vm.py SPEC -- COMMAND...    needs root, Linux, `unshare` and `ip`

SPEC is a generation with its number of chips, such as `v5e:8`, and any of these, after commas:
`nodev` (no device nodes), `mds` (a metadata server), `mds=I/N` (this is host I of N), `mdshang`
(one that never responds), `livelock`, `foreignlock`, `stalelock` (of libtpu), `user` (run as
nobody). Everything is in its own namespaces, which are removed afterwards. There are no chips, so
the real libtpu fails or hangs as it does on a broken machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

INSIDE = "TPUSTARTER_FAKE_VM"
NOBODY = 65534
AS_NOBODY = [
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--bounding-set=-all",
    "--",
]
WORK = Path("/run/tpustarter-fake")
LOCK = Path("/tmp/libtpu_lockfile")
ADDRESS = "169.254.169.254"


def main() -> int:
    """Enter the namespaces, lay out the machine, run the command, and print what is left."""
    spec, dashes, *command = sys.argv[1:]
    assert dashes == "--", __doc__
    generation, *options = spec.split(",")
    network = any(option.startswith("md") for option in options)
    if os.environ.get(INSIDE) != "1":
        words = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", *(["-n"] * network)]
        inside = [*words, "--", sys.executable, *sys.argv]
        os.execvpe("unshare", inside, {**os.environ, INSIDE: "1"})
    mount("--make-rprivate", "/")
    WORK.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "none", WORK)
    name, _, chips = generation.partition(":")
    own_tmp()
    lay_out_pci(name, int(chips or 4))
    own_dev(name, 0 if "nodev" in options else int(chips or 4))
    helpers = [start_lock(options), start_metadata(name, int(chips or 4), options)]
    env = {key: value for key, value in os.environ.items() if key != INSIDE}
    if "user" in options:
        home = WORK / "home"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        env |= {"HOME": str(home), "TPUSTARTER_HOME": str(home / "state")}
        command = [*AS_NOBODY, *command]
    code = subprocess.run(command, env=env, check=False).returncode
    for helper in filter(None, helpers):
        helper.kill()
    tell_what_is_left()
    return code


def mount(*words: object) -> None:
    """Run `mount` inside this namespace."""
    subprocess.run(["mount", *map(str, words)], check=True)


def own_tmp() -> None:
    """Give /tmp its own lock file and logs, and keep its other entries."""
    old, entries = WORK / "tmp", sorted(Path("/tmp").iterdir())
    old.mkdir()
    mount("--bind", "/tmp", old)
    mount("-t", "tmpfs", "none", "/tmp")
    Path("/tmp").chmod(0o1777)
    for entry in entries:
        was = old / entry.name
        if entry.name in ("libtpu_lockfile", "tpu_logs") or was.is_symlink():
            continue
        if was.is_dir():
            entry.mkdir()
        elif was.is_file():
            entry.touch()
        else:
            continue
        mount("--bind", was, entry)


def lay_out_pci(generation: str, chips: int) -> None:
    """Lay out TPU chips on PCI, as files."""
    from tests.support import machines

    pci = Path("/sys/bus/pci/devices")
    mount("-t", "tmpfs", "none", pci)
    device, subsystem = machines.PCI[generation]
    for index in range(chips):
        for function in range(2 if generation == "tpu7x" else 1):
            folder = pci / f"0000:00:{index + 4:02x}.{function}"
            folder.mkdir()
            ids = {"vendor": "0x1ae0", "device": device, "subsystem_device": subsystem}
            for name, value in {**ids, "numa_node": "-1"}.items():
                (folder / name).write_text(value + "\n")
            group = WORK / "groups" / str(index)
            group.mkdir(parents=True, exist_ok=True)
            (folder / "iommu_group").symlink_to(group)


def own_dev(generation: str, count: int) -> None:
    """Lay out a /dev with the nodes of `count` chips, as plain files that anybody may open."""
    dev = WORK / "dev"
    dev.mkdir()
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        (dev / name).touch()
        mount("--bind", f"/dev/{name}", dev / name)
    for name in ("pts", "shm"):
        (dev / name).mkdir()
        if Path(f"/dev/{name}").is_dir():
            mount("--bind", f"/dev/{name}", dev / name)
    (dev / "ptmx").symlink_to("pts/ptmx")
    for name in ("fd", "stdin", "stdout", "stderr"):
        (dev / name).symlink_to(f"/proc/self/fd/{name}" if name != "fd" else "/proc/self/fd")
    accel = generation in ("v2", "v3", "v4")
    nodes = [dev / f"accel{i}" if accel else dev / "vfio" / str(i) for i in range(count)]
    if count and not accel:
        nodes.append(dev / "vfio" / "vfio")
    for node in nodes:
        node.parent.mkdir(exist_ok=True)
        node.touch()
        node.chmod(0o666)
    mount("--rbind", dev, "/dev")


def start_lock(options: list[str]) -> subprocess.Popen[bytes] | None:
    """Create libtpu's lock file: held, foreign or stale."""
    if not {"livelock", "foreignlock", "stalelock"} & set(options):
        return None
    LOCK.touch()
    LOCK.chmod(0o666)
    if "foreignlock" in options:
        os.chown(LOCK, 12345, 12345)
        LOCK.chmod(0o600)
    if "livelock" not in options:
        return None
    hold = "import fcntl, time; f = open('/tmp/libtpu_lockfile', 'r+'); "
    hold += "fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); time.sleep(600)  # until it is ended"
    holder = subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    return holder


def start_metadata(
    generation: str, chips: int, options: list[str]
) -> subprocess.Popen[bytes] | None:
    """Start a metadata server at the real address, inside this network namespace."""
    asked = next((option for option in options if option.startswith("md")), None)
    if asked is None:
        return None
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "addr", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    hosts = WORK / "hosts"
    shutil.copy("/etc/hosts", hosts)
    with hosts.open("a") as file:
        file.write(f"{ADDRESS} metadata.google.internal metadata\n")
    mount("--bind", hosts, "/etc/hosts")
    words = [sys.executable, __file__, "serve", generation, str(chips), asked]
    server = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    return server


def serve(generation: str, chips: int, asked: str) -> None:
    """Run the metadata server of host I of N."""
    from tests.support import fake_metadata

    worker, _, hosts = asked.partition("=")[2].partition("/")
    total = chips * int(hosts or 1)
    kinds = {"v5e": f"v5litepod-{total}", "v6e": f"v6e-{total}"}
    bounds = {1: "1,1,1", 4: "2,2,1", 8: "2,4,1"}[chips]
    values = fake_metadata.values(
        kinds.get(generation, f"{generation}-{2 * total}"),
        worker=int(worker or 0),
        hosts=int(hosts or 1),
        bounds=bounds,
    )
    mode = "hang" if asked == "mdshang" else "ok"
    with fake_metadata.serve(values, mode, address=(ADDRESS, 80)):
        print(flush=True)
        time.sleep(3600)  # until it is ended


def tell_what_is_left() -> None:
    """Print our processes that still run, and our files of root's that are left in /tmp."""
    from tests.support.processes import until

    def left() -> list[str]:
        listing = subprocess.run(
            ["ps", "-eww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
        ).stdout
        return [line for line in listing.splitlines() if "probe.pyz" in line]

    with contextlib.suppress(AssertionError):  # what is there until then is left
        until(lambda: not left())
    files = [
        name.name for name in Path("/tmp").iterdir() if "tpu_logs" in name.name or name == LOCK
    ]
    print(f"left running: {left() or 'nothing'}; in /tmp: {files or 'nothing'}", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    sys.exit(main())
