// Compiled into a copy of the kubelet's package devicemanager: a manager with made-up devices and a plugin
// that answers as told, and the two functions that are not exported. The manager's own code is unchanged.
package devicemanager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// MadeUpDevice is one device of a resource. NUMA nil: no topology object.
type MadeUpDevice struct {
	NUMA    []int `json:"numa"`
	Healthy *bool `json:"healthy"`
}

// PreferredCall is one GetPreferredAllocation, ids sorted. A call that failed has no answer.
type PreferredCall struct {
	Answer      []string `json:"answer"`
	Available   []string `json:"available"`
	MustInclude []string `json:"must_include"`
	Resource    string   `json:"resource,omitempty"`
	Size        int      `json:"size"`
}

// Calls collects what plugins were asked.
type Calls struct {
	mutex sync.Mutex
	all   []PreferredCall
}

// Take returns the calls since the last Take, by resource.
func (c *Calls) Take() []PreferredCall {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	taken := append([]PreferredCall{}, c.all...)
	c.all = nil
	sort.SliceStable(taken, func(i, j int) bool { return taken[i].Resource < taken[j].Resource })
	return taken
}

// Real is a device as its plugin sends it.
func Real(id string, one MadeUpDevice) *pluginapi.Device {
	device := &pluginapi.Device{ID: id, Health: pluginapi.Healthy}
	if one.Healthy != nil && !*one.Healthy {
		device.Health = pluginapi.Unhealthy
	}
	if one.NUMA != nil {
		device.Topology = &pluginapi.TopologyInfo{}
		for _, number := range one.NUMA {
			device.Topology.Nodes = append(device.Topology.Nodes, &pluginapi.NUMANode{ID: int64(number)})
		}
	}
	return device
}

// NewMadeUpManager is newManagerImpl; dir is for the checkpoint, and for the socket if it is started.
func NewMadeUpManager(dir string, topology []cadvisorNode, store affinityStore, active ActivePodsFunc) (*ManagerImpl, error) {
	m, err := newManagerImpl(klog.Background(), filepath.Join(dir, "kubelet.sock"), topology, store)
	if err == nil {
		m.activePods = active
	}
	return m, err
}

// Register makes a resource known, as a plugin's registration and its first ListAndWatch do.
func (m *ManagerImpl) Register(resource string, devices map[string]MadeUpDevice, mode string, calls *Calls) {
	list := []*pluginapi.Device{}
	for id, one := range devices {
		list = append(list, Real(id, one))
	}
	options := &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: mode != "off"}
	m.endpoints[resource] = endpointInfo{&toldEndpoint{resource, mode, calls}, options}
	m.genericDeviceUpdateCallback(klog.Background(), resource, list)
}

// Knows is whether the manager knows so many devices of a resource and these as healthy, and has written it down.
func (m *ManagerImpl) Knows(resource string, all int, healthy []string) bool {
	wanted := sets.New(healthy...)
	m.mutex.Lock()
	known := len(m.allDevices[resource]) == all && wanted.Equal(m.healthyDevices[resource])
	m.mutex.Unlock()
	found, err := m.getCheckpoint()
	if !known || err != nil {
		return false
	}
	_, registered := found.GetData()
	ids, written := registered[resource]
	return written && wanted.Equal(sets.New(ids...))
}

// SetInUse states what is allocated, and what this pod's init containers left to be taken over.
func (m *ManagerImpl) SetInUse(resource, podUID string, allocated, reusable []string) {
	m.allocatedDevices[resource] = sets.New(allocated...)
	m.devicesToReuse[podUID] = map[string]sets.Set[string]{resource: sets.New(reusable...)}
}

// Choose is devicesToAllocate.
func (m *ManagerImpl) Choose(podUID, container, resource string, request int, reusable []string) ([]string, error) {
	chosen, err := m.devicesToAllocate(context.Background(), podUID, container, resource, request, sets.New(reusable...))
	return sets.List(chosen), err
}

// Held is what a container holds: ids by NUMA node by resource.
func (m *ManagerImpl) Held(podUID, container string) map[string]map[string][]string {
	held := map[string]map[string][]string{}
	for resource, info := range m.podDevices.devs[podUID][container] {
		held[resource] = map[string][]string{}
		for node, ids := range info.deviceIds {
			ordered := append([]string{}, ids...)
			sort.Strings(ordered)
			held[resource][fmt.Sprint(node)] = ordered
		}
	}
	return held
}

type toldEndpoint struct {
	resource, mode string
	calls          *Calls
}

func (e *toldEndpoint) getPreferredAllocation(_ context.Context, available, mustInclude []string, size int) (*pluginapi.PreferredAllocationResponse, error) {
	call := PreferredCall{Available: ordered(available), MustInclude: ordered(mustInclude), Resource: e.resource, Size: size}
	defer func() {
		e.calls.mutex.Lock()
		e.calls.all = append(e.calls.all, call)
		e.calls.mutex.Unlock()
	}()
	if e.mode == "error" {
		return nil, errors.New("plugin said no")
	}
	call.Answer = e.chosen(call)
	return &pluginapi.PreferredAllocationResponse{
		ContainerResponses: []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: call.Answer}},
	}, nil
}

func (e *toldEndpoint) chosen(call PreferredCall) []string {
	size := call.Size
	rest := append([]string{}, call.Available...)
	switch e.mode {
	case "empty":
		return []string{}
	case "outside":
		return []string{"zz-not-offered-0", "zz-not-offered-1"}
	case "last":
		slices.Reverse(rest)
	case "short":
		size--
	}
	answer := append([]string{}, call.MustInclude...)
	for _, id := range rest {
		if len(answer) < size && !slices.Contains(answer, id) {
			answer = append(answer, id)
		}
	}
	return ordered(answer)
}

func (e *toldEndpoint) allocate(context.Context, []string) (*pluginapi.AllocateResponse, error) {
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}, nil
}

func (e *toldEndpoint) preStartContainer(context.Context, []string) (*pluginapi.PreStartContainerResponse, error) {
	return &pluginapi.PreStartContainerResponse{}, nil
}

func (e *toldEndpoint) setStopTime(time.Time)        {}
func (e *toldEndpoint) isStopped() bool              { return false }
func (e *toldEndpoint) stopGracePeriodExpired() bool { return false }
func (e *toldEndpoint) socketPath() string           { return "" }

func ordered(ids []string) []string {
	sorted := append([]string{}, ids...)
	sort.Strings(sorted)
	return sorted
}
