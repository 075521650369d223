"""Detection of files that shadow modules of Python or of this program.

A `json.py` in a folder on PYTHONPATH is enough, or in the working directory with `python -m`. Then
no import can be trusted, so this module imports only what every Python loads at startup.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = frozenset(
    {
        *("click", "google", "markdown_it", "msgspec", "platformdirs", "plotext", "re2", "rich"),
        *("textual", "yaml"),
    }
)
"""Import names of the packages this program needs."""
CONFIGURATION = 78
"""`ExitCode.CONFIGURATION`, which cannot be imported if `enum` is shadowed."""


def exit_if_shadowed(error: BaseException) -> None:
    """Exit if an error was caused by a file that shadows a module; otherwise return.

    It exits at once, because any further import may hit the same file.
    """
    if what := describe_shadowing(error):
        os.write(2, f"{what}\n".encode(errors="replace"))
        os._exit(CONFIGURATION)


def describe_shadowing(error: BaseException) -> str:
    """Return the message for an error in which a shadowing file is involved.

    Empty for any other error: a shadowing file that was not imported breaks nothing.
    """
    met = {*_files_in(error), *_files_loaded()}
    for name, file in _shadows():
        if file in met:
            return (
                f"error: `{_plain(file)}` is imported in the place of the module `{name}`, and "
                f"tpustarter cannot run: {type(error).__name__}\n\n"
                "hint: rename this file, or leave its folder: `cd`, `unset PYTHONPATH`"
            )
    return ""


def _shadows() -> "Iterator[tuple[str, str]]":
    own = {os.path.realpath(folder) for folder in (sys.prefix, sys.base_prefix)}
    for entry in sys.path:
        folder = os.path.realpath(entry or os.curdir)
        if any(folder == one or folder.startswith(f"{one}/") for one in own):
            continue
        try:
            names = os.listdir(folder)  # noqa: PTH208  pathlib may be shadowed
        except OSError:
            continue  # or a zip file, in which nothing is shadowed by accident
        installed = {one.partition("-")[0].lower() for one in names if one.endswith("-info")}
        for name in names:
            stem = name.removesuffix(".py")
            is_wanted = stem in sys.stdlib_module_names or stem in PACKAGES - installed
            if is_wanted and (stem != name or _is_package(f"{folder}/{name}")):
                yield stem, f"{folder}/{name}" if stem != name else f"{folder}/{name}/__init__.py"


def _is_package(folder: str) -> bool:
    return os.path.isdir(folder)  # noqa: PTH112  pathlib may be shadowed


def _files_in(error: "BaseException | None") -> "Iterator[str]":
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            yield os.path.realpath(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        if isinstance(error, SyntaxError) and error.filename:
            yield os.path.realpath(error.filename)
        error = error.__cause__ or error.__context__


def _files_loaded() -> "Iterator[str]":
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            yield os.path.realpath(file)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
