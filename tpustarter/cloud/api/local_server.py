"""A server on this machine that replaces Google's, in tests; one elsewhere is refused.

Google's own servers get the user's credentials, so no variable may send these anywhere else.
"""

from __future__ import annotations

import ipaddress
import os
import re

from tpustarter.core.problem import ExitCode, Problem


def find_local_server(variable: str) -> str | None:
    """Return `host:port` from a variable, None if unset; raises Problem for another machine."""
    address = os.environ.get(variable)
    if not address:
        return None
    host, _, port = address.rpartition(":")
    inner = re.fullmatch(r"\[([0-9a-f:]+)\]|([0-9.]+)", host)  # `::1:80` is a whole address of IPv6
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
