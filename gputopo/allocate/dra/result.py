"""AllocationResult: devices, configurations and node selector of every claim, as the API server would store them.

Source: the second half of Allocate in structured/internal/*/allocator_*.go. The share id is random in reality; here
it is the text SHARE-ID.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.allocate.dra import node_selector
from gputopo.allocate.dra.asks import Wanted
from gputopo.allocate.dra.objects import Claim, ClaimRequest, DeviceId
from gputopo.allocate.dra.search import Search, Taken

SHARE_ID = "SHARE-ID"
Json = dict[str, Any]


class Given(NamedTuple):
    """A device that a request got."""

    claim: str
    request: str  # "req" or "req/sub"
    id: DeviceId
    admin_access: bool
    consumed: dict[str, str] | None


class ClaimResult(NamedTuple):
    """`body` is the AllocationResult."""

    claim: str
    given: tuple[Given, ...]
    body: Json

    @property
    def node_selector(self) -> Json | None:
        found: Json | None = self.body.get("nodeSelector")
        return found


def results(search: Search) -> tuple[ClaimResult, ...]:
    return tuple(_claim(search, at, claim) for at, claim in enumerate(search.world.claims))


def _claim(search: Search, at: int, claim: Claim) -> ClaimResult:
    taken = search.results[at]
    devices: Json = {}
    if taken:
        devices["results"] = [_device(one, search.how.binding) for one in taken]
    configs = _configs(search, at, claim)
    if configs:
        devices["config"] = configs
    body: Json = {"devices": devices}
    selector = _selector(taken, search.world.node.name)
    if selector is not None:
        body["nodeSelector"] = selector
    given = tuple(
        Given(
            str(claim), one.wanted.name, one.candidate.id, bool(one.wanted.ask.admin_access),
            {name: str(amount) for name, amount in one.consumed.items()} if one.consumed is not None else None,
        )
        for one in taken
    )  # fmt: skip
    return ClaimResult(str(claim), given, body)


def _device(one: Taken, binding: bool) -> Json:
    ask, device, id = one.wanted.ask, one.candidate.device, one.candidate.id
    made: Json = {"request": one.wanted.name, "driver": id.driver, "pool": id.pool, "device": id.device}
    if ask.admin_access:
        made["adminAccess"] = True
    if ask.tolerations:
        made["tolerations"] = [dict(toleration.body) for toleration in ask.tolerations]
    if binding and device.binding_conditions:
        made["bindingConditions"] = list(device.binding_conditions)
    if binding and device.binding_failure_conditions:
        made["bindingFailureConditions"] = list(device.binding_failure_conditions)
    if one.shared:
        made["shareID"] = SHARE_ID
    if one.consumed is not None:
        made["consumedCapacity"] = {name: str(amount) for name, amount in one.consumed.items()}
    return made


def _configs(search: Search, at: int, claim: Claim) -> list[Json]:
    chosen = [(request, _chosen(search, at, number)) for number, request in enumerate(claim.requests)]
    made: list[Json] = []
    of_class: dict[str, list[Json]] = {}
    for _, wanted in chosen:
        own = of_class.get(wanted.device_class.name)
        if own is not None:
            for config in own:
                config["requests"].append(wanted.name)
            continue
        own = [{"source": "FromClass", "requests": [wanted.name], **one.body} for one in wanted.device_class.configs]
        of_class[wanted.device_class.name] = own
        made += own
    for one in claim.configs:
        times = 1 if not one.requests else sum(_applies(one.requests, *each) for each in chosen)
        if search.how.config_for_all_empty:
            times = min(times, 1)  # once, however many requests it names
        for _ in range(times):
            requests = {"requests": list(one.requests)} if one.requests else {}
            made.append({"source": "FromClaim", **requests, **one.body})
    if search.how.config_for_all_empty:
        for config in made:
            if config.get("requests") and all(_applies(tuple(config["requests"]), *each) for each in chosen):
                del config["requests"]
    return made


def _applies(requests: tuple[str, ...], request: ClaimRequest, wanted: Wanted) -> bool:
    return request.name in requests or (wanted.parent is not None and wanted.name in requests)


def _chosen(search: Search, at: int, number: int) -> Wanted:
    return search.wanted[at, number, search.chosen.get((at, number), 0)]


def _selector(taken: list[Taken], node: str) -> Json | None:
    selectors = []
    for one in taken:
        own, device = one.candidate.slice, one.candidate.device
        name = device.node_name if own.per_device else own.node_name
        selector = device.node_selector if own.per_device else own.node_selector
        if name is not None or device.binds_to_node:
            return dict(node_selector.only(node))
        if selector is not None:
            selectors.append(selector)
    return node_selector.merged(selectors)
