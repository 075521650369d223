"""Hostile text for searches: the cost grows linearly with the length."""

from __future__ import annotations

import pytest

from tests.support.processes import in_bounded_time
from tpustarter.core.redact import Redactor
from tpustarter.probe.rehearse import hlo


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "x-",
        "a.b@",
        "token ",
        "eyJ",
        "-----BEGIN KEY",
        "secret=",
        "--token-",
        "http://a:",
        "sk-",
        "--a-b",
        "jfrog a1b2c3d4e5f6g7h8",
        "a1b2c3d4e5f6g7h8i9 ",
        "T1a2b3c4d5e6f7g8h9.",
        "aws key 'a1b2c3d4e5f6g7h8'",
        "0123456789abcdef",
        "://",
        "authorization: ",
        "curl ",
        "curl -u a",
        "curl -b ",
        "mysql ",
        "sshpass -p",
        "wandb login ",
        "cookie: a",
        "machine a login ",
        "password is ",
        "x-goog-signature=",
        "&sig=",
        '"key": "',
        "1//0",
        "pwd=",
        "machine a ",
        "docker login ",
        "ldapsearch ",
        "-----BEGIN SSH2 PRIVATE KEY-----",
        "Private-Lines: 1 a",
        "gsk_",
        "gsk_a-b-",
        "pat0123456789abcd.",
        "MT0123456789012345678901.",
        "abc8Q~",
        "http://a:b/",
        "a:*:b:c:",
        "$6$",
        "discord.com/api/webhooks/1/",
        "eyJhcGlfYWRkcmVzcyI6",
        "secret_a_",
    ],
)
def test_a_long_line_is_redacted_in_bounded_time(piece: str) -> None:
    """A block may print anything: no text makes the patterns search for ever."""
    with in_bounded_time():
        Redactor({}).redact_text(piece * (256 * 1024 // len(piece)))


@pytest.mark.parametrize(
    "piece", ["(", "{", '"', "a[", "a[]{", "%", "\\", "0", "{0", "=", '{"', "T("]
)
def test_hostile_lines_take_no_longer_than_their_length(piece: str) -> None:
    """Pieces without an end, at each place of a line, are read in one go."""
    run = piece * 200_000
    texts = [
        f"HloModule m, entry_computation_layout={{({run}",
        f'ENTRY %e {{\n  %a = f32[2]{{0}} add(%a), metadata={{op_name="{run}',
        f"ENTRY %e {{\n  %a = f32[2]{{0}} add(%a), output_to_operand_aliasing={{{run}",
        f'ENTRY %e {{\n  %a = f32[2]{{0}} add(%a), "aliasing_operands":{run}',
        f"ENTRY %e {{\n  %a = {run} while({run}), body=%{run}",
        f"ENTRY %e {{\n  ROOT %a = ({run}) tuple({run})",
        f"StackFrames\n1 {run}",
    ]

    assert {0} == {len(hlo.parse_program(text).arguments) for text in texts}
