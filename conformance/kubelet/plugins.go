package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

const patience = 10 * time.Second // until what a plugin sent is known

// pluginOf is a device plugin that speaks gRPC, upstream's stub: it prefers the first or last devices, and answers
// Allocate in the ways of k8s-device-plugin's device list strategies.
func pluginOf(resource string, asked offered, socket string) *plugin.Stub {
	devices := []*pluginapi.Device{}
	for id, one := range asked.Devices {
		devices = append(devices, devicemanager.Real(id, one))
	}
	stub := plugin.NewDevicePluginStub(klog.Background(), devices, socket, resource, false, asked.Preferred != "off")
	stub.SetGetPreferredAllocFunc(func(r *pluginapi.PreferredAllocationRequest, _ map[string]*pluginapi.Device) (*pluginapi.PreferredAllocationResponse, error) {
		answer := &pluginapi.PreferredAllocationResponse{}
		for _, one := range r.ContainerRequests {
			ids := preferred(one, asked.Preferred == "last")
			answer.ContainerResponses = append(answer.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
		}
		return answer, nil
	})
	stub.SetAllocFunc(func(r *pluginapi.AllocateRequest, _ map[string]*pluginapi.Device) (*pluginapi.AllocateResponse, error) {
		answer := &pluginapi.AllocateResponse{}
		for _, one := range r.ContainerRequests {
			answer.ContainerResponses = append(answer.ContainerResponses, given(one.DevicesIds, asked.Strategies))
		}
		return answer, nil
	})
	return stub
}

func preferred(asked *pluginapi.ContainerPreferredAllocationRequest, last bool) []string {
	free := slices.Clone(asked.AvailableDeviceIDs)
	slices.Sort(free)
	if last {
		slices.Reverse(free)
	}
	chosen := slices.Clone(asked.MustIncludeDeviceIDs)
	for _, id := range free {
		if len(chosen) < int(asked.AllocationSize) && !slices.Contains(chosen, id) {
			chosen = append(chosen, id)
		}
	}
	return chosen
}

// given strips replicas, as k8s-device-plugin does in everything it hands to the runtime.
func given(ids, strategies []string) *pluginapi.ContainerAllocateResponse {
	devices := []string{}
	for _, id := range ids {
		device, _, _ := strings.Cut(id, "::")
		devices = append(devices, device)
	}
	slices.Sort(devices)
	devices = slices.Compact(devices)
	answer := &pluginapi.ContainerAllocateResponse{}
	for _, strategy := range strategies {
		switch strategy {
		case "envvar":
			answer.Envs = map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(devices, ",")}
		case "cdi-cri":
			for _, id := range devices {
				answer.CdiDevices = append(answer.CdiDevices, &pluginapi.CDIDevice{Name: "k8s.device-plugin.nvidia.com/gpu=" + id})
			}
		case "volume-mounts":
			answer.Envs = map[string]string{"NVIDIA_VISIBLE_DEVICES": "/var/run/nvidia-container-devices"}
			for _, id := range devices {
				answer.Mounts = append(answer.Mounts, &pluginapi.Mount{HostPath: "/dev/null", ContainerPath: "/var/run/nvidia-container-devices/" + id})
			}
		}
	}
	return answer
}

// plug starts a plugin for every resource, each registered over the kubelet's socket, and waits for their devices.
func (s *serving) plug(ctx context.Context, folder string) error {
	number := 0
	for name, asked := range s.Resources {
		socket := filepath.Join(folder, fmt.Sprintf("plugin-%d.sock", number))
		number++
		stub := pluginOf(name, asked, socket)
		if err := stub.Start(ctx); err != nil {
			return err
		}
		s.plugins[name] = stub
		if err := stub.Register(ctx, filepath.Join(folder, "kubelet.sock"), name, ""); err != nil {
			return err
		}
		if err := s.known(name, asked.Devices); err != nil {
			return err
		}
	}
	return nil
}

// tell changes the health of devices as a plugin does: by ListAndWatch.
func (s *serving) tell(resource string, unhealthy []string) error {
	devices := s.Resources[resource].Devices
	list := []*pluginapi.Device{}
	for id, one := range devices {
		healthy := !slices.Contains(unhealthy, id)
		one.Healthy = &healthy
		devices[id] = one
		list = append(list, devicemanager.Real(id, one))
	}
	s.plugins[resource].Update(list)
	return s.known(resource, devices)
}

// known waits until the device manager has what the plugin sent, and has written it down.
func (s *serving) known(resource string, devices map[string]devicemanager.MadeUpDevice) error {
	healthy := []string{}
	for id, one := range devices {
		if one.Healthy == nil || *one.Healthy {
			healthy = append(healthy, id)
		}
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s.kubelet.devices.Knows(resource, len(devices), healthy) {
			return nil
		}
	}
	return fmt.Errorf("%s: the kubelet does not know its plugin's devices after %s", resource, patience)
}
