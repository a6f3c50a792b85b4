// Compiled into a copy of go-gpuallocator's package gpuallocator: its link types are internal, so that
// a node cannot be made up from outside. The policies themselves are called as they are.
package gpuallocator

import (
	"fmt"

	"github.com/NVIDIA/go-gpuallocator/internal/links"
)

// Link is one pair of GPUs with the numbers of its links.P2PLinkType.
type Link struct {
	First, Second int
	Types         []int
}

// MadeUpDevices builds the list that NewDevices would read from NVML.
func MadeUpDevices(count int, pairs []Link) DeviceList {
	devices := make(DeviceList, count)
	for i := range devices {
		devices[i] = &Device{Index: i, Links: map[int][]P2PLink{}}
		devices[i].UUID = fmt.Sprintf("GPU-%d", i)
	}
	for _, pair := range pairs {
		for _, number := range pair.Types {
			kind := links.P2PLinkType(number)
			a, b := devices[pair.First], devices[pair.Second]
			a.Links[b.Index] = append(a.Links[b.Index], P2PLink{b, kind})
			b.Links[a.Index] = append(b.Links[a.Index], P2PLink{a, kind})
		}
	}
	return devices
}

// Enumeration is what BestEffort goes through, with every candidate copied before the next one.
type Enumeration struct {
	Found                bool
	Count                int
	PartitionScore, Best int
	Set                  []*Device
}

// Enumerate repeats the selection of BestEffort.Allocate on copies, so that a partition stored as the best
// is not overwritten by later ones.
func Enumerate(available, required []*Device, size int) Enumeration {
	var found Enumeration
	var best [][]*Device
	iterateGPUPartitions(available, size, func(candidate [][]*Device) {
		found.Count++
		if !gpuPartitionContainsSetWithAll(candidate, required) {
			return
		}
		score := calculateGPUPartitionScore(candidate)
		if best == nil || score > found.PartitionScore {
			found.PartitionScore = score
			best = best[:0]
			for _, set := range candidate {
				best = append(best, append([]*Device{}, set...))
			}
		}
	})
	for _, set := range best {
		if !gpuSetContainsAll(set, required) {
			continue
		}
		if score := calculateGPUSetScore(set); !found.Found || score > found.Best {
			found.Found, found.Best, found.Set = true, score, set
		}
	}
	return found
}
