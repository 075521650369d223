"""gcloud's entry for a registry in Docker's configuration, ~/.docker/config.json.

    python -IB registry_sign_in.py take PATH HOST BEFORE    restore the host's entry

`gcloud auth configure-docker` creates the entry but cannot remove it, so this program does. Other
entries of the file are kept. The file holds no secret: Docker requests one from gcloud whenever it
needs it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

GCLOUD, NONE, ABSENT = "gcloud", "none", "absent"
"""A host's credential helper: gcloud, none, or none because the file is absent."""


def read_credential_helper(text: str | None, host: str) -> str:
    """Return the credential helper that Docker uses for a host.

    Raises:
        ValueError: The file is invalid.
    """
    if text is None:
        return ABSENT
    return str(_helpers(_fields(text)).get(host, NONE))


def remove_credential_helper(path: Path, host: str, before: str) -> None:
    """Restore a host's earlier credential helper; delete the file if it was absent and is empty."""
    if not path.exists():
        return
    fields = _fields(path.read_text(encoding="utf-8"))
    helpers = _helpers(fields)
    if helpers.get(host) != GCLOUD:
        return
    del helpers[host]
    if before not in (NONE, ABSENT):
        helpers[host] = before
    if helpers:
        fields["credHelpers"] = helpers
    else:
        del fields["credHelpers"]
    if fields or before != ABSENT:
        _write(path, json.dumps(fields, indent=2) + "\n")
    else:
        path.unlink()
        with contextlib.suppress(OSError):  # Docker keeps more in it once it has been used
            path.parent.rmdir()


def _fields(text: str) -> dict[str, object]:
    fields: object = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")
    return {**fields}


def _helpers(fields: dict[str, object]) -> dict[str, str]:
    helpers: object = fields.get("credHelpers") or {}
    if not isinstance(helpers, dict):
        raise ValueError("its `credHelpers` are no JSON object")
    return {**helpers}


def _write(path: Path, text: str) -> None:
    path = path.resolve()
    status = path.stat()
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    made = Path(file.name)
    made.chmod(status.st_mode & 0o7777)
    if os.geteuid() == 0:
        os.chown(made, status.st_uid, status.st_gid)
    made.replace(path)


if __name__ == "__main__":
    try:
        remove_credential_helper(Path(sys.argv[2]), *sys.argv[3:])
    except (OSError, ValueError) as error:
        sys.exit(f"`{sys.argv[2]}`: {error}")
