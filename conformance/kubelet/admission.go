package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"
)

// admission is a kubelet of four managers, and pods that come and go.
type admission struct {
	Machine      machine            `json:"machine"`
	CPUPolicy    string             `json:"cpu_policy"`
	CPUOptions   map[string]string  `json:"cpu_options"`
	ReservedCPUs string             `json:"reserved_cpus"`
	MemoryPolicy string             `json:"mem_policy"`
	ReservedMiB  int64              `json:"mem_reserved_mib_per_numa"`
	Policy       string             `json:"policy"`
	Scope        string             `json:"scope"`
	Options      map[string]string  `json:"options"`
	Gates        map[string]bool    `json:"feature_gates"`
	Resources    map[string]offered `json:"resources"`
	Steps        []step             `json:"steps"`
	Runs         int                `json:"runs"`
}

type offered struct {
	Preferred  string                                `json:"preferred"`
	Strategies []string                              `json:"strategies"` // how a plugin that serves tells the runtime
	Devices    map[string]devicemanager.MadeUpDevice `json:"devices"`
}

// ask answers with the first run; the others only tell whether map order matters.
func (q *admission) ask() (any, bool, error) {
	reset, err := q.setGates()
	if err != nil {
		return nil, false, err
	}
	defer reset()
	first, text, err := q.once()
	for run := 1; run < q.Runs && err == nil; run++ {
		var other string
		if _, other, err = q.once(); err == nil && other != text {
			return first, true, nil
		}
	}
	return first, false, err
}

func (q *admission) setGates() (func(), error) {
	gates := utilfeature.DefaultMutableFeatureGate
	before := map[string]bool{}
	for name := range q.Gates {
		for known := range gates.GetAll() {
			if string(known) == name {
				before[name] = gates.Enabled(known)
			}
		}
	}
	return func() { _ = gates.SetFromMap(before) }, gates.SetFromMap(q.Gates)
}

func (q *admission) once() (any, string, error) {
	dir, err := scratch()
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	var found any
	one := &kubelet{asked: q, calls: &devicemanager.Calls{}}
	one.plug = func(string) error {
		for name, resource := range q.Resources {
			one.devices.Register(name, resource.Devices, resource.Preferred, one.calls)
		}
		return nil
	}
	if refusal := one.start(dir); refusal != nil {
		found = map[string]any{"start_error": refusal.Error()}
	} else {
		steps := []any{}
		for _, step := range q.Steps {
			outcome, err := one.take(step)
			if err != nil {
				return nil, "", err
			}
			steps = append(steps, outcome)
		}
		found = map[string]any{"steps": steps}
	}
	text, err := json.Marshal(found)
	return found, string(text), err
}

type kubelet struct {
	asked    *admission
	calls    *devicemanager.Calls
	plug     func(folder string) error // how devices come to be known
	active   []*v1.Pod
	topology topologymanager.Manager
	devices  *devicemanager.ManagerImpl
	cpus     cpumanager.Manager
	memory   memorymanager.Manager
}

// start makes the managers in the order of container_manager_linux.go. The kubelet prints no prefixes.
func (k *kubelet) start(dir string) error {
	q := k.asked
	info, err := q.Machine.info()
	if err != nil {
		return err
	}
	active := func() []*v1.Pod { return k.active }
	if k.topology, err = newTopologyManager(info.Topology, q.Policy, q.Scope, q.Options); err != nil {
		return fmt.Errorf("topologymanager: %w", err)
	}
	plugins := filepath.Join(dir, "device-plugins")
	if k.devices, err = devicemanager.NewMadeUpManager(plugins, info.Topology, k.topology, active); err != nil {
		return fmt.Errorf("devicemanager: %w", err)
	}
	if err := k.plug(plugins); err != nil {
		return err
	}
	reserved, err := cpuset.Parse(q.ReservedCPUs)
	if err != nil {
		return err
	}
	kept, keptMemory := q.Machine.kept(reserved.Size(), q.ReservedMiB)
	if k.cpus, err = newCPUManager(q.CPUPolicy, q.CPUOptions, info, reserved, kept, dir, k.topology); err != nil {
		return fmt.Errorf("cpumanager: %w", err)
	}
	if k.memory, err = newMemoryManager(q.MemoryPolicy, info, kept, keptMemory, dir, k.topology); err != nil {
		return fmt.Errorf("memorymanager: %w", err)
	}
	k.topology.AddHintProvider(klog.Background(), k.devices)
	k.topology.AddHintProvider(klog.Background(), k.cpus)
	k.topology.AddHintProvider(klog.Background(), k.memory)
	if err := cpumanager.StartOnce(k.cpus, active); err != nil {
		return fmt.Errorf("cpumanager: %w", err)
	}
	ready := everReady{}
	if err := k.memory.Start(context.Background(), active, ready, nil, nil, containermap.NewContainerMap()); err != nil {
		return fmt.Errorf("memorymanager: %w", err)
	}
	return nil
}

type everReady struct{}

func (everReady) AddSource(string) {}
func (everReady) AllReady() bool   { return true }

func (k *kubelet) take(s step) (map[string]any, error) {
	if s.Op == "del" {
		k.drop(s.UID)
		return map[string]any{"op": "del", "uid": s.UID}, nil
	}
	pod, err := s.pod()
	if err != nil {
		return nil, err
	}
	k.active = append(k.active, pod)
	result := admit(k.topology, pod)
	outcome := map[string]any{"op": "add", "uid": s.UID, "admit": result.Admit, "preferred_calls": k.calls.Take()}
	if result.Admit {
		outcome["containers"] = k.containers(pod)
		return outcome, nil
	}
	outcome["reason"], outcome["message"] = result.Reason, result.Message
	k.drop(s.UID)
	return outcome, nil
}

func (k *kubelet) drop(uid string) {
	left := []*v1.Pod{}
	for _, pod := range k.active {
		if string(pod.UID) != uid {
			left = append(left, pod)
		}
	}
	k.active = left
}

type block struct {
	NUMA []int  `json:"numa"`
	Size uint64 `json:"size"`
	Type string `json:"type"`
}

func blocks(held []state.Block) []block {
	list := []block{}
	for _, one := range held {
		list = append(list, block{one.NUMAAffinity, one.Size, string(one.Type)})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Type < list[j].Type })
	return list
}

func (k *kubelet) containers(pod *v1.Pod) map[string]any {
	uid := string(pod.UID)
	found := map[string]any{}
	for _, one := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		found[one.Name] = map[string]any{
			"hint":         shown(storedHint(k.topology, uid, one.Name)),
			"devices":      k.devices.Held(uid, one.Name),
			"cpus":         k.cpus.GetExclusiveCPUs(uid, one.Name).String(),
			"cpu_affinity": k.cpus.GetCPUAffinity(uid, one.Name).String(),
			"memory":       blocks(k.memory.State().GetMemoryBlocks(uid, one.Name)),
		}
	}
	return found
}
