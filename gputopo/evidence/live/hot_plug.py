"""When to look again: the kernel's events of PCI, network and InfiniBand devices, or the time that has passed.

pyudev reads them from udev's netlink socket; where libudev is not there, only the time counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SUBSYSTEMS = ("pci", "net", "infiniband", "nvme")
_SETTLED = 0.5  # s: a card that comes or goes is many events
_ADDED = frozenset(("add", "remove", "bind", "unbind", "change", "move"))


class HotPlug:
    """`why_not`: why no event is heard; empty where they are."""

    def __init__(self) -> None:
        self.why_not = ""
        self._monitor: Any = None
        try:
            import pyudev  # type: ignore[import-untyped]

            self._monitor = pyudev.Monitor.from_netlink(pyudev.Context())
            for name in SUBSYSTEMS:
                self._monitor.filter_by(name)
            self._monitor.start()
        except (ImportError, OSError, ValueError) as error:
            self._monitor = None
            self.why_not = f"no udev events here ({str(error).splitlines()[0] if str(error) else 'libudev is missing'})"

    def wait(self, seconds: float, sleep: Callable[[float], object] = time.sleep) -> bool:
        """Whether an event came before the time had passed. What follows an event at once is one with it."""
        if self._monitor is None:
            sleep(seconds)
            return False
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            event = self._monitor.poll(timeout=left)
            if event is not None and event.action in _ADDED:
                while self._monitor.poll(timeout=_SETTLED) is not None:
                    pass
                return True
        return False
