package main

import (
	"os"
	"reflect"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

const (
	resourceName  = "r"
	podUID        = "p"
	containerName = "c"
	choiceRuns    = 400 // map order differs between runs; fewer would show a device as always chosen by luck
)

// devices is what hints and allocate have in common: one resource, one container.
type devices struct {
	Nodes    []int                                 `json:"nodes"`
	Devices  map[string]devicemanager.MadeUpDevice `json:"devices"`
	Reusable []string                              `json:"reusable"`
	Request  int                                   `json:"request"`
}

func (d *devices) manager(dir, mode string, allocated []string, store topologymanager.Store, calls *devicemanager.Calls) (*devicemanager.ManagerImpl, error) {
	nodes := []node{}
	for _, id := range d.Nodes {
		nodes = append(nodes, node{Id: id})
	}
	m, err := devicemanager.NewMadeUpManager(dir, nodes, store, func() []*v1.Pod { return nil })
	if err != nil {
		return nil, err
	}
	m.Register(resourceName, d.Devices, mode, calls)
	m.SetInUse(resourceName, podUID, allocated, d.Reusable)
	return m, nil
}

// hints is GetTopologyHints for one container: null where no device has a NUMA node, [] where too few are left.
type hints struct {
	devices
	Available []string `json:"available"`
}

func (q *hints) ask() (any, bool, error) {
	dir, err := scratch()
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	inUse := []string{}
	for id, one := range q.Devices {
		if !slices.Contains(q.Available, id) && (one.Healthy == nil || *one.Healthy) {
			inUse = append(inUse, id)
		}
	}
	m, err := q.manager(dir, "off", inUse, fixedStore{}, &devicemanager.Calls{})
	if err != nil {
		return nil, false, err
	}
	container := v1.Container{Name: containerName}
	container.Resources.Limits = v1.ResourceList{resourceName: *resource.NewQuantity(int64(q.Request), resource.DecimalSI)}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{container}}}
	pod.UID = types.UID(podUID)
	found := deviceHints(m, pod)[resourceName]
	if found == nil {
		return map[string]any{"hints": nil}, false, nil
	}
	list := []hint{}
	for _, one := range found {
		list = append(list, shown(one))
	}
	return map[string]any{"hints": list}, false, nil
}

// choice is devicesToAllocate, asked often.
type choice struct {
	devices
	Allocated []string `json:"allocated"`
	Hint      *hint    `json:"hint"`
	Mode      string   `json:"preferred_mode"`
}

func (q *choice) ask() (any, bool, error) {
	store := fixedStore{}
	if q.Hint != nil {
		store.hint = q.Hint.real()
	}
	dir, err := scratch()
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	calls := &devicemanager.Calls{}
	m, err := q.manager(dir, q.Mode, q.Allocated, store, calls)
	if err != nil {
		return nil, false, err
	}
	seen, failures, count := map[string]int{}, map[string]bool{}, 0
	var asked []devicemanager.PreferredCall
	varies := false
	for run := range choiceRuns {
		m.SetInUse(resourceName, podUID, q.Allocated, q.Reusable)
		chosen, err := m.Choose(podUID, containerName, resourceName, q.Request, q.Reusable)
		taken := calls.Take()
		for i := range taken {
			taken[i].Resource = ""
		}
		if run == 0 {
			asked = taken
		}
		varies = varies || !reflect.DeepEqual(asked, taken)
		if err != nil {
			failures[err.Error()] = true
		}
		count = len(chosen)
		for _, id := range chosen {
			seen[id]++
		}
	}
	if len(failures) > 0 {
		return map[string]any{"calls": asked, "errors": names(failures)}, varies, nil
	}
	always, ever := []string{}, []string{}
	for id, times := range seen {
		ever = append(ever, id)
		if times == choiceRuns {
			always = append(always, id)
		}
	}
	sort.Strings(always)
	sort.Strings(ever)
	return map[string]any{"calls": asked, "always": always, "ever": ever, "count": count}, varies, nil
}

func names(set map[string]bool) []string {
	list := []string{}
	for name := range set {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

// scratch is where the managers write their checkpoints: in memory where that is to be had.
func scratch() (string, error) {
	parent := "/dev/shm"
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		parent = ""
	}
	return os.MkdirTemp(parent, "conformance-")
}
