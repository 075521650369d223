"""`tpustarter trc`: reads a grant, keeps it, shows it, changes it and forgets it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.processes import HANG_S
from tests.support.terminal import terminal
from tpustarter.cli.tpu import trc as command
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import WIDTH

MAIL = """Dear Jo,

> **64 spot Cloud TPU v6e chips in zone us-east1-d**
>
> 32 on-demand Cloud TPU v4 chips in zone us-central2-b

free of charge for 30 days. Your account is jo@example.com, project my-secret-project.
"""


def trc(*arguments: str, typed: str | bytes | None = None) -> Result:
    """Run the command where there is no terminal."""
    return CliRunner().invoke(command.trc, arguments, input=typed)


def refusal(*arguments: str, typed: str | None = None) -> Problem:
    """Return the Problem that the command ends with."""
    error = trc(*arguments, typed=typed).exception

    assert isinstance(error, Problem)
    return error


def document(*arguments: str, typed: str | None = None) -> dict[str, Any]:
    """Return the JSON document of the command."""
    return json.loads(trc(*arguments, "--json", typed=typed).stdout)


@pytest.mark.parametrize("where", ["file", "stdin", "latin-1"])
def test_email_is_read_from_file_or_stdin(tmp_path: Path, where: str) -> None:
    """An e-mail is read from a file or stdin, and its lines are shown in 80 columns."""
    file = tmp_path / "mail.txt"
    file.write_text(MAIL)
    typed = MAIL.replace("Dear Jo", "Dear Zo\u00eb").encode("latin-1")
    done = (
        trc(str(file)) if where == "file" else trc("-", typed=MAIL if where == "stdin" else typed)
    )
    lines = done.stdout.splitlines()

    assert 0 == done.exit_code
    assert "  us-east1-d            64 v6e chips, spot" in lines
    assert "  us-central2-b         32 v4 chips, on demand" in lines
    assert any("https://cloud.google.com/vpc/network-pricing" in line for line in lines)
    assert [] == [line for line in lines if len(line) > WIDTH and "https://" not in line]


@pytest.mark.first_use
def test_only_grant_of_email_is_kept() -> None:
    """Only the grant of the e-mail is stored, not its project, address or text."""
    trc("-", typed=MAIL)
    folder = Path(os.environ["TPUSTARTER_HOME"])
    kept = "".join(file.read_text() for file in folder.rglob("*") if file.is_file())

    assert "us-east1-d" in kept
    for secret in ("Jo", "jo@example.com", "my-secret-project", "charge"):
        assert secret not in kept


def test_grant_is_shown_again_and_days_added() -> None:
    """If the end of a grant is unknown, the missing options are named."""
    trc("-", typed=MAIL)

    assert "`tpustarter trc` with `--start DAY`" in " ".join(trc().stdout.split())
    grant = document("--start", "2026-11-03")["grant"]
    assert ("2026-11-03", 30, "2026-12-03") == (grant["start"], grant["days"], grant["end"])
    assert grant == document()["grant"]


def test_typed_lines_replace_email() -> None:
    """Allowances given as options replace those of the e-mail."""
    trc("-", typed=MAIL)
    line = ("--allow", "v6e:16:spot:europe-west4-a")
    grant = document(*line, "--allow", "v2-8:5:on-demand:us-central1-f", "--days", "30")["grant"]

    assert [("v6e", 16, None), ("v2", 20, "v2-8")] == [
        (row["generation"], row["chips"], row["device"]) for row in grant["allowances"]
    ]
    assert [None, None] == [row["chips_in_use"] for row in grant["allowances"]]


def test_ended_grant_is_reported() -> None:
    """A grant that ended is reported with the date of its end."""
    done = trc("--allow", "v6e:16:spot:us-east1-d", "--start", "2020-01-01", "--days", "30")

    assert "It ended on 2020-01-31" in done.stdout
    assert document()["grant"]["ended"] is True


def test_grant_can_be_forgotten() -> None:
    """A grant can be deleted, and afterwards there is none to show or delete."""
    trc("-", typed=MAIL)

    assert "forgotten" in trc("--forget").stdout
    assert "no grant" in trc("--forget").stdout
    assert document("--forget")["grant"] is None
    assert "no terminal" in refusal().full_text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("no-such-file",), "cannot read"),
        (("/dev/zero",), "cannot read"),
        (("-", "--allow", "v6e:1:spot:us-east1-d"), "give the grant in one way only"),
        (("--forget", "-"), "cannot be combined with a file"),
        (("--allow", "v6e:64"), "not a line of a grant"),
        (("--allow", "v6e:0:spot:us-east1-d"), "not a number of chips"),
        (("--allow", "v6f:1:spot:us-east1-d"), "unknown TPU"),
        (("--allow", "v6e:1:free:us-east1-d"), "not a tier"),
        (("--allow", "v6e:1:spot:us-east1"), "not the name of a zone"),
        (("--allow", "v6e:1:spot:us-east1-d", "--start", "soon"), "not a day"),
        (
            ("--allow", "v6e:1:spot:us-east1-d", "--start", "9999-12-31", "--days", "3660"),
            "from 2000-01-01 to 2999-12-31",
        ),
        (("-",), "no line of a grant was found"),
    ],
)
def test_invalid_grant_is_refused_and_previous_kept(arguments: tuple[str, ...], word: str) -> None:
    """An invalid grant is one error, also as JSON, and the previous grant is kept."""
    trc("-", typed=MAIL)
    before = trc_grant.load_grant()

    assert word in refusal(*arguments, typed="nothing").full_text
    assert word in document(*arguments, typed="nothing")["error"]["what"]
    assert before == trc_grant.load_grant()


def test_terminal_asks_three_questions() -> None:
    """On a terminal three questions are asked, and other lines of a pasted e-mail are skipped."""
    with terminal("trc", drive="drive_cli.py", lines=100) as tty:
        tty.until(lambda text: text.rstrip().endswith("A line:"))
        tty.press(MAIL.replace("jo@example.com", "\nexit 3\n"))
        tty.until(lambda text: "which it began" in text)
        tty.press("2026-11-03\n")
        tty.until(lambda text: "For how many days" in text)
        tty.press("30\n")
        tty.until(lambda text: "What is billed all the same" in text)

        assert 0 == tty.process.wait(HANG_S)
    grant = trc_grant.load_grant()

    assert grant is not None
    assert (2, "2026-12-03") == (len(grant.allowances), str(grant.end))


def test_unread_email_leads_to_questions(tmp_path: Path) -> None:
    """An e-mail that can't be read leads to questions on a terminal, elsewhere to an error."""
    file = tmp_path / "mail.txt"
    file.write_text("You get sixty-four v6e chips in the zone us-east1-d")
    with terminal("trc", str(file), drive="drive_cli.py", lines=100) as tty:
        tty.until(lambda text: text.rstrip().endswith("A line:"))
        for answer in ("v6e:64:spot:us-east1-d", "", "2026-11-03", "30"):
            tty.press(f"{answer}\n")
        tty.until(lambda text: "What is billed all the same" in text)

        assert 0 == tty.process.wait(HANG_S)

    assert "--allow" in (refusal(str(file)).hint or "")
