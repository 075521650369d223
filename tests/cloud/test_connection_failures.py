"""Tests of the reasons why a worker was not reached, from the output of gcloud and ssh."""

from __future__ import annotations

import pytest

from tpustarter.cloud.jobs import connection_failures

GCLOUD = "ERROR: (gcloud.compute.tpus.tpu-vm.ssh) "
RETURNED = f"{GCLOUD}[/usr/bin/ssh] exited with return code [255].\n"


@pytest.mark.parametrize(
    ("code", "tail", "expected"),
    [
        (
            255,
            "ssh: connect to host 192.0.2.4 port 22: Connection timed out\n" + RETURNED,
            "nothing answers on port 22",
        ),
        (255, "ssh: connect to host 192.0.2.4 port 22: Operation timed out", "nothing answers"),
        (
            255,
            "Error while connecting [4003: 'failed to connect to backend'].\n"  # noqa: ISC004
            "kex_exchange_identification: Connection closed by remote host\n",
            "IAP lets you in",
        ),
        (
            1,
            f'{GCLOUD}This TPU has terminal state "PREEMPTED", so it cannot be used anymore.',
            "the TPU is PREEMPTED and never comes back",
        ),
        (
            1,
            f'{GCLOUD}This TPU has state "STOPPED", so it cannot be currently connected to.',
            "the TPU is STOPPED",
        ),
        (1, f"{GCLOUD}Currently unable to connect to this TPU using IAP tunneling.", "through IAP"),
        (255, "me@192.0.2.1: Permission denied (publickey).\n" + RETURNED, "accepts neither"),
        (255, "Host key verification failed.\n", "its host key is not the one"),
        (255, "ssh: connect to host 192.0.2.1 port 22: Connection refused\n", "doesn't accept SSH"),
        (255, "step 7\nTimeout, server 192.0.2.1 not responding.\n", "was lost: "),
        (255, "step 7\nclient_loop: send disconnect: Broken pipe\n", "was lost: "),
        (255, "step 7\n", "ended with 255, which is what ssh ends with"),
        (2, f"{GCLOUD}unrecognized arguments: --x\n", "gcloud ended with 2: ERROR: (gcloud."),
    ],
)
def test_every_connection_failure_is_explained(code: int, tail: str, expected: str) -> None:
    """Every connection failure is explained, even after output of the user's own."""
    reason = connection_failures.explain_failure(code, "loss 0.1\n" * 50 + tail)

    assert reason
    assert expected in reason.what
    assert reason.what.startswith(("was not reached: ", "was lost: ", "ended with "))


@pytest.mark.parametrize(
    ("code", "tail"),
    [
        (0, RETURNED),
        (1, "Permission denied (publickey)\n"),
        (3, "Resource x was not found\n"),
        (137, ""),
    ],
)
def test_message_of_command_itself_is_not_explained(code: int, tail: str) -> None:
    """A message of the user's own command is not explained as a connection failure."""
    assert connection_failures.explain_failure(code, tail) is None
