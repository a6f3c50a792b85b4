"""What the kubelet's managers do with a pod: device manager, CPU manager, Memory manager, Topology Manager.

Upstream: kubernetes v1.36, pkg/kubelet/cm/{devicemanager,cpumanager,memorymanager,topologymanager}; what
other releases do differently is in releases.py. The core knows NUMA ids, CPU numbers and device ids; it
knows no node (that is from_node.py). One file a manager's task:

    machine, pod, settings       what is asked of whom
    device_hints, device_choice  device manager: hints; which ids, and what the plugin is asked
    cpu_packed, cpu_distributed  CPU manager static: takeByTopology
    cpu_manager, memory_manager  hints and allocation of these two
    hints, merge                 Topology Manager: flattening, merge, the four policies
    startup                      when the kubelet refuses to start
    admission                    a pod through all of them: every result the real code can have

Go's map iteration is random where the managers loop over devices or resources: `admission.admit` returns
all results, each with the state it leaves.
"""
