//go:build !since_1_37

package main

import (
	"context"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
	"k8s.io/utils/cpuset"
)

type (
	node        = cadvisorapi.Node
	core        = cadvisorapi.Core
	machineInfo = cadvisorapi.MachineInfo
	hugePages   = cadvisorapi.HugePagesInfo
	uncoreCache = cadvisorapi.Cache
)

// fixedStore answers every question for an affinity with one hint.
type fixedStore struct {
	hint topologymanager.TopologyHint
}

func (s fixedStore) GetAffinity(string, string) topologymanager.TopologyHint { return s.hint }
func (s fixedStore) GetPolicy() topologymanager.Policy                       { return nil }
func (s fixedStore) Name() string                                            { return "fixed" }

func newTopologyManager(nodes []node, policy, scope string, options map[string]string) (topologymanager.Manager, error) {
	return topologymanager.NewManager(nodes, policy, scope, options)
}

func newCPUManager(policy string, options map[string]string, machine *machineInfo, reserved cpuset.CPUSet, kept v1.ResourceList, dir string, store topologymanager.Store) (cpumanager.Manager, error) {
	return cpumanager.NewManager(klog.Background(), policy, options, time.Hour, machine, reserved, kept, dir, store)
}

func newMemoryManager(policy string, machine *machineInfo, kept v1.ResourceList, reserved []kubeletconfig.MemoryReservation, dir string, store topologymanager.Store) (memorymanager.Manager, error) {
	return memorymanager.NewManager(klog.Background(), policy, machine, kept, reserved, dir, store)
}

func deviceHints(m *devicemanager.ManagerImpl, pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return m.GetTopologyHints(pod, &pod.Spec.Containers[0])
}

func admit(m topologymanager.Manager, pod *v1.Pod) lifecycle.PodAdmitResult {
	return m.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
}

func allocatableMemory(m memorymanager.Manager) []state.Block { return m.GetAllocatableMemory() }

func registerDriver(_ context.Context, handler cache.PluginHandler, name, socket string, services []string) error {
	return handler.RegisterPlugin(name, socket, services, nil)
}

func storedHint(m topologymanager.Manager, podUID, container string) topologymanager.TopologyHint {
	return m.GetAffinity(podUID, container)
}
