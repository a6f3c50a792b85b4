"""HAMi's scheduler: which GPUs a container would get.

The cores know neither nodes nor Kubernetes: `fit` for one order of the register annotation, `every` for
all of them. `Hami` puts them behind the protocol; from_node.py makes its GPUs of a node or of annotations.
"""

from gputopo.allocate.hami.devices import Gpu
from gputopo.allocate.hami.every_order import every
from gputopo.allocate.hami.fit import Pod, fit
from gputopo.allocate.hami.mechanism import Hami
from gputopo.allocate.hami.order import Policy
from gputopo.allocate.hami.request import Wanted

__all__ = ["Gpu", "Hami", "Pod", "Policy", "Wanted", "every", "fit"]
