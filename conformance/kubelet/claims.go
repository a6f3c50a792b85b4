package main

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
)

// claim is an allocated ResourceClaim and what its drivers answer to NodePrepareResources.
type claim struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
	Devices   []struct {
		Request string   `json:"request"`
		Driver  string   `json:"driver"`
		Pool    string   `json:"pool"`
		Device  string   `json:"device"`
		Share   *string  `json:"share"`
		CDI     []string `json:"cdi"`
	} `json:"devices"`
	Pods []struct {
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"pods"`
}

func (c *claim) object() *resourceapi.ResourceClaim {
	object := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace, UID: types.UID(c.UID)}}
	object.Status.Allocation = &resourceapi.AllocationResult{}
	for _, one := range c.Devices {
		result := resourceapi.DeviceRequestAllocationResult{Request: one.Request, Driver: one.Driver, Pool: one.Pool, Device: one.Device}
		result.ShareID = (*types.UID)(one.Share)
		object.Status.Allocation.Devices.Results = append(object.Status.Allocation.Devices.Results, result)
	}
	for _, pod := range c.Pods {
		reserved := resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: types.UID(pod.UID)}
		object.Status.ReservedFor = append(object.Status.ReservedFor, reserved)
	}
	return object
}

// driver is a DRA driver's part on the node: it prepares the devices that the question names.
type driver struct {
	drapb.UnimplementedDRAPluginServer
	name   string
	claims []claim
}

func (d *driver) NodePrepareResources(_ context.Context, asked *drapb.NodePrepareResourcesRequest) (*drapb.NodePrepareResourcesResponse, error) {
	answer := &drapb.NodePrepareResourcesResponse{Claims: map[string]*drapb.NodePrepareResourceResponse{}}
	for _, one := range asked.Claims {
		prepared := &drapb.NodePrepareResourceResponse{}
		for _, known := range d.claims {
			for _, device := range known.Devices {
				if known.UID == one.Uid && device.Driver == d.name {
					prepared.Devices = append(prepared.Devices, &drapb.Device{
						RequestNames: []string{device.Request}, PoolName: device.Pool, DeviceName: device.Device,
						CdiDeviceIds: device.CDI, ShareId: device.Share,
					})
				}
			}
		}
		answer.Claims[one.Uid] = prepared
	}
	return answer, nil
}

func (d *driver) NodeUnprepareResources(_ context.Context, asked *drapb.NodeUnprepareResourcesRequest) (*drapb.NodeUnprepareResourcesResponse, error) {
	answer := &drapb.NodeUnprepareResourcesResponse{Claims: map[string]*drapb.NodeUnprepareResourceResponse{}}
	for _, one := range asked.Claims {
		answer.Claims[one.Uid] = &drapb.NodeUnprepareResourceResponse{}
	}
	return answer, nil
}

// prepare starts the DRA manager over the claims as an API server has them, and a driver for each name in them.
func (s *serving) prepare(ctx context.Context, root string) error {
	objects := []runtime.Object{}
	names := map[string]bool{}
	for _, one := range s.Claims {
		objects = append(objects, one.object())
		for _, device := range one.Devices {
			names[device.Driver] = true
		}
	}
	var err error
	if s.claims, err = dra.NewManager(klog.Background(), fake.NewClientset(objects...), root); err != nil {
		return err
	}
	node := func(context.Context) (*v1.Node, error) { return &v1.Node{}, nil }
	active := func() []*v1.Pod { return s.kubelet.active }
	if err := s.claims.Start(ctx, active, node, notReady{}); err != nil {
		return err
	}
	for name := range names {
		if err := s.drive(ctx, name, filepath.Join(root, "plugins", name)); err != nil {
			return err
		}
	}
	return nil
}

// notReady keeps the DRA manager from unpreparing in the background what the question leaves behind.
type notReady struct{}

func (notReady) AddSource(string) {}
func (notReady) AllReady() bool   { return false }

func (s *serving) drive(ctx context.Context, name, folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	socket := filepath.Join(folder, "dra.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	drapb.RegisterDRAPluginServer(server, &driver{name: name, claims: s.Claims})
	go func() { _ = server.Serve(listener) }()
	s.servers = append(s.servers, server)
	return registerDriver(ctx, s.claims.GetWatcherHandler(), name, socket, []string{drapb.DRAPluginService})
}
