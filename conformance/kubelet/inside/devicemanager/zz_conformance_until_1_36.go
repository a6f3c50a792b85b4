//go:build !since_1_37

package devicemanager

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

type cadvisorNode = cadvisorapi.Node
type affinityStore = topologymanager.Store
