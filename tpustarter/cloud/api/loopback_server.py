"""A loopback server that replaces Google's in tests; any other address is refused.

Calls to Google's servers carry the user's credentials, so no variable may redirect them to another
machine.
"""

from __future__ import annotations

import ipaddress
import os
import re

from tpustarter.core.problem import ExitCode, Problem


def read_test_server(variable: str) -> str | None:
    """Return the `host:port` in a variable, or None if unset; raises Problem if not loopback."""
    address = os.environ.get(variable)
    if not address:
        return None
    host, _, port = address.rpartition(":")
    inner = re.fullmatch(r"\[([0-9a-f:]+)\]|([0-9.]+)", host)  # `::1:80` is a complete IPv6 address
    try:
        is_here = host == "localhost" or bool(
            inner and ipaddress.ip_address(inner[1] or inner[2]).is_loopback
        )
    except ValueError:
        is_here = False
    if is_here and port.isascii() and port.isdigit() and 0 < int(port) < 65536:
        return address
    raise Problem(
        f"`{variable}` is `{address}`, expected an address of this machine such as 127.0.0.1:8080",
        hint=f"unset {variable}",
        code=ExitCode.USAGE,
    )
