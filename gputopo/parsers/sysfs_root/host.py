"""What kind of host wrote the tree: product, kernel, container or host, virtual machine or metal.

>>> is_virtual_product("QEMU", "Standard PC (Q35 + ICH9, 2009)"), is_virtual_product("Amazon EC2", "p4d.metal")
(True, False)
>>> is_virtual_product("Dell Inc.", "PowerEdge XE9680")
False
"""

from __future__ import annotations

from gputopo.parsers.sysfs_root.cpuinfo import nofile_info
from gputopo.parsers.sysfs_root.pci import Function
from gputopo.parsers.sysfs_root.read import Tree, line, text

DMI = "sys/class/dmi/id"
# What a board that nobody named says of itself, and hosts that nobody named.
_NO_PRODUCT = frozenset(
    ("to be filled by o.e.m.", "system product name", "default string", "not specified", "none", "n/a")
)
_NO_NAME = frozenset(("localhost", "localhost.localdomain", "(none)", "node", "host"))
_VIRTUAL_VENDORS = (
    "qemu",
    "vmware",
    "innotek",
    "xen",
    "bochs",
    "parallels",
    "red hat",
    "openstack",
    "nutanix",
    "bhyve",
)
_VIRTUAL_PRODUCTS = (
    "kvm", "virtual machine", "virtualbox", "vmware", "google compute engine", "openstack", "standard pc (",
    "alibaba cloud ecs", "droplet", "rhev hypervisor", "ahv", "hvm domu", "bochs",
)  # fmt: skip
_METAL_VENDORS = (
    "dell", "hpe", "hp", "hewlett", "lenovo", "supermicro", "nvidia", "inspur", "quanta", "gigabyte", "giga computing",
    "asus", "ibm", "intel", "cisco", "fujitsu", "bull", "atos", "cray", "h3c", "xfusion", "asrock", "tyan", "wiwynn",
    "foxconn", "ingrasys", "penguin", "sun ", "oracle corporation", "nec", "aivres", "zt systems", "megware",
    "msi", "micro-star",
)  # fmt: skip


def product_of(tree: Tree) -> str | None:
    name = line(tree, f"{DMI}/product_name") or line(tree, "sys/firmware/devicetree/base/model")
    return None if name is None or name.lower() in _NO_PRODUCT else name


def release_of(tree: Tree) -> str | None:
    said = line(tree, "proc/sys/kernel/osrelease")
    if said:
        return said
    words = (line(tree, "proc/version") or "").split()
    if words[:2] == ["Linux", "version"] and len(words) > 2:
        return words[2]
    return nofile_info(tree).get("OSRelease")


def name_of(tree: Tree, view: str | None) -> str | None:
    """The host's name; a container's own name is not its node's."""
    name = line(tree, "proc/sys/kernel/hostname") or nofile_info(tree).get("HostName")
    return None if name is None or view == "container" or name.lower() in _NO_NAME else name


def view_of(tree: Tree) -> str | None:
    """`container` or `host` by the root file system and the reader's cgroup; else unknown."""
    groups = text(tree, "proc/self/cgroup") or ""
    if any(word in groups for word in ("kubepods", "/docker", "cri-containerd", "/lxc", "libpod", "crio-")):
        return "container"
    for row in (text(tree, "proc/self/mounts") or text(tree, "proc/mounts") or "").splitlines():
        words = row.split()
        if len(words) >= 3 and words[1] == "/" and words[2] != "rootfs":
            if words[2] in ("overlay", "aufs", "fuse-overlayfs"):
                return "container"
            return "host" if "/user.slice" in groups or "/system.slice" in groups or "/init.scope" in groups else None
    return None


def is_virtual(tree: Tree, flags: frozenset[str], functions: tuple[Function, ...]) -> bool | None:
    """True or False on evidence only."""
    vendor, product = line(tree, f"{DMI}/sys_vendor") or "", line(tree, f"{DMI}/product_name") or ""
    said = is_virtual_product(vendor, product)
    if "hypervisor" in flags or said or tree.names("sys/hypervisor/properties"):
        return True
    if any(_is_virtual_bridge(function) for function in functions):
        return True
    if said is False:
        return False
    return None


def is_virtual_product(vendor: str, product: str) -> bool | None:
    """By the names in DMI; `None` where they are neither a hypervisor's nor a server maker's.

    Cloud providers name guests and metal alike: a product `.metal` of Amazon EC2 is the machine.
    """
    maker, model = vendor.lower(), product.lower()
    if maker == "amazon ec2":
        return ".metal" not in model
    if maker.startswith(_VIRTUAL_VENDORS) or any(word in model for word in _VIRTUAL_PRODUCTS):
        return True
    return False if maker.startswith(_METAL_VENDORS) else None


def _is_virtual_bridge(function: Function) -> bool:
    """QEMU's own bridges (1b36: pcie-root-port, pxb-pcie), or a tree below Hyper-V's VMBUS."""
    if function.class_code == 0x0604 and function.vendor == 0x1B36:
        return True
    return "/VMBUS:" in (function.tree.resolve(function.path) or "")
