"""CEL as Kubernetes evaluates it for a DRA device selector: compile error, runtime error and value are three answers.

    >>> from gputopo.cel.program import CompileError, Device, compile, evaluate
    >>> device = Device("gpu.nvidia.com", {"productName": "NVIDIA H100 80GB HBM3"}, {"memory": "81559Mi"})
    >>> evaluate("device.attributes['gpu.nvidia.com'].productName.contains('H100')", device)
    True
    >>> evaluate("device.attributes['gpu.nvidia.com'].model == 'H100'", device)
    RuntimeError_(text='no such key: model', refused=False)
    >>> error = compile("device.capacity['gpu.nvidia.com'].memory >= 80Gi")
    >>> isinstance(error, CompileError), error.faults[0].line, error.faults[0].column
    (True, 1, 47)

Sources: google/cel-go v0.26.0 (Kubernetes 1.34–1.36; v0.22 in 1.32, v0.23 in 1.33, v0.29 in 1.37),
k8s.io/apiserver/pkg/cel and k8s.io/dynamic-resource-allocation/cel of the same releases.
"""
