"""Active settings, each reported with its effect before claims are judged under it.

The rule to know: a setting is not a mistake, so none of these findings is a warning. If a claim
fails with a setting and holds without it, the claim's own finding says so.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from tpustarter.checks.host import _options, _settings
from tpustarter.machine import frameworks
from tpustarter.probe.finding import Finding, Hint

_FLAG = re.compile(r"--(xla_\w+)(?:=([\w.+-]{1,40})(?=\s|$))?")
_WORD = re.compile(r"[\w.+-]{1,40}")
OTHER = "affects speed, memory, logs or internals of JAX, but no documented result"
EXTRA_VARIABLES = ("JAX_SLICE_INDEX", "JAX_PARTITION_INDEX", "JAX_PALLAS_DUMP_PROMELA_TO")
"""Variables that JAX reads although they are not options."""


def findings(env: Mapping[str, str]) -> Iterator[Finding]:
    """Yield every option and flag that is set to a value other than JAX's default."""
    refused = {setting.name for setting in _settings.refused(env)}
    for name in sorted(name for name in env if env[name] and name not in refused):
        text = _options.RESULTS.get(name) or _options.REFUSALS.get(name)
        if text and not _is_default(name, env[name]):
            yield _setting(name, text, env[name] if _WORD.fullmatch(env[name]) else "set")
        elif name in _others() and not _is_place(name):
            yield _setting(name, OTHER, "set")
        elif name.startswith("JAX_") and not _is_known(name):
            near = get_close_matches(name, all_options(), n=1)
            yield _setting(name, "is not a setting that tpustarter knows", "set", *near)
    for variable in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        for flag, value in _FLAG.findall(env.get(variable, "")):
            if flag in _options.FLAGS:
                actual = f"--{flag}={value}" if value else f"--{flag}"
                yield _setting(variable, _options.FLAGS[flag], actual)


def _setting(name: str, text: str, actual: str, near: str | None = None) -> Finding:
    hint = Hint.run(f"unset {name}", f", or write {near}") if near else None
    return Finding("HOST-ENVIRONMENT-SETTING", f"{name} {text}", "info", actual,
                   entity=f"variable:{name}", hint=hint)  # fmt: skip


def _is_default(name: str, value: str) -> bool:
    """Return whether a value is JAX's default."""
    default, value = _options.DEFAULTS.get(name, "0"), value.lower()
    if default in ("0", "1") and value in _settings.SWITCH:
        return (value in ("1", "true", "yes", "on", "t", "y")) == (default == "1")
    return value == default.lower()


def _others() -> set[str]:
    return {prefix + name for name in _options.OTHERS for prefix in ("", "JAX_")}


def all_options() -> set[str]:
    """Return the variables of all options of JAX."""
    return {*_options.RESULTS, *_options.REFUSALS, *_others()}


def _is_place(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in frameworks.PLACES)


def _is_known(name: str) -> bool:
    return name in all_options() or name in EXTRA_VARIABLES or _is_place(name)
