"""What one `nvidia-smi -q` says, in one form for the text and the XML.

A value is found by its name, or by `section/name`; names are compared without blanks, marks and
case, so that `MIG Mode` of the text and `mig_mode` of the XML are one.

>>> gpu = PrintedGpu("00000000:18:00.0", 9)
>>> gpu.add(("PCI", "GPU Link Info", "PCIe Generation"), "Max", "5", 30)
>>> gpu.get("pciegeneration/max", "pciegen/maxlinkgen"), gpu.get("max") is None
('5', True)
"""

from __future__ import annotations

from collections.abc import Sequence


def plain(name: str) -> str:
    """Letters and digits only: `PCIe Generation`, `pcie_gen`, `clusterUuid` → comparable."""
    return "".join(character for character in name.lower() if character.isalnum())


class Value:
    """A printed line: its section as printed, its name, its value and where it stands."""

    __slots__ = ("line", "name", "section", "value")

    def __init__(self, section: tuple[str, ...], name: str, value: str, line: int) -> None:
        self.section = section
        self.name = name
        self.value = value
        self.line = line


class PrintedMig:
    """A MIG device, which `-q` prints without UUID and profile."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[str, str] = {}


# Names that are only said once for a GPU, so that they are found even where sections were lost.
_ONCE = frozenset(
    (
        "productname", "productarchitecture", "gpuuuid", "uuid", "minornumber", "moduleid", "gpumoduleid", "busid",
        "pcibusid", "addressingmode", "virtualizationmode", "gpunumaid", "cliqueid", "clusteruuid", "resetrequired",
        "gpurecoveryaction", "processes",
    )
)  # fmt: skip


class PrintedGpu:
    """One GPU's block. `address` is that of its first line, None where the text begins behind it."""

    __slots__ = ("_by_name", "_by_section", "address", "line", "mig", "values")

    def __init__(self, address: str | None, line: int) -> None:
        self.address = address
        self.line = line
        self.values: list[Value] = []
        self.mig: list[PrintedMig] | None = None
        self._by_name: dict[str, str] = {}
        self._by_section: dict[str, str] = {}

    def add(self, section: Sequence[str], name: str, value: str, line: int) -> None:
        key = plain(name)
        if key in _ONCE or not section:
            self._by_name.setdefault(key, value)
        if section:
            self._by_section.setdefault(f"{plain(section[-1])}/{key}", value)
        self.values.append(Value(tuple(section), name, value, line))

    def get(self, *names: str) -> str | None:
        """The first of these that is printed; `a/b` is `b` directly under section `a`."""
        for name in names:
            value = (self._by_section if "/" in name else self._by_name).get(name)
            if value is not None:
                return value
        return None

    def within(self, *sections: str) -> list[Value]:
        """Everything below a section, at any depth."""
        return [value for value in self.values if any(plain(one) in sections for one in value.section)]

    def has(self, name: str) -> bool:
        return name in self._by_name


class PrintedLog:
    """One output: what stands above the GPUs, and the GPUs in the order of the driver's indices."""

    __slots__ = ("gpus", "head", "is_xml", "line")

    def __init__(self, line: int, is_xml: bool = False) -> None:
        self.line = line
        self.is_xml = is_xml
        self.head: dict[str, str] = {}  # by plain name
        self.gpus: list[PrintedGpu] = []
