"""A node whose makers chose every name to do harm."""

from __future__ import annotations

from gputopo.topology.node import Bridge, NodeTopology, NoteAssumption
from tests.draw.made import machine

NAME = (
    "</text></title><script>alert(1)</script>\"'&lt;&#x27; \x1b[2J\x9b\x07\n\r\t\u202eevil\u2066\u200b\x00\ufffe\udc80 "
    "`|];{}%%end --> #quot; \\N\\l\\ =HYPERLINK(1) ]]> <!-- " + "x" * 500
)


def node() -> NodeTopology:
    made = machine(gpus=4, nics=4, links="cables")
    return made._replace(
        name=NAME,
        gpus=tuple(gpu._replace(name=f"{gpu.id}{NAME}", uuid=NAME, pci=NAME) for gpu in made.gpus),
        nics=tuple(nic._replace(device=NAME, netdevs=(NAME,), link_layer=NAME, state=NAME) for nic in made.nics or ()),
        bridges=tuple(Bridge(*one[:3], NAME, NAME) for one in made.bridges),
        packages=tuple(one._replace(vendor=NAME, arch=NAME) for one in made.packages or ()),
        assumptions=(NoteAssumption(("node",), NAME, None),),
    )
