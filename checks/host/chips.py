"""TPU chips form a supported configuration."""

from tpustarter.machine import generations, host, tpus
from tpustarter.probe.finding import Finding, NoAnswer, compare
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "start/chips-cores-devices"
SOURCE = "https://docs.cloud.google.com/tpu/docs/system-architecture-tpu-vm"


def run(machine: host.Machine | None = None):
    """Count chips by generation, and their PCI functions."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    chips = host.list_chips(machine)
    for device in host.other_google_devices(machine):
        yield Finding(
            "HOST-CHIPS-OTHER", "another Google device on PCI, not counted", "info", device
        )
    for device in host.unknown_google_devices(machine):
        name = "unknown Google device on PCI, perhaps a newer TPU, not counted"
        yield Finding("HOST-CHIPS-UNKNOWN", name, "info", device)
    if not chips:
        nodes = len(host.list_device_nodes(machine))
        yield Finding("HOST-CHIPS-HIDDEN", "TPU device nodes, while PCI is hidden", "info", nodes)
        raise NoAnswer("PCI is hidden here, so the chips cannot be told")
    names = sorted({chip.generation for chip in chips})
    titles = ", ".join(tpus.find_generation(name).title for name in names)
    yield compare(
        code="HOST-CHIPS-KINDS",
        name="generation of the chips on PCI",
        found=titles,
        expected=titles if len(names) == 1 else "one generation",
        hint="delete this machine and create another",
    )
    if len(names) == 1:
        yield from _of_one_generation(chips, tpus.find_generation(names[0]))


def _of_one_generation(chips: list[host.Chip], generation: generations.Generation):
    sizes = generation.chips_per_host
    yield Finding(
        code="HOST-CHIPS-COUNT",
        name=f"{generation.title} on PCI",
        verdict="info" if not sizes else "ok" if len(chips) in sizes else "warn",
        found=len(chips),
        expected=" or ".join(", ".join(map(str, sizes)).rsplit(", ", 1)) or None,
        unit="chips",
        hint=None
        if not sizes or len(chips) in sizes
        else "compare with the size you requested, which `tpustarter check host.metadata` shows",
    )
    if generation.devices_per_chip:
        devices = len(chips) * generation.devices_per_chip
        yield Finding(
            code="HOST-CHIPS-DEVICES",
            name="devices that a framework lists for these chips",
            found=devices,
            unit="devices",
        )
    functions = next((ids.functions_per_chip for ids in generation.pci), None)
    for chip in chips if functions else ():
        if chip.functions != functions:
            yield compare(
                code="HOST-CHIPS-FUNCTIONS",
                name="PCI functions of one chip",
                found=chip.functions,
                expected=functions,
                entity=f"pci:{chip.address}",
                hint="stop and start this machine, or delete it and create another",
            )
