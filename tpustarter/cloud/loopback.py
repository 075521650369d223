"""A server on this machine that is asked in place of Google's, in tests; one elsewhere is refused.

Google's own servers get the user's credentials, so no variable may send these anywhere else.
"""

from __future__ import annotations

import ipaddress
import os

from tpustarter.problem import ExitCode, Problem


def endpoint(variable: str) -> str | None:
    """Return `host:port` from a variable, null if unset; raises Problem for one elsewhere."""
    address = os.environ.get(variable)
    if not address:
        return None
    host, _, port = address.rpartition(":")
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        is_here = False
    if is_here and port.isascii() and port.isdigit() and 0 < int(port) < 65536:
        return address
    raise Problem(
        f"`{variable}` is `{address}`, expected an address of this machine such as 127.0.0.1:8080",
        hint=f"unset {variable}",
        code=ExitCode.USAGE,
    )
