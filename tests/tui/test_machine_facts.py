"""The facts about this machine that Home shows."""

from __future__ import annotations

from pathlib import Path

from tests.support.machines import lay_out
from tpustarter.tui.app.machine_label import MachineLabelText
from tpustarter.tui.app.settings import Settings
from tpustarter.tui.home.machine_facts import collect_machine_facts


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


def test_python_without_version_is_shown(tmp_path: Path) -> None:
    """A Python whose version only a start of it would tell is shown without one."""
    shim = tmp_path / "env/bin/python"
    shim.parent.mkdir(parents=True)
    shim.write_text("#!/bin/sh\nexec pyenv exec python3\n")
    shim.chmod(0o755)
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "VIRTUAL_ENV": str(tmp_path / "env")}
    facts = collect_machine_facts(lay_out(tmp_path / "root", env=env), Settings())

    assert "version unknown  ~/env/bin/python (active environment)" == dict(facts.rows)["Python"]
