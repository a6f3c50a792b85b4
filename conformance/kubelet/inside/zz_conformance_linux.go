// Compiled into a copy of the kubelet's package cm: its container manager as podresources asks it, over given
// managers. The container manager's own code is unchanged.
package cm

import (
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
)

// NewProviders is what NewContainerManager makes, without cgroups, as far as podresources is concerned.
func NewProviders(pods podresources.PodsProvider, devices devicemanager.Manager, cpus cpumanager.Manager, memory memorymanager.Manager, claims *dra.Manager) podresources.PodResourcesProviders {
	cm := &containerManagerImpl{deviceManager: devices, cpuManager: cpus, memoryManager: memory, draManager: claims}
	return podresources.PodResourcesProviders{Pods: pods, Devices: cm, Cpus: cm, Memory: cm, DynamicResources: cm}
}
