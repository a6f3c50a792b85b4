"""GT412 sees-more-gpus-than-given

What it says
    NVIDIA_VISIBLE_DEVICES of a container is `all`, or names GPUs that it was not given; or its processes use such,
    or have their device files open.

Why it matters
    It can use GPUs of other pods, whose memory and time then go missing without a trace in Kubernetes.

What to do
    Take the variable out of the pod and the image, and let the toolkit take it from privileged containers only
    (accept-nvidia-visible-devices-envvar-when-unprivileged = false).

When it is silent
    The variable is absent, `void` or `none`, or names what was given.

Example
    >>> from gputopo.rules.pods.example import container, held, node
    >>> on = node()
    >>> [found] = check(Audit(held(on, container(("GPU0",), on)._replace(visible=("all",)))))
    >>> found.message
    'ml/job/main was given GPU0, and NVIDIA_VISIBLE_DEVICES=all lets it see every GPU'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.holdings import DeviceHeld
from gputopo.pods.identify import Names
from gputopo.pods.model import Container
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.wording import names

CODE = "GT412"
SEVERITY = "warning"
_SCHEDULER = "restart the pod: what its scheduler wrote and what the device plugin handed out are not one"
_NOTHING = ("", "void", "none")


def check(audit: Audit) -> Iterator[Finding]:
    known = Names(audit.node)
    for one in audit.held.containers:
        if not one.given:
            continue
        own = one.placed.gpus or ()
        what = _seen(one, own, known)
        used = [gpu for gpu in one.uses or () if own and gpu not in own]
        if not what and used:
            what = f"its processes use {names(used)}"
        opened = [gpu for gpu in one.opened if own and gpu not in own]
        if not what and opened:
            what = f"its processes have {names(opened)} open"
        if what:
            given = names(own) if own else f"{len([1 for each in one.devices if each.is_gpu])} GPUs"
            written = one.by == "annotation"
            yield Finding(
                CODE,
                SEVERITY,
                (one.title, *own),
                f"{one.title} was given {given}{' by an annotation of its pod' if written else ''}, and {what}",
                matters="it can use GPUs of other pods, and nothing in Kubernetes shows it",
                remedy=_SCHEDULER if written else "unset NVIDIA_VISIBLE_DEVICES in the pod and its image",
            )


def _seen(one: Container, own: tuple[str, ...], known: Names) -> str:
    visible = one.visible or ()
    if "all" in visible:
        return "NVIDIA_VISIBLE_DEVICES=all lets it see every GPU"
    more = []
    for id in visible:
        if id in _NOTHING or id.startswith("/"):
            continue
        space = "index" if id.isdecimal() else "uuid"
        gpu = known.device(DeviceHeld("", id, space)).gpu
        if gpu is not None and own and gpu not in own:
            more.append(gpu)
    return f"NVIDIA_VISIBLE_DEVICES lets it see {names(dict.fromkeys(more))} too" if more else ""
