"""Who this node is: the names and numbers that must not leave it, read where they are kept.

None of these files goes into a bundle for its own sake; what they hold is looked for in all that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gputopo.evidence.piece import Tree
from gputopo.evidence.redact import Known

_DMI = "sys/class/dmi/id"
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


def identities(tree: Tree, environment: Mapping[str, str] | None = None) -> Iterator[Known]:
    """Everything found; `environment` is that of a process on this very node."""
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
        yield from _known("user", (environment or {}).get(name, ""))


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
