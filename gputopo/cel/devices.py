"""A device as the variable `device` of a selector: k8s.io/dynamic-resource-allocation/cel/compile.go DeviceMatches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from gputopo.cel import quantities, versions
from gputopo.cel.environment import Environment
from gputopo.cel.values import CelError, CelMap


class Version(str):
    """An attribute of the type `version`."""

    __slots__ = ()


class Seen(Protocol):
    """The parts of a device that a selector sees."""

    @property
    def driver(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def capacity(self) -> Mapping[str, str]: ...
    @property
    def allow_multiple_allocations(self) -> bool: ...


class UnsupportedAttribute(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def as_variable(device: Seen, environment: Environment) -> CelMap:
    """Raises UnsupportedAttribute: one attribute that cannot be read fails every selector on the device."""
    attributes: dict[str, dict[str, Any]] = {}
    for name, value in device.attributes.items():
        domain, key = split_name(name, device.driver)
        attributes.setdefault(domain, {})[key] = _attribute(name, value, environment.reads_lists)
    capacity: dict[str, dict[str, Any]] = {}
    for name, text in device.capacity.items():
        domain, key = split_name(name, device.driver)
        capacity.setdefault(domain, {})[key] = _capacity(name, text)
    return CelMap(
        {
            "driver": device.driver,
            "allowMultipleAllocations": device.allow_multiple_allocations,
            "attributes": _by_domain(attributes),
            "capacity": _by_domain(capacity),
        }
    )


def split_name(name: str, driver: str) -> tuple[str, str]:
    """Domain and identifier: a bare name belongs to the driver."""
    domain, slash, key = name.partition("/")
    return (domain, key) if slash else (driver, name)


def _by_domain(found: dict[str, dict[str, Any]]) -> CelMap:
    inner = {domain: CelMap(items, of_strings=True) for domain, items in found.items()}
    return CelMap(inner, default=CelMap({}, of_strings=True), of_strings=True)


def _capacity(name: str, text: str) -> Any:
    try:
        return quantities.parse(text.strip())
    except CelError as error:
        raise UnsupportedAttribute(f"capacity {name}: {error.text}") from error


def _attribute(name: str, value: Any, reads_lists: bool) -> Any:
    if isinstance(value, (list, tuple)) and reads_lists:
        return [_scalar(name, one) for one in value]
    return _scalar(name, value)


def _scalar(name: str, value: Any) -> Any:
    if isinstance(value, Version):
        try:
            return versions.parse(value)
        except CelError as error:
            raise UnsupportedAttribute(f"attribute {name}: parse semantic version: {error.text}") from error
    if isinstance(value, (bool, int, str)):
        return value
    raise UnsupportedAttribute(f"attribute {name}: unsupported attribute value")
