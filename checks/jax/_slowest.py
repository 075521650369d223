"""The links of a slice compared with the documented rate, and the slowest of them with its host.

The rule to know: links within a host and those between hosts are compared among themselves, and all
hosts have all figures, so that the first one names what is slow.
"""

import statistics

import jax

from tpustarter.checks.jax import _hosts, _rates
from tpustarter.checks.jax._published import STRAGGLER
from tpustarter.checks.jax._shares import label
from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

LINKS_OF_CHIP = {"v5e": 4, "v6e": 4, "v5p": 6, "tpu7x": 6}
"""Links of a chip: two for each axis of the grid."""

SLOW = "measure again while nothing else runs; if it stays slow, give back this TPU and get another"


def links(rates, latencies, pairs, devices):
    """Yield the rates of links within and between hosts, and name the slow links."""
    kinds = {"WITHIN": [], "BETWEEN": []}
    for place, (one, other) in enumerate(pairs):
        same = devices[one].process_index == devices[other].process_index
        if place in rates:
            kinds["WITHIN" if same else "BETWEEN"].append(place)
    slow = []
    for code, places in kinds.items():
        if not places:
            continue
        name = f"links {code.lower()} hosts"
        middle = statistics.median(rates[place] for place in places)
        yield from peak(f"SLICE-LINK-{code}", name, middle, devices[0])
        late = [latencies[place] for place in places if place in latencies]
        what, unit = f"SLICE-LINK-{code}-LATENCY", "us"
        middle_us, worst_us = _rates.plain(statistics.median(late)), _rates.plain(max(late))
        yield Finding(what, f"latency of {name}", "info", middle_us, unit=unit)
        yield Finding(f"{what}-WORST", f"latency of {name}, worst", "info", worst_us, unit=unit)
        slow += [(place, middle) for place in places if rates[place] < STRAGGLER * middle]
    verdict = "info" if target().platform == "cpu" else "warn" if slow else "ok"
    code, name = "SLICE-LINK-SLOW", "links as fast as most"
    hint = SLOW if verdict == "warn" else None
    yield Finding(code, name, verdict, f"{len(rates) - len(slow)} of {len(rates)}", hint=hint)
    if jax.process_index() == 0:
        for place, middle in slow:
            entity, text = described(place, rates, pairs, devices)
            text += f", {100 * rates[place] / middle:.0f} % of the median"
            yield Finding(code, name, verdict, text, entity=entity, hint=hint)
        slowest = min(rates, key=rates.__getitem__)
        entity, text = described(slowest, rates, pairs, devices)
        yield Finding("SLICE-LINK-SLOWEST", "slowest link", "info", text, entity=entity)
        yield slowest_host(rates, pairs, devices)


def described(place, rates, pairs, devices):
    """Return the device at which a link begins, with its host, and rate and end as text."""
    one, other = (devices[end] for end in pairs[place])
    entity = f"{_hosts.label(one.process_index)} {label(one)}"
    host = f" of {_hosts.label(other.process_index)}" * (one.process_index != other.process_index)
    return entity, f"{_rates.plain(rates[place])} GB/s to {label(other)}{host}"


def slowest_host(rates, pairs, devices):
    """Return the host whose links are the slowest, by their median."""
    own = {}
    for place, rate in rates.items():
        for host in {devices[end].process_index for end in pairs[place]}:
            own.setdefault(host, []).append(rate)
    medians = {host: statistics.median(found) for host, found in own.items()}
    host = min(medians, key=medians.__getitem__)
    name, value = "host with the slowest links, their median", _rates.plain(medians[host])
    return Finding("SLICE-LINK-HOST", name, "info", value, unit="GB/s", entity=_hosts.label(host))


def peak(code, name, rate, device):
    """Yield the usual rate of a link in one direction, and its share of the documented one."""
    yield Finding(code, f"rate of {name}, each way", "info", _rates.plain(rate), unit="GB/s")
    generation = tpus.find_generation_by_device_kind(device.device_kind)
    text, bound, share = "no reference for this device", None, None
    if generation and generation.ici_gb_per_s and generation.name in LINKS_OF_CHIP:
        both_ways = generation.ici_gb_per_s.lowest_value / LINKS_OF_CHIP[generation.name]
        documented = both_ways / 2
        share = rate / documented
        text, bound = f"{100 * share:.0f} %", f"at most {documented:.5g} GB/s"
    yield Finding(
        f"{code}-PEAK", f"{name}, of the documented rate", "info", text, bound, share=share
    )
