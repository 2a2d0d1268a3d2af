package slurmconf

import (
	"fmt"
	"strconv"
)

// AppendTopologies appends topologies as a topology.yaml. [ReadTopology] reads
// it back.
func AppendTopologies(dst []byte, list []Topology) []byte {
	for i := range list {
		t := &list[i]
		dst = append(dst, "- cluster_default: "...)
		dst = append(strconv.AppendBool(dst, t.Default.V), '\n')
		if t.Name.IsSet() {
			dst = appendPair(dst, "  topology: ", t.Name)
		}
		switch t.Kind {
		case Flat:
			dst = fmt.Appendf(dst, "  flat: {alpha_step_rank: %v}\n", t.AlphaStepRank)
		case Tree:
			dst = appendUnits(append(dst, "  tree:\n    switches:"...), t, "switch")
		case Block:
			dst = append(dst, "  block:\n"...)
			if t.BlockSizes.IsSet() {
				dst = fmt.Appendf(dst, "    block_sizes: [%s]\n", formatInts(t.BlockSizes.V))
			}
			dst = appendUnits(append(dst, "    blocks:"...), t, "block")
		case Ring:
			dst = appendUnits(append(dst, "  ring:\n    rings:"...), t, "ring")
		case Torus:
			dst = appendUnits(append(dst, "  torus3d:\n    toruses:"...), t, "name")
		}
	}
	return dst
}

// appendPair appends a key and a quoted value.
func appendPair(dst []byte, key string, v Value[string]) []byte {
	return append(strconv.AppendQuote(append(dst, key...), v.V), '\n')
}

func appendUnits(dst []byte, t *Topology, nameKey string) []byte {
	if len(t.Units) == 0 {
		return append(dst, " []\n"...)
	}
	dst = append(dst, '\n')
	for i := range t.Units {
		u := &t.Units[i]
		dst = appendPair(dst, "      - "+nameKey+": ", u.Name)
		if u.Nodes.IsSet() {
			dst = appendPair(dst, "        nodes: ", u.Nodes)
		}
		if u.Switches.IsSet() {
			dst = appendPair(dst, "        children: ", u.Switches)
		}
		if u.Dims.IsSet() {
			dst = appendXYZ(append(dst, "        dims: "...), u.Dims.V)
			dst = append(dst, '\n')
		}
		if len(u.Regions) > 0 {
			dst = append(dst, "        regions:\n"...)
		}
		for _, r := range u.Regions {
			dst = appendXYZ(append(dst, "          - anchor: "...), r.Anchor)
			dst = appendXYZ(append(dst, "\n            dims: "...), r.Dims)
			dst = append(dst, '\n')
			if r.Nodes.IsSet() {
				dst = appendPair(dst, "            nodes: ", r.Nodes)
			}
		}
		if len(u.Placements) > 0 {
			dst = append(dst, "        placements:\n"...)
		}
		for _, p := range u.Placements {
			dst = appendXYZ(append(dst, "          - dims: "...), p.Dims)
			dst = appendXYZ(append(dst, "\n            anchor_seed: "...), p.Seed)
			dst = appendXYZ(append(dst, "\n            anchor_spacing: "...), p.Spacing)
			dst = append(dst, '\n')
		}
	}
	return dst
}

func appendXYZ(dst []byte, v [3]int64) []byte {
	return fmt.Appendf(dst, "{x: %d, y: %d, z: %d}", v[0], v[1], v[2])
}
