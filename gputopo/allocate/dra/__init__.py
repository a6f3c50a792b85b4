"""Dynamic resource allocation: the structured allocator of the kube-scheduler, Kubernetes 1.32 to 1.37.

Upstream: k8s.io/dynamic-resource-allocation/structured (single until 1.33; stable, incubating and experimental from
1.34 on). `allocate.attempt` is one attempt for one node, `orders.outcomes` every answer where the order of pools is
random, `question.ask` and `question.ask_published` the whole answer with why not; `mechanism.Dra` asks for a number
of GPUs. Objects become records in `read_slices` and `read_claims`; `behaviour.of` says how a release works.
"""
