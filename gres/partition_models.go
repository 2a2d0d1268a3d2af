package gres

// The placements of all seven-slice models: eight memory slices, of which the
// last belongs to no single-slice instance.
const (
	startsAny  = 0b01111111 // one slice
	startsPair = 0b01010101 // two slices, one of compute
	starts2g   = 0b00010101
	starts3g   = 0b00010001
	startsOne  = 0b00000001
)

// sevenSlices returns a model with NVIDIA's seven compute slices; gb are the
// sizes in the profile names and mib the memory of one, two, four and eight
// slices.
func sevenSlices(name string, gb [4]string, mib [4]int64) PartitionModel {
	return PartitionModel{Name: name, MemorySlices: 8, ComputeSlices: 7, Profiles: []PartitionProfile{
		{Name: "1g." + gb[0], Compute: 1, Memory: 1, Starts: startsAny, Most: 7, MiB: mib[0]},
		{Name: "1g." + gb[0] + "+me", Compute: 1, Memory: 1, Starts: startsAny, Most: 1, MiB: mib[0]},
		{Name: "1g." + gb[1], Compute: 1, Memory: 2, Starts: startsPair, Most: 4, MiB: mib[1]},
		{Name: "2g." + gb[1], Compute: 2, Memory: 2, Starts: starts2g, Most: 3, MiB: mib[1]},
		{Name: "3g." + gb[2], Compute: 3, Memory: 4, Starts: starts3g, Most: 2, MiB: mib[2]},
		{Name: "4g." + gb[2], Compute: 4, Memory: 4, Starts: startsOne, Most: 1, MiB: mib[2]},
		{Name: "7g." + gb[3], Compute: 7, Memory: 8, Starts: startsOne, Most: 1, MiB: mib[3]},
	}}
}

// PartitionModels returns the models that are known, by name.
//
// Source: NVIDIA MIG User Guide, supported MIG profiles.
func PartitionModels() []PartitionModel {
	return []PartitionModel{
		sevenSlices("A100-40GB", [4]string{"5gb", "10gb", "20gb", "40gb"}, [4]int64{4864, 9856, 19968, 40192}),
		sevenSlices("A100-80GB", [4]string{"10gb", "20gb", "40gb", "80gb"}, [4]int64{9728, 19968, 40192, 80384}),
		{Name: "A30", MemorySlices: 4, ComputeSlices: 4, Profiles: []PartitionProfile{
			{Name: "1g.6gb", Compute: 1, Memory: 1, Starts: 0b1111, Most: 4, MiB: 5952},
			{Name: "1g.6gb+me", Compute: 1, Memory: 1, Starts: 0b1111, Most: 1, MiB: 5952},
			{Name: "2g.12gb", Compute: 2, Memory: 2, Starts: 0b0101, Most: 2, MiB: 11968},
			{Name: "4g.24gb", Compute: 4, Memory: 4, Starts: 0b0001, Most: 1, MiB: 24064},
		}},
		sevenSlices("B200-180GB", [4]string{"23gb", "45gb", "90gb", "180gb"}, [4]int64{23552, 46080, 92160, 184320}),
		sevenSlices("H100-80GB", [4]string{"10gb", "20gb", "40gb", "80gb"}, [4]int64{9984, 20096, 40448, 81152}),
		sevenSlices("H200-141GB", [4]string{"18gb", "35gb", "71gb", "141gb"}, [4]int64{18176, 35840, 71680, 144384}),
	}
}

// PartitionModelByName returns the model with the given name; ok is false if
// it is not known.
func PartitionModelByName(name string) (_ *PartitionModel, ok bool) {
	for _, m := range PartitionModels() {
		if m.Name == name {
			return &m, true
		}
	}
	return nil, false
}
