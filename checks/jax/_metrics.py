"""Values that libtpu's monitoring library reports about links and chips, and their meaning.

The rule to know: nothing is healthy unless libtpu says so in the documented form. Missing data, a
text in another form and a missing library are reported as unknown.
Source: https://docs.cloud.google.com/tpu/docs/tpu-monitoring-library
"""

import importlib
import re
from collections.abc import Callable
from importlib import metadata
from typing import NamedTuple

from tpustarter.checks.jax._tally import tally
from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint

OLD = (0, 0, 20)
"""The last libtpu whose `sdk` crashes some Pythons, according to tpu-info 0.14.2."""

HIGHEST = 10
"""The score of a link that cannot be used, and of a chip that is throttled by 100 %."""

ORDER = ("ok", "info", "warn", "fail")
"""Verdicts, from the least to the most important."""


class Scale(NamedTuple):
    """A metric whose texts each have a subject and a score from 0, which is good, to 10."""

    code: str
    name: str
    form: re.Pattern
    kind: str
    """The kind of its subjects, for entities such as `link:tray1.chip3.ici0.int`."""
    judge: Callable
    """Function that returns verdict and meaning of a score."""
    hint: str


def health(score):
    """Return verdict and meaning of the health of a link."""
    if score > 5:
        return "fail", "not usable" if score == HIGHEST else "persistent minor problem"
    return ("warn", "transient problem") if score else ("ok", "healthy")


def slowed(score):
    """Return verdict and meaning of the throttling of a chip."""
    return ("warn", f"throttled by {10 * score} %") if score else ("ok", "not throttled")


LINKS = Scale(
    "JAX-METRICS-LINK",
    "ICI links that are healthy",
    re.compile(r"(?P<who>[\w.:/-]+): *(?P<score>\d{1,2})"),  # tray1.chip3.ici0.int: 0
    "link",
    health,
    Hint.run(
        "tpustarter check jax.tpu_metrics -v", " again; replace a TPU whose link stays unhealthy"
    ),
)
THROTTLING = Scale(
    "JAX-METRICS-THROTTLE",
    "chips that are not throttled",
    re.compile(r"(?P<who>\d+)-(?P<score>\d{1,2})"),  # 0-0
    "chip",
    slowed,
    "measure speed again later, because a throttled chip is slower without any other sign",
)


def library():
    """Return libtpu's module of metrics, or None, and a description of the installed libtpu."""
    names = [name for name in ("libtpu", "libtpu-nightly") if installed(name)]
    if not names:
        return None, "no libtpu in this Python"
    version = metadata.version(names[0])
    text = f"{names[0]} {host.clean_text(version, 40)}"
    if tuple(map(int, re.findall(r"\d+", version)[:3])) <= OLD:
        return None, f"{text}, too old to report metrics"
    try:
        sdk = importlib.import_module("libtpu.sdk")
    except ImportError:
        return None, f"{text}, without an sdk"
    source = getattr(sdk, "tpumonitoring", None) or getattr(sdk, "monitoring", None)
    return source, text if source else f"{text}, without tpumonitoring"


def installed(name):
    """Return whether a distribution is installed."""
    return any(True for _ in metadata.distributions(name=name))


def texts(source, name):
    """Return libtpu's texts for a metric, or None if it has no such metric."""
    if name not in source.list_supported_metrics():
        return None
    return [str(text) for text in source.get_metric(name).data()]


def scored(scale, lines):
    """Yield the number of good scores, each other score, and texts without the documented form."""
    code, name, hint = scale.code, scale.name, scale.hint
    if not lines:
        yield Finding(code, name, "info", nothing(lines))
        return
    matches = [scale.form.fullmatch(text.strip()) for text in lines]
    valid = [match for match in matches if match and int(match["score"]) <= HIGHEST]
    scores = [
        (match["who"], int(match["score"]), *scale.judge(int(match["score"]))) for match in valid
    ]
    unknown = [text for text, match in zip(lines, matches, strict=True) if match not in valid]
    verdicts = [verdict for _, _, verdict, _ in scores] + ["info"] * len(unknown)
    worst = max(verdicts, key=ORDER.index)
    advice = hint if worst in ("warn", "fail") else None
    yield Finding(code, name, worst, verdicts.count("ok"), len(lines), hint=advice)
    for who, score, verdict, meaning in scores:
        if verdict != "ok":
            text, entity = f"{score}: {meaning}", f"{scale.kind}:{who}"
            yield Finding(code, name, verdict, text, "0", entity=entity, hint=hint)
    if unknown:
        text = f"unknown: {len(unknown)} in another form: {host.clean_text(unknown[0], 60)}"
        yield Finding(code, name, "info", text)


def nothing(lines):
    """Return the text for a metric without data."""
    return "unknown: this libtpu has no such metric" if lines is None else "unknown: no data"


def memory(total, used):
    """Yield the memory of the chips and whether they use no more than that; texts of bytes."""
    code, name = "JAX-METRICS-HBM", "memory of a chip"
    if not total or not used:
        yield Finding(code, name, "info", nothing(total and used))
        return
    numbers = [int(text) if text.strip().isdecimal() else 0 for text in total]
    uses = [int(text) if text.strip().isdecimal() else -1 for text in used]
    if not all(numbers) or min(uses) < 0 or len(uses) != len(numbers):
        first = host.clean_text(f"{total[0]} and {used[0]}", 60)
        yield Finding(code, name, "info", f"unknown: in another form: {first}")
        return
    yield Finding(code, name, "info", round(min(numbers) / 2**30, 2), unit="GiB")
    lost = {f"chip:{place}": f"{use} of {size} bytes" if use > size else ""
            for place, (use, size) in enumerate(zip(uses, numbers, strict=True))}  # fmt: skip
    yield from tally("JAX-METRICS-USED", "chips that use no more memory than they have", lost)
