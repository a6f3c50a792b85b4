// Compiled into a copy of the kubelet's package cpumanager: Start without the loop that tells the container
// runtime, of which there is none here and which no one could stop.
package cpumanager

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
)

// StartOnce does what Start does before it starts that loop.
func StartOnce(anyManager Manager, active ActivePodsFunc) error {
	m := anyManager.(*manager)
	logger := klog.Background()
	m.activePods = active
	m.containerMap = containermap.NewContainerMap()
	stateImpl, err := state.NewCheckpointState(logger, m.stateFileDirectory, cpuManagerStateFileName, m.policy.Name(), m.containerMap)
	if err != nil {
		return err
	}
	m.state = stateImpl
	if err := m.policy.Start(logger, m.state); err != nil {
		return err
	}
	m.allocatableCPUs = m.policy.GetAllocatableCPUs(m.state)
	return nil
}
