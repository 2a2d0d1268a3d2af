package gres

// A NameID is the number of a GRES name (gpu, shard, nic, …) in a
// [DeviceTable]. Zero is no name.
type NameID uint16

// A TypeID is the number of a device type (a100, 1g.10gb, …) in a
// [DeviceTable]. Zero is no type.
type TypeID uint16

// The names that have rules of their own; every table has them.
const (
	NameGPU   NameID = 1 + iota // gpu
	NameShard                   // shard, shares a gpu in units
	NameMPS                     // mps, shares a gpu in units
)

// A DeviceTable numbers the GRES names and device types of one cluster, so
// that shapes and requests compare integers. The zero value is not usable;
// see [NewDeviceTable]. It grows only through its Intern methods and may be
// read by many.
//
// Names and types are case-sensitive, as they are for Slurm's controller.
type DeviceTable struct {
	names, types   []string
	nameID, typeID map[string]uint16 // looked up, never ranged over
}

// maxDeviceNames bounds names and types of one table.
const maxDeviceNames = 1<<16 - 1

// NewDeviceTable returns a table with the names gpu, shard and mps.
func NewDeviceTable() *DeviceTable {
	t := &DeviceTable{
		names: []string{""}, types: []string{""},
		nameID: map[string]uint16{}, typeID: map[string]uint16{"": 0},
	}
	for _, n := range [...]string{"gpu", "shard", "mps"} {
		t.InternName(n)
	}
	return t
}

// InternName returns the number of name, adding it if it is new. It panics if
// name is empty or the table has 65,534 names.
func (t *DeviceTable) InternName(name string) NameID {
	if name == "" {
		panic("gres: empty device name")
	}
	return NameID(intern(&t.names, t.nameID, name))
}

// InternType returns the number of typ, adding it if it is new; "" is 0. It
// panics if the table has 65,534 types.
func (t *DeviceTable) InternType(typ string) TypeID {
	return TypeID(intern(&t.types, t.typeID, typ))
}

func intern(list *[]string, ids map[string]uint16, s string) uint16 {
	if id, ok := ids[s]; ok {
		return id
	}
	if len(*list) >= maxDeviceNames {
		panic("gres: device table is full")
	}
	id := uint16(len(*list))
	*list = append(*list, s)
	ids[s] = id
	return id
}

// NameID returns the number of name; ok is false if the table lacks it.
func (t *DeviceTable) NameID(name string) (_ NameID, ok bool) {
	id, ok := t.nameID[name]
	return NameID(id), ok
}

// TypeID returns the number of typ; ok is false if the table lacks it.
func (t *DeviceTable) TypeID(typ string) (_ TypeID, ok bool) {
	id, ok := t.typeID[typ]
	return TypeID(id), ok
}

// Name returns the name numbered id. It panics if the table lacks id.
func (t *DeviceTable) Name(id NameID) string { return t.names[id] }

// Type returns the type numbered id, "" for 0. It panics if the table lacks
// id.
func (t *DeviceTable) Type(id TypeID) string { return t.types[id] }

// NumNames returns the count of names; valid ids are 1 to NumNames().
func (t *DeviceTable) NumNames() int { return len(t.names) - 1 }

// NumTypes returns the count of types; valid ids are 1 to NumTypes().
func (t *DeviceTable) NumTypes() int { return len(t.types) - 1 }
