package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// A search that takes longer is left out: a simulator in Python would take a hundred times as long.
const patience = 50 * time.Millisecond

type capacities map[resourceapi.QualifiedName]resource.Quantity

type scenarioQuestion struct {
	Channel           string                       `json:"channel"`
	Features          []string                     `json:"features"`
	Nodes             []*v1.Node                   `json:"nodes"`
	Slices            []*resourceapi.ResourceSlice `json:"slices"`
	DeviceClasses     classes                      `json:"deviceClasses"`
	Claims            []*resourceapi.ResourceClaim `json:"claims"`
	AlreadyAllocated  []deviceName                 `json:"alreadyAllocated"`
	AllocatedCapacity map[string]capacities        `json:"allocatedCapacity"`
}

type deviceName struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

type nodeAnswer struct {
	Node      string                         `json:"node"`
	Satisfied bool                           `json:"satisfied"`
	Results   []resourceapi.AllocationResult `json:"results"`
	Error     string                         `json:"error,omitempty"`
}

type scenarioResult struct {
	Expected []nodeAnswer `json:"expected"`
	TimedOut bool         `json:"timedOut"`
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, errors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

// scenarioAnswer asks the allocator once for each node, as the scheduler's filter does: nothing is kept between two.
func scenarioAnswer(raw json.RawMessage) (any, error) {
	var question scenarioQuestion
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	structured.EnableAllocators(question.Channel)
	var result scenarioResult
	for _, node := range question.Nodes {
		answer, timedOut, err := question.on(node)
		if err != nil {
			return nil, err
		}
		result.Expected = append(result.Expected, answer)
		result.TimedOut = result.TimedOut || timedOut
	}
	return result, nil
}

func (q *scenarioQuestion) on(node *v1.Node) (nodeAnswer, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer := nodeAnswer{Node: node.Name, Results: []resourceapi.AllocationResult{}}
	state, err := q.state()
	if err != nil {
		return answer, false, err
	}
	cache := cel.NewCache(20, cel.Features{
		EnableConsumableCapacity: q.has("DRAConsumableCapacity"),
		EnableListTypeAttributes: q.has("DRAListTypeAttributes"),
	})
	allocator, err := structured.NewAllocator(ctx, q.features(), state, q.DeviceClasses, q.Slices, cache)
	if err != nil {
		return answer, false, err
	}
	results, err := allocator.Allocate(ctx, node, q.Claims)
	if err != nil {
		answer.Error = err.Error()
		return answer, ctx.Err() != nil, nil
	}
	answer.Satisfied = results != nil
	for _, result := range results {
		answer.Results = append(answer.Results, withoutShareIDs(result))
	}
	return answer, false, nil
}

func (q *scenarioQuestion) has(gate string) bool {
	return slices.ContainsFunc(q.Features, func(token string) bool {
		return slices.Contains(strings.Split(token, "+"), gate)
	})
}

func (q *scenarioQuestion) features() structured.Features {
	return structured.Features{
		AdminAccess:            q.has("DRAAdminAccess"),
		PrioritizedList:        q.has("DRAPrioritizedList"),
		PartitionableDevices:   q.has("DRAPartitionableDevices"),
		DeviceTaints:           q.has("DRADeviceTaints"),
		DeviceBindingAndStatus: q.has("DRADeviceBindingConditions") && q.has("DRAResourceClaimDeviceStatus"),
		ConsumableCapacity:     q.has("DRAConsumableCapacity"),
		ListTypeAttributes:     q.has("DRAListTypeAttributes"),
	}
}

func (q *scenarioQuestion) state() (structured.AllocatedState, error) {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, held := range q.AlreadyAllocated {
		state.AllocatedDevices.Insert(structured.MakeDeviceID(held.Driver, held.Pool, held.Device))
	}
	for name, consumed := range q.AllocatedCapacity {
		parts := strings.Split(name, "/")
		if len(parts) != 3 {
			return state, fmt.Errorf("%s is no driver/pool/device", name)
		}
		id := structured.MakeDeviceID(parts[0], parts[1], parts[2])
		share := types.UID("held")
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, &share))
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, consumed))
	}
	return state, nil
}

// withoutShareIDs: they are random.
func withoutShareIDs(result resourceapi.AllocationResult) resourceapi.AllocationResult {
	for i := range result.Devices.Results {
		if result.Devices.Results[i].ShareID != nil {
			share := types.UID("SHARE-ID")
			result.Devices.Results[i].ShareID = &share
		}
	}
	return result
}
