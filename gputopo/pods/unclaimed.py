"""Claims that no container among the sources asks for: the kubelet's DRA state names pods, not containers."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.holdings import ContainerHolding
from gputopo.pods.same import Group
from gputopo.pods.spoken import Said, Spoken


def unclaimed(groups: Sequence[Group], spoken: Sequence[Spoken]) -> list[Group]:
    """A nameless container for each pod that a claim is reserved to and that has no container asking for it."""
    asked = {
        (group.uid, name) for group in groups for said in group.said for name, _ in said.holding.claims or ()
    }  # fmt: skip
    asked_by_name = {name for _, name in asked}
    known = {group.uid: (group.namespace, group.pod) for group in groups if group.uid}
    found: dict[str, Group] = {}
    for one in spoken:
        for claim in one.records.claims:
            for uid in claim.pods if claim.devices else ():
                if (uid, claim.name) in asked or ((None, claim.name) in asked and claim.name in asked_by_name):
                    continue
                namespace, pod = known.get(uid, (claim.namespace, None))
                holding = ContainerHolding(namespace, pod, uid, claims=((claim.name, ""),))
                before = found.get(uid)
                said = (*(before.said if before else ()), Said(one.source, holding))
                found[uid] = Group(namespace, pod, uid, None, said)
    return list(found.values())
