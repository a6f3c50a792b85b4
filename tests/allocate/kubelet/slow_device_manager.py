"""The device manager and the scopes again, read straight from the Go: mutable, one random choice at a time.

Where Go iterates over a map or set, `pick` chooses which member comes next; `every_run` runs the whole thing once for
every way the picks can fall. Small numbers only. Shares with the code under test the hints and the merge, which have
brute forces of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gputopo.allocate.kubelet.device_hints import Device, generate, has_topology
from gputopo.allocate.kubelet.hints import Hint
from gputopo.allocate.kubelet.merge import NumaInfo, merge
from gputopo.allocate.kubelet.pod import Pod, total
from gputopo.allocate.kubelet.pod import devices as limits
from gputopo.allocate.kubelet.releases import Release

Pick = Callable[[Sequence[Any]], Any]


def every_run(run: Callable[[Pick], Any]) -> set[Any]:
    """What `run` returns for every sequence of picks."""
    results = set()
    trail: list[list[int]] = []  # (which, of how many)
    while True:
        depth = 0

        def pick(options: Sequence[Any]) -> Any:
            nonlocal depth
            if depth == len(trail):
                trail.append([0, len(options)])
            which = trail[depth][0]
            depth += 1
            return options[which]

        results.add(run(pick))
        while trail and trail[-1][0] == trail[-1][1] - 1:
            trail.pop()
        if not trail:
            return results
        trail[-1][0] += 1


class Failed(Exception):
    pass


class SlowKubelet:
    def __init__(
        self, pick: Pick, policy: str, scope: str, numa: Sequence[int], resources: dict[str, dict[str, Device]],
        plugins: dict[str, Any], release: Release,
    ) -> None:  # fmt: skip
        self.pick, self.policy, self.scope, self.numa = pick, policy, scope, list(numa)
        self.all, self.plugins, self.release = resources, plugins, release
        self.allocated: dict[str, set[str]] = {}
        self.held: dict[str, dict[str, dict[str, set[str]]]] = {}
        self.reuse: dict[str, dict[str, set[str]]] = {}
        self.active: set[str] = set()
        self.calls: list[Any] = []

    def in_any_order(self, members: Any) -> Any:
        left = sorted(members)
        while left:
            one = self.pick(left)
            left.remove(one)
            yield one

    def update(self) -> None:
        gone = [uid for uid in self.held if uid not in self.active]
        for uid in gone:
            del self.held[uid]
        if gone:
            self.allocated = {}
            for containers in self.held.values():
                for resources in containers.values():
                    for name, ids in resources.items():
                        self.allocated.setdefault(name, set()).update(ids)

    def healthy(self, name: str) -> set[str]:
        return {id for id, device in self.all[name].items() if device.healthy}

    def hints(self, uid: str, container: str | None, wanted: dict[str, int]) -> dict[str, Any]:
        self.update()
        found: dict[str, Any] = {}
        for name, count in wanted.items():
            if not has_topology(self.all[name]):
                found[name] = None
                continue
            mine = self.held.get(uid, {})
            chosen = mine.values() if container is None else [mine.get(container, {})]
            held = {id for resources in chosen for id in resources.get(name, ())}
            if held:
                same = len(held) == count
                found[name] = generate(self.numa, self.all[name], held, (), count, self.release) if same else ()
                continue
            free = self.healthy(name) - self.allocated.get(name, set())
            reusable = set() if container is None else self.reuse.get(uid, {}).get(name, set())
            enough = len(free | reusable) >= count
            found[name] = generate(self.numa, self.all[name], free, reusable, count, self.release) if enough else ()
        return found

    def admit(self, pod: Pod) -> Any:
        self.active.add(pod.uid)
        self.calls = []
        try:
            self.through(pod)
        except Failed as error:
            self.active.discard(pod.uid)
            return (False, str(error), (), tuple(sorted(self.calls)))
        mine = self.held.get(pod.uid, {})
        got = tuple(
            (one.name, tuple(sorted((name, tuple(sorted(ids))) for name, ids in mine.get(one.name, {}).items())))
            for one in pod.containers
        )
        return (True, "", got, tuple(sorted(self.calls)))

    def through(self, pod: Pod) -> None:
        stored: dict[str, Hint] = {}
        known = lambda c: {name: n for name, n in limits(c).items() if name in self.all}  # noqa: E731
        if self.policy != "none" and self.scope == "pod":
            hint = self.merged(self.hints(pod.uid, None, total(pod, known)))
            stored = {c.name: hint for c in pod.containers}
        for c in pod.containers:
            if self.policy != "none" and self.scope == "container":
                stored[c.name] = self.merged(self.hints(pod.uid, c.name, known(c)))
            self.allocate(pod.uid, c.name, c.kind, known(c), stored.get(c.name, Hint(None, False)))

    def merged(self, hints: dict[str, Any]) -> Hint:
        hint, admitted = merge(NumaInfo(tuple(self.numa), {}), self.policy, [hints, None, None])
        if not admitted:
            raise Failed("Resources cannot be allocated with Topology locality")
        return hint

    def allocate(self, uid: str, name: str, kind: str, wanted: dict[str, int], hint: Hint) -> None:
        self.reuse = {uid: self.reuse.get(uid, {})}
        updated = False
        for resource in self.in_any_order(wanted):
            if not updated:
                self.update()
                updated = True
            ids = self.devices_to_allocate(uid, name, resource, wanted[resource], hint)
            if ids:
                self.held.setdefault(uid, {}).setdefault(name, {})[resource] = ids
        for resource, ids in self.held.get(uid, {}).get(name, {}).items():
            before = self.reuse[uid].get(resource, set())
            self.reuse[uid][resource] = before | ids if kind == "init" else before - ids

    def devices_to_allocate(self, uid: str, name: str, resource: str, required: int, hint: Hint) -> set[str]:
        every = self.all[resource]
        if not self.healthy(resource):
            raise Failed(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
        need, taken = required, set()
        if not need:
            return set()

        def take_from(ids: Any) -> bool:
            nonlocal need
            for id in self.in_any_order(set(ids) - taken):
                self.allocated.setdefault(resource, set()).add(id)
                taken.add(id)
                need -= 1
                if need == 0:
                    return True
            return False

        if take_from(self.reuse[uid].get(resource, set())):
            return taken
        free = self.healthy(resource) - self.allocated.get(resource, set())
        if len(free) < need:
            raise Failed(
                f"requested number of devices unavailable for {resource}. Requested: {need}, Available: {len(free)}"
            )
        if hint.mask is None or not has_topology(every):
            aligned, unaligned, without = set(), set(), free
        else:
            without = {id for id in free if not every[id].numa}
            aligned = {id for id in free if any(hint.mask >> node & 1 for node in every[id].numa or ())}
            unaligned = free - without - aligned
        if need < len(aligned):
            preferred = self.ask(resource, aligned | taken, taken, required)
            assert take_from(preferred & aligned) or take_from(aligned)
            return taken
        if take_from(aligned):
            return taken
        preferred = self.ask(resource, free | taken, taken, required)
        assert take_from(preferred & free) or take_from(unaligned) or take_from(without)
        return taken

    def ask(self, resource: str, available: set[str], must: set[str], size: int) -> set[str]:
        plugin = self.plugins[resource]
        if plugin is None:
            return set()
        answer = self.pick(plugin(frozenset(available), frozenset(must), size))
        self.calls.append((resource, tuple(sorted(available)), tuple(sorted(must)), size, tuple(sorted(answer))))
        return set(answer)
