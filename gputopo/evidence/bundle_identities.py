"""Who this node is: the names and numbers that must not leave it, read where they are kept.

None of these files goes into a bundle for its own sake; what they hold is looked for in all that does.
A name that is also a word of the node's hardware (a host called `h100`) tells nothing where that stands,
and replacing it would change the hardware's name: it is replaced in the host name's own file only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gputopo.evidence.piece import Tree
from gputopo.evidence.redact import Known

_DMI = "sys/class/dmi/id"
_GPUS = "proc/driver/nvidia/gpus"
_FILES = (
    ("host", "proc/sys/kernel/hostname"),
    ("host", "etc/hostname"),
    ("boot", "proc/sys/kernel/random/boot_id"),
    ("id", "etc/machine-id"),
    ("id", "var/lib/dbus/machine-id"),
    ("serial", f"{_DMI}/product_uuid"),
    ("serial", f"{_DMI}/product_serial"),
    ("serial", f"{_DMI}/board_serial"),
    ("serial", f"{_DMI}/chassis_serial"),
    ("serial", f"{_DMI}/board_asset_tag"),
    ("serial", f"{_DMI}/chassis_asset_tag"),
    ("serial", "sys/firmware/devicetree/base/serial-number"),
)
_LISTS = (
    ("mac", "sys/class/net", ("address", "perm_address")),
    ("guid", "sys/class/infiniband", ("node_guid", "sys_image_guid")),
    ("serial", "sys/class/nvme", ("serial",)),
)
_NOT_SAID = (
    "to be filled by o.e.m.", "default string", "not specified", "system serial number", "chassis serial number",
    "none", "n/a", "unknown", "0123456789", "base board serial number", "asset tag",
)  # fmt: skip
# Host names that name no host; gputopo itself takes none of them for a name.
NO_HOSTS = frozenset(("localhost", "localhost.localdomain", "(none)", "node", "host"))
_PEOPLE = range(1_000, 65_534)  # of user ids; below are the system's own (login.defs)


def identities(
    tree: Tree, environment: Mapping[str, str] | None = None, driver: Mapping[str, object] | None = None
) -> tuple[Known, ...]:
    """Everything found; `environment` is that of a process on this very node, `driver` a recording's snapshot."""
    hardware = _hardware(tree, driver or {})
    found = (*_in_files(tree, environment or {}), *_of_gpus(tree, driver or {}))
    return tuple(one for one in found if one.kind not in ("host", "user") or one.value.lower() not in hardware)


def _in_files(tree: Tree, environment: Mapping[str, str]) -> Iterator[Known]:
    for kind, path in _FILES:
        yield from _known(kind, _text(tree, path))
    for kind, folder, names in _LISTS:
        for device in tree.names(folder) or ():
            for name in names:
                yield from _known(kind, _text(tree, f"{folder}/{device}/{name}"))
    yield from _users(_text(tree, "etc/passwd"))
    for row in _text(tree, "proc/net/if_inet6").splitlines():
        yield from _known("ip", row.split(" ")[0])
    for name in ("USER", "LOGNAME", "SUDO_USER"):
        yield from _known("user", environment.get(name, ""))


def _of_gpus(tree: Tree, driver: Mapping[str, object]) -> Iterator[Known]:
    for gpu in tree.names(_GPUS) or ():
        for row in _text(tree, f"{_GPUS}/{gpu}/information").splitlines():
            if row.startswith("GPU UUID:"):
                yield from _uuid(row.partition(":")[2].strip())
    for answers in _rows(driver):
        yield from _uuid(str(answers.get("uuid", "")))


def _uuid(value: str) -> Iterator[Known]:
    """`GPU-5e7f0b3a-…`; `GPU-???????-…` is what the driver writes while it does not know."""
    _, _, number = value.partition("-")
    if number.replace("-", "").isalnum():
        yield Known("uuid", number)


def _rows(driver: Mapping[str, object]) -> list[dict[str, object]]:
    gpus = driver.get("gpus")
    return [gpu for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []


def _hardware(tree: Tree, driver: Mapping[str, object]) -> frozenset[str]:
    """The words in the names of machine, processors and GPUs."""
    models = [_text(tree, path) for path in (f"{_DMI}/product_name", f"{_DMI}/sys_vendor")]
    models += [row for row in _text(tree, "proc/cpuinfo")[:4096].splitlines() if row.startswith("model name")]
    models += [str(row.get("name", "")) for row in _rows(driver)]
    return frozenset(word.strip("()").lower() for model in models for word in model.replace("-", " ").split())


def _text(tree: Tree, path: str) -> str:
    data = tree.read(path)
    return "" if data is None else data.partition(b"\0")[0].decode("utf-8", "surrogateescape").strip()


def _known(kind: str, value: str) -> Iterator[Known]:
    if not value or value.lower() in _NOT_SAID:
        return
    if kind != "host":
        yield Known(kind, value)
    elif value.lower() not in NO_HOSTS:
        label, _, domain = value.partition(".")
        yield from (Known("host", name) for name in (value, label, domain if "." in domain else "") if name)


def _users(passwd: str) -> Iterator[Known]:
    for row in passwd.splitlines():
        fields = row.split(":")
        if len(fields) > 2 and fields[2].isdigit() and int(fields[2]) in _PEOPLE:
            yield Known("user", fields[0])
