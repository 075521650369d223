"""The numbers of `watch` beside those of tpu-info's own client, from the same server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.metrics_server import gauges, serve
from tpustarter.watch.metrics_service import make_message_classes

TIMEOUT_S = 600
ASK = """\
import json, sys
from tpu_info import device, metrics
from tpu_info.proto import tpu_metric_service_pb2 as service
address = sys.argv[1]
fields = {
    name: {field.name: [field.number, field.type] for field in message.fields}
    for name, message in service.DESCRIPTOR.message_types_by_name.items()
}
usage = metrics.get_chip_usage_new(device.TpuChip.V6E, addr=address)
bandwidth = metrics.get_runtime_hbm_utilization(addr=address)
print(json.dumps({"usage": usage, "bandwidth": bandwidth, "fields": fields}))
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has tpu-info, from the package index."""
    folder = tmp_path_factory.mktemp("tpu-info")
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], timeout=TIMEOUT_S, check=True)
    words = [str(python), "-m", "pip", "install", "-q", "tpu-info"]
    if subprocess.run(words, timeout=TIMEOUT_S, check=False).returncode:
        pytest.skip("This installs tpu-info from the package index, which was not reached.")
    return python


def ask(client: Path, port: int) -> dict[str, Any]:
    """Return tpu-info's reading of a port."""
    words = [str(client), "-c", ASK, f"localhost:{port}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert 0 == done.returncode, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("count", [1, 8, 64])
def test_numbers_are_those_of_tpu_info(client: Path, count: int) -> None:
    """Memory, duty cycle and bandwidth of each device."""
    served = gauges(
        count,
        used_gib=[n / 3 for n in range(count)],
        duty=[1.5 * n for n in range(count)],
        bandwidth=[n / 7 for n in range(count)],
    )
    with serve(served) as port:
        theirs = ask(client, port)
        words = [sys.executable, "-m", "tpustarter", "watch", "--json", "--port", str(port)]
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=True)
    ours = json.loads(done.stdout)["devices"]
    names = ("device", "memory_used_bytes", "memory_total_bytes", "duty_cycle_percent")

    assert count == len(ours)
    assert theirs["usage"] == [[one[name] for name in names] for one in ours]
    assert theirs["bandwidth"] == [[one["device"], one["memory_bandwidth_percent"]] for one in ours]


def test_messages_are_those_of_tpu_info(client: Path) -> None:
    """Each field has the number and the type that the published protocol gives it."""
    with serve(gauges(1, bandwidth=1)) as port:
        published = ask(client, port)["fields"]

    for name, kind in make_message_classes().items():
        own = {field.name: [field.number, field.type] for field in kind.DESCRIPTOR.fields}
        assert own == {field: published[name].get(field) for field in own}
