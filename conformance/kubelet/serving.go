package main

import (
	"context"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cri-client/pkg/util"
	"k8s.io/klog/v2"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	podresourcesv1alpha1 "k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
	apisgrpc "k8s.io/kubernetes/pkg/kubelet/apis/grpc"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
)

// serving is an admission whose kubelet stays, its root folder and podresources socket to be read, until the next
// question. Its device plugins and DRA drivers speak gRPC.
type serving struct {
	admission
	Claims  []claim `json:"claims"`
	kubelet *kubelet
	pods    []*v1.Pod // ended ones too
	plugins map[string]*plugin.Stub
	claims  *dra.Manager
	servers []*grpc.Server
	end     func()
}

var standing *serving // the one that stays

func (s *serving) ask() (any, bool, error) {
	reset, err := s.setGates()
	if err != nil {
		return nil, false, err
	}
	root, err := scratch()
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.plugins = map[string]*plugin.Stub{}
	s.end = func() {
		cancel()
		reset()
		_ = os.RemoveAll(root)
	}
	standing = s
	found := map[string]any{"root": root}
	if refusal := s.start(ctx, root); refusal != nil {
		found["start_error"] = refusal.Error()
		return found, false, nil
	}
	for _, one := range s.Steps {
		if err := s.take(ctx, one); err != nil {
			return nil, false, err
		}
	}
	found["pods"] = s.shown()
	found["allocatable"] = map[string]any{"cpus": s.kubelet.cpus.GetAllocatableCPUs().String(), "memory": blocks(allocatableMemory(s.kubelet.memory))}
	return found, false, s.serve(ctx, filepath.Join(root, "pod-resources"))
}

// leave ends what the last question left.
func leave() {
	if standing == nil {
		return
	}
	for _, server := range standing.servers {
		server.Stop()
	}
	for _, one := range standing.plugins {
		_ = one.Stop(klog.Background())
	}
	if standing.kubelet.devices != nil {
		_ = standing.kubelet.devices.Stop(klog.Background())
	}
	if standing.claims != nil {
		if handler, ok := standing.claims.GetWatcherHandler().(interface{ Stop() }); ok {
			handler.Stop()
		}
	}
	standing.end()
	standing = nil
}

func (s *serving) start(ctx context.Context, root string) error {
	s.kubelet = &kubelet{asked: &s.admission, calls: &devicemanager.Calls{}}
	s.kubelet.plug = func(folder string) error {
		active := func() []*v1.Pod { return s.kubelet.active }
		err := s.kubelet.devices.Start(klog.Background(), active, everReady{}, containermap.NewContainerMap(), sets.New[string]())
		if err != nil {
			return err
		}
		return s.plug(ctx, folder)
	}
	if err := s.kubelet.start(root); err != nil {
		return err
	}
	return s.prepare(ctx, root)
}

// take is what the kubelet does: claims are prepared after admission, before containers start, and given back when
// all have ended. A pod that is `lost` was deleted while the kubelet was not there to see it.
func (s *serving) take(ctx context.Context, one step) error {
	switch one.Op {
	case "health":
		return s.tell(one.Resource, one.Unhealthy)
	case "add":
		pod, err := one.pod()
		if err != nil {
			return err
		}
		s.kubelet.active = append(s.kubelet.active, pod)
		if !admit(s.kubelet.topology, pod).Admit {
			s.kubelet.drop(one.UID)
			return nil
		}
		s.pods = append(s.pods, pod)
		return s.claims.PrepareResources(ctx, pod)
	}
	left := []*v1.Pod{}
	for _, pod := range s.pods {
		if string(pod.UID) != one.UID {
			left = append(left, pod)
			continue
		}
		pod.Status.Phase = v1.PodSucceeded
		if one.Op == "end" {
			left = append(left, pod)
		}
		if !one.Lost {
			if err := s.claims.UnprepareResources(ctx, pod); err != nil {
				return err
			}
		}
	}
	s.pods = left
	s.kubelet.drop(one.UID)
	return nil
}

// shown is what the managers hold for every pod that there is.
func (s *serving) shown() []any {
	list := []any{}
	for _, pod := range s.pods {
		list = append(list, map[string]any{
			"uid": pod.UID, "active": pod.Status.Phase != v1.PodSucceeded, "containers": s.kubelet.containers(pod),
		})
	}
	return list
}

// serve is ListenAndServePodResources of pkg/kubelet/server, which cannot be ended.
func (s *serving) serve(ctx context.Context, folder string) error {
	providers := cm.NewProviders(s, s.kubelet.devices, s.kubelet.cpus, s.kubelet.memory, s.claims)
	server := grpc.NewServer(apisgrpc.WithRateLimiter(ctx, "podresources", podresources.DefaultQPS, podresources.DefaultBurstTokens))
	podresourcesv1alpha1.RegisterPodResourcesListerServer(server, podresources.NewV1alpha1PodResourcesServer(providers))
	podresourcesv1.RegisterPodResourcesListerServer(server, podresources.NewV1PodResourcesServer(ctx, providers))
	listener, err := util.CreateListener("unix://" + filepath.Join(folder, podresources.Socket+".sock"))
	if err != nil {
		return err
	}
	go func() { _ = server.Serve(listener) }()
	s.servers = append(s.servers, server)
	return nil
}

// GetActivePods, GetPods and GetPodByName make it podresources.PodsProvider.
func (s *serving) GetActivePods() []*v1.Pod { return s.kubelet.active }
func (s *serving) GetPods() []*v1.Pod       { return s.pods }
func (s *serving) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	for _, pod := range s.pods {
		if pod.Namespace == namespace && pod.Name == name {
			return pod, true
		}
	}
	return nil, false
}
