package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// An AMD is the [Source] "rsmi" without AMD's library: it reads the compute
// driver's topology in /sys/class/kfd. The device file is the render node.
// XGMI links count as lanes, one each.
type AMD struct {
	Sys fs.FS // as /sys
}

// Name returns "rsmi".
func (a AMD) Name() string { return "rsmi" }

const kfdNodes = "class/kfd/kfd/topology/nodes"

// linkXGMI is the type of an XGMI link in io_links.
const linkXGMI = "11"

// Snapshot reads all devices, in the order of addresses. It returns
// [ErrNoDriver] if the compute driver is not loaded.
func (a AMD) Snapshot() (*Snapshot, error) {
	entries, err := fs.ReadDir(a.Sys, kfdNodes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoDriver
	}
	if err != nil {
		return nil, fmt.Errorf("nvml: read %s: %w", kfdNodes, err)
	}
	s := &Snapshot{Driver: a.text("module/amdgpu/version")}
	bus := map[string]string{} // node number -> address
	links := map[string][]string{}
	for _, e := range entries {
		dir := kfdNodes + "/" + e.Name()
		props := a.properties(dir + "/properties")
		if props["simd_count"] == "0" || props["simd_count"] == "" {
			continue // a CPU
		}
		d, err := a.device(dir, props)
		if err != nil {
			return nil, err
		}
		bus[e.Name()] = d.BusID
		links[d.BusID] = a.peers(dir)
		s.Devices = append(s.Devices, *d)
	}
	slices.SortFunc(s.Devices, func(x, y Device) int { return strings.Compare(x.BusID, y.BusID) })
	for i := range s.Devices {
		d := &s.Devices[i]
		d.Index = i
		for lane, node := range links[d.BusID] {
			if to, isGPU := bus[node]; isGPU {
				d.Links = append(d.Links, Link{Lane: lane, BusID: to, Kind: RemoteGPU})
			}
		}
	}
	return s, nil
}

func (a AMD) text(file string) string {
	data, err := fs.ReadFile(a.Sys, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// properties reads lines of a name and a number.
func (a AMD) properties(file string) map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(a.text(file), "\n") {
		name, value, _ := strings.Cut(line, " ")
		m[name] = strings.TrimSpace(value)
	}
	return m
}

// peers returns the nodes at the far ends of XGMI links, rising by link.
func (a AMD) peers(dir string) (nodes []string) {
	entries, err := fs.ReadDir(a.Sys, dir+"/io_links")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if p := a.properties(dir + "/io_links/" + e.Name() + "/properties"); p["type"] == linkXGMI {
			nodes = append(nodes, p["node_to"])
		}
	}
	return nodes
}

func (a AMD) device(dir string, props map[string]string) (*Device, error) {
	number := func(name string) uint64 {
		n, err := strconv.ParseUint(props[name], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	render, err := strconv.ParseUint(props["drm_render_minor"], 10, 20)
	if err != nil || props["location_id"] == "" {
		return nil, &ParseError{File: dir + "/properties", Line: 1, Token: props["drm_render_minor"], Err: ErrSyntax}
	}
	loc := number("location_id")
	d := &Device{
		Minor: -1,
		File:  "/dev/dri/renderD" + strconv.FormatUint(render, 10),
		BusID: fmt.Sprintf("%04x:%02x:%02x.%x", number("domain"), loc>>8&0xff, loc>>3&0x1f, loc&7),
	}
	dev := "bus/pci/devices/" + d.BusID
	d.Name = a.text(dev + "/product_name")
	if d.Name == "" {
		d.Name = a.text(dir + "/name")
	}
	if id := a.text(dev + "/unique_id"); id != "" {
		d.UUID = "GPU-" + id
	}
	d.Memory, _ = strconv.ParseUint(a.text(dev+"/mem_info_vram_total"), 10, 64)
	if d.CPUs, err = cpuList(a.text(dev + "/local_cpulist")); err != nil {
		return nil, &ParseError{File: dev + "/local_cpulist", Line: 1, Token: a.text(dev + "/local_cpulist"), Err: err}
	}
	d.CPUKnown = len(d.CPUs) > 0
	d.MemoryNodes = numaNode(a.Sys, dev)
	return d, nil
}
