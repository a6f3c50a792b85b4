package main

import (
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// merge is Policy.Merge. Providers in the order device, cpu, memory; a resource with null has no preference.
type merge struct {
	Nodes     []int               `json:"nodes"`
	Distances map[int][]uint64    `json:"distances"`
	Policy    string              `json:"policy"`
	Options   map[string]string   `json:"options"`
	Providers []map[string][]hint `json:"providers"`
}

func (q *merge) ask() (any, bool, error) {
	policy, err := q.policy()
	if err != nil {
		return nil, false, err
	}
	best, admitted := policy.Merge(klog.Background(), q.hints())
	return map[string]any{"hint": shown(best), "admit": admitted}, false, nil
}

func (q *merge) policy() (topologymanager.Policy, error) {
	options, err := topologymanager.NewPolicyOptions(klog.Background(), q.Options)
	if err != nil {
		return nil, err
	}
	numa := &topologymanager.NUMAInfo{Nodes: q.Nodes, NUMADistances: q.Distances}
	switch q.Policy {
	case topologymanager.PolicyNone:
		return topologymanager.NewNonePolicy(), nil
	case topologymanager.PolicyBestEffort:
		return topologymanager.NewBestEffortPolicy(numa, options), nil
	case topologymanager.PolicyRestricted:
		return topologymanager.NewRestrictedPolicy(numa, options), nil
	case topologymanager.PolicySingleNumaNode:
		return topologymanager.NewSingleNumaNodePolicy(numa, options), nil
	}
	return nil, fmt.Errorf("unknown policy %q", q.Policy)
}

func (q *merge) hints() []map[string][]topologymanager.TopologyHint {
	all := []map[string][]topologymanager.TopologyHint{}
	for _, provider := range q.Providers {
		if provider == nil {
			all = append(all, nil)
			continue
		}
		real := map[string][]topologymanager.TopologyHint{}
		for resource, list := range provider {
			if list == nil {
				real[resource] = nil
				continue
			}
			real[resource] = []topologymanager.TopologyHint{}
			for _, one := range list {
				real[resource] = append(real[resource], one.real())
			}
		}
		all = append(all, real)
	}
	return all
}
