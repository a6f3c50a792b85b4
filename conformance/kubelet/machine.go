package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
)

// machine: NUMA n is of socket n / numa_per_socket; cores are numbered across NUMA nodes; thread t of core c is
// CPU c + t * cores; cpuless nodes follow. mem_mib_per_numa includes the huge pages.
type machine struct {
	Sockets       int            `json:"sockets"`
	NUMAPerSocket int            `json:"numa_per_socket"`
	CoresPerNUMA  int            `json:"cores_per_numa"`
	Threads       int            `json:"threads"`
	CPUless       int            `json:"cpuless_nodes"`
	MemoryMiB     uint64         `json:"mem_mib_per_numa"`
	HugePages     map[string]int `json:"hugepages_per_numa"` // "2Mi": how many
	CoresPerCache int            `json:"cores_per_uncore_cache"`
	Distances     [][]uint64     `json:"distances"`
}

func (m machine) info() (*machineInfo, error) {
	withCPUs := m.Sockets * m.NUMAPerSocket
	cores := withCPUs * m.CoresPerNUMA
	info := &machineInfo{NumCores: cores * m.Threads, NumPhysicalCores: cores, NumSockets: m.Sockets}
	for id := range withCPUs + m.CPUless {
		one := node{Id: id, Memory: m.MemoryMiB << 20, Distances: m.Distances[id]}
		pages, err := m.pages()
		if err != nil {
			return nil, err
		}
		one.HugePages = pages
		if id < withCPUs {
			for c := id * m.CoresPerNUMA; c < (id+1)*m.CoresPerNUMA; c++ {
				one.Cores = append(one.Cores, m.core(c, id, cores))
			}
		}
		info.Topology = append(info.Topology, one)
	}
	return info, nil
}

func (m machine) core(number, numa, cores int) core {
	one := core{Id: number, SocketID: numa / m.NUMAPerSocket}
	for thread := range m.Threads {
		one.Threads = append(one.Threads, number+thread*cores)
	}
	if m.CoresPerCache > 0 {
		one.UncoreCaches = []uncoreCache{{Id: number / m.CoresPerCache, Level: 3}}
	}
	return one
}

func (m machine) pages() ([]hugePages, error) {
	all := []hugePages{}
	for size, count := range m.HugePages {
		quantity, err := resource.ParseQuantity(size)
		if err != nil {
			return nil, fmt.Errorf("huge page size %q: %w", size, err)
		}
		all = append(all, hugePages{PageSize: uint64(quantity.Value()) >> 10, NumPages: uint64(count)})
	}
	return all, nil
}

// kept is what node allocatable leaves out: the reserved CPUs and the reserved memory of all nodes.
func (m machine) kept(cpus int, memoryMiB int64) (v1.ResourceList, []kubeletconfig.MemoryReservation) {
	nodes := m.Sockets*m.NUMAPerSocket + m.CPUless
	perNode := resource.NewQuantity(memoryMiB<<20, resource.BinarySI)
	total := resource.NewQuantity(int64(nodes)*memoryMiB<<20, resource.BinarySI)
	reserved := []kubeletconfig.MemoryReservation{}
	for id := range nodes {
		limits := v1.ResourceList{v1.ResourceMemory: *perNode}
		reserved = append(reserved, kubeletconfig.MemoryReservation{NumaNode: int32(id), Limits: limits})
	}
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(cpus), resource.DecimalSI),
		v1.ResourceMemory: *total,
	}, reserved
}
