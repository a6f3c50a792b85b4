//go:build since_1_37

package devicemanager

import (
	cadvisorapi "github.com/google/cadvisor/lib/model"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

type cadvisorNode = cadvisorapi.Node
type affinityStore = topologymanager.Store
