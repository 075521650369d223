"""The facts that Home shows of a Python that it has not started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tpustarter.tui.app.machine_label import MachineLabelText
from tpustarter.tui.app.settings import Settings
from tpustarter.tui.home.machine_facts import collect_machine_facts, python_version

PYTHONS = {
    "environment": ({"pyvenv.cfg": "version = 3.12.1\n", "bin/python": ""}, "3.12.1"),
    "by-name": ({"bin/python3.11": ""}, "3.11"),
    "by-library": ({"bin/python": "", "lib/python3.13/os.py": ""}, "3.13"),
    "two-libraries": (
        {"bin/python": "", "lib/python3.13/os.py": "", "lib/python3.9/os.py": ""},
        "version unknown",
    ),
    "shim": ({"bin/python3": "#!/usr/bin/env bash\nexec pyenv exec python3\n"}, "version unknown"),
    "nothing": ({}, "version unknown"),
}


@pytest.mark.parametrize("name", PYTHONS)
def test_version_is_whole_or_unknown(name: str, tmp_path: Path) -> None:
    """A version is read whole or not at all, never as just `3`."""
    files, expected = PYTHONS[name]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    program = next((file for file in files if file.startswith("bin/")), "bin/python")

    assert expected == python_version(tmp_path / program)


def test_variable_alone_is_no_tpu(tmp_path: Path) -> None:
    """With JAX_PLATFORMS=tpu and no chips, Home says how to go on without a TPU."""
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "tpu"}
    facts = collect_machine_facts(lay_out(tmp_path, env=env), Settings())
    (devices, said), (note, how), *others = facts.rows

    assert ("Devices", "Note") == (devices, note)
    assert "no TPU seen, JAX_PLATFORMS=tpu, which lets JAX use nothing else" == said
    assert "leave tpustarter with q, run `unset JAX_PLATFORMS` and start it again" in how
    assert MachineLabelText("no TPU seen", "", ("JAX_PLATFORMS=tpu",)) == facts.label
    assert (False, 0) == (facts.on_tpu, facts.chips)
    assert not any(
        "in use by" in text or "the TPU" in text for _, text in (*facts.rows[:1], *others)
    )


def test_tpu_selected_by_variable_is_shown(tmp_path: Path) -> None:
    """With `JAX_PLATFORMS=tpu` and chips present, Home shows the TPU."""
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "tpu"}
    facts = collect_machine_facts(lay_out(tmp_path, "v5e", chips=8, env=env), Settings())

    assert ("TPU", True, 8) == (facts.rows[0][0], facts.on_tpu, facts.chips)
