// Asks the policies of go-gpuallocator. One question a line:
//
//	{"n", "links": [[i, j, [type, ...]], ...], "cases": [[available, required, size, policy], ...]}
//	{"n", "links", "available", "required", "size", "orders": true}   BestEffort for every order of available
//
//	{"n", "links", "sizes": [size, ...]}                               how long BestEffort takes, all available
//
// One answer a line: {"seconds": [s, ...]}, {"cases": [[result, partition_score, set_score, partitions, copysafe], ...]} or
// {"orders", "outcomes": {"[sorted]": orders that gave it}}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"
)

type question struct {
	N         int         `json:"n"`
	Links     []link      `json:"links"`
	Cases     []askedCase `json:"cases"`
	Available []int       `json:"available"`
	Required  []int       `json:"required"`
	Size      int         `json:"size"`
	Orders    bool        `json:"orders"`
	Sizes     []int       `json:"sizes"`
}

type link gpuallocator.Link

func (l *link) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&l.First, &l.Second, &l.Types})
}

type askedCase struct {
	Available, Required []int
	Size                int
	Policy              string
}

func (c *askedCase) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&c.Available, &c.Required, &c.Size, &c.Policy})
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		text, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(text))) > 0 {
			var asked question
			if err := json.Unmarshal(text, &asked); err != nil {
				fmt.Fprintln(os.Stderr, "gpuallocator:", err)
				os.Exit(2)
			}
			answer, _ := json.Marshal(asked.answer())
			out.Write(append(answer, '\n'))
		}
		if err != nil {
			return
		}
	}
}

func (q question) answer() map[string]any {
	links := make([]gpuallocator.Link, len(q.Links))
	for i, one := range q.Links {
		links[i] = gpuallocator.Link(one)
	}
	devices := gpuallocator.MadeUpDevices(q.N, links)
	if q.Orders {
		return everyOrder(devices, q.Available, q.Required, q.Size)
	}
	if q.Sizes != nil {
		return map[string]any{"seconds": timed(devices, q.Sizes)}
	}
	answers := [][]any{}
	for _, one := range q.Cases {
		answers = append(answers, one.answer(devices))
	}
	return map[string]any{"cases": answers}
}

// timed gives wall seconds of one call each, the devices in order.
func timed(devices gpuallocator.DeviceList, sizes []int) []float64 {
	seconds := []float64{}
	for _, size := range sizes {
		start := time.Now()
		gpuallocator.NewBestEffortPolicy().Allocate(devices, nil, size)
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return seconds
}

func (c askedCase) answer(devices gpuallocator.DeviceList) []any {
	available, required := pick(devices, c.Available), pick(devices, c.Required)
	answer := []any{allocate(policy(c.Policy), available, required, c.Size), nil, nil, nil, nil}
	refused := c.Size <= 0 || len(available) < c.Size || len(required) > c.Size || len(required) > len(available)
	if c.Policy == "besteffort" && !refused {
		found := gpuallocator.Enumerate(available, required, c.Size)
		answer[3] = found.Count
		if found.Found {
			answer[1], answer[2], answer[4] = found.PartitionScore, found.Best, indices(found.Set)
		}
	}
	return answer
}

func policy(name string) gpuallocator.Policy {
	switch name {
	case "besteffort":
		return gpuallocator.NewBestEffortPolicy()
	case "simple":
		return gpuallocator.NewSimplePolicy()
	case "staticdgx1p":
		return gpuallocator.NewStaticDGX1Policy(gpuallocator.GPUTypePascal)
	case "staticdgx1v":
		return gpuallocator.NewStaticDGX1Policy(gpuallocator.GPUTypeVolta)
	}
	fmt.Fprintln(os.Stderr, "gpuallocator: unknown policy", name)
	os.Exit(2)
	return nil
}

func allocate(p gpuallocator.Policy, available, required []*gpuallocator.Device, size int) (result any) {
	defer func() {
		if reason := recover(); reason != nil {
			result = map[string]string{"panic": fmt.Sprint(reason)}
		}
	}()
	return indices(p.Allocate(available, required, size))
}

func pick(devices gpuallocator.DeviceList, chosen []int) []*gpuallocator.Device {
	picked := []*gpuallocator.Device{}
	for _, index := range chosen {
		picked = append(picked, devices[index])
	}
	return picked
}

// indices gives nil devices (padding) as null.
func indices(devices []*gpuallocator.Device) []*int {
	found := []*int{}
	for _, device := range devices {
		if device == nil {
			found = append(found, nil)
			continue
		}
		found = append(found, &device.Index)
	}
	return found
}

func everyOrder(devices gpuallocator.DeviceList, available, required []int, size int) map[string]any {
	outcomes, orders := map[string]int{}, 0
	order := append([]int{}, available...)
	must := pick(devices, required)
	best := gpuallocator.NewBestEffortPolicy()
	var permute func(at int)
	permute = func(at int) {
		if at == len(order) {
			orders++
			outcomes[sorted(best.Allocate(pick(devices, order), must, size))]++
			return
		}
		for i := at; i < len(order); i++ {
			order[at], order[i] = order[i], order[at]
			permute(at + 1)
			order[at], order[i] = order[i], order[at]
		}
	}
	permute(0)
	return map[string]any{"orders": orders, "outcomes": outcomes}
}

func sorted(devices []*gpuallocator.Device) string {
	numbers, names := []int{}, []string{}
	padding := 0
	for _, device := range devices {
		if device == nil {
			padding++
			continue
		}
		numbers = append(numbers, device.Index)
	}
	sort.Ints(numbers)
	for _, number := range numbers {
		names = append(names, fmt.Sprint(number))
	}
	for ; padding > 0; padding-- {
		names = append(names, "null")
	}
	return "[" + strings.Join(names, ",") + "]"
}
