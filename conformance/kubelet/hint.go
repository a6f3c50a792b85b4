package main

import (
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
)

// hint is a TopologyHint in JSON; nodes null is no affinity.
type hint struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred"`
}

func shown(one topologymanager.TopologyHint) hint {
	if one.NUMANodeAffinity == nil {
		return hint{nil, one.Preferred}
	}
	return hint{append([]int{}, one.NUMANodeAffinity.GetBits()...), one.Preferred}
}

func (h hint) real() topologymanager.TopologyHint {
	if h.Nodes == nil {
		return topologymanager.TopologyHint{Preferred: h.Preferred}
	}
	mask, err := bitmask.NewBitMask(h.Nodes...)
	if err != nil {
		panic(err)
	}
	return topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: h.Preferred}
}
