"""Errors of libraries: which one, which function, and the condition in its source."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support.failures import explain
from tpustarter.core.problem import Problem
from tpustarter.explain import (
    explanation_document,
    explanation_text,
    known_failures,
    library_errors,
    program_python,
)
from tpustarter.explain.library_errors import find_library_of_file
from tpustarter.explain.tracebacks import Traceback, TracebackFrame

SOURCE = '''"""Glue."""


def stir(pot, spoon):
    """Stir a pot. It takes a while.

    Raises:
        ValueError: The spoon is longer
            than the pot.
    """
    if pot is None:
        raise TypeError(f"no pot at all, got {pot}")
    _check_spoon(
        pot,
        spoon,
    )


def _check_spoon(pot, spoon):
    for part in spoon:
        if part not in pot.parts:
            raise ValueError(
                f"the part {part} of the spoon "
                f"does not fit the pot {pot}")
    assert spoon, "an empty spoon"
    try:
        pot.open()
    except KeyError:
        raise RuntimeError("the pot is locked for good")


class Pot:
    def stir(self):
        return self
'''
SPOON = "ValueError: the part 3 of the spoon does not fit the pot P"


def written(tmp_path: Path, text: str = SOURCE) -> Path:
    """Return a Python folder in which a library is installed."""
    folder = tmp_path / "env/lib/python3.12/site-packages/glue"
    folder.mkdir(parents=True)
    (folder / "core.py").write_text(text)
    return tmp_path / "env"


def raised(env: Path | str, error: str, line: int, name: str = "_check_spoon") -> Traceback:
    """Return a traceback that ends in the library."""
    file = f"{env}/lib/python3.12/site-packages/glue/core.py"
    own = TracebackFrame("/home/ann/train.py", 3, "<module>", "stir(a, b)")
    return Traceback(
        (own, TracebackFrame(file, 13, "stir"), TracebackFrame(file, line, name)), error, 9
    )


@pytest.mark.parametrize(
    ("error", "line", "condition"),
    [
        (SPOON, 22, "part not in pot.parts"),
        ("glue.core.ValueError: the part 3 of the spoon does not fit", 99, "part not in pot.parts"),
        ("AssertionError: an empty spoon", 25, "not (spoon)"),
        ("RuntimeError: the pot is locked for good", 29, "except KeyError"),
        ("ValueError: something else entirely", 22, ""),
        ("IndexError: the part 3 of the spoon", 22, ""),
    ],
)
def test_condition_comes_from_the_raising_statement(
    tmp_path: Path, error: str, line: int, condition: str
) -> None:
    """The condition is found by the statement's text, even if another version moved the line."""
    found = library_errors.find_library_error(raised(written(tmp_path), error, line))

    assert found
    assert ("glue", "_check_spoon") == (found.library, found.function)
    assert f"glue/core.py, line {line}" == found.place
    assert "train.py, line 3: stir(a, b)" == found.caller
    assert condition == found.condition
    assert bool(condition) == bool(found.source)


def test_neighbouring_packages_are_named() -> None:
    """An error between two packages is of their versions; Python itself is none of them."""
    frames = [
        TracebackFrame(f"/v/lib/python3.12/{file}", 3, "call")
        for file in (
            "site-packages/jax/a.py",
            "site-packages/qwix/a.py",
            "asyncio/runners.py",
            "site-packages/flax/a.py",
        )
    ]
    found = library_errors.find_library_error(Traceback(tuple(frames), "AttributeError: x", 9))

    assert found
    assert ("flax", "qwix", "jax") == found.packages
    shown = [
        one.text for one in explanation_text.describe_library_error("AttributeError: x", found)
    ]
    assert any("`flax`, `qwix` and `jax`" in text for text in shown)


def test_documentation_is_of_the_public_function(tmp_path: Path) -> None:
    """The sentence on the exception comes before the first one."""
    env = written(tmp_path)
    found = library_errors.find_library_error(raised(env, SPOON, 22))
    assert found
    assert "stir" == found.documented
    assert "ValueError: The spoon is longer than the pot." == found.documentation
    other = library_errors.find_library_error(raised(env, "AssertionError: an empty spoon", 25))
    assert other
    assert "Stir a pot." == other.documentation


def test_source_is_found_in_the_tested_python(tmp_path: Path) -> None:
    """A traceback of another machine names a path that is not here."""
    env = written(tmp_path)
    traceback = raised("/nowhere", SPOON, 22)

    away = library_errors.find_library_error(traceback)
    here = library_errors.find_library_error(traceback, [env])
    assert away
    assert here
    assert ("", "part not in pot.parts") == (away.condition, here.condition)


@pytest.mark.parametrize("text", ["def _check_spoon(:\n    raise", "\0", ""])
def test_unreadable_source_leaves_library_named(tmp_path: Path, text: str) -> None:
    """If a library's source can't be parsed, only the name of the library is reported."""
    found = library_errors.find_library_error(raised(written(tmp_path, text), SPOON, 22))

    assert found
    assert ("glue", "") == (found.library, found.condition)


def test_source_is_never_run(tmp_path: Path) -> None:
    """A log may name any file."""
    mark = tmp_path / "ran"
    text = f"open({str(mark)!r}, 'w')\n{SOURCE}"
    found = library_errors.find_library_error(raised(written(tmp_path, text), SPOON, 23))

    assert found
    assert found.condition
    assert not mark.exists()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/ann/train.py", ""),
        ("train.py", ""),
        ("<stdin>", ""),
        ("/home/ann/vllm/serve.py", ""),
        ("/home/ann/maxtext/train.py", ""),
        ("/v/lib/python3.12/site-packages/jax/_src/core.py", "jax"),
        ("~/.local/lib/python3.10/site-packages/optax/_src/base.py", "optax"),
        ("/usr/local/lib/python3.11/dist-packages/torch/cuda/__init__.py", "torch"),
        ("/v/lib/python3.12/site-packages/six.py", "six"),
        ("C:\\v\\Lib\\site-packages\\torch\\a.py", "torch"),
        ("/usr/lib/python3.10/json/decoder.py", "Python"),
        ("<frozen os>", "Python"),
        ("/workspace/vllm/vllm/v1/core/kv_cache_utils.py", "vllm"),
        ("/workspace/tpu_inference/tpu_inference/utils.py", "tpu_inference"),
        ("/home/ann/maxtext/src/MaxText/train.py", "MaxText"),
        ("/home/ann/maxtext/src/maxtext/utils/a.py", "maxtext"),
        ("/app/tunix/cli/utils/data.py", "tunix"),
        ("/deps/src/maxtext/train.py", "maxtext"),
        ("/app/train.py", ""),
        ("/app/glue/pot.py", ""),
    ],
)
def test_path_names_its_library(file: str, expected: str) -> None:
    """A clone of a library counts, and a folder that only has its name does not."""
    assert expected == find_library_of_file(file)[0]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (TracebackFrame("/v/bin/vllm", 10, "<module>"), False),
        (TracebackFrame("/v/bin/vllm", 10, "<module>", "sys.exit(main())"), False),
        (TracebackFrame("/home/ada/bin/train", 3, "<module>", "step(x)"), True),
        (TracebackFrame("/home/ada/bin/train", 9, "main", "step(x)"), True),
        (TracebackFrame("uvloop/loop.pyx", 1515, "run_until_complete"), False),
        (TracebackFrame("<string>", 261, "__init__"), False),
        (TracebackFrame("<string>", 1, "<module>"), True),
        (TracebackFrame("/home/ada/bin/train.py", 3, "<module>"), True),
        (TracebackFrame("train.py", 3, "__init__"), True),
    ],
)
def test_generated_and_installed_code_is_not_yours(frame: TracebackFrame, expected: bool) -> None:
    """Installed, generated and compiled code, as in a server's traceback, isn't the user's."""
    assert expected == library_errors.is_user_frame(frame)


def test_library_error_is_no_program_mistake(tmp_path: Path) -> None:
    """A library error names the library, function and condition instead of a program mistake."""
    file = f"{written(tmp_path)}/lib/python3.12/site-packages/glue/core.py"
    found = explain(
        "Traceback (most recent call last):\n"
        '  File "/home/ann/train.py", line 3, in <module>\n    stir(a, b)\n'
        f'  File "{file}", line 22, in _check_spoon\n    raise ValueError(\n{SPOON}\n'
    )
    shown = explanation_text.render_explanation(found)
    document = explanation_document.make_json_document(found)
    schema = resources.files("tpustarter.explain").joinpath("schema.json").read_text()
    jsonschema.validate(document, json.loads(schema))

    assert "a mistake in the program" not in shown
    assert "part not in pot.parts" == document["raised"]["condition"]
    assert "if      part not in pot.parts\n" in shown
    assert len(shown.split()) <= 150


def test_error_with_hidden_jax_frames_is_jax(tmp_path: Path) -> None:
    """The last frame is the user's, and did not raise it."""
    found = explain(
        "Traceback (most recent call last):\n"
        '  File "/home/ann/train.py", line 3, in <module>\n    jax.stir(a)\n'
        "ValueError: a pot of another kind\n--------------------\n"
        "For simplicity, JAX has removed its internal frames from the traceback\n"
    )

    assert found.library
    assert ("jax", "train.py, line 3: jax.stir(a)") == (found.library.library, found.library.caller)


FRAMES = (
    "Traceback (most recent call last):\n"
    '  File "/home/ann/train.py", line 3, in <module>\n    spawn(f)\n'
)
MULTIPROCESSING = '  File "/usr/lib/python3.10/multiprocessing/process.py", line 3, in _run\n'
CLICK = '  File "/v/lib/python3.10/site-packages/click/core.py", line 1157, in __call__\n    a(\n'


@pytest.mark.parametrize("above", ["", "ERROR: warm-up failed\n", "RuntimeError: no device\n"])
@pytest.mark.parametrize("frame", [MULTIPROCESSING, CLICK, "", '  File "/v/lib/python3.1'])
def test_cut_off_traceback_names_no_raiser(above: str, frame: str) -> None:
    """The last frame that is left only made the next call."""
    found = explain(f"{above}{FRAMES}{frame}")
    shown = explanation_text.render_explanation(found)

    assert found.library is None
    assert found.mistake is None
    assert found.is_cut
    assert "cut off" in shown
    assert "raised" not in shown


def test_complete_traceback_above_is_named() -> None:
    """The error of the complete traceback is named, even if another one is cut off."""
    error = "ValueError: a pot of another kind"
    found = explain(f"{FRAMES}{CLICK}{error}\n\nAnother exception occurred:\n\n{FRAMES}")

    assert found.library
    assert ("click", error) == (found.library.library, found.last_error)


def test_named_error_is_the_raised_one() -> None:
    """The named error is the one that was raised, not the launcher's message below it."""
    error = "ValueError: a pot of another kind"
    found = explain(f"{FRAMES}{CLICK}{error}\nlauncher: worker 3 failed\n")

    assert found.library
    assert error == found.last_error


@pytest.mark.parametrize(
    ("log", "python"),
    [
        ('File "/h/v/lib/python3.12/site-packages/jax/a.py", line 3', "/h/v/bin/python"),
        ("/opt/x/lib/python3.10/site-packages/a.py:3: UserWarning", "/opt/x/bin/python"),
        ("File ~/.venv/lib/python3.11/site-packages/a.py:3, in f", "~/.venv/bin/python"),
        ("/home/u/.local/lib/python3.10/site-packages/a.py", "python3.10"),
        ("/usr/local/lib/python3.11/dist-packages/a.py", "python3.11"),
        ("/usr/lib/python3/dist-packages/a.py", "python3"),
        ("/x;id|sh/lib/python3.11/site-packages/a.py", ""),
        ("ERROR: Could not find a version that satisfies the requirement torch_xla~=2.3.0", ""),
        ('File "/usr/lib/python3.10/json/decoder.py", line 3', ""),
    ],
)  # fmt: skip
def test_log_names_its_python(log: str, python: str) -> None:
    """The packages in a log identify its Python; the standard library doesn't."""
    assert python == program_python.find_program_python(log)


@pytest.mark.parametrize(
    ("name", "mode", "is_found"),
    [("bin", 0o755, True), ("bin", 0o777, False), ("shims", 0o755, False)],
)
def test_replaceable_python_or_shim_is_not_started(
    name: str, mode: int, is_found: bool, tmp_path: Path
) -> None:
    """Whoever wrote the log may have put one there; a shim starts any Python, or none."""
    folder = tmp_path / "env" / name
    folder.mkdir(parents=True)
    (folder / "python").write_text("#!/bin/sh\n")
    (folder / "python").chmod(0o755)
    folder.chmod(mode)

    assert is_found == (program_python.locate_python(str(folder / "python")) is not None)


@pytest.mark.parametrize(
    ("fix", "named", "unnamed"),
    [
        (
            'PYTHON -m pip install -U "jax[tpu]"',
            '/v/bin/python -m pip install -U "jax[tpu]"',
            'In the Python of this program, run `python -m pip install -U "jax[tpu]"`.',
        ),
        (
            "JAX_PLATFORMS=tpu,cpu PYTHON -c 1",
            "JAX_PLATFORMS=tpu,cpu /v/bin/python -c 1",
            "In the Python of this program, run `JAX_PLATFORMS=tpu,cpu python -c 1`.",
        ),
        ("No action is needed.", "No action is needed.", "No action is needed."),
    ],
)
def test_command_acts_on_named_python_only(fix: str, named: str, unnamed: str) -> None:
    """A fix uses the Python that the log names, and none if it names none."""
    assert named == program_python.fill_in_python(fix, "/v/bin/python")
    assert unnamed == program_python.fill_in_python(fix, "")
    assert not unnamed.startswith("In ") or not known_failures.is_fix_command(unnamed)


def test_unusable_library_row_is_named(tmp_path: Path) -> None:
    """An unusable row of libraries is one clear error."""
    file = tmp_path / "libraries.yml"
    file.write_text("- modules: [a]\n")

    with pytest.raises(Problem, match="the row `1`"):
        library_errors.read_libraries(file)
