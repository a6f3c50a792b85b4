"""What can be read, one row a format; and texts that are known but not read.

A row's `needles` are words of which one is in every text of the format: a cheap test, so that only
parsers with a chance are loaded. Its module's `sniff` decides.
"""

from __future__ import annotations

from typing import NamedTuple

API_GROUP = '"gputopo/'  # whatever the version: a newer one is refused by name


class Format(NamedTuple):
    id: str
    module: str | None  # in gputopo.parsers, with `sniff` and `parse`; None: read elsewhere
    needles: tuple[str, ...]  # one of these is in every text of this format; () = not a text
    what: str
    tells: str
    cannot: str
    get: tuple[str, ...] = ()  # command lines that write it, each on its own


FORMATS: tuple[Format, ...] = (
    Format(
        "nvidia-smi-topo",
        "nvidia_smi_topo",
        ("GPU", "topology", "argument", "NVIDIA", "nvidia", "NVML", " X "),
        "nvidia-smi topo -m / -mp, every generation, damaged or inside other text",
        "GPUs, NICs, letters of every pair, NVLink counts, CPU and NUMA affinity",
        "sockets, PCI addresses, PCIe under NV#, CPU lists past 10 characters",
        get=("nvidia-smi topo -m > topo.txt",),
    ),
    Format(
        "nvidia-smi-p2p",
        "nvidia_smi_p2p",
        ("\tOK", " OK", "CNS", "GNS", "TNS", "\tNS", " NS"),
        "nvidia-smi topo -p2p r/w/n/a/p",
        "which pairs of GPUs can reach each other, and why not",
        "the kind asked for when the command line is not in the text",
        get=("nvidia-smi topo -p2p n > p2p-nvlink.txt", "nvidia-smi topo -p2p r > p2p-read.txt"),
    ),
    Format(
        "nvidia-smi-nvlink",
        "nvidia_smi_nvlink",
        ("Link ", "inActive", "inactive", "support NVLink", "support NvLink", "NvLink ID", "is not recognized."),
        "nvidia-smi nvlink -s, -c, -R",
        "links of each GPU, their speed and state, far ends (-R)",
        "which GPUs a link joins when the far end is not printed or a switch",
        get=("nvidia-smi nvlink -s > links.txt", "nvidia-smi nvlink -R > remote.txt"),
    ),
    Format(
        "nvidia-smi-q",
        "nvidia_smi_q",
        ("NVSMI LOG", "<nvidia_smi_log", "Product Name", "GPU UUID", "Attached GPUs", "Link Width", "MIG Mode",
         "FB Memory Usage", "Fabric"),
        "nvidia-smi -q, text or XML (-x)",
        "models, UUIDs, PCI addresses, PCIe link, MIG, fabric, ECC, clocks, throttling",
        "letters, NVLinks of pairs, NICs, NUMA nodes",
        get=("nvidia-smi -q -x > q.xml", "nvidia-smi -q > q.txt"),
    ),
    Format(
        "nvidia-smi-list",
        "nvidia_smi_list",
        ("(UUID: ", "(S/N: ", "uuid", "bus_id", "index, ", ", GPU-", ", 0000", "name, ", "is not a valid field",
         "No devices found"),
        "nvidia-smi -L and --query-gpu=... --format=csv",
        "index, model, UUID, MIG devices; what was queried",
        "how the GPUs are wired",
        get=("nvidia-smi -L > gpus.txt", "nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv > gpus.csv"),
    ),
    Format(
        "nvidia-smi-table",
        "nvidia_smi_table",
        ("NVIDIA-SMI", "MiB |"),
        "the plain nvidia-smi table",
        "index, model, PCI address, driver",
        "topology: ask for nvidia-smi topo -m",
        get=("nvidia-smi > smi.txt",),
    ),
    Format(
        "nccl-xml",
        "nccl_xml",
        ("<system",),
        "NCCL / RCCL topology XML (NCCL_TOPO_DUMP_FILE, vendors' files)",
        "PCI tree, GPUs with NVLinks, NICs, NUMA nodes, CPU masks, link width",
        "sockets, UUIDs, NVLink state; a vendor's file may be virtual",
        get=("NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8",),
    ),
    Format(
        "nccl-graph",
        "nccl_graph",
        ("<graphs",),
        "NCCL graph file (NCCL_GRAPH_DUMP_FILE)",
        "that it is one: the channels NCCL chose",
        "the machine: give the topology file (NCCL_TOPO_DUMP_FILE)",
        get=("NCCL_GRAPH_DUMP_FILE=graph.xml all_reduce_perf -g 8",),
    ),
    Format(
        "hwloc-xml",
        "hwloc_xml",
        ("<topology",),
        "lstopo --of xml, hwloc 1.x to 3.x",
        "sockets, NUMA nodes, CPU sets, PCI tree, device names",
        "driver; NVLinks and NVML indices only where lstopo had NVML",
        get=("lstopo --of xml > node.xml",),
    ),
    Format(
        "lscpu",
        "lscpu",
        ("CPU(s)", "Socket(s)", '"lscpu"'),
        "lscpu, alone or beside other text",
        "sockets, NUMA nodes, CPUs of each node, CPU model",
        "GPUs, NICs, which node belongs to which socket when SNC/NPS is on",
        get=("lscpu > lscpu.txt", "lscpu -J > lscpu.json"),
    ),
    Format(
        "numactl-hardware",
        "numactl_hardware",
        (" cpus:", " size:", "node distances"),
        "numactl --hardware",
        "NUMA nodes, their CPUs, memory, distances",
        "sockets, GPUs, NICs",
        get=("numactl --hardware > numactl.txt",),
    ),
    Format(
        "lspci-tv",
        "lspci_tv",
        ("-[", "+-0", "+-1", "\\-0", "\\-1"),
        "lspci -tv (and -t)",
        "PCI tree; GPUs, NICs, NVMe by name; virtual machines",
        "NUMA nodes, NVLink, link width",
        get=("lspci -tv > tree.txt",),
    ),
    Format(
        "lspci-vvv",
        "lspci_vvv",
        ("controller", "ridge:", "ridge [", "LnkCap", "accelerators", "Co-processor"),
        "lspci, plain to -vvv",
        "devices, bridges, link width, ACS, IOMMU groups, drivers",
        "NVLink, CPUs; the tree of a listing that is cut",
        get=("sudo lspci -vvv > lspci.txt", "lspci > lspci.txt"),
    ),
    Format(
        "ibdev2netdev",
        "ibdev2netdev",
        ("==>",),
        "ibdev2netdev",
        "RDMA devices, their network devices, up or down",
        "where the NICs are",
        get=("ibdev2netdev > nics.txt",),
    ),
    Format(
        "rocm-smi-topo",
        "rocm_smi_topo",
        (" between two GPUs", "(Topology)"),
        "rocm-smi --showtopo, --showtoponuma",
        "AMD GPUs, link type, weight, hops, NUMA nodes",
        "PCIe levels, NICs",
        get=("rocm-smi --showtopo > topo.txt",),
    ),
    Format(
        "amd-smi-topo",
        "amd_smi_topo",
        (" TABLE:",),
        "amd-smi topology",
        "AMD GPUs by PCI address, link type, weight, hops",
        "PCIe levels, NICs, NUMA nodes",
        get=("amd-smi topology > topo.txt",),
    ),
    Format(
        "nvidia-bug-report",
        "nvidia_bug_report",
        ("Start of NVIDIA bug report",),
        "nvidia-bug-report.log; outputs inside it are read too",
        "driver and kernel; whatever its sections hold",
        "what was not collected",
        get=("sudo nvidia-bug-report.sh",),
    ),
    Format(
        "nvml-recording",
        "nvml_recording",
        ('"nvml', '"pynvml"', "nvmlInit", '"snap"'),
        "our recording of an NVIDIA driver's answers",
        "GPUs, UUIDs, PCI, NVLinks, P2P, affinity, fabric, MIG, PCIe link",
        "NICs, bridges, sockets",
        get=("gputopo collect -o node.tar.gz",),
    ),
    Format(
        "sysfs-root",
        "sysfs_root",
        (),
        "folder or archive with sys/ (and proc/): live /, /host, hwloc-gather-topology",
        "PCI tree, GPUs, NICs, NVMe, NUMA nodes, sockets, CPUs, PCIe links, drivers",
        "NVLink, UUIDs without the driver's proc files, NVML index",
        get=("hwloc-gather-topology node", "gputopo --root /host"),
    ),
    Format(
        "gputopo-bundle",
        None,
        (),
        "what gputopo collect writes: .tar.gz, .tar.zst, a folder, or lines of JSON",
        "what the live node tells: sysfs, /proc and the driver's answers, names and numbers replaced",
        "what could not be read there: its manifest.json says it",
        get=(
            "gputopo collect -o node.tar.gz",
            "gputopo collect --stdout >> nodes.ndjson",
            "gputopo collect --print-script > collect.sh; sh collect.sh > node.ndjson",
        ),
    ),
    Format(
        "gputopo-json",
        None,
        (API_GROUP,),
        "what gputopo inspect -o json prints",
        "everything it was made from, sources included",
        "nothing of it is lost",
        get=("gputopo inspect -o json > node.json",),
    ),
)  # fmt: skip

# No evidence of a node: what `gputopo allocate` or `gputopo pods` reads beside it, as a source or by an option. Those
# with a module say who holds what (holdings.py), see recognise_holdings.py. Not for --as.
BESIDE: tuple[Format, ...] = (
    Format(
        "kube-objects", "object_holdings", ('"kind"', "kind:"),
        "Pod, Node, Event, workloads, ResourceClaim, ResourceSlice, DeviceClass, Device (Koordinator), ConfigMap, "
        "NodeResourceTopology; JSON too",
        "who decides, what is asked for, annotations and labels that a scheduler reads; what pods of which node hold",
        "how the node is wired; which GPUs a pod got, where the kubelet is older than 1.36 and no claim says it",
        get=("kubectl get node NODE -o yaml > node.yaml", "kubectl get pod POD -o yaml > pod.yaml",
             "kubectl get pods,resourceclaims -A -o json > pods.json",
             "kubectl get nodes,resourceslices -o json > nodes.json"),
    ),
    Format(
        "kubelet-config", None, (),
        "the kubelet's configuration: its file, a ConfigMap that holds it, or /configz",
        "policies of the Topology, CPU and Memory Manager, reserved CPUs and memory", "what is held now",
        get=("kubectl get --raw /api/v1/nodes/NODE/proxy/configz > configz.json",),
    ),
    Format(
        "podresources", "podresources",
        ('"podResources"', '"pod_resources"', '"deviceIds"', '"device_ids"', '"cpuIds"', '"cpu_ids"'),
        "what the kubelet answers at its podresources socket: List, Get, GetAllocatableResources, as JSON or protobuf",
        "devices, NUMA nodes, exclusive CPUs, memory and claims of running containers; what could be given away",
        "UIDs of pods; what init containers hold",
        get=("grpcurl -plaintext -proto api.proto -unix kubelet.sock v1.PodResourcesLister/List",),
    ),
    Format(
        "kubelet-checkpoint", "kubelet_holdings", ('"PodDeviceEntries"',),
        "the device manager's kubelet_internal_checkpoint",
        "which devices containers hold, their NUMA nodes, what the plugin answered, which devices are healthy",
        "CPUs and memory; what DRA gave; which pods are gone",
        get=("sudo cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",),
    ),
    Format(
        "cpu-manager-state", "kubelet_holdings", ('"defaultCpuSet"',),
        "the CPU Manager's state file",
        "which exclusive CPUs containers hold, the pool of all others, the policy", "devices and memory",
        get=("sudo cat /var/lib/kubelet/cpu_manager_state > cpu_manager_state",),
    ),
    Format(
        "memory-manager-state", "kubelet_holdings", ('"machineState"',),
        "the Memory Manager's state file",
        "memory that containers hold on each NUMA node, how much nobody has pinned, the policy", "devices and CPUs",
        get=("sudo cat /var/lib/kubelet/memory_manager_state > memory_manager_state",),
    ),
    Format(
        "dra-manager-state", "dra_manager_state", ("ClaimInfoStateList",),
        "the kubelet's state of ResourceClaims",
        "devices of each claim, and the UIDs of the pods that use it", "containers, CPUs, NUMA nodes",
        get=("sudo cat /var/lib/kubelet/dra_manager_state > dra_manager_state",),
    ),
    Format(
        "crictl-inspect", "crictl_inspect", ('"runtimeSpec"', '"sandboxID"', '"sandboxId"', '"ociVersion"'),
        "crictl inspect of containerd and CRI-O, one container or many; an OCI config.json",
        "pod, CPU set, process, CDI devices, mounts and NVIDIA_VISIBLE_DEVICES of containers",
        "what the kubelet gave: the variable is a claim",
        get=("crictl ps -q | xargs sudo crictl inspect > containers.json",),
    ),
    Format(
        "docker-inspect", "docker_inspect", ('"HostConfig"',),
        "docker inspect, also of nerdctl and podman",
        "pod, CPU set, process, --gpus, devices, NVIDIA_VISIBLE_DEVICES of containers", "what the kubelet gave",
        get=("docker ps -q | xargs docker inspect > containers.json",),
    ),
    Format(
        "cdi-spec", "cdi_spec", ("cdiVersion",),
        "a CDI specification of /etc/cdi or /var/run/cdi, JSON or YAML",
        "which device a CDI name means: UUID, minor number, kernel device", "who holds what",
        get=("nvidia-ctk cdi generate > nvidia.yaml", "sudo cat /var/run/cdi/*.json > cdi.json"),
    ),
    Format(
        "slurm-job", "slurm_job", ("JobId=", "CPUAlloc=", "SLURM_JOB_ID=", "JOBID", '"gres_detail"'),
        "scontrol show job -d, scontrol show node -d, squeue, the SLURM_* variables of a job",
        "which GPUs of which node a job has, by their place in Slurm's list; how many a node has",
        "NVML indexes, Linux's CPU numbers, processes",
        get=("scontrol show job -d > jobs.txt", "scontrol show node -d NODE > node.txt"),
    ),
    Format(
        "gres-conf", "gres_names", ("Gres Name=",),
        "what slurmd -G prints: Slurm's list of the node's GPUs",
        "which device file is which place in Slurm's list", "who holds what",
        get=("sudo slurmd -G 2> gres.txt",),
    ),
    Format(
        "dcgm-metrics", "dcgm_metrics", ('UUID="', 'uuid="', '"resultType"'),
        "metrics of dcgm-exporter: exposition text, or what Prometheus answers to a query",
        "which pod, container or Slurm job had which GPU or MIG instance, and when", "what is held now",
        get=("curl -s http://NODE:9400/metrics > dcgm.txt",
             "curl -s 'http://PROMETHEUS/api/v1/query?query=DCGM_FI_DEV_GPU_UTIL' > dcgm.json"),
    ),
    Format(
        "kubelet-log", "kubelet_log",
        ("Pod admission denied", "Making allocation request for device", "TopologyHint", "Topology Admit Handler"),
        "the kubelet's log, text or JSON, also out of journald",
        "whom the kubelet refused and why, the hints it weighed, devices it asked plugins for (--v=4)",
        "what is held now",
        get=("journalctl -u kubelet -o short-iso > kubelet.log",),
    ),
    Format(
        "plugin-config", None, (),
        "the device plugin's config.yaml, its ConfigMap with a key per node, or a ClusterPolicy",
        "MIG strategy, sharing, allocation policy, what a container sees", "which GPUs there are",
        get=("kubectl -n gpu-operator get configmap CONFIG -o yaml > plugin.yaml",),
    ),
)  # fmt: skip

# Texts that hold something useful, or that people paste by mistake: (words of which one is in the
# text, what it is, what to do). None of them is evidence of a node; those that another verb reads say so.
ALLOCATE = "gputopo allocate reads it, beside evidence of the node"
PODS = "gputopo pods reads it, beside evidence of the node"
DIAGNOSE = "gputopo diagnose reads it, beside evidence of the node"
BOTH = "gputopo pods and gputopo allocate read it, beside evidence of the node"
READ_BESIDE = (ALLOCATE, PODS, BOTH, DIAGNOSE)
PODRESOURCES = "an answer of the kubelet's podresources socket"
MISSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("apiVersion: gputopo/",), "gputopo's own YAML", "save it with -o json: JSON can be read back"),
    (('"podResources"', '"pod_resources"', '"deviceIds"', '"device_ids"'), PODRESOURCES, PODS),
    (("ClaimInfoStateList",), "the kubelet's state of resource claims", PODS),
    (('"policyName"', '"PodDeviceEntries"'), "a state file of the kubelet", BOTH),
    (('"runtimeSpec"', '"sandboxID"', '"ociVersion"'), "what crictl inspect prints of a container", PODS),
    (("JobId=", "CPUAlloc=", "SLURM_JOB_ID=", '"gres_detail"'), "what Slurm says of jobs", PODS),
    (('UUID="GPU-', '"resultType"'), "metrics of GPUs", PODS),
    (("Pod admission denied", "Best TopologyHint", "Making allocation request for device"), "a kubelet's log", PODS),
    (("cdiVersion",), "a CDI specification", PODS),
    (('"HostConfig"',), "what docker inspect prints of a container", PODS),
    (("kind: KubeletConfiguration", '"kubeletconfig"'), "a kubelet's configuration", ALLOCATE),
    (("migStrategy:", "timeSlicing:"), "a device plugin's configuration", ALLOCATE),
    (("\napiVersion: ", "apiVersion: v1", '"apiVersion": "', "apiVersion: resource.k8s.io"), "a Kubernetes object",
     BOTH),
    (("NCCL INFO", "NCCL WARN"), "an NCCL log", DIAGNOSE),
    (("# Avg bus bandwidth", "# Out of bounds values"), "output of nccl-tests", DIAGNOSE),
)  # fmt: skip
